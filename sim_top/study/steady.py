"""Statistics of one service level's time series: interval of a mean, warm-up, and growth of the backlog.

``docs/network.md`` describes the rules. ``part`` is the level's time series in the meters.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, sqrt
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.network.meters import LOST, MADE, PARTS, RECEIVED, TIMED, TIMED_LATENCY
from vlane.sim_top.study.students_t import students_t

GROWTH_SHARE = 0.01
"""Growth relative to the offered load: saturated levels exceed it, steady levels stay below it."""

LATENCY_FREEDOM = 5
"""Degrees of freedom of the mean latency's interval, for parts that are little correlated."""

_BATCHES = PARTS // 2
_BATCHES_99 = 2.861
"""Student's t for 19 degrees of freedom, two-sided 1 %."""
_LAST = PARTS // 3
"""Number of parts at the end of the window that must grow, too, before a level counts as saturated."""
_LAST_99 = 3.055
"""Student's t for 12 degrees of freedom, two-sided 1 %."""
_TREND_95 = 2.024
"""Student's t for 38 degrees of freedom, two-sided 5 %."""
_RANDOM_WALK = 0.6
"""Autoregression factor from which 1 is assumed, because few values often underestimate a factor of 1."""
_CONFIDENCE = 0.95
_BIAS, _VARIANCE = 0.270, 0.645
"""Mean, negated, and variance of the logarithm of a mean of two periodogram ordinates (Heidelberger and Welch)."""
_CURVED = 0.4
"""Autocorrelation of neighbouring parts from which the spectrum is extrapolated by a parabola instead of a line."""
_TOO_ALIKE = 0.8
"""Autocorrelation of neighbouring parts from which the window is too short for an interval."""
_EARLY, _LATE = PARTS // 4, PARTS // 2
"""First part after those whose latency may still rise, and first part of the latency's final value."""
_RISING = 0.98
"""Two-sided confidence of the one-sided test, at 1 %, for a latency that still rises."""
_FLOOR = 1e-12
"""Smallest ordinate of a periodogram, relative to the largest."""


@dataclass(frozen=True)
class Backlog:
    """Growth of the backlog between generation and delivery.

    Parameters
    ----------
    growth : float
        Trend over the window, in flits per cycle.
    growth_ci95 : float
        Half the width of its 95 % interval.
    saturated : bool
        Whether the backlog grows.
    decided : bool
        Whether the window was long enough to decide (if not, ``saturated`` is False).
    is_slowing : bool
        Whether the backlog grows over the window but not surely at its end. A network that still fills does this.
    """

    growth: float
    growth_ci95: float
    saturated: bool
    decided: bool
    is_slowing: bool


def half_width(values: list[float]) -> float | None:
    """Return half the width of Student's 95 % interval of independent values' mean, or ``None`` for fewer than 2.

    Examples
    --------
    >>> round(half_width([1.0, 2.0, 3.0]), 3)
    2.484
    """
    if len(values) < 2:
        return None
    return students_t(len(values) - 1, _CONFIDENCE) * stdev(values) / sqrt(len(values))


def latency_half_width(part: NDArray[np.int64]) -> float | None:
    """Return half the width of the mean latency's 95 % interval, valid for correlated parts.

    The spectral method estimates the variance of the mean (Heidelberger and Welch, *CACM* 24, 1981). The result is
    ``None`` if two neighbouring parts are empty, or if the parts are so correlated that the window is too short.
    """
    if part[:, TIMED].reshape(_BATCHES, 2).sum(axis=1).min() == 0:
        return None
    _, around = _deviations(part)
    whole = float(around @ around)
    if whole == 0:
        return 0.0
    alike = float(around[1:] @ around[:-1]) / whole
    if alike > _TOO_ALIKE:
        return None
    variance, freedom = _variance_of_mean(around, degree=2 if alike > _CURVED else 1)
    return students_t(freedom, _CONFIDENCE) * sqrt(variance)


def latency_rises(part: NDArray[np.int64]) -> bool:
    """Return whether the first quarter's mean latency is below that of the second half: the warm-up is too short.

    The test is one-sided at 1 %. Its variance is the spectral estimate of the parts after the first quarter.
    """
    early, late = part[:_EARLY], part[_LATE:]
    if early[:, TIMED].sum() == 0 or late[:, TIMED].sum() == 0:
        return False
    _, around = _deviations(part[_EARLY:])
    at_first, at_last = (_deviations(some)[0] for some in (early, late))
    if not around.any():
        return at_last > at_first
    variance, freedom = _variance_of_mean(around, degree=1)
    of_difference = variance * len(around) * (1 / len(early) + 1 / len(late))
    return at_last - at_first > students_t(freedom, _RISING) * sqrt(of_difference)


def _deviations(part: NDArray[np.int64]) -> tuple[float, NDArray[np.float64]]:
    """Return the mean latency, and the deviation of each part from it, weighted by the part's number of packets."""
    packets, latency = part[:, TIMED].astype(np.float64), part[:, TIMED_LATENCY].astype(np.float64)
    mean = float(latency.sum() / packets.sum())
    return mean, (latency - mean * packets) / packets.mean()


def _variance_of_mean(around: NDArray[np.float64], *, degree: int) -> tuple[float, int]:
    """Return the variance of the mean of a time series, and the degrees of freedom of this estimate.

    A polynomial through the logarithms of the averaged periodogram is extrapolated to frequency 0.
    """
    count = len(around)
    ordinates = np.abs(np.fft.rfft(around)[1 : (count + 1) // 2]) ** 2 / count
    pairs = len(ordinates) // 2
    means = ordinates[: 2 * pairs].reshape(pairs, 2).mean(axis=1)
    logs = np.log(np.maximum(means, _FLOOR * means.max())) + _BIAS
    frequencies = (4 * np.arange(1, pairs + 1) - 1) / (2 * count)
    powers = np.vander(frequencies, degree + 1, increasing=True)
    inverse = np.linalg.inv(powers.T @ powers)
    at_zero, error = float((inverse @ powers.T @ logs)[0]), _VARIANCE * float(inverse[0, 0])
    return exp(at_zero - error / 2) / count, max(1, round(2 / expm1(error)))


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
    grows = surely and unserved >= least and growth > _TREND_95 * error
    saturated = grows and _still_grows(added[-_LAST:])
    steady = not surely and (growth + _TREND_95 * error < least or not offered)
    return Backlog(growth, _TREND_95 * error, saturated, saturated or steady, grows and not saturated)


def _still_grows(added: NDArray[np.floating[Any]]) -> bool:
    """Return whether the backlog surely grows in the last parts of the window."""
    return float(added.mean()) > _LAST_99 * float(added.std(ddof=1)) / sqrt(len(added))


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
