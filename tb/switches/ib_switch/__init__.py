"""Bench of the InfiniBand switch: stimulus, crosses, proofs, plants, directed cases."""
