"""Connections: streams of packets of one size at constant distance (CBR) between two NICs.

The connections of a NIC and an SL share a queue, like a traffic class. A heap finds the connection that is due next,
so a packet costs a number of steps logarithmic in the number of connections.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records, new_records
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import below, seeded
from vlane.study.cbr_list import CbrList

CYCLE_BITS = 32
"""Number of fraction bits of periods, in cycles."""

_PHASE_BITS = 30


class Connection:
    """A connection.

    Parameters
    ----------
    due : int
        Cycle of generation of the next packet.
    fraction : int
        Fraction of a cycle in addition, in 2**-32.
    period : int
        Time between packets, in 2**-32 cycles.
    target, bytes : int
        Destination NIC; packet size.
    """

    due: Int64
    fraction: Int64
    period: Int64
    target: Int32
    bytes: Int32


class Waiting:
    """A heap element.

    Parameters
    ----------
    due : int
        Cycle in which the connection is due.
    number : int
        Number of the connection.
    """

    due: Int64
    number: Int64


class Connections(NamedTuple):
    """All connections, with a heap for each queue.

    Parameters
    ----------
    each : Records of Connection, (connections,)
        Connections, numbered as in the study.
    heap : Records of Waiting, (connections,)
        Consecutive heaps: no element is due before its parent. Equal times are ordered by connection number.
    """

    each: Records[Connection]
    heap: Records[Waiting]


def new_connections(listed: CbrList, seed: int, nics: int) -> tuple[Connections, NDArray[np.int64], NDArray[np.int64]]:
    """Return connections before cycle 0, each with a random phase, with their SLs and the location of the heaps.

    Returns
    -------
    connections : Connections
        Connections.
    levels : array of int64, (SLs,)
        SLs of the connections, in order.
    place : array of int64, (SLs, NICs, 2)
        First index of the heap of each SL and NIC, and the index after its last.
    """
    count = len(listed.source)
    made = Connections(new_records(Connection, count), new_records(Waiting, count))
    made.each["target"], made.each["bytes"] = listed.target, listed.bytes
    made.each["period"] = np.rint(listed.interval * (1 << CYCLE_BITS)).astype(np.int64)
    _draw_phases(made.each, seeded(seed, nics, count))
    due = made.each["due"]
    order = np.lexsort((np.arange(count), due, listed.source, listed.sl))  # a sorted array is a heap
    made.heap["due"], made.heap["number"] = due[order], order
    levels = np.unique(listed.sl)
    queue = np.searchsorted(levels, listed.sl[order]) * nics + listed.source[order]
    ends = np.searchsorted(queue, np.arange(len(levels) * nics + 1))
    place = np.stack([ends[:-1], ends[1:]], axis=1).reshape(len(levels), nics, 2)
    return made, levels, place


@kernel
def _draw_phases(each: Records[Connection], bits: NDArray[np.uint64]) -> None:
    for number in range(len(each)):
        exact = (each[number].period >> _PHASE_BITS) * below(bits, 1 << _PHASE_BITS)
        each[number].due, each[number].fraction = exact >> CYCLE_BITS, exact & ((1 << CYCLE_BITS) - 1)


@inner
def due_next(connections: Connections, first: int) -> int:
    """Return the connection that is due next in the heap that starts at ``first``."""
    return connections.heap[first].number


@inner
def put_off(connections: Connections, first: int, past: int) -> int:
    """Advance the connection that is due next to its next packet, and return the new due cycle of the heap."""
    heap = connections.heap
    number = heap[first].number
    connection_state = connections.each[number]
    exact = connection_state.fraction + connection_state.period
    connection_state.due += exact >> CYCLE_BITS
    connection_state.fraction = exact & ((1 << CYCLE_BITS) - 1)
    due, place, count = connection_state.due, 0, past - first
    while 2 * place + 1 < count:
        below_it = 2 * place + 1
        if below_it + 1 < count and _is_before(
            heap, first + below_it + 1, heap[first + below_it].due, heap[first + below_it].number
        ):
            below_it += 1
        if not _is_before(heap, first + below_it, due, number):
            break
        heap[first + place].due, heap[first + place].number = heap[first + below_it].due, heap[first + below_it].number
        place = below_it
    heap[first + place].due, heap[first + place].number = due, number
    return heap[first].due


@inner
def _is_before(heap: Records[Waiting], place: int, due: int, number: int) -> bool:
    """Return whether a heap element precedes connection ``number``, due in cycle ``due``."""
    return heap[place].due < due or (heap[place].due == due and heap[place].number < number)
