"""Bench of Omni-Path's SC maps: stimulus, crosses, proofs, plants, directed cases."""
