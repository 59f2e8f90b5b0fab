"""Bench of InfiniBand credits: stimulus, crosses, proofs, plants, directed cases."""
