"""Stimuli of the buffer of virtual lanes."""
