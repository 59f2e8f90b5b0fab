"""Golden model of the buffer of virtual lanes."""
