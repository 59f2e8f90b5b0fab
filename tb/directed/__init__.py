"""Directed cases: short stimuli with a stated purpose."""
