"""Hardware of the egress schedulers: which virtual lane sends next."""
