"""Bench of Omni-Path credits: stimulus, crosses, proofs, plants, directed cases."""
