"""Bench of round robin: stimulus, crosses, proofs, plants, directed cases."""
