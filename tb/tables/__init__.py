"""Stimuli of the look-up tables."""
