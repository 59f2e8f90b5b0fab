"""Arithmetic of InfiniBand's absolute credits modulo 4096 (IBA 7.9.4.3), for ports and networks.

The functions also accept counters that never wrap, such as the network's. Such counters differ by at most 2048, so the
results are equal.
"""

from __future__ import annotations

from vlane.golden.engine.bits import next_member
from vlane.golden.engine.kernel import inner
from vlane.packets.fcp import COUNTER_MODULUS, CREDIT_CAP

_MASK = COUNTER_MODULUS - 1


@inner
def within_limit(limit: int, sent: int, blocks: int) -> bool:
    """Return whether a packet's blocks, after those already sent, are within the limit (CIB-2, IBS-C1)."""
    return (limit - sent - blocks) & _MASK <= CREDIT_CAP


@inner
def has_advanced(limit: int, limit_sent: int, step: int) -> bool:
    """Return whether a limit exceeds the limit sent last by ``step`` to 2048 blocks (CIB-6, IBS-C3)."""
    return step <= (limit - limit_sent) & _MASK <= CREDIT_CAP


@inner
def next_due_lane(due: int, last: int) -> int:
    """Return the VL whose flow-control packet is sent next: the first due VL after the last one (CIB-7, IBS-C4)."""
    return next_member(due, last)
