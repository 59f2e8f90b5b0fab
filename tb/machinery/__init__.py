"""Machinery that all benches share. Nothing here belongs to a single block."""
