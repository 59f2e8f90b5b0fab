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
"""Parts per weight unit of 64 bytes: a connection may need much less than one unit."""
_WHOLE = MAX_ENTRIES * MAX_WEIGHT * _PARTS
"""Total weight of a list, in parts; it represents the full link."""

Port = Hashable
"""Identifier of a sending port."""


class Admission:
    """Ports whose high lists are filled in by request.

    Parameters
    ----------
    budget : float or Fraction
        Largest share of a link for all connections, above 0, at most 1.
    fit : str
        Allocation policy, as in ``FillIn``.

    Raises
    ------
    InputError
        If the budget is out of range or the fit is unknown.

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
        """Admit a connection at every port of its path. Return its number, or ``None`` if a port rejects it.

        Parameters
        ----------
        path : sequence
            Sending ports, each once: the NIC's port, then the output port of every switch.
        vl : int
            VL of the connection at every port.
        distance : int
            Largest distance between entries, as in ``FillIn.admit``.
        load : float or Fraction
            Share of the link, headers included, above 0, at most 1.

        Raises
        ------
        InputError
            If the load or the distance is out of range, or the path is empty or names a port twice.
        """
        if not 0 < load <= 1:
            raise InputError("load", "above 0, up to 1", load)
        if not path or len(set(path)) < len(path):
            raise InputError("path", "a list of at least one port without repetitions", list(path))
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
        """Release a connection at every port of its path.

        Raises
        ------
        KeyError
            If the number is unknown.
        """
        weight, held = self._held.pop(number)
        for port, connection in held.items():
            self._lists[port].release(connection)
            self._taken[port] -= weight

    def reserved(self, port: Port) -> float:
        """Return the share of a port's link reserved for connections."""
        return self._taken.get(port, 0) / _WHOLE

    def ports(self) -> list[Port]:
        """Return the ports of all paths requested so far."""
        return list(self._lists)

    def table(self, port: Port, *, low: Iterable[int] = (), limit: int = LIMIT_UNBOUNDED) -> VLArbTable:
        """Return the arbitration table of a port: the filled-in high list, and one low entry for each VL of ``low``."""
        high = self._list(port).table()
        return VLArbTable(tuple(high), tuple(VLArbEntry(vl, MAX_WEIGHT) for vl in low), limit)

    def _list(self, port: Port) -> FillIn:
        if port not in self._lists:
            self._lists[port], self._taken[port] = FillIn(fit=self._fit, parts=_PARTS), 0
        return self._lists[port]


def path_deadline(hops: int, *, distance: int, blocks: int, flight: int, stages: int, cycles_per_block: int = 1) -> int:
    """Return the most cycles of a packet from its NIC to its destination, for a requested distance.

    The bound adds the longest wait and the transmission at every port of the path, for entries of any weight, to the
    latency of NIC, cables and switches without waiting (``docs/admission.md``).

    Parameters
    ----------
    hops : int
        Number of switches on the path.
    distance : int
        Distance requested by the connection.
    blocks : int
        Largest packet on any VL, in blocks of 64 bytes.
    flight : int
        Latency of a cable, in cycles.
    stages : int
        Latency of a switch from the first flit in to the first flit out, in cycles, without waiting.
    cycles_per_block : int
        Cycles in which a link carries 64 bytes.
    """
    wait = wait_of_distance(distance, largest=blocks)
    return 1 + flight + hops * (stages + flight) + (hops + 1) * (wait + blocks) * cycles_per_block
