"""Readers and writers of subnet-manager dumps, one module per format."""
