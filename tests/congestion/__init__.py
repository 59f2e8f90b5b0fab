"""Tests of congestion control."""
