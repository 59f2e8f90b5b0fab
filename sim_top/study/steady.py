"""Statistics of one service level's time series: precision of a mean, and growth of the backlog.

``docs/network.md`` describes the rules. ``part`` is the level's time series in the meters.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.network.meters import LOST, MADE, PARTS, RECEIVED, TIMED, TIMED_LATENCY

GROWTH_SHARE = 0.01
"""Growth relative to the offered load: saturated levels exceed it, steady levels stay below it."""

_BATCHES = PARTS // 2
_STUDENT_95 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
    2.086,
    2.080,
    2.074,
    2.069,
    2.064,
    2.060,
    2.056,
    2.052,
    2.048,
    2.045,
    2.042,
)
"""Student's t for 1 to 30 degrees of freedom, two-sided 5 %."""
_BATCHES_99 = 2.861
"""Student's t for 19 degrees of freedom, two-sided 1 %."""
_TREND_95 = 2.024
"""Student's t for 38 degrees of freedom, two-sided 5 %."""
_RANDOM_WALK = 0.6
"""Autoregression factor from which 1 is assumed, because few values often underestimate a factor of 1."""
_NORMAL_95_ONE_SIDE = 1.645


@dataclass(frozen=True)
class Backlog:
    """Growth of the backlog between generation and delivery.

    Parameters
    ----------
    growth : float
        Trend over the window, in flits per cycle.
    growth_ci95 : float
        Half the width of its 95 % interval.
    saturated, decided : bool
        Whether the backlog grows; whether the window was long enough to decide (if not, ``saturated`` is False).
    """

    growth: float
    growth_ci95: float
    saturated: bool
    decided: bool


def half_width(values: list[float]) -> float | None:
    """Return half the width of the mean latency's 95 % interval, from 20 batch means.

    The result is ``None`` if a batch is empty.

    The result is ``None`` if a batch is empty.

    Examples
    --------
    >>> round(half_width([1.0, 2.0, 3.0]), 3)
    2.484
    """
    if len(values) < 2:
        return None
    return _STUDENT_95[min(len(values) - 1, len(_STUDENT_95)) - 1] * stdev(values) / sqrt(len(values))


def latency_half_width(part: NDArray[np.int64]) -> float | None:
    """Return half the width of the mean latency's 95 % interval, from 20 batch means.

    The result is ``None`` if a batch is empty.
    """
    packets, latency = (part[:, column].reshape(_BATCHES, 2).sum(axis=1) for column in (TIMED, TIMED_LATENCY))
    return half_width((latency / packets).tolist()) if packets.min() > 0 else None


def parts_look_apart(part: NDArray[np.int64]) -> bool:
    """Return whether mean latencies of neighbouring parts look independent: von Neumann's ratio, one-sided 5 %."""
    if part[:, TIMED].min() == 0:
        return False
    means = part[:, TIMED_LATENCY] / part[:, TIMED]
    around = float(((means - means.mean()) ** 2).sum())
    if around == 0:
        return True
    alike = 1 - float((np.diff(means) ** 2).sum()) / (2 * around)
    return alike <= _NORMAL_95_ONE_SIDE * sqrt((PARTS - 2) / (PARTS**2 - 1))


def judge_backlog(part: NDArray[np.int64], cycles: int) -> Backlog:
    """Judge whether a level is saturated, and return the growth of its backlog.

    Parameters
    ----------
    cycles : int
        Length of the measurement window.
    """
    offered = float(part[:, MADE].sum()) / cycles
    added = (part[:, MADE] - part[:, RECEIVED] - part[:, LOST]) * (PARTS / cycles)
    growth, error = _trend(added)
    batches = added.reshape(_BATCHES, 2).mean(axis=1).tolist()
    unserved, noise = fmean(batches), stdev(batches) / sqrt(_BATCHES)
    surely, least = unserved > _BATCHES_99 * noise and unserved > 0, GROWTH_SHARE * offered
    saturated = surely and unserved >= least and growth > _TREND_95 * error
    steady = not surely and (growth + _TREND_95 * error < least or not offered)
    return Backlog(growth, _TREND_95 * error, saturated, saturated or steady)


def _trend(added: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """Return slope per part and standard error of the cumulative sum of ``added``.

    The residuals around the line are modelled as a first-order autoregression, from independent noise to a random walk.
    Its factor is corrected for bias, and set to 1 if 1 is plausible.
    """
    count = len(added)
    held, place = np.cumsum(added), np.arange(count, dtype=np.float64)
    line = np.column_stack([np.ones(count), place])
    around = held - line @ np.linalg.lstsq(line, held, rcond=None)[0]
    before = float((around[:-1] ** 2).sum())
    factor = float((around[1:] * around[:-1]).sum()) / before if before > 0 else 0.0
    factor = max(0.0, factor + (2 + 4 * factor) / count)
    if factor >= _RANDOM_WALK:
        steps = added[1:].tolist()
        return fmean(steps), stdev(steps) / sqrt(len(steps))
    first = sqrt(1 - factor * factor)
    sums = np.concatenate([first * held[:1], held[1:] - factor * held[:-1]])
    lines = np.concatenate([first * line[:1], line[1:] - factor * line[:-1]])
    inverse = np.linalg.inv(lines.T @ lines)
    found = inverse @ lines.T @ sums
    left = sums - lines @ found
    return float(found[1]), sqrt(max(0.0, float(left @ left) / (count - 2) * float(inverse[1, 1])))
