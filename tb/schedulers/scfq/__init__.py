"""Bench of self-clocked fair queueing: stimulus, crosses, proofs, plants, directed cases."""
