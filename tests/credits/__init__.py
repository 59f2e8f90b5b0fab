"""Tests of credits."""
