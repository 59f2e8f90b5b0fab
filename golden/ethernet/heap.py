"""Event queue: a binary heap of integers that encode time, kind and place (``docs/ethernet.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner

(ARRIVE, NOTIFY, SERVE, CHECK, AGAIN, RESUME, GENERATE, DONE, SERVICE, DRIFT, LOOK, RESTED) = range(12)
"""Kinds of events; events of equal time are handled in this order.

Frame arrival; notification sent; next order of an adapter; watermark check of an input; PAUSE refresh; end of a pause;
message generation; end of a frame; change of an output's service; rate drift; sample of watched queues; end of the rest
of a slow output.
"""
_KIND_BITS, _PLACE_BITS = 4, 19
_TIME = _KIND_BITS + _PLACE_BITS


class Heap(NamedTuple):
    """Pending events.

    Parameters
    ----------
    event : array of int64
        Events in heap order.
    events : array of int64, (1,)
        Number of events.
    """

    event: NDArray[np.int64]
    events: NDArray[np.int64]


def new_heap(size: int) -> Heap:
    """Return an empty heap with a capacity of ``size`` events."""
    return Heap(np.zeros(size, np.int64), np.zeros(1, np.int64))


def grown_heap(heap: Heap) -> Heap:
    """Return the heap with twice the capacity."""
    return Heap(np.concatenate([heap.event, np.zeros_like(heap.event)]), heap.events)


@inner
def push(heap: Heap, time: int, kind: int, place: int) -> None:
    """Add an event to a heap with space. Events of equal time are ordered by kind, then by place."""
    event = time << _TIME | kind << _PLACE_BITS | place
    at = heap.events[0]
    heap.events[0] = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if heap.event[above] <= event:
            break
        heap.event[at] = heap.event[above]
        at = above
    heap.event[at] = event


@inner
def pop(heap: Heap) -> int:
    """Remove and return the first event."""
    first, count = heap.event[0], heap.events[0] - 1
    heap.events[0] = count
    last, at = heap.event[count], 0
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        if below + 1 < count and heap.event[below + 1] < heap.event[below]:
            below += 1
        if heap.event[below] >= last:
            break
        heap.event[at] = heap.event[below]
        at = below
    heap.event[at] = last
    return first


@inner
def time_of(event: int) -> int:
    """Return the time of an event."""
    return event >> _TIME


@inner
def kind_of(event: int) -> int:
    """Return the kind of an event."""
    return event >> _PLACE_BITS & ((1 << _KIND_BITS) - 1)


@inner
def place_of(event: int) -> int:
    """Return the place of an event: index of the channel, node or output to which it belongs."""
    return event & ((1 << _PLACE_BITS) - 1)
