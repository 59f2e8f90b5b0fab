"""Verbs that work on a block of the catalogue."""
