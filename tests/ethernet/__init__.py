"""Tests of Ethernet congestion management."""
