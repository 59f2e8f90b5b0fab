"""Bench of the VL arbiter: stimulus, crosses, proofs, plants, directed cases."""
