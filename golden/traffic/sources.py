"""Traffic sources of all NICs: generation time, size and destination of packets.

A traffic class is an unbounded queue at every NIC. Packets that are generated but not yet injected exist only as
generation times, not as objects in memory. Each (NIC, class) has its own random sequence, so its packets do not depend
on when the network injects them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import below, draw
from vlane.golden.traffic.classes import NEVER, PATH_SL
from vlane.golden.traffic.connections import Connections, due_next, put_off

TABLE = 1024
"""Number of cycles that a row of ``patience`` covers."""
GUIDE_SHIFT = 52
CERTAIN = 1 << 30
"""Value of ``HOT`` for a hot share of 1."""

(UNIFORM, TO_OTHERS, BY_TABLE, CONNECTED, BY_WEIGHT, FROM_TRACE, BY_CONNECTION) = range(7)
(AT, TO, WITH_SL, SIZE) = range(4)
(HOTS, KIND, CLASS_SL, LEAST, MOST, BURST, HOT, TO_ONE) = range(8)


class Sources(NamedTuple):
    """Traffic sources of all NICs.

    Parameters
    ----------
    setting : array of int64, (classes, 8)
        Settings of each class.
    pace : array of int64, (NICs, classes)
        Row in ``patience``, ``guide`` and ``period``; equal loads share a row.
    patience : array of int64, (paces, 1024)
        Probability, in 2**-62, that the next packet is more than (index + 1) cycles away.
    guide : array of int64, (paces, 1024, 2)
        Bounds of the search in ``patience``, (exclusive lower, inclusive upper), for each interval of 2**52 of the
        drawn number.
    period : array of int64, (paces,)
        CBR: time between packets in 2**-32 cycles; otherwise 0.
    target : array of int64, (classes, NICs)
        Destinations of classes with a table.
    pairs : array of int64, (classes, NICs + 1)
        Weighted classes: index of each NIC's first pair in ``weighed``, and the index after the last pair.
    weighed : array of int64, (pairs, 2)
        Destination and cumulative probability, in 2**-62, of each pair.
    held : array of int64, (NICs, classes)
        Destination of the current burst, for classes with one destination per burst.
    sends : array of bool, (NICs, classes)
        Whether a NIC sends packets of a class if its load is above 0.
    hot : array of int64, (classes, hot hosts)
        Hot hosts.
    due : array of int64, (NICs, classes)
        Cycle of generation of the next packet.
    fraction : array of int64, (NICs, classes)
        CBR: fraction of a cycle in addition to ``due``, in 2**-32.
    left : array of int64, (NICs, classes)
        Number of packets left in the burst.
    bits : array of uint64, (NICs, classes, 1)
        Random sequences.
    earliest : array of int64, (NICs,)
        Minimum of ``due``.
    last_class : array of int64, (NICs,)
        Class from which each NIC injected last.
    lids : array of int64, (NICs, 2)
        First LID and number of LIDs of each NIC.
    path_sl : array of int16, (NICs, NICs) or (0, 0)
        SL of each path, for classes whose SL is ``PATH_SL``.
    trace : array of int64, (rows, 4)
        Cycle, destination, SL and bytes of packets to replay, sorted by SL, NIC and cycle.
    place : array of int64, (classes, NICs, 2)
        Next row of each NIC in ``trace`` and the index after its last; for connections, the range of each NIC's heap.
    connections : Connections
        Connections.
    active : array of int64, (classes, 2)
        First and end cycle of each class.
    flit_bits : int
        Log2 of the flit size in bytes.
    """

    setting: NDArray[np.int64]
    pace: NDArray[np.int64]
    patience: NDArray[np.int64]
    guide: NDArray[np.int64]
    period: NDArray[np.int64]
    target: NDArray[np.int64]
    pairs: NDArray[np.int64]
    weighed: NDArray[np.int64]
    held: NDArray[np.int64]
    sends: NDArray[np.bool_]
    hot: NDArray[np.int64]
    due: NDArray[np.int64]
    fraction: NDArray[np.int64]
    left: NDArray[np.int64]
    bits: NDArray[np.uint64]
    earliest: NDArray[np.int64]
    last_class: NDArray[np.int64]
    lids: NDArray[np.int64]
    path_sl: NDArray[np.int16]
    trace: NDArray[np.int64]
    place: NDArray[np.int64]
    connections: Connections
    active: NDArray[np.int64]
    flit_bits: int


@inner
def gap(sources: Sources, nic: int, number: int) -> int:
    """Draw the number of cycles to the next packet, at least 1.

    The distribution is geometric. Draws use a table, so results are equal on all machines.
    """
    pace = sources.pace[nic, number]
    table, gap = sources.patience[pace], 1
    while True:
        drawn = draw(sources.bits[nic, number])
        if drawn >= table[0]:
            return gap
        if drawn < table[TABLE - 1]:
            gap += TABLE
            continue
        place = drawn >> GUIDE_SHIFT
        low, high = sources.guide[pace, place, 0], sources.guide[pace, place, 1]
        while high - low > 1:
            middle = (low + high) // 2
            if drawn < table[middle]:
                low = middle
            else:
                high = middle
        return gap + high


@inner
def advance(sources: Sources, nic: int, number: int) -> None:
    """Advance a class to its next packet and update ``due``."""
    setting = sources.setting[number]
    if setting[KIND] == FROM_TRACE:
        place = sources.place[number, nic]
        place[0] += 1
        sources.due[nic, number] = sources.trace[place[0], AT] if place[0] < place[1] else NEVER
    elif setting[KIND] == BY_CONNECTION:
        place = sources.place[number, nic]
        sources.due[nic, number] = put_off(sources.connections, place[0], place[1])
    else:
        sources.left[nic, number] -= 1
        if sources.left[nic, number] == 0:
            sources.left[nic, number] = setting[BURST]
            period = sources.period[sources.pace[nic, number]]
            if period == 0:
                sources.due[nic, number] += gap(sources, nic, number)
            else:
                exact = sources.fraction[nic, number] + period
                sources.due[nic, number] += exact >> 32
                sources.fraction[nic, number] = exact & 0xFFFF_FFFF
    _find_earliest(sources, nic)


@inner
def end_class(sources: Sources, nic: int, number: int) -> None:
    """End a class at a NIC."""
    sources.due[nic, number] = NEVER
    _find_earliest(sources, nic)


@inner
def _find_earliest(sources: Sources, nic: int) -> None:
    earliest = sources.due[nic, 0]
    for other in range(1, sources.due.shape[1]):
        earliest = min(earliest, sources.due[nic, other])
    sources.earliest[nic] = earliest


@inner
def _weighed(sources: Sources, nic: int, number: int) -> int:
    """Draw a destination by the weights of a NIC's pairs."""
    low, high = sources.pairs[number, nic], sources.pairs[number, nic + 1] - 1
    drawn = draw(sources.bits[nic, number])
    while low < high:
        middle = (low + high) // 2
        if drawn < sources.weighed[middle, 1]:
            high = middle
        else:
            low = middle + 1
    return int(sources.weighed[low, 0])


@inner
def _destination(sources: Sources, nic: int, number: int) -> int:
    """Draw the destination of a packet.

    With one destination per burst, only the first packet of a burst draws.
    """
    setting, bits = sources.setting[number], sources.bits[nic, number]
    if setting[TO_ONE] != 0 and sources.left[nic, number] != setting[BURST]:
        return int(sources.held[nic, number])
    if setting[HOT] != 0 and below(bits, CERTAIN) < setting[HOT]:
        to = sources.hot[number, below(bits, setting[HOTS])]
    elif setting[KIND] == UNIFORM:
        to = below(bits, sources.due.shape[0])
    elif setting[KIND] == TO_OTHERS:
        to = below(bits, sources.due.shape[0] - 1)
        to += to >= nic
    elif setting[KIND] == BY_WEIGHT:
        to = _weighed(sources, nic, number)
    else:
        to = sources.target[number, nic]
    sources.held[nic, number] = to
    return int(to)


@inner
def draw_packet(sources: Sources, nic: int, number: int) -> tuple[int, int, int, int, int, int]:
    """Draw the packet that a class has due and return (destination NIC, DLID, SL, bytes, flits, connection).

    Call it once per packet, because it advances the random sequence.
    """
    setting, bits = sources.setting[number], sources.bits[nic, number]
    row, connection = sources.place[number, nic, 0], -1
    if setting[KIND] == FROM_TRACE:
        to, size = sources.trace[row, TO], sources.trace[row, SIZE]
    elif setting[KIND] == BY_CONNECTION:
        connection = due_next(sources.connections, row)
        connection_state = sources.connections.each[connection]
        to, size = int(connection_state.target), int(connection_state.bytes)
    else:
        to, size = _destination(sources, nic, number), setting[LEAST]
    if setting[MOST] > size:
        size += below(bits, setting[MOST] - size + 1)
    dlid = sources.lids[to, 0]
    if sources.lids[to, 1] > 1:
        dlid += below(bits, sources.lids[to, 1])
    sl = setting[CLASS_SL] if setting[KIND] != FROM_TRACE else sources.trace[row, WITH_SL]
    if sl == PATH_SL:
        sl = int(sources.path_sl[nic, to])
    flits = ((size - 1) >> sources.flit_bits) + 1
    return to, dlid, sl, size, flits, connection
