"""Rows of testbenches that run without Python: what is programmed, over ports or a bus, and what must come out."""
