"""Tests of buffers."""
