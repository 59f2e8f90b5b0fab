"""Machinery that all benches share; nothing here belongs to a single block."""
