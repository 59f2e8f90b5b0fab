"""PAUSE of an input: parameters (``docs/pause.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.errors import InputError
from vlane.parameters import Parameters, whole

MAX_MEMORY_BYTES = (1 << 24) - 1
"""The largest memory of an input."""
DROP_BITS = 16
"""Width of the count of dropped frames."""
DROP_MOST = (1 << DROP_BITS) - 1
"""Where that count stays."""
PAUSE_QUANTA = 0xFFFF
"""Time in a PAUSE frame that stops the neighbour, in quanta of 512 bit times; 0 lets it go on."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PauseParameters(Parameters):
    """Parameters of ``pause``; what each is stands with its bounds.

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    memory_bytes: int = whole(150_000, 64, MAX_MEMORY_BYTES, "memory of the input")
    high_bytes: int = whole(141_500, 1, MAX_MEMORY_BYTES, "above it the neighbour is paused, after reset")
    low_bytes: int = whole(131_500, 1, MAX_MEMORY_BYTES, "below it the neighbour goes on, after reset")
    refresh_cycles: int = whole(32_768, 0, 65_535, "a PAUSE is said again after so many cycles; 0: never")

    def check(self) -> None:
        """Refuse watermarks that are not in order, or above the memory."""
        if self.low_bytes > self.high_bytes:
            raise InputError("low_bytes", f"at most high_bytes, {self.high_bytes}", self.low_bytes)
        if self.high_bytes > self.memory_bytes:
            raise InputError("high_bytes", f"at most memory_bytes, {self.memory_bytes}", self.high_bytes)
