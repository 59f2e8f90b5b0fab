"""Bench of the LFT look-up: stimulus, crosses, proofs, plants, directed cases."""
