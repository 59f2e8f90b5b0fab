"""Captured fabrics: tables that a subnet manager programmed, read from dumps."""
