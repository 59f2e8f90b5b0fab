"""PAUSE of an input: parameters (``docs/pause.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.errors import InputError
from vlane.parameters import Parameters, whole

MAX_MEMORY_BYTES = (1 << 24) - 1
"""Largest memory of an input."""
DROP_BITS = 16
"""Width of the counter of dropped frames."""
DROP_MOST = (1 << DROP_BITS) - 1
"""Value at which the counter saturates."""
PAUSE_QUANTA = 0xFFFF
"""Pause time that stops the neighbour, in quanta of 512 bit times; time 0 lets it resume."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PauseParameters(Parameters):
    """Parameters of ``pause``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    memory_bytes: int = whole(150_000, 64, MAX_MEMORY_BYTES, "memory of the input")
    high_bytes: int = whole(
        141_500, 1, MAX_MEMORY_BYTES, "high watermark after reset: above it, the neighbour is paused"
    )
    low_bytes: int = whole(131_500, 1, MAX_MEMORY_BYTES, "low watermark after reset: below it, the neighbour resumes")
    refresh_cycles: int = whole(32_768, 0, 65_535, "cycles after which a PAUSE is repeated; 0: never")

    def check(self) -> None:
        """Reject watermarks in the wrong order or above the memory size."""
        if self.low_bytes > self.high_bytes:
            raise InputError("low_bytes", f"at most high_bytes, {self.high_bytes}", self.low_bytes)
        if self.high_bytes > self.memory_bytes:
            raise InputError("high_bytes", f"at most memory_bytes, {self.memory_bytes}", self.high_bytes)
