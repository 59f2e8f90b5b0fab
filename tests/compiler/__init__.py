"""Tests of the translator of golden."""
