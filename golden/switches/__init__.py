"""Golden models of the switches and of the ports they share with hosts."""
