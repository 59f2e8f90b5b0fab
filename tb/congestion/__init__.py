"""Stimuli of the blocks of congestion control."""
