"""Stimuli of the credit blocks."""
