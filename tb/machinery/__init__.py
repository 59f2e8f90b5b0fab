"""Machinery that all benches share; nothing here belongs to one block."""
