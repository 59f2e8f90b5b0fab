"""Bench of PAUSE: stimulus, crosses, proofs, plants, directed cases."""
