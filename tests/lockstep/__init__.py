"""Tests of the lockstep and its evidence."""
