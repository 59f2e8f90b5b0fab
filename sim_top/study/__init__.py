"""Studies of networks: what is simulated, its runs, their tables and pictures."""
