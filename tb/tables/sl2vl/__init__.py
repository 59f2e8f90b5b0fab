"""Bench of the SL2VL table: stimulus, crosses, proofs, plants, directed cases."""
