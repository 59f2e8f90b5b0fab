"""Planted bugs: each changes one line of the hardware, and something must notice it."""
