"""Golden models of the egress schedulers, alone and as banks of ports."""
