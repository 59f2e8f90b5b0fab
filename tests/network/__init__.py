"""Tests of golden networks."""
