"""Somebody else's RTL against golden: its ports, the map to ours, the lockstep and what it reports."""
