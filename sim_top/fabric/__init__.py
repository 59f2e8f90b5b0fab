"""Captured fabrics as pages."""
