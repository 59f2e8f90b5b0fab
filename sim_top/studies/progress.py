"""For how long a sitting at a study will go on."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable

_TAKEN = 0.3
"""A run that comes within this part of its CPU time was there before."""


class Progress:
    """The runs of a sitting, weighed by the work in them.

    A run of a case takes as much time for its work as the runs of the case that are finished; as those of all cases,
    if none of its own is. Runs that were there before tell how long others take, but took no time themselves.

    Parameters
    ----------
    work : iterable of (str, float)
        Case and work of every run that is to be made.
    workers : int
        Runs at a time.
    now : callable
        Time in seconds.

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
        """Count a run as made in so much CPU time; return the time that the others take, nothing after the last."""
        waited = self._now() - self._last
        self._last += waited
        if self._made or waited > _TAKEN * seconds / self._workers:
            self._made += 1
        if self._made > 1:  # the first one waited for the compiler
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
    """Return a time as a person says it.

    Examples
    --------
    >>> [shown_time(seconds) for seconds in (12.3, 90, 5400)]
    ['12 s', '2 min', '1.5 h']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
