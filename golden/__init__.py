"""The oracle: the reference behaviour of every block, in plain integers."""
