"""Formal proofs of the blocks."""
