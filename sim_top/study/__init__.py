"""Studies of networks: simulation, runs, tables and pictures."""
