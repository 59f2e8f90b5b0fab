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
from vlane.golden.engine.random_bits import draw_below, seeded_rng
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


class HeapElement:
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
    heap : Records of HeapElement, (connections,)
        Consecutive heaps: no element is due before its parent. Equal times are ordered by connection number.
    """

    each: Records[Connection]
    heap: Records[HeapElement]


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
    made = Connections(new_records(Connection, count), new_records(HeapElement, count))
    made.each["target"], made.each["bytes"] = listed.target, listed.bytes
    made.each["period"] = np.rint(listed.interval * (1 << CYCLE_BITS)).astype(np.int64)
    _draw_phases(made.each, seeded_rng(seed, nics, count))
    due = made.each["due"]
    order = np.lexsort((np.arange(count), due, listed.source, listed.sl))  # a sorted array is a heap
    made.heap["due"], made.heap["number"] = due[order], order
    levels = np.unique(listed.sl)
    queue = np.searchsorted(levels, listed.sl[order]) * nics + listed.source[order]
    ends = np.searchsorted(queue, np.arange(len(levels) * nics + 1))
    place = np.stack([ends[:-1], ends[1:]], axis=1).reshape(len(levels), nics, 2)
    return made, levels, place


@kernel
def _draw_phases(connections: Records[Connection], rng: NDArray[np.uint64]) -> None:
    for number in range(len(connections)):
        exact = (connections[number].period >> _PHASE_BITS) * draw_below(rng, 1 << _PHASE_BITS)
        connections[number].due, connections[number].fraction = exact >> CYCLE_BITS, exact & ((1 << CYCLE_BITS) - 1)


@inner
def next_due_connection(connections: Connections, first_index: int) -> int:
    """Return the connection that is due next in the heap that starts at ``first_index``."""
    return connections.heap[first_index].number


@inner
def advance_to_next_packet(connections: Connections, first_index: int, end_index: int) -> int:
    """Advance the next due connection to its next packet, and return the new due cycle of the heap."""
    heap = connections.heap
    number = heap[first_index].number
    connection_state = connections.each[number]
    exact = connection_state.fraction + connection_state.period
    connection_state.due += exact >> CYCLE_BITS
    connection_state.fraction = exact & ((1 << CYCLE_BITS) - 1)
    due, place, count = connection_state.due, 0, end_index - first_index
    while 2 * place + 1 < count:
        below_it = 2 * place + 1
        if below_it + 1 < count and _precedes(
            heap, first_index + below_it + 1, heap[first_index + below_it].due, heap[first_index + below_it].number
        ):
            below_it += 1
        if not _precedes(heap, first_index + below_it, due, number):
            break
        heap[first_index + place].due, heap[first_index + place].number = (
            heap[first_index + below_it].due,
            heap[first_index + below_it].number,
        )
        place = below_it
    heap[first_index + place].due, heap[first_index + place].number = due, number
    return heap[first_index].due


@inner
def _precedes(heap: Records[HeapElement], heap_index: int, due: int, connection: int) -> bool:
    """Return whether a heap element precedes connection ``connection``, due in cycle ``due``."""
    return heap[heap_index].due < due or (heap[heap_index].due == due and heap[heap_index].number < connection)
