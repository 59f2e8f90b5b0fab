"""Bench of the congestion marker: stimulus, crosses, proofs, plants, directed cases."""
