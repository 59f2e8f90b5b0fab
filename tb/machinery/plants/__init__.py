"""Planted bugs: each changes one line of the hardware, and a proof or the lockstep must detect it."""
