"""Connections: packets of one size that go from one NIC to another at equal distances (CBR), as many as there are.

Those of a NIC and an SL have a queue of their own, as a class of traffic has. Which of them is due next is a heap's
matter, so a packet costs as many steps as the logarithm of their number.
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
"""Distances of packets are kept in parts of a cycle of 1 / 2 to this power."""

_PHASE_BITS = 30


class Connection:
    """A connection.

    Parameters
    ----------
    due : int
        Cycle of generation of its next packet.
    fraction : int
        Parts of a cycle beyond.
    period : int
        From packet to packet, in those parts.
    target, bytes : int
        NIC that it goes to; size of its packets.
    """

    due: Int64
    fraction: Int64
    period: Int64
    target: Int32
    bytes: Int32


class Waiting:
    """A place of a heap.

    Parameters
    ----------
    due : int
        Of the connection.
    number : int
        Of the connection.
    """

    due: Int64
    number: Int64


class Connections(NamedTuple):
    """All connections, and a heap of them for each queue.

    Parameters
    ----------
    each : Records of Connection, (connections,)
        Those, as the study numbers them.
    heap : Records of Waiting, (connections,)
        Heap after heap: in each, no place is due before its parent. Equal ones go by their numbers.
    """

    each: Records[Connection]
    heap: Records[Waiting]


def new_connections(listed: CbrList, seed: int, nics: int) -> tuple[Connections, NDArray[np.int64], NDArray[np.int64]]:
    """Return connections before cycle 0, each anywhere in its period; their SLs; and where the heaps lie.

    Returns
    -------
    connections : Connections
        Those.
    levels : array of int64, (SLs,)
        SLs that there are, in order.
    place : array of int64, (SLs, NICs, 2)
        First place of the heap of each SL and NIC, and the first behind its last.
    """
    count = len(listed.source)
    made = Connections(new_records(Connection, count), new_records(Waiting, count))
    made.each["target"], made.each["bytes"] = listed.target, listed.bytes
    made.each["period"] = np.rint(listed.interval * (1 << CYCLE_BITS)).astype(np.int64)
    _draw_phases(made.each, seeded(seed, nics, count))
    due = made.each["due"]
    order = np.lexsort((np.arange(count), due, listed.source, listed.sl))  # a sorted list is a heap
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
    """Return the connection that is due next of the heap that begins at a place."""
    return connections.heap[first].number


@inner
def put_off(connections: Connections, first: int, past: int) -> int:
    """Let the connection that is due next of a heap go on to its next packet; return when the heap is due then."""
    heap = connections.heap
    number = heap[first].number
    it = connections.each[number]
    exact = it.fraction + it.period
    it.due += exact >> CYCLE_BITS
    it.fraction = exact & ((1 << CYCLE_BITS) - 1)
    due, place, count = it.due, 0, past - first
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
    """Tell whether what is at a place comes before a connection that is due in a cycle."""
    return heap[place].due < due or (heap[place].due == due and heap[place].number < number)
