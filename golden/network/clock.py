"""Indices of a network's clock array."""

from __future__ import annotations

NOW, MOVED = range(2)
"""Next cycle; last cycle in which a packet moved or was held back by its NIC."""
