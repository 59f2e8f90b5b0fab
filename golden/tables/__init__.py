"""Golden models of the look-up tables."""
