"""Bits of the congestion-controlled source that its qualification does not change."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole

HOLES = (
    Hole(
        r"(flow_sets\.)?(ask|tell)_not_before(_\d)?",
        range(21, 24),
        "Times change bit 21 after more than 2,000,000 cycles.",
    ),
    Hole(
        r"(\w+\.)?(state|tell_state|ask_read|ask_ccti|becomes|prepared|after_last|ccti)(_\d|\$\d+)?(\.ccti)?|flow_sets\.writer__data\$(35|59|76|93)",
        range(7, 10),
        "A CCTI names one of the 128 entries that the CCT of this instance has.",
    ),
    Hole(r"gaps\.part_4", range(16, 17), "A packet has at most 66 blocks: the multiplier is added up to 4 times."),
)
