"""Signal bits of the congestion-controlled source that its qualification does not toggle."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole

HOLES = (
    Hole(
        r"(flow_sets\.)?(ask|tell)_not_before(_\d)?",
        range(21, 24),
        "Bit 21 of a time toggles only after more than 2,000,000 cycles.",
    ),
    Hole(
        r"(\w+\.)?(state|tell_state|ask_read|ask_ccti|becomes|prepared|after_last|ccti)(_\d|\$\d+)?(\.ccti)?|flow_sets\.writer__data\$(35|59|76|93)",
        range(7, 10),
        "A CCTI addresses one of the 128 entries of this instance's CCT.",
    ),
    Hole(r"gaps\.part_4", range(16, 17), "A packet has at most 66 blocks, so the multiplier is added at most 4 times."),
)
