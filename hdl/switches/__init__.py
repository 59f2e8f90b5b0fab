"""Hardware of whole switches and of the parts that only switches have."""
