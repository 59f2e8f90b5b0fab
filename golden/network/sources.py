"""Traffic of every NIC: when packets are generated, how large they are, where they go.

A class of traffic is a queue of its own at every NIC, without bound: what has been generated but not yet taken
is a moment in the past, not a packet in memory. Each (NIC, class) draws from a random sequence of its own, so
what it generates does not depend on when the network takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import below, draw, seeded

from vlane.errors import InputError

__all__ = [
    "NEVER",
    "PATH_SL",
    "Sources",
    "TrafficClass",
    "advance",
    "draw_packet",
    "mean_flits",
    "new_sources",
]

NEVER = 1 << 60
_TABLE = 1024
_ONE = 1 << 62
_GUIDE_SHIFT = 52
CERTAIN = 1 << 30
"""Share of a class's packets, as ``HOT`` has it, that is all of them."""
_MOST_QUEUES = 64
PATH_SL = -1
"""SL of a class whose packets take the SL of their path."""

(UNIFORM, TO_OTHERS, BY_TABLE, FROM_TRACE) = range(4)
(AT, TO, WITH_SL, SIZE) = range(4)
(HOTS, KIND, CLASS_SL, LEAST, MOST, BURST, HOT, PERIOD) = range(8)


@dataclass(frozen=True)
class TrafficClass:
    """Traffic of one kind, at every NIC alike.

    Parameters
    ----------
    sl : int
        Service level; ``PATH_SL`` for that of the path.
    load : float
        Flits per cycle and NIC, 0 to 1.
    least_bytes, most_bytes : int
        Packet sizes, LRH to VCRC, drawn evenly.
    pattern : sequence of int or str
        Destination of each NIC, -1 for none; ``uniform`` draws among all, ``others`` among all but the source.
    hot_share : float
        Share of the packets that go to one of the hot hosts.
    hot_hosts : tuple of int
        Those.
    burst : int
        Packets generated at once.
    regular : bool
        Packets come at equal distances (CBR) instead of at random (Bernoulli).
    """

    sl: int
    load: float
    least_bytes: int
    most_bytes: int
    pattern: str | tuple[int, ...] = "uniform"
    hot_share: float = 0.0
    hot_hosts: tuple[int, ...] = ()
    burst: int = 1
    regular: bool = False


class Sources(NamedTuple):
    """All NICs' traffic.

    Parameters
    ----------
    setting : array of int64, (classes, 8)
        What each class is.
    patience : array of int64, (classes, 1024)
        Chance, out of 2**62, that the next packet is more than so many cycles away.
    guide : array of int64, (classes, 1024, 2)
        Look-up bounds (upper row, lower row) that narrow the search in ``patience``, for each stretch of 2**52 of the
        number drawn.
    target : array of int64, (classes, NICs)
        Destinations of classes that have a table.
    hot : array of int64, (classes, hot hosts)
        Hot hosts.
    due : array of int64, (NICs, classes)
        Cycle of generation of the next packet.
    fraction : array of int64, (NICs, classes)
        Of CBR: 2**32nds of a cycle beyond.
    left : array of int64, (NICs, classes)
        Packets of the burst still to come.
    bits : array of uint64, (NICs, classes, 1)
        Random sequences.
    earliest : array of int64, (NICs,)
        Least of ``due``.
    last_class : array of int64, (NICs,)
        Class that each NIC took a packet from last.
    lids : array of int64, (NICs, 2)
        First LID of each NIC, and how many it has.
    path_sl : array of uint8, (NICs, NICs) or (0, 0)
        SL of each path, for classes whose SL is ``PATH_SL``.
    trace : array of int64, (rows, 4)
        Cycle, destination, SL and bytes of packets to replay, NIC by NIC, in order of cycle.
    place : array of int64, (classes, NICs, 2)
        Next row of each NIC, and the first behind its last.
    flit_bits : int
        A flit is 2 to this power bytes.
    """

    setting: NDArray[np.int64]
    patience: NDArray[np.int64]
    guide: NDArray[np.int64]
    target: NDArray[np.int64]
    hot: NDArray[np.int64]
    due: NDArray[np.int64]
    fraction: NDArray[np.int64]
    left: NDArray[np.int64]
    bits: NDArray[np.uint64]
    earliest: NDArray[np.int64]
    last_class: NDArray[np.int64]
    lids: NDArray[np.int64]
    path_sl: NDArray[np.uint8]
    trace: NDArray[np.int64]
    place: NDArray[np.int64]
    flit_bits: int


def new_sources(
    classes: Sequence[TrafficClass],
    *,
    nics: int,
    flit_bytes: int,
    seed: int,
    lids: NDArray[np.int64],
    path_sl: NDArray[np.uint8] | None = None,
    trace: NDArray[np.int64] | None = None,
) -> Sources:
    """Return sources before cycle 0.

    Parameters
    ----------
    classes : sequence of TrafficClass
        At least one.
    nics : int
        NICs.
    flit_bytes : int
        Bytes of a flit.
    seed : int
        Of all random sequences.
    lids : array of int64, (NICs, 2)
        First LID of each NIC, and how many it has: a packet takes any of them.
    path_sl : array of uint8, (NICs, NICs), optional
        SL of each path; needed if a class's SL is ``PATH_SL``.
    trace : array of int64, (rows, 5), optional
        Cycle, source, destination, SL and bytes of packets to replay, beside the classes: one more queue for each SL.

    Raises
    ------
    InputError
        If there are more than 64 queues.
    """
    rows = np.zeros((0, 5), np.int64) if trace is None else trace[np.lexsort((trace[:, 0], trace[:, 1], trace[:, 3]))]
    levels, own = np.unique(rows[:, 3]), len(classes)
    classes = [*classes, *(TrafficClass(int(sl), 0.0, 1, 1) for sl in levels)] or [TrafficClass(0, 0.0, 1, 1)]
    if len(classes) > _MOST_QUEUES:
        raise InputError("traffic", f"at most {_MOST_QUEUES} classes, with one for each SL of the trace", len(classes))
    count, hosts = len(classes), max(1, *(len(each.hot_hosts) for each in classes))
    place = np.zeros((count, nics, 2), np.int64)
    for number, sl in enumerate(levels, start=own):
        ends = np.searchsorted(rows[:, 3] * nics + rows[:, 1], int(sl) * nics + np.arange(nics + 1))
        place[number, :, 0], place[number, :, 1] = ends[:-1], ends[1:]
    sources = Sources(
        setting=np.zeros((count, 8), np.int64),
        patience=np.zeros((count, _TABLE), np.int64),
        guide=np.zeros((count, _ONE >> _GUIDE_SHIFT, 2), np.int64),
        target=np.full((count, nics), -1, np.int64),
        hot=np.zeros((count, hosts), np.int64),
        due=np.full((nics, count), NEVER, np.int64),
        fraction=np.zeros((nics, count), np.int64),
        left=np.zeros((nics, count), np.int64),
        bits=np.zeros((nics, count, 1), np.uint64),
        earliest=np.full(nics, NEVER, np.int64),
        last_class=np.full(nics, count - 1, np.int64),
        lids=lids,
        path_sl=np.zeros((0, 0), np.uint8) if path_sl is None else path_sl,
        trace=np.ascontiguousarray(rows[:, [0, 2, 3, 4]]),
        place=place,
        flit_bits=flit_bytes.bit_length() - 1,
    )
    for number, each in enumerate(classes):
        _set_class(sources, number, each, flit_bytes)
        for nic in range(nics):
            sources.bits[nic, number] = seeded(seed, nic, number)
            idle = each.load <= 0 or (sources.setting[number, KIND] == BY_TABLE and sources.target[number, nic] < 0)
            if not idle:
                sources.due[nic, number] = first_due(sources, nic, number)
    for number in range(own, own + len(levels)):
        sources.setting[number, KIND] = FROM_TRACE
        has = place[number, :, 0] < place[number, :, 1]
        sources.due[has, number] = sources.trace[place[number, has, 0], AT]
    sources.earliest[:] = sources.due.min(axis=1)
    return sources


def mean_flits(each: TrafficClass, flit_bytes: int) -> float:
    """Return the mean flits of a class's packets."""
    sizes = np.arange(each.least_bytes, each.most_bytes + 1)
    return float((-(-sizes // flit_bytes)).mean())


def _set_class(sources: Sources, number: int, each: TrafficClass, flit_bytes: int) -> None:
    kinds = {"uniform": UNIFORM, "others": TO_OTHERS}
    kind = kinds[each.pattern] if isinstance(each.pattern, str) else BY_TABLE
    if kind == BY_TABLE:
        sources.target[number] = each.pattern
    chance = each.load / mean_flits(each, flit_bytes) / each.burst
    hot = int(each.hot_share * CERTAIN) if each.hot_hosts else 0
    sources.hot[number, : len(each.hot_hosts)] = each.hot_hosts
    period = round((1 << 32) / chance) if each.regular and chance > 0 else 0
    sources.setting[number] = (
        len(each.hot_hosts),
        kind,
        each.sl,
        each.least_bytes,
        each.most_bytes,
        each.burst,
        hot,
        period,
    )
    longer = 1.0
    for cycles in range(_TABLE):
        longer *= 1.0 - chance
        sources.patience[number, cycles] = int(longer * _ONE)
    rising = -sources.patience[number]
    least = np.arange(_ONE >> _GUIDE_SHIFT) << _GUIDE_SHIFT
    most = least + (1 << _GUIDE_SHIFT) - 1
    sources.guide[number, :, 0] = np.maximum(np.searchsorted(rising, -most, side="left") - 1, 0)
    sources.guide[number, :, 1] = np.minimum(np.searchsorted(rising, -least, side="left"), _TABLE - 1)


@inner
def _gap(sources: Sources, nic: int, number: int) -> int:
    """Draw the cycles to the next packet, at least 1; geometric, from a table, so the same on every machine."""
    table, gap = sources.patience[number], 1
    while True:
        drawn = draw(sources.bits[nic, number])
        if drawn >= table[0]:
            return gap
        if drawn < table[_TABLE - 1]:
            gap += _TABLE
            continue
        place = drawn >> _GUIDE_SHIFT
        low, high = sources.guide[number, place, 0], sources.guide[number, place, 1]
        while high - low > 1:
            middle = (low + high) // 2
            if drawn < table[middle]:
                low = middle
            else:
                high = middle
        return gap + high


@kernel
def first_due(sources: Sources, nic: int, number: int) -> int:
    """Return the cycle of a class's first packet; CBR starts anywhere in its period."""
    sources.left[nic, number] = sources.setting[number, BURST]
    period = sources.setting[number, PERIOD]
    if period == 0:
        return _gap(sources, nic, number) - 1
    return (period >> 16) * below(sources.bits[nic, number], 1 << 16) >> 32


@inner
def advance(sources: Sources, nic: int, number: int) -> None:
    """Go on to the next packet of a class; ``due`` is its cycle of generation."""
    setting = sources.setting[number]
    if setting[KIND] == FROM_TRACE:
        place = sources.place[number, nic]
        place[0] += 1
        sources.due[nic, number] = sources.trace[place[0], AT] if place[0] < place[1] else NEVER
    else:
        sources.left[nic, number] -= 1
        if sources.left[nic, number] == 0:
            sources.left[nic, number] = setting[BURST]
            if setting[PERIOD] == 0:
                sources.due[nic, number] += _gap(sources, nic, number)
            else:
                exact = sources.fraction[nic, number] + setting[PERIOD]
                sources.due[nic, number] += exact >> 32
                sources.fraction[nic, number] = exact & 0xFFFF_FFFF
    earliest = sources.due[nic, 0]
    for other in range(1, sources.due.shape[1]):
        earliest = min(earliest, sources.due[nic, other])
    sources.earliest[nic] = earliest


@inner
def draw_packet(sources: Sources, nic: int, number: int) -> tuple[int, int, int, int, int]:
    """Draw the packet that a class has due, once; return (destination NIC, DLID, SL, bytes, flits)."""
    setting, bits = sources.setting[number], sources.bits[nic, number]
    nics = sources.due.shape[0]
    row = sources.place[number, nic, 0]
    if setting[KIND] == FROM_TRACE:
        to = sources.trace[row, TO]
    elif setting[HOT] != 0 and below(bits, CERTAIN) < setting[HOT]:
        to = sources.hot[number, below(bits, setting[HOTS])]
    elif setting[KIND] == UNIFORM:
        to = below(bits, nics)
    elif setting[KIND] == TO_OTHERS:
        to = below(bits, nics - 1)
        to += to >= nic
    else:
        to = sources.target[number, nic]
    size = setting[LEAST] if setting[KIND] != FROM_TRACE else sources.trace[row, SIZE]
    if setting[MOST] > size:
        size += below(bits, setting[MOST] - size + 1)
    dlid = sources.lids[to, 0]
    if sources.lids[to, 1] > 1:
        dlid += below(bits, sources.lids[to, 1])
    sl = setting[CLASS_SL] if setting[KIND] != FROM_TRACE else sources.trace[row, WITH_SL]
    if sl == PATH_SL:
        sl = int(sources.path_sl[nic, to])
    flits = ((size - 1) >> sources.flit_bits) + 1
    return to, dlid, sl, size, flits
