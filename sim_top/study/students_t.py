"""Student's t distribution for intervals of any confidence."""

from __future__ import annotations

from math import atan, cos, pi, sin, sqrt

_BISECTIONS = 200


def students_t(freedom: int, confidence: float) -> float:
    """Return the number of standard errors from the mean to either end of an interval.

    Parameters
    ----------
    freedom : int
        Degrees of freedom, at least 1.
    confidence : float
        Probability that the interval contains the true value, above 0 and below 1.

    Examples
    --------
    >>> [round(students_t(freedom, 0.95), 3) for freedom in (1, 2, 19, 38)]
    [12.706, 4.303, 2.093, 2.024]
    >>> round(students_t(19, 0.99), 3)
    2.861
    """
    low, high = 0.0, 1.0
    while _within(freedom, high) < confidence and high < 1e12:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(freedom, middle) < confidence else (low, middle)
    return (low + high) / 2


def _within(freedom: int, reach: float) -> float:
    """Return the probability of a value within ``reach`` standard errors (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = atan(reach / sqrt(freedom))
    if freedom == 1:
        return 2 * angle / pi
    cosine, odd = cos(angle), freedom % 2
    term = whole = cosine if odd else 1.0
    for number in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (number - 1) / number
        whole += term
    return 2 / pi * (angle + sin(angle) * whole) if odd else sin(angle) * whole
