"""Hardware of the egress schedulers, which select the virtual lane that sends next."""
