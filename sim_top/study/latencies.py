"""Percentiles of latencies from histograms, and the histograms as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vlane.golden.network.meters import Meters, bin_latency

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Reported percentiles by name."""


def quantiles(
    histograms: NDArray[np.int32] | NDArray[np.int64],
    share: float,
    *,
    least: NDArray[np.int64],
    most: NDArray[np.int64],
) -> pl.Series:
    """Return the latency of rank ceil(``share`` x packets) of each histogram, or null without packets.

    The value is the middle of the rank's bin, limited to the shortest and the longest latency, so its error is at most
    half a bin, 1.6 %. The first and the last rank are exact.

    Parameters
    ----------
    histograms : array of int, (rows, bins)
        Numbers of packets.
    share : float
        Share of the packets, above 0 and at most 1.
    least, most : array of int64, (rows,)
        Shortest and longest latency.
    """
    counted = histograms.cumsum(axis=1, dtype=np.int64)
    packets = counted[:, -1]
    rank = np.maximum(1, np.ceil(share * packets - _ROUNDING)).astype(np.int64)
    bins = (counted >= rank[:, None]).argmax(axis=1)
    edges = np.array([bin_latency(number) for number in range(histograms.shape[1] + 1)], np.int64)
    above = np.where(bins == histograms.shape[1] - 1, np.maximum(most + 1, edges[bins] + 1), edges[bins + 1])
    found = np.clip((edges[bins] + above - 1) / 2, least, most)
    found = np.where(rank == packets, most, np.where(rank == 1, least, found)).astype(np.float64)
    return pl.Series(np.where(packets > 0, found, np.nan), nan_to_null=True)


_ROUNDING = 1e-9
"""Excess of a product that should be a whole rank, such as 0.95 x 20."""


def quantile(histogram: NDArray[np.int64], share: float, *, least: int, most: int) -> float | None:
    """Return the latency of one histogram like ``quantiles``."""
    (found,) = quantiles(histogram[None], share, least=np.array([least]), most=np.array([most]))
    return None if found is None else float(found)


def histogram_table(meters: Meters) -> pl.DataFrame:
    """Return one row per bin with packets: of each level, then of each flow if flows are measured.

    Columns: SL; source and destination, null for a level; least and largest latency of the bin; packets.
    """
    level, level_bin = np.nonzero(meters.histogram)
    of_levels = _rows(level, level_bin, meters.histogram[level, level_bin])
    source, target, place, flow_bin = np.nonzero(meters.flow_histogram)
    sl = np.flatnonzero(meters.flow_level >= 0)[place]
    of_flows = _rows(sl, flow_bin, meters.flow_histogram[source, target, place, flow_bin])
    ends = {"source": pl.Series(source, dtype=pl.Int64), "destination": pl.Series(target, dtype=pl.Int64)}
    columns = ["sl", "source", "destination", "latency_least_cycles", "latency_most_cycles", "packets"]
    both = pl.concat([of_levels, of_flows.with_columns(**ends)], how="diagonal")
    last = bin_latency(meters.flow_histogram.shape[3])
    is_open = pl.col("source").is_not_null() & (pl.col("latency_most_cycles") == last - 1)
    return both.with_columns(pl.when(~is_open).then(pl.col("latency_most_cycles")).alias("latency_most_cycles")).select(
        columns
    )


def _rows(sl: NDArray[np.int64], bins: NDArray[np.int64], packets: NDArray[Any]) -> pl.DataFrame:
    edges = [(bin_latency(number), bin_latency(number + 1) - 1) for number in bins.tolist()]
    return pl.DataFrame(
        {
            "sl": pl.Series(sl, dtype=pl.Int64),
            "source": pl.Series([None] * len(bins), dtype=pl.Int64),
            "destination": pl.Series([None] * len(bins), dtype=pl.Int64),
            "latency_least_cycles": pl.Series([least for least, _ in edges], dtype=pl.Int64),
            "latency_most_cycles": pl.Series([most for _, most in edges], dtype=pl.Int64),
            "packets": pl.Series(packets, dtype=pl.Int64),
        }
    )
