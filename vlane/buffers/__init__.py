"""Parameters of buffers of virtual lanes."""
