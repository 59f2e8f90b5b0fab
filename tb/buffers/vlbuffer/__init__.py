"""Bench of the VL buffer: stimulus, crosses, proofs, plants, directed cases."""
