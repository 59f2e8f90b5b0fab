"""Benches of the congestion-control blocks."""
