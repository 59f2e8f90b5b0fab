"""Reaction point of ECM and E2CM: parameters, units of rates and tokens (``docs/ecm_rp.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.errors import InputError
from vlane.ethernet.shared import FEEDBACK_BYTES, PRBS_BITS, SEED, saturation_bytes
from vlane.parameters import Parameters, choice, flag, whole

RATE_BITS, RATE_FRACTION_BITS = 22, 8
"""Rates are in Mb/s with 8 fraction bits."""
TOKENS_PER_BYTE = 40_000
"""Tokens per byte: a rate of n/256 Mb/s adds n tokens per cycle of 51.2 ns."""
FRACTION_BITS = 15
"""Fraction bits of normalised feedback."""
SCALE_BITS = 10
"""Fraction bits of ``feedback_scale``."""
GAIN_BITS = 12
"""Gains are in units of 1/4096."""
TIME_BITS = 24
"""Width of cycle counters, which are compared modulo 2**24."""
ASK_CYCLES, NOTICE_CYCLES = 14, 40
"""Cycles of a query and of a notice; a visit takes as long as a query."""
VISIT_CYCLES = 1024
"""Cycles between two visits."""


class Notice(IntEnum):
    """Kind of a notice about a flow."""

    POINT = 0
    PROBE = 1
    STOP = 2
    DRIFT = 3


def feedback_scale(set_point_bytes: int, weight: int) -> int:
    """Return the factor from feedback in units of 64 bytes to normalised feedback in units of 2**-25.

    Examples
    --------
    >>> feedback_scale(37500, 2)
    11453
    """
    most = saturation_bytes(set_point_bytes, weight)
    return ((FEEDBACK_BYTES << FRACTION_BITS + SCALE_BITS) + most // 2) // most


@dataclass(frozen=True, eq=False, kw_only=True)
class ECMRPParameters(Parameters):
    """Parameters of ``ecm_rp``.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    flows: int = whole(64, 4, 1024, "flows, a power of two")
    link_mbps: int = whole(10_000, 10, 16_383, "rate of the link in Mb/s")
    least_mbps: int = whole(1, 1, 1000, "Rmin in Mb/s")
    bucket_bytes: int = whole(1500, 64, 16_383, "size of a token bucket, that of the largest frame")
    set_point_bytes: int = whole(37_500, 1000, 250_000, "Qeq, for the normalisation of feedback")
    weight: int = whole(2, 0, 8, "W, for the normalisation of feedback")
    gain: int = whole(410, 0, 4095, "Gi in 1/4096: increase for the largest feedback of a congestion point")
    probe_gain: int = whole(410, 0, 4095, "the same for feedback of a probe")
    gain_of: str = choice("link", ("link", "current"), "reference rate of Gi: the link's, or the flow's current rate")
    strict: bool = flag(default=False, about="a probe raises a rate only if a probe lowered it last")
    drift: int = whole(77, 0, 4095, "increase per drift, in 1/256 Mb/s")
    stop_bits: int = whole(17, 1, 22, "log2 of the longest stop in cycles")
    seed: int = whole(SEED, 1, (1 << PRBS_BITS) - 1, "state of the random sequence after reset")

    def check(self) -> None:
        """Reject a number of flows that is not a power of two, and a least rate not below the link's."""
        if self.flows & (self.flows - 1):
            raise InputError("flows", "a power of two", self.flows)
        if self.least_mbps >= self.link_mbps:
            raise InputError("least_mbps", f"below link_mbps, {self.link_mbps}", self.least_mbps)
