"""Bench of deficit round robin: stimulus, crosses, proofs, plants, directed cases."""
