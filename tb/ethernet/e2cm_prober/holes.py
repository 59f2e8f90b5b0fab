"""Bits of the prober of E2CM that its qualification does not change."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole

_REASON = "A flow has sent 2^26 bytes after 4,096 of the largest frames, of which none sends as many in this run."
HOLES = (
    Hole(r"sent", range(26, 32), _REASON),
    Hole(r"reader__data", range(26, 32), _REASON),
    Hole(r"reader__data", range(58, 64), _REASON),
)
