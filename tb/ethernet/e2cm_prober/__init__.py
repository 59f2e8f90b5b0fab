"""Bench of the E2CM prober: stimulus, crosses, proofs, plants, directed cases."""
