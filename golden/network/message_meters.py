"""Measurements of messages: counts and latencies by application queue."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bins import bin_of
from vlane.golden.engine.kernel import inner

FINE_BITS = 5
"""Histogram resolution as log2 of the bins per power of two."""

_BINS = 56 << FINE_BITS
(COUNT, BYTES, LATENCY, LONGEST, SHORTEST) = range(5)


class MessageMeters(NamedTuple):
    """Counts of messages that were generated and completely received in the measurement window.

    Parameters
    ----------
    window : array of int64, (3,)
        First measured cycle; first cycle after the window; shared with ``Meters``.
    total : array of int64, (rows, 5)
        Number of messages, bytes, sum of latencies, longest latency, shortest latency (0 for none). Row q holds the
        messages of queue q, row (number of queues) + q the round trips that end with replies of queue q. Empty if no
        traffic consists of messages.
    histogram : array of int64, (rows, bins)
        Latencies: exact below 32, then 32 bins per power of two.
    """

    window: NDArray[np.int64]
    total: NDArray[np.int64]
    histogram: NDArray[np.int64]


def new_message_meters(window: NDArray[np.int64], rows: int) -> MessageMeters:
    """Return zeroed counts."""
    return MessageMeters(window, np.zeros((rows, 5), np.int64), np.zeros((rows, _BINS), np.int64))


@inner
def count_message(meters: MessageMeters, row: int, size: int, begun: int, cycle: int) -> None:
    """Count a latency from cycle ``begun`` to ``cycle``, if both are in the window."""
    if begun < meters.window[0] or cycle >= meters.window[1]:
        return
    total, latency = meters.total[row], cycle - begun
    total[COUNT] += 1
    total[BYTES] += size
    total[LATENCY] += latency
    total[LONGEST] = max(total[LONGEST], latency)
    if total[COUNT] == 1 or latency < total[SHORTEST]:
        total[SHORTEST] = latency
    meters.histogram[row, bin_of(latency, FINE_BITS)] += 1
