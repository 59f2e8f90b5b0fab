"""Tests of studies, their runs and results."""
