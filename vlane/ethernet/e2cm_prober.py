"""Prober of E2CM: parameters and widths (``docs/e2cm_prober.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.errors import InputError
from vlane.ethernet.shared import FEEDBACK_BITS, FEEDBACK_BYTES, saturation_bytes
from vlane.parameters import Parameters, choice, whole

STAMP_BITS = 32
"""Width of a time stamp in cycles, and of a flow's count of bytes."""
OCCUPANCY_BITS = 20
"""Width of a flow's occupancy of its path in bytes; larger ones are taken as the largest."""
EXCESS_BITS, GOODPUT_BITS = 20, 21
"""Widths of what an occupancy is made of: delay above the least one, and bytes between two replies; the same holds."""
START_CYCLES, REPLY_CYCLES = 7, 40
"""Cycles that an order takes: of a frame or a probe that starts, and of a probe that is back."""
FLOW_BITS = 10
"""Width of a flow's number in a write of its least delay: of the most flows that there may be."""


@dataclass(frozen=True, eq=False, kw_only=True)
class E2CMProberParameters(Parameters):
    """Parameters of ``e2cm_prober``; what each is stands with its bounds.

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    flows: int = whole(64, 4, 1024, "flows, a power of two")
    probe_bytes: int = whole(75_000, 1_024, 1 << 20, "bytes of a flow between two probes")
    probed: str = choice("all", ("all", "limited"), "which flows are probed: all, or those with a rate limiter")
    base: str = choice("learned", ("learned", "given"), "the least delay is the least one seen, or given per flow")
    set_point_bytes: int = whole(3_750, 64, 250_000, "Qeq,flow, the occupancy that is aimed at")
    weight: int = whole(2, 0, 8, "W, the weight of the occupancy's change")
    norm_bytes: int = whole(37_500, 64, 250_000, "feedback is saturated at (2W + 1) times this")

    def check(self) -> None:
        """Refuse a number of flows that is no power of two, and feedback that does not fit."""
        if self.flows & (self.flows - 1):
            raise InputError("flows", "a power of two", self.flows)
        most = (1 << FEEDBACK_BITS - 1) * FEEDBACK_BYTES - 1
        if saturation_bytes(self.norm_bytes, self.weight) > most:
            raise InputError("norm_bytes", f"at most {most // (2 * self.weight + 1)} with this weight", self.norm_bytes)
