"""Signal bits of ECM's reaction point that its qualification does not toggle."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole

HOLES = (
    Hole(r"at|fetched\.last", range(21, 24), "Bit 21 of a time toggles only after more than 2,000,000 cycles."),
    Hole(
        r"(multiplier\.)?digits",
        range(16, 23),
        "Visits keep the cycles since the tokens' last update below 2^16; gains and sizes have 16 bits or fewer.",
    ),
    Hole(r"lowered", range(22, 24), "A rate falls by a fraction of itself, so the difference is not negative."),
)
