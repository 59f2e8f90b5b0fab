"""Arithmetic of InfiniBand's absolute credits, modulo 4096 (IBA 7.9.4.3), for the port and for the network.

Counters may also be whole numbers that never wrap, as in the network: they differ from each other by at most 2048, so
the results are the same.
"""

from __future__ import annotations

from vlane.golden.engine.bits import next_of
from vlane.golden.engine.kernel import inner
from vlane.packets.fcp import COUNTER_MODULUS, CREDIT_CAP

_MASK = COUNTER_MODULUS - 1


@inner
def within_limit(limit: int, sent: int, blocks: int) -> bool:
    """Tell whether a packet's blocks, after those sent, are within the limit (CIB-2, IBS-C1)."""
    return (limit - sent - blocks) & _MASK <= CREDIT_CAP


@inner
def has_advanced(limit: int, said: int, step: int) -> bool:
    """Tell whether a limit is ahead of the one sent last by so many blocks, 2048 at most (CIB-6, IBS-C3)."""
    return step <= (limit - said) & _MASK <= CREDIT_CAP


@inner
def next_due(due: int, last: int) -> int:
    """Return the VL whose flow-control packet is sent: the first of those due after the last one (CIB-7, IBS-C4)."""
    return next_of(due, last)
