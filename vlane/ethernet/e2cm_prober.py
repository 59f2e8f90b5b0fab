"""Prober of E2CM: parameters and widths (``docs/e2cm_prober.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.errors import InputError
from vlane.ethernet.shared import FEEDBACK_BITS, FEEDBACK_BYTES, saturation_bytes
from vlane.parameters import Parameters, choice, whole

STAMP_BITS = 32
"""Width of a time stamp in cycles, and of a flow's byte counter."""
OCCUPANCY_BITS = 20
"""Width of a flow's path occupancy in bytes, which saturates."""
EXCESS_BITS, GOODPUT_BITS = 20, 21
"""Widths of excess delay (above the least) and of bytes between two replies; both saturate."""
START_CYCLES, REPLY_CYCLES = 7, 40
"""Cycles per operation: start of a frame or probe, and return of a probe."""
FLOW_BITS = 10
"""Width of a flow number in a write of its least delay."""


@dataclass(frozen=True, eq=False, kw_only=True)
class E2CMProberParameters(Parameters):
    """Parameters of ``e2cm_prober``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    flows: int = whole(64, 4, 1024, "flows, a power of two")
    probe_bytes: int = whole(75_000, 1_024, 1 << 20, "bytes of a flow between two probes")
    probed: str = choice("all", ("all", "limited"), "probed flows: all, or only rate-limited ones")
    base: str = choice("learned", ("learned", "given"), "least delay: learned from probes, or given per flow")
    set_point_bytes: int = whole(3_750, 64, 250_000, "Qeq,flow, the target occupancy")
    weight: int = whole(2, 0, 8, "W, the weight of the occupancy's change")
    norm_bytes: int = whole(37_500, 64, 250_000, "feedback saturates at (2W + 1) times this")

    def check(self) -> None:
        """Reject a number of flows that is not a power of two, and feedback out of range."""
        if self.flows & (self.flows - 1):
            raise InputError("flows", "a power of two", self.flows)
        most = (1 << FEEDBACK_BITS - 1) * FEEDBACK_BYTES - 1
        if saturation_bytes(self.norm_bytes, self.weight) > most:
            raise InputError("norm_bytes", f"at most {most // (2 * self.weight + 1)} with this weight", self.norm_bytes)
