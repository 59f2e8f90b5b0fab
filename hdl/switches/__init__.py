"""Hardware of whole switches, and of parts that only switches have."""
