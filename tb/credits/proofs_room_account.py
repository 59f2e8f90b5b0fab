"""The room that lanes share, in an account of a proof: what each is guaranteed and allowed (``docs/vlbuffer.md``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth.hdl import Mux, Value


@dataclass(frozen=True, slots=True)
class RoomAccount:
    """When so much more fits (VLB-2, VLB-3); written from the page, apart from what hardware and golden do.

    Parameters
    ----------
    blocks : int
        All of them.
    minimum, maximum : int
        Guaranteed to and allowed for each lane.
    """

    blocks: int
    minimum: int
    maximum: int

    def promised(self, used: Iterable[Value]) -> Value:
        """Return the blocks that lanes use, of each at least its minimum, of what each uses."""
        found: Value = Value.cast(0)
        for each in used:
            found = found + self._promised(each)
        return found

    def fits(self, used: Value, more: Value | int, promised: Value) -> Value:
        """Return whether a lane that uses so much may use so much more, while that much is promised to all."""
        after = used + more
        together = promised - self._promised(used) + self._promised(after)
        return (after <= self.maximum) & (together <= self.blocks)

    def _promised(self, used: Value) -> Value:
        return Mux(used < self.minimum, self.minimum, used)
