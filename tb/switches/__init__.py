"""Benches of the switches: stimuli, rows, crosses and proofs."""
