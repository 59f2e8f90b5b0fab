"""Benches of the egress schedulers, and the models around a scheduler under test."""
