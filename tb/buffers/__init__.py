"""Benches of the VL buffer."""
