"""Arbiters with a latency of their own and planted bugs, which measure the elastic comparison."""
