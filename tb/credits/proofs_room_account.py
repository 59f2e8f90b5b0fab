"""Reference model of a shared buffer's admission rule: each lane's minimum and maximum (``docs/vlbuffer.md``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth.hdl import Mux, Value


@dataclass(frozen=True, slots=True)
class AdmissionModel:
    """Model of a buffer's admission rule (VLB-2, VLB-3), written from the page, without golden or hardware.

    Parameters
    ----------
    blocks : int
        Capacity of the buffer, in blocks.
    minimum, maximum : int
        Blocks guaranteed to each lane, and the most that a lane may use.
    """

    blocks: int
    minimum: int
    maximum: int

    def promised(self, used: Iterable[Value]) -> Value:
        """Return the promised blocks of all lanes: for each lane, the larger of its used blocks and its minimum."""
        found: Value = Value.cast(0)
        for each in used:
            found = found + self._promised(each)
        return found

    def fits(self, used: Value, added: Value | int, promised: Value) -> Value:
        """Return whether a lane that uses ``used`` blocks may use ``added`` more, given all promised blocks."""
        after = used + added
        together = promised - self._promised(used) + self._promised(after)
        return (after <= self.maximum) & (together <= self.blocks)

    def _promised(self, used: Value) -> Value:
        return Mux(used < self.minimum, self.minimum, used)
