"""Tests of documents and parameters."""
