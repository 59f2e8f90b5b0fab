"""Golden models of the egress schedulers, for single ports and as banks of ports."""
