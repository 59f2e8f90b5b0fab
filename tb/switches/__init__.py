"""Stimuli of the switches, their rows, and networks with switches in hardware."""
