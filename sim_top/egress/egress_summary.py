"""Summary of each lane of an output port: share while every lane is backlogged, and waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Departure(NamedTuple):
    """Departed packet.

    Parameters
    ----------
    cycle : int
        Cycle of the first flit.
    vl, bytes : int
        Lane and size of the packet.
    list : str
        List that granted the packet: ``high``, ``low``, ``vl15`` or ``none``.
    """

    cycle: int
    vl: int
    bytes: int
    list: str


class Window(NamedTuple):
    """Interval in which every data lane with arrivals had a packet waiting whenever the link was free.

    Parameters
    ----------
    first_cycle, last_cycle : int
        First and last cycle with a free link.
    first, end : int
        Range of departures in the window: from ``first`` up to but excluding ``end``.
    """

    first_cycle: int
    last_cycle: int
    first: int
    end: int


class LaneSummary(NamedTuple):
    """Summary of a lane.

    Parameters
    ----------
    vl, packets, bytes : int
        Lane, packets and bytes sent.
    share : float
        Fraction of the bytes sent in the window, or in the whole run without a window.
    window_packets, window_bytes : int
        Packets and bytes counted in the share.
    mean_wait_cycles : float
        Mean wait from arrival to first flit.
    p50_wait_cycles, p99_wait_cycles, max_wait_cycles : int
        Waits not exceeded by 50, 99 and 100 per cent of the packets.
    left_behind : int
        Packets never sent, because no entry serves them or no credit came.
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
    """Search for the window in which most bytes were sent.

    Parameters
    ----------
    departures : list of Departure
        Departures of the run, appended while it proceeds.
    """

    def __init__(self, departures: list[Departure]) -> None:
        self._departures = departures
        self._open: Window | None = None
        self._best: Window | None = None
        self._bytes = 0

    def look(self, cycle: int, *, backlogged: bool) -> None:
        """Record a cycle with a free link, before its packet starts."""
        if not backlogged:
            self._close()
        elif self._open is None:
            self._open = Window(cycle, cycle, len(self._departures), 0)
        else:
            self._open = self._open._replace(last_cycle=cycle)

    def found(self) -> Window | None:
        """Return the window at the end of the run, or ``None`` if no window has departures."""
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
    """Return the summary of every lane in ``behind``, the number of unsent packets by lane.

    ``waits`` are the waits of the sent packets by lane.
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
    """Return the smallest value not exceeded by ``percent`` per cent of the values, or 0 without values."""
    return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else 0
