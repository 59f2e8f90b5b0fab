"""Ethernet congestion management (ECM, E2CM, PAUSE): parameters."""
