"""Bench of weighted round robin: stimulus, crosses, proofs, plants, directed cases."""
