"""Benches of the credit blocks."""
