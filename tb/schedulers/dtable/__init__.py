"""Bench of the Deficit Table scheduler: stimulus, crosses, proofs, plants, directed cases."""
