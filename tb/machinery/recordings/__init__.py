"""Recorded testbenches that run without Python: programming over ports or a bus, and expected outputs."""
