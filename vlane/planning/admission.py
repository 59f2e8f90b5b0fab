"""Admission of connections along paths: entries at every port on the way, or nowhere (``docs/admission.md``)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import count

from vlane.errors import InputError
from vlane.planning.fill_in import FillIn
from vlane.planning.vlarb_waits import wait_of_distance
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, MAX_WEIGHT, VLArbEntry, VLArbTable

_PARTS = 1 << 20
"""Weights of connections are counted in parts of 64 bytes of this size: a connection may need much less than 64."""
_WHOLE = MAX_ENTRIES * MAX_WEIGHT * _PARTS
"""All weight that a list may have, which stands for all of a link."""

Port = Hashable
"""Whatever tells a sending port from all others."""


class Admission:
    """Ports whose high lists are filled in by request.

    Parameters
    ----------
    budget : float or Fraction
        Part of a link that connections may have together, above 0 up to 1.
    fit : str
        As of ``FillIn``.

    Raises
    ------
    InputError
        If the budget is out of range or there is no such fit.

    Examples
    --------
    >>> ports = Admission(budget=0.8)
    >>> ports.ask(("host 0", "switch 1"), vl=0, distance=32, load=0.5)
    0
    >>> ports.ask(("host 2", "switch 1"), vl=1, distance=2, load=0.4) is None  # 0.9 of the second port
    True
    >>> ports.reserved("host 0"), ports.reserved("switch 1")
    (0.5, 0.5)
    >>> ports.release(0)
    >>> ports.reserved("switch 1")
    0.0
    """

    def __init__(self, *, budget: float | Fraction = Fraction(4, 5), fit: str = "best") -> None:
        if not 0 < budget <= 1:
            raise InputError("budget", "above 0, up to 1", budget)
        self._budget, self._fit = int(Fraction(budget) * _WHOLE), fit
        self._lists: dict[Port, FillIn] = {}
        self._taken: dict[Port, int] = {}
        self._numbers = count()
        self._held: dict[int, tuple[int, dict[Port, int]]] = {}
        FillIn(fit=fit)

    def ask(self, path: Sequence[Port], *, vl: int, distance: int, load: float | Fraction) -> int | None:
        """Take a connection in at every port of its path and return its number; or at none, and return None.

        Parameters
        ----------
        path : sequence
            The ports that send its packets, each once: that of its NIC, then of every switch.
        vl : int
            Its VL, the same at every port.
        distance : int
            As of ``FillIn.admit``.
        load : float or Fraction
            Part of a link that its packets take with all headers, above 0 up to 1.

        Raises
        ------
        InputError
            If the load or the distance is out of range, or the path is empty or has a port twice.
        """
        if not 0 < load <= 1:
            raise InputError("load", "above 0, up to 1", load)
        if not path or len(set(path)) < len(path):
            raise InputError("path", "at least one port, each once", list(path))
        above, below = load.as_integer_ratio()
        weight = -(-above * _WHOLE // below)
        lists = [self._list(port) for port in path]
        if any(self._taken[port] + weight > self._budget for port in path):
            return None
        rooms = []
        for each in lists:
            room = each.room(vl=vl, distance=distance, weight=weight)
            if room is None:
                return None
            rooms.append(room)
        number, held = next(self._numbers), {}
        for port, each, room in zip(path, lists, rooms, strict=True):
            held[port] = each.take(room)
            self._taken[port] += weight
        self._held[number] = weight, held
        return number

    def release(self, number: int) -> None:
        """Let a connection go at every port of its path.

        Raises
        ------
        KeyError
            If there is no such connection.
        """
        weight, held = self._held.pop(number)
        for port, connection in held.items():
            self._lists[port].release(connection)
            self._taken[port] -= weight

    def reserved(self, port: Port) -> float:
        """Return the part of a port's link that its connections have together."""
        return self._taken.get(port, 0) / _WHOLE

    def ports(self) -> list[Port]:
        """Return the ports that were asked so far."""
        return list(self._lists)

    def table(self, port: Port, *, low: Iterable[int] = (), limit: int = LIMIT_UNBOUNDED) -> VLArbTable:
        """Return the table of a port: the high list as filled in, and a low list with an entry for each of some VLs."""
        high = self._list(port).table()
        return VLArbTable(tuple(high), tuple(VLArbEntry(vl, MAX_WEIGHT) for vl in low), limit)

    def _list(self, port: Port) -> FillIn:
        if port not in self._lists:
            self._lists[port], self._taken[port] = FillIn(fit=self._fit, parts=_PARTS), 0
        return self._lists[port]


def path_deadline(hops: int, *, distance: int, blocks: int, flight: int, stages: int, cycles_per_block: int = 1) -> int:
    """Return the cycles that a packet may take over a path, by the distance that its connection asked for.

    At every port of the path the longest wait of a list whose entries have any weight, and the packet itself; and what
    a packet takes without waiting through NIC, cables and switches (``docs/admission.md``).

    Parameters
    ----------
    hops : int
        Switches of the path.
    distance : int
        Asked for.
    blocks : int
        Of the largest packet on any VL, of 64 bytes.
    flight : int
        Cycles of a cable.
    stages : int
        Cycles of a switch from the first flit in to the first flit out, without waiting.
    cycles_per_block : int
        That a link carries 64 bytes in.
    """
    wait = wait_of_distance(distance, largest=blocks)
    return 1 + flight + hops * (stages + flight) + (hops + 1) * (wait + blocks) * cycles_per_block
