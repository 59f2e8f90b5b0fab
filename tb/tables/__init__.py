"""Benches of the look-up tables."""
