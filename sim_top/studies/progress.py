"""For how long a sitting at a study will go on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

__all__ = ["Progress", "shown_time"]


class Progress:
    """The runs of a sitting, weighed by the work in them.

    A run of a case takes as much time for its work as the runs of the case that are finished; as those of all cases,
    if none of its own is.

    Parameters
    ----------
    work : iterable of (str, float)
        Case and work of every run that is to be made.
    workers : int
        Runs at a time.

    Examples
    --------
    >>> progress = Progress([("tree", 1.0), ("tree", 2.0), ("torus", 4.0)], workers=2)
    >>> progress.made("tree", 1.0, seconds=30.0)
    '2 min'
    >>> progress.made("torus", 4.0, seconds=500.0)
    '30 s'
    >>> progress.made("tree", 2.0, seconds=60.0)
    ''
    """

    def __init__(self, work: Iterable[tuple[str, float]], *, workers: int) -> None:
        self._workers = workers
        self._left: dict[str, float] = defaultdict(float)
        self._done: dict[str, float] = defaultdict(float)
        self._seconds: dict[str, float] = defaultdict(float)
        self._runs = 0
        for case, weight in work:
            self._left[case] += weight
            self._runs += 1

    def made(self, case: str, work: float, *, seconds: float) -> str:
        """Count a run as made in so much CPU time; return the time that the others take, nothing after the last."""
        self._left[case] -= work
        self._done[case] += work
        self._seconds[case] += seconds
        self._runs -= 1
        if not self._runs:
            return ""
        whole = sum(self._seconds.values()) / sum(self._done.values())
        left = (
            weight * (self._seconds[name] / self._done[name] if self._done[name] else whole)
            for name, weight in self._left.items()
        )
        return shown_time(sum(left) / self._workers)


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
