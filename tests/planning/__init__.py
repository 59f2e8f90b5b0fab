"""Tests of planners."""
