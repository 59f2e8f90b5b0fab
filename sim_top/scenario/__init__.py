"""Construction of a golden network, ready to run, from a study."""
