"""Topologies, routings and cabling of golden networks."""
