"""Results of connections: one row per connection, and deadline statistics per service level."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vlane.golden.network.connection_meters import FRACTIONS, JITTERS, RATIOS
from vlane.golden.network.meters import Meters
from vlane.study.cbr_list import CbrList

FRACTION_WORDS = tuple("D" if one == (1, 1) else f"{'' if one[0] == 1 else one[0]}D/{one[1]}" for one in FRACTIONS)
"""Fractions of the deadline D as text."""
JITTER_WORDS = (*(f"{low:g} to {high:g}" for low, high in pairwise(JITTERS)), "1 or more")
"""Intervals of jitter as text, relative to the generation interval."""

_SURE = 0.999


@dataclass(frozen=True)
class OfDeadlines:
    """Deadline statistics of a service level's connections, in the measurement window.

    Parameters
    ----------
    sl : int
        Service level.
    connections : int
        Number of connections with a measured packet.
    packets : int
        Number of measured packets.
    within : list of float
        Fraction of packets that arrived within each fraction of the deadline in ``FRACTION_WORDS``.
    largest : float
        Largest latency divided by deadline.
    p999 : float or None
        99.9 % quantile of latency divided by deadline, rounded up to 1/512; ``None`` if it exceeds 2.
    jitter : list of float
        Fraction of arrivals by deviation of the arrival interval, for the intervals of ``JITTER_WORDS``.
    best : list of float
        Like ``within``, for the best connection, ranked by packets within the smallest fraction that any packet
        of the level met.
    worst : list of float
        Like ``best``, for the worst connection.
    """

    sl: int
    connections: int
    packets: int
    within: list[float]
    largest: float
    p999: float | None
    jitter: list[float]
    best: list[float]
    worst: list[float]


def deadlines_of(listed: CbrList, meters: Meters) -> list[OfDeadlines]:
    """Return the statistics of each level that had packets of connections with deadlines."""
    counts = meters.connections.within.sum(axis=1)
    return [
        _of_level(listed, meters, sl, np.flatnonzero((listed.sl == sl) & (counts > 0)))
        for sl in np.unique(listed.sl[counts > 0]).tolist()
    ]


def _of_level(listed: CbrList, meters: Meters, sl: int, numbers: NDArray[np.int64]) -> OfDeadlines:
    within = meters.connections.within[numbers].astype(np.int64)
    shares = within.cumsum(axis=1)[:, :-1] / within.sum(axis=1, keepdims=True)
    whole, jitter = within.sum(axis=0), meters.connections.jitter[numbers].sum(axis=0, dtype=np.int64)
    rank = int((whole > 0).argmax()) if whole[:-1].any() else 0
    order = np.lexsort((numbers, shares[:, rank]))
    lateness = meters.lateness[sl].cumsum()
    most = meters.connections.each["max_latency"][numbers] / listed.deadline[numbers]
    sure = int(np.searchsorted(lateness, _SURE * lateness[-1]))
    return OfDeadlines(
        sl,
        len(numbers),
        int(whole.sum()),
        (whole.cumsum()[:-1] / whole.sum()).tolist(),
        float(most.max()),
        None if sure == 2 * RATIOS else min((sure + 1) / RATIOS, float(most.max())),
        (jitter / max(1, int(jitter.sum()))).tolist(),
        shares[order[-1]].tolist(),
        shares[order[0]].tolist(),
    )


def connection_table(listed: CbrList, meters: Meters) -> pl.DataFrame:
    """Return one row for each connection, in the order of the list.

    Columns: row in the list's file, from 0; source, destination, SL, bytes, cycles between packets, deadline (null for
    none). For packets generated and received in the measurement window: number, mean and longest latency (null without
    packets), number after the deadline, and number whose arrival interval was within an eighth of the generation
    interval.
    """
    each, within, jitter = meters.connections
    packets, has_deadline = each["packets"], listed.deadline > 0
    mean = np.divide(each["latency_sum"], packets, out=np.full(len(packets), np.nan), where=packets > 0)
    most = pl.Series(np.where(packets > 0, each["max_latency"], -1))
    return pl.DataFrame(
        {
            "row": listed.row,
            "source": listed.source,
            "destination": listed.target,
            "sl": listed.sl,
            "bytes": listed.bytes,
            "interval_cycles": listed.interval,
            "deadline_cycles": pl.Series(np.where(has_deadline, listed.deadline, -1)),
            "packets": packets,
            "latency_mean_cycles": pl.Series(mean, nan_to_null=True),
            "latency_max_cycles": most,
            "late": pl.Series(np.where(has_deadline, within[:, -1], -1)),
            "even": jitter[:, JITTERS.index(-0.125)],
        }
    ).with_columns(
        pl.when(pl.col(name) >= 0).then(pl.col(name)).alias(name)
        for name in ("deadline_cycles", "latency_max_cycles", "late")
    )
