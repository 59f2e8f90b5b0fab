"""Benches of the Ethernet congestion-management blocks."""
