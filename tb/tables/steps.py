"""Directed look-ups: a cycle as a pair of inputs and expected outputs."""

from __future__ import annotations

from collections.abc import Iterable

Step = tuple[dict[str, int], dict[str, int]]
"""Inputs and expected outputs of one cycle, by port."""


def pack(values: Iterable[int], bits: int) -> int:
    """Return an integer with the values in fields of equal width, the first in the lowest bits."""
    return sum(value << bits * index for index, value in enumerate(values))
