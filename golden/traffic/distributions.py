"""Distributions of whole numbers as tables of integers, so that draws are equal on all machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.golden.engine.random_bits import draw_below, draw_bits
from vlane.study.sizes import Distribution

WHOLE = 1 << 62
"""Probability 1. Every drawn number is smaller."""

(LEAST, MOST, UNTIL) = range(3)


def stack_ranges(distributions: Iterable[Distribution | None]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Concatenate the tables of several distributions. Return the table, and the first and end row of each.

    Returns
    -------
    ranges : array of int64, (ranges, 3)
        Smallest number, largest number, and cumulative probability in 2**-62.
    place : array of int64, (distributions, 2)
        First range, and the range after the last; equal for ``None``.
    """
    tables, place, count = [np.zeros((0, 3), np.int64)], [], 0
    for one in distributions:
        first = count
        if one is not None:
            reached = np.cumsum(one.weight)
            until = (reached / reached[-1] * WHOLE).astype(np.int64)
            tables.append(np.stack([one.least, one.most, until], axis=1))
            count += len(until)
        place.append((first, count))
    return np.concatenate(tables), np.array(place, np.int64).reshape(-1, 2)


@inner
def draw_number(ranges: NDArray[np.int64], first_index: int, end_index: int, rng: NDArray[np.uint64]) -> int:
    """Draw a number from the distribution in ``ranges[first_index:end_index]``."""
    low, high = first_index, end_index - 1
    if low < high:
        drawn = draw_bits(rng)
        while low < high:
            middle = (low + high) // 2
            if drawn < ranges[middle, UNTIL]:
                high = middle
            else:
                low = middle + 1
    least, width = int(ranges[low, LEAST]), int(ranges[low, MOST] - ranges[low, LEAST]) + 1
    if width == 1:
        return least
    if width <= 1 << 32:
        return least + draw_below(rng, width)
    return least + draw_bits(rng) % width


def mean_of_function(distribution: Distribution, total: Callable[[int], int]) -> float:
    """Return the mean of ``total`` over the numbers of a distribution.

    Parameters
    ----------
    total : callable
        Sum of the function over the numbers 1 to its argument.
    """
    mean = 0.0
    for least, most, weight in zip(
        distribution.least.tolist(), distribution.most.tolist(), distribution.weight.tolist(), strict=True
    ):
        mean += weight * ((total(most) - total(least - 1)) / (most - least + 1))
    return mean / float(distribution.weight.sum())
