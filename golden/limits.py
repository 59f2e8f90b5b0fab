"""Room at the far ends as flow-control packets tell it (``docs/ib_switch.md``, rules C1 to C6).

The counters are whole numbers: what ``credit_ib`` counts modulo 4096 never differs by more than 2048.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import next_of
from vlane.golden.kernel import inner

__all__ = [
    "LAST",
    "Limits",
    "allows",
    "count_freed",
    "count_sent",
    "goes_beside",
    "hear",
    "is_due",
    "lose",
    "mail",
    "new_limits",
    "say",
    "say_limit",
    "taken",
]

(DUE, PERIODS, LAST, OLDEST, FLYING, LOSES_UNTIL) = range(6)
"""Per end: VLs whose FCP is due, as bits; last period counted; VL of the last FCP; oldest FCP under way to it, how
many; the first cycle from which FCPs that it sends arrive."""
_REGS = 8


class Limits(NamedTuple):
    """Both ends of every link's credits.

    Parameters
    ----------
    whole : array of int64, (lanes,)
        Blocks of each lane's part of a buffer.
    step : array of int64, (lanes,)
        An FCP is due when the limit has grown by so many blocks.
    period : int
        Cycles after which an FCP of every lane is due.
    beside : bool
        Whether FCPs travel beside the link.
    sent, limit : array of int64, (ends, lanes)
        Blocks of packets started; the limit last heard.
    freed, said : array of int64, (ends, lanes)
        Blocks freed at this end's own input buffer; the limit last said.
    regs : array of int64, (ends, 8)
        See ``DUE`` and those after it.
    flying : array of int64, (ends, FCPs, 3)
        FCPs on their way to this end: the cycle from which they hold, lane, limit.
    fcps : array of int64, (ends, lanes)
        FCPs sent.
    """

    whole: NDArray[np.int64]
    step: NDArray[np.int64]
    period: int
    beside: bool
    sent: NDArray[np.int64]
    limit: NDArray[np.int64]
    freed: NDArray[np.int64]
    said: NDArray[np.int64]
    regs: NDArray[np.int64]
    flying: NDArray[np.int64]
    fcps: NDArray[np.int64]


def new_limits(
    *, ends: int, whole: tuple[int, ...], fcp_blocks: int | None, period: int, beside: bool, flight: int
) -> Limits:
    """Return ends that know of all the room there is; ``fcp_blocks`` is a quarter of it if left out."""
    blocks, lanes = np.array(whole, np.int64), len(whole)
    step = np.maximum(1, blocks // 4) if fcp_blocks is None else np.full(lanes, fcp_blocks, np.int64)
    regs = np.zeros((ends, _REGS), np.int64)
    regs[:, LAST], regs[:, PERIODS] = lanes - 1, -1
    counters = [np.zeros((ends, lanes), np.int64) for _ in range(3)]
    return Limits(
        blocks, step, period, beside, counters[0], np.tile(blocks, (ends, 1)), counters[1],
        np.tile(blocks, (ends, 1)), regs, np.zeros((ends, 1 << (flight + 2).bit_length(), 3), np.int64), counters[2],
    )  # fmt: skip


@inner
def goes_beside(limits: Limits) -> bool:
    """Tell whether FCPs travel beside the link."""
    return limits.beside


@inner
def allows(limits: Limits, end: int, lane: int, blocks: int) -> bool:
    """Tell whether a packet of so many blocks may be sent (C1)."""
    return limits.sent[end, lane] + blocks <= limits.limit[end, lane]


@inner
def count_sent(limits: Limits, end: int, lane: int, blocks: int) -> None:
    """Count a packet that is started."""
    limits.sent[end, lane] += blocks


@inner
def taken(limits: Limits, end: int, lane: int) -> int:
    """Return the blocks of the far buffer that may be in use, as the sender knows it."""
    return int(limits.sent[end, lane] - limits.limit[end, lane] + limits.whole[lane])


@inner
def count_freed(limits: Limits, end: int, lane: int, blocks: int) -> None:
    """Count blocks that left this end's own input buffer (C2, C3)."""
    limits.freed[end, lane] += blocks
    if limits.whole[lane] + limits.freed[end, lane] - limits.said[end, lane] >= limits.step[lane]:
        limits.regs[end, DUE] |= 1 << lane


@inner
def is_due(limits: Limits, end: int, cycle: int) -> bool:
    """Tell whether some FCP is due in a cycle; all that came free before must have been counted (C3)."""
    regs = limits.regs[end]
    if cycle >= (regs[PERIODS] + 1) * limits.period:
        regs[PERIODS] = cycle // limits.period
        regs[DUE] = (1 << len(limits.whole)) - 1
    return regs[DUE] != 0


@inner
def say(limits: Limits, end: int, to: int, cycle: int, flight: int) -> None:
    """Send an FCP that is due to the far end (C4)."""
    regs = limits.regs
    lane = next_of(regs[end, DUE], regs[end, LAST])
    regs[end, LAST] = lane
    regs[end, DUE] &= ~(1 << lane)
    say_limit(limits, end, to, lane, limits.whole[lane] + limits.freed[end, lane], cycle, flight)


@inner
def say_limit(limits: Limits, end: int, to: int, lane: int, limit: int, cycle: int, flight: int) -> None:
    """Put an FCP on its way, unless it gets lost (C5, C6)."""
    regs, flying = limits.regs, limits.flying
    limits.said[end, lane] = limit
    limits.fcps[end, lane] += 1
    if cycle < regs[end, LOSES_UNTIL]:
        return
    hear(limits, to, cycle)
    at = (regs[to, OLDEST] + regs[to, FLYING]) & (flying.shape[1] - 1)
    flying[to, at, 0], flying[to, at, 1], flying[to, at, 2] = cycle + flight + 1, lane, limit
    regs[to, FLYING] += 1


@inner
def mail(limits: Limits, end: int, cycle: int) -> tuple[int, int]:
    """Return (lane, limit) of the FCP that arrives at an end in a cycle, lane -1 if none does."""
    regs, flying = limits.regs[end], limits.flying
    at = regs[OLDEST]
    if regs[FLYING] == 0 or flying[end, at, 0] != cycle + 1:
        return -1, 0
    return flying[end, at, 1], flying[end, at, 2]


@inner
def lose(limits: Limits, end: int, until: int) -> None:
    """Let FCPs that an end sends before a cycle be lost (C6)."""
    limits.regs[end, LOSES_UNTIL] = max(limits.regs[end, LOSES_UNTIL], until)


@inner
def hear(limits: Limits, end: int, cycle: int) -> None:
    """Take over what FCPs say that hold by a cycle (C5)."""
    regs, flying = limits.regs, limits.flying
    while regs[end, FLYING] > 0:
        at = regs[end, OLDEST]
        if flying[end, at, 0] > cycle:
            return
        limits.limit[end, flying[end, at, 1]] = flying[end, at, 2]
        regs[end, OLDEST] = (at + 1) & (flying.shape[1] - 1)
        regs[end, FLYING] -= 1
