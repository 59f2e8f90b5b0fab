"""Tests of look-up tables."""
