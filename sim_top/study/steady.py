"""What the parts of a run's measured stretch say: how sure a mean is, and whether what waits grows.

``docs/network.md`` has the rules. All of it is about one service level; ``part`` is that level's of the meters.
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
"""Of what is offered: from this growth on a level may be called saturated; below it, it may be called steady."""

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
"""Student's t of 1 to 30 degrees of freedom, both sides together 5 %."""
_BATCHES_99 = 2.861
"""Student's t of 19 degrees of freedom, both sides together 1 %."""
_TREND_95 = 2.024
"""Student's t of 38 degrees of freedom, both sides together 5 %."""
_RANDOM_WALK = 0.6
"""Factor of the autoregression from which on it is taken as 1: estimates of 1 from so few values are often this low."""
_NORMAL_95_ONE_SIDE = 1.645


@dataclass(frozen=True)
class Backlog:
    """What became of everything that waits between generation and delivery.

    Parameters
    ----------
    growth : float
        Trend over the stretch, flits per cycle.
    growth_ci95 : float
        Half the width of its 95 % interval.
    saturated, decided : bool
        Whether it grows; whether the stretch was long enough to tell (if not, ``saturated`` is False).
    """

    growth: float
    growth_ci95: float
    saturated: bool
    decided: bool


def half_width(values: list[float]) -> float | None:
    """Return half the width of the 95 % interval of the mean of independent values; None for fewer than two.

    Examples
    --------
    >>> round(half_width([1.0, 2.0, 3.0]), 3)
    2.484
    """
    if len(values) < 2:
        return None
    return _STUDENT_95[min(len(values) - 1, len(_STUDENT_95)) - 1] * stdev(values) / sqrt(len(values))


def latency_half_width(part: NDArray[np.int64]) -> float | None:
    """Return half the width of the 95 % interval of the mean latency, by 20 batch means; None if a batch is empty."""
    packets, latency = (part[:, column].reshape(_BATCHES, 2).sum(axis=1) for column in (TIMED, TIMED_LATENCY))
    return half_width((latency / packets).tolist()) if packets.min() > 0 else None


def parts_look_apart(part: NDArray[np.int64]) -> bool:
    """Tell whether the mean latencies of neighbouring parts look independent: von Neumann's ratio, 5 % on one side."""
    if part[:, TIMED].min() == 0:
        return False
    means = part[:, TIMED_LATENCY] / part[:, TIMED]
    around = float(((means - means.mean()) ** 2).sum())
    if around == 0:
        return True
    alike = 1 - float((np.diff(means) ** 2).sum()) / (2 * around)
    return alike <= _NORMAL_95_ONE_SIDE * sqrt((PARTS - 2) / (PARTS**2 - 1))


def judge_backlog(part: NDArray[np.int64], cycles: int) -> Backlog:
    """Return whether a level is saturated, and by how much what waits grows.

    Parameters
    ----------
    cycles : int
        Of the measured stretch.
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
    """Return the slope, per part, of a sum of ``added``, and its standard error.

    The sum is a line and what is around it, which may be anything from independent to a random walk: an
    autoregression of order 1, whose factor is corrected for its bias and taken as 1 if it may be 1.
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
