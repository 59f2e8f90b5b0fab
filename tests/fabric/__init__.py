"""Tests of captured fabrics."""
