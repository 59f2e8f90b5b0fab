"""Bench of the paced source: stimulus, crosses, proofs, plants, directed cases."""
