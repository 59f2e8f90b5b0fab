"""Stimuli of the egress schedulers and what surrounds a scheduler under test."""
