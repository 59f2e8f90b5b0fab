"""Reaction point of ECM and E2CM: parameters, units of rates and tokens (``docs/ecm_rp.md``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from vlane.errors import InputError
from vlane.ethernet.shared import FEEDBACK_BYTES, PRBS_BITS, SEED, saturation_bytes
from vlane.parameters import Parameters, choice, flag, whole

RATE_BITS, RATE_FRACTION_BITS = 22, 8
"""A rate is in units of 1 Mb/s with 8 bits of fraction."""
TOKENS_PER_BYTE = 40_000
"""Tokens of a byte: in a cycle of 51.2 ns a rate adds as many tokens as it has units of 1/256 Mb/s."""
FRACTION_BITS = 15
"""Bits behind the point of a feedback that is divided by its saturation."""
SCALE_BITS = 10
"""Bits behind the point of ``feedback_scale``."""
GAIN_BITS = 12
"""Gains are in units of 1/4096."""
TIME_BITS = 24
"""Cycles are compared modulo 2 to the power of this."""
ASK_CYCLES, NOTICE_CYCLES = 14, 40
"""Cycles that a question and a notice take; a visit takes as long as a question."""
VISIT_CYCLES = 1024
"""Cycles between two visits."""


class Notice(IntEnum):
    """What is heard of a flow."""

    POINT = 0
    PROBE = 1
    STOP = 2
    DRIFT = 3


def feedback_scale(set_point_bytes: int, weight: int) -> int:
    """Return by what a feedback in units of 64 bytes is multiplied to be a fraction in units of 2**-25.

    Examples
    --------
    >>> feedback_scale(37500, 2)
    11453
    """
    most = saturation_bytes(set_point_bytes, weight)
    return ((FEEDBACK_BYTES << FRACTION_BITS + SCALE_BITS) + most // 2) // most


@dataclass(frozen=True, eq=False, kw_only=True)
class ECMRPParameters(Parameters):
    """Parameters of ``ecm_rp``; what each is stands with its bounds.

    Raises
    ------
    TypeError, InputError
        As of ``Parameters``.
    """

    flows: int = whole(64, 4, 1024, "flows, a power of two")
    link_mbps: int = whole(10_000, 10, 16_383, "rate of the link in Mb/s")
    least_mbps: int = whole(1, 1, 1000, "Rmin in Mb/s")
    bucket_bytes: int = whole(1500, 64, 16_383, "size of a token bucket: of the largest frame")
    set_point_bytes: int = whole(37_500, 1000, 250_000, "Qeq, by which feedback is divided")
    weight: int = whole(2, 0, 8, "W, by which feedback is divided")
    gain: int = whole(410, 0, 4095, "Gi in 1/4096: what the largest feedback of a congestion point raises")
    probe_gain: int = whole(410, 0, 4095, "the same of a probe")
    gain_of: str = choice("link", ("link", "current"), "of which rate Gi is a part: the link's, or the flow's own")
    strict: bool = flag(default=False, about="a probe raises only the rate of a flow that a probe lowered last")
    drift: int = whole(77, 0, 4095, "what a drift raises, in 1/256 Mb/s")
    stop_bits: int = whole(17, 1, 22, "a stop lasts at most 2 to the power of this, in cycles")
    seed: int = whole(SEED, 1, (1 << PRBS_BITS) - 1, "state of the random sequence after reset")

    def check(self) -> None:
        """Refuse a number of flows that is no power of two, and a least rate that is not below the link's."""
        if self.flows & (self.flows - 1):
            raise InputError("flows", "a power of two", self.flows)
        if self.least_mbps >= self.link_mbps:
            raise InputError("least_mbps", f"below link_mbps, {self.link_mbps}", self.least_mbps)
