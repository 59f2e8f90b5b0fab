"""Tests of statistics and figures with answers made by hand."""
