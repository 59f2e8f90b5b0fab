"""Buffers of virtual lanes: parameters."""
