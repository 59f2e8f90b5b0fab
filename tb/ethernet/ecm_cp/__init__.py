"""Bench of the ECM congestion point: stimulus, crosses, proofs, plants, directed cases."""
