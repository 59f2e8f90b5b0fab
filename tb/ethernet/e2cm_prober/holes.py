"""Signal bits of the E2CM prober that its qualification does not toggle."""

from __future__ import annotations

from vlane.tb.machinery.native.hole import Hole

_REASON = "A flow reaches 2^26 bytes after 4,096 of the largest frames; no flow sends as many in this run."
HOLES = (
    Hole(r"sent", range(26, 32), _REASON),
    Hole(r"reader__data", range(26, 32), _REASON),
    Hole(r"reader__data", range(58, 64), _REASON),
)
