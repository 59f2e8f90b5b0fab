"""Elements of a network's clock."""

from __future__ import annotations

NOW, MOVED = range(2)
"""The next cycle; the last one in which anything moved, or was held back by its NIC."""
