"""Benches and proofs of the register port."""
