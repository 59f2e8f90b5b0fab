"""Judged holes of code coverage."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hole:
    """Bits that a block's qualification leaves as they are, and with them the branches that they decide.

    Parameters
    ----------
    signals : str
        Regular expression of the whole path of a signal, names of instances and its own joined by points; one of its
        names is enough.
    bits : range
        Its bits.
    reason : str
        Why they stay, as a sentence.
    edge : str
        The edge that is not met, ``0->1`` or ``1->0``, of bits that had the other one; empty if they stay.
    """

    signals: str
    bits: range
    reason: str
    edge: str = ""

    def covers(self, signal: str, bit: int, edge: str) -> bool:
        """Return whether an edge of a bit of a signal is one of them."""
        return bit in self.bits and self.edge in {"", edge} and re.fullmatch(self.signals, signal) is not None


@dataclass(frozen=True, slots=True)
class Untaken:
    """Branches that a block's qualification does not take, decided by a term without a name.

    Parameters
    ----------
    branches : str
        Regular expression of all that is told of a branch, which others may fit too.
    count : int
        How many of those that fit are not taken.
    reason : str
        Why, as a sentence.
    """

    branches: str
    count: int
    reason: str

    def covers(self, branch: str) -> bool:
        """Return whether a branch fits."""
        return re.fullmatch(self.branches, branch) is not None
