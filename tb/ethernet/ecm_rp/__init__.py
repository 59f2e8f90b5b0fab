"""Bench of the ECM reaction point: stimulus, crosses, proofs, plants, directed cases."""
