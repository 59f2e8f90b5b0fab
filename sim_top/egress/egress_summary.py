"""What each lane of an output port got: its share while every lane had something to send, and its waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Departure(NamedTuple):
    """A packet that left.

    Parameters
    ----------
    cycle : int
        Of its first flit.
    vl, bytes : int
        The packet.
    list : str
        ``high``, ``low``, ``vl15`` or ``none``.
    """

    cycle: int
    vl: int
    bytes: int
    list: str


class Window(NamedTuple):
    """A stretch of cycles in which, whenever the link was free, a packet of every named data lane was waiting.

    Parameters
    ----------
    first_cycle, last_cycle : int
        The first and the last of those in which the link was free.
    first, end : int
        The departures that started in it: from ``first`` up to, not with, ``end``.
    """

    first_cycle: int
    last_cycle: int
    first: int
    end: int


class LaneSummary(NamedTuple):
    """What a lane got.

    Parameters
    ----------
    vl, packets, bytes : int
        Lane, packets and bytes that left.
    share : float
        Of the bytes that left in the window, or of all if there is no window.
    window_packets, window_bytes : int
        Packets and bytes that the share counts.
    mean_wait_cycles : float
        From arrival to the first flit.
    p50_wait_cycles, p99_wait_cycles, max_wait_cycles : int
        The waits that half of the packets, 99 of 100 and all of them did not exceed.
    left_behind : int
        Packets that never left: no entry serves them, or no credit came.
    """

    vl: int
    packets: int
    bytes: int
    share: float
    window_packets: int
    window_bytes: int
    mean_wait_cycles: float
    p50_wait_cycles: int
    p99_wait_cycles: int
    max_wait_cycles: int
    left_behind: int


class WindowFinder:
    """Finds the window in which most bytes left, cycle by cycle in which the link is free.

    Parameters
    ----------
    departures : list of Departure
        Filled as the run goes on.
    """

    def __init__(self, departures: list[Departure]) -> None:
        self._departures = departures
        self._open: Window | None = None
        self._best: Window | None = None
        self._bytes = 0

    def look(self, cycle: int, *, backlogged: bool) -> None:
        """Take a cycle in which the link is free, before its packet starts."""
        if not backlogged:
            self._close()
        elif self._open is None:
            self._open = Window(cycle, cycle, len(self._departures), 0)
        else:
            self._open = self._open._replace(last_cycle=cycle)

    def found(self) -> Window | None:
        """Return the window at the end of the run; ``None`` if in none a packet left."""
        self._close()
        return self._best

    def _close(self) -> None:
        if self._open is not None:
            window = self._open._replace(end=len(self._departures))
            left = sum(each.bytes for each in self._departures[window.first : window.end])
            if left > self._bytes:
                self._best, self._bytes = window, left
            self._open = None


def summaries(
    departures: Sequence[Departure], waits: dict[int, list[int]], behind: dict[int, int], window: Window | None
) -> list[LaneSummary]:
    """Return the summary of every lane that ``behind`` names with its packets that never left.

    ``waits`` are of the packets that left, by lane.
    """
    counted = departures[window.first : window.end] if window else departures
    whole = sum(each.bytes for each in counted)
    made = []
    for vl, left in behind.items():
        waited = sorted(waits.get(vl, []))
        sizes, shared = ([each.bytes for each in some if each.vl == vl] for some in (departures, counted))
        made.append(
            LaneSummary(
                vl,
                len(sizes),
                sum(sizes),
                sum(shared) / whole if whole else 0.0,
                len(shared),
                sum(shared),
                sum(waited) / len(waited) if waited else 0.0,
                _rank(waited, 50),
                _rank(waited, 99),
                _rank(waited, 100),
                left,
            )
        )
    return made


def _rank(ordered: list[int], percent: int) -> int:
    """Return the least value that so many per cent of the values do not exceed; 0 of none."""
    return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else 0
