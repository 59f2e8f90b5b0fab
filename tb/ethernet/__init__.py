"""Stimuli of the blocks of Ethernet congestion management."""
