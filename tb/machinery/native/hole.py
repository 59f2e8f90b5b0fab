"""Judged holes of code coverage: uncovered code with a reason."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hole:
    """Bits never toggled by a block's qualification, and the branches decided by these bits.

    Parameters
    ----------
    signals : str
        Regular expression of the full path of a signal: instance names and signal name, joined by points. One of the
        signal's aliases is enough.
    bits : range
        Bits of the signal.
    reason : str
        Reason why the bits do not toggle, as a sentence.
    edge : str
        The edge that does not occur, ``0->1`` or ``1->0``, if the other one does; empty if neither occurs.
    """

    signals: str
    bits: range
    reason: str
    edge: str = ""

    def covers(self, signal: str, bit: int, edge: str) -> bool:
        """Return whether this hole covers an edge of a bit of a signal."""
        return bit in self.bits and self.edge in {"", edge} and re.fullmatch(self.signals, signal) is not None


@dataclass(frozen=True, slots=True)
class Untaken:
    """Branches that the qualification does not take and whose condition has no name in the source.

    Parameters
    ----------
    branches : str
        Regular expression of a branch's full description; may also match branches that are taken.
    count : int
        Number of matching branches that are not taken.
    reason : str
        Reason, as a sentence.
    """

    branches: str
    count: int
    reason: str

    def covers(self, branch: str) -> bool:
        """Return whether a branch's full description matches."""
        return re.fullmatch(self.branches, branch) is not None
