"""Bench of the Omni-Path switch: stimulus, crosses, proofs, plants, directed cases."""
