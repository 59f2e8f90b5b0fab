"""Tests of exported RTL and oracles."""
