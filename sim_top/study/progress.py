"""Estimate of the remaining time of runs, and signs of life of a long run."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable

_log = logging.getLogger("vlane.study")
BEAT_SECONDS = 5.0
"""Longest time without a line of progress."""
_TAKEN = 0.3
"""Fraction of its CPU time within which a run must appear to count as reused."""


class Progress:
    """Runs of a sitting, weighted by their work.

    The time of a run is estimated from the finished runs of the same case per unit of work, or from all finished runs
    if the case has none. Reused runs contribute to the estimate but took no time.

    Parameters
    ----------
    work : iterable of (str, float)
        Case and work of every run to make.
    workers : int
        Number of concurrent runs.
    now : callable
        Returns the time in seconds.

    Examples
    --------
    >>> times = iter([0.0, 30.0, 530.0, 650.0])
    >>> work = [("tree", 1.0), ("tree", 2.0), ("torus", 4.0)]
    >>> progress = Progress(work, workers=1, now=lambda: next(times))
    >>> progress.made("tree", 1.0, seconds=30.0)
    '3 min'
    >>> progress.made("torus", 4.0, seconds=250.0)
    '2 min'
    >>> progress.made("tree", 2.0, seconds=60.0)
    ''
    """

    def __init__(
        self, work: Iterable[tuple[str, float]], *, workers: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._workers, self._now, self._last = workers, now, now()
        self._left: dict[str, float] = defaultdict(float)
        self._done: dict[str, float] = defaultdict(float)
        self._seconds: dict[str, float] = defaultdict(float)
        self._runs, self._made, self._waited, self._spent = 0, 0, 0.0, 0.0
        for case, weight in work:
            self._left[case] += weight
            self._runs += 1

    def made(self, case: str, work: float, *, seconds: float) -> str:
        """Record a finished run and return the estimated remaining time, or an empty text after the last run."""
        waited = self._now() - self._last
        self._last += waited
        if self._made or waited > _TAKEN * seconds / self._workers:
            self._made += 1
        if self._made > 1:  # the first run waited for the compiler
            self._waited, self._spent = self._waited + waited, self._spent + seconds
        self._left[case] -= work
        self._done[case] += work
        self._seconds[case] += seconds
        self._runs -= 1
        return shown_time(self._seconds_left()) if self._runs else ""

    def _seconds_left(self) -> float:
        whole = sum(self._seconds.values()) / sum(self._done.values())
        cpu = sum(
            weight * (self._seconds[name] / self._done[name] if self._done[name] else whole)
            for name, weight in self._left.items()
        )
        return cpu * (self._waited / self._spent if self._spent else 1 / self._workers)


def shown_time(seconds: float) -> str:
    """Return a readable time.

    Examples
    --------
    >>> [shown_time(seconds) for seconds in (12.3, 90, 5400)]
    ['12 s', '2 min', '1.5 h']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


class Heartbeat:
    """Lines of progress of one run, at least every five seconds.

    Parameters
    ----------
    name : str
        Name of the run.
    now : callable
        Returns the time in seconds.
    """

    def __init__(self, name: str, *, now: Callable[[], float] = time.monotonic) -> None:
        self._name, self._now = name, now
        self._start = self._said = now()

    def beat(self, cycle: int, end: int) -> None:
        """Log the share of the cycles that are done and the remaining time, if the last line is old enough."""
        at = self._now()
        if at - self._said >= BEAT_SECONDS and cycle > 0:
            left = shown_time((at - self._start) * (end - cycle) / cycle)
            _log.info("%s: cycle %s of %s, about %s left", self._name, f"{cycle:,}", f"{end:,}", left)
            self._said = at
