"""Bits of ECM's reaction point that its qualification does not change."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole

HOLES = (
    Hole(r"at|fetched\.last", range(21, 24), "Times change bit 21 after more than 2,000,000 cycles."),
    Hole(
        r"(multiplier\.)?digits",
        range(16, 23),
        "Visits keep the cycles since tokens were counted below 2^16; gains and sizes have 16 bits or fewer.",
    ),
    Hole(r"lowered", range(22, 24), "A rate falls by a part of itself, so the difference is not negative."),
)
