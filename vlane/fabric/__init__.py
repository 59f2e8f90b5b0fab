"""Captured fabrics: what a subnet manager programmed, read from its dumps."""
