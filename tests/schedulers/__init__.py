"""Tests of egress schedulers."""
