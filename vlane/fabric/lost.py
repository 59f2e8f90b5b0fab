"""Unreachable pairs and the reasons: all pairs are counted, a limited number is listed."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from vlane.fabric.model import Fabric, Port
from vlane.fabric.wiring import Ints, Wiring

LISTED = 100_000
"""Largest number of listed pairs; a large fabric has millions of pairs."""


class Unreachable(NamedTuple):
    """An unreachable pair.

    Parameters
    ----------
    slid, dlid : int
        Source LID and destination LID.
    reason : str
        Place and cause of the loss.
    """

    slid: int
    dlid: int
    reason: str


class Why(IntEnum):
    """Reasons for loss, encoded in one number with a port or node and a 16-bit detail."""

    DROPPED = 1
    NO_CABLE = 2
    DELIVERED = 3
    RING = 4
    NO_ENTRY = 5
    NO_PORT = 6
    UNKNOWN = 7
    """The switch has no captured forwarding table, so the fate of the packets is unknown."""

    def at(self, place: Ints, detail: Ints | int = 0) -> Ints:
        """Encode the reason with a port, or with a node for ``NO_ENTRY``, ``NO_PORT`` and ``UNKNOWN``."""
        return (np.int64(self) << 48) | (place << 16) | detail


class Lost:
    """Record of unreachable pairs.

    Parameters
    ----------
    fabric : Fabric
        Fabric with the names of nodes.
    wiring : Wiring
        Numbering of nodes and ports.

    Attributes
    ----------
    count : int
        Number of unreachable pairs.
    unknown : int
        Number of pairs with a path to a switch without a captured forwarding table.
    """

    def __init__(self, fabric: Fabric, wiring: Wiring) -> None:
        self._fabric, self._wiring = fabric, wiring
        self.count = self.unknown = 0
        self._named: list[tuple[int, int, int]] = []
        self._reasons: dict[int, tuple[int, tuple[int, int]]] = {}

    def add(self, slids: Ints, dlids: Ints, why: Ints) -> None:
        """Record the pairs whose reason is not 0."""
        unknown = why >> 48 == Why.UNKNOWN
        self.unknown += int(unknown.sum())
        mine = np.flatnonzero((why != 0) & ~unknown)
        self.count += len(mine)
        order = mine[np.lexsort((dlids[mine], slids[mine], why[mine]))]
        reasons, first, counts = np.unique(why[order], return_index=True, return_counts=True)
        for reason, at, count in zip(reasons.tolist(), order[first].tolist(), counts.tolist(), strict=True):
            before, least = self._reasons.get(reason, (0, (1 << 16, 0)))
            self._reasons[reason] = before + count, min(least, (int(slids[at]), int(dlids[at])))
        listed = mine[: max(0, LISTED - len(self._named))]
        self._named += zip(slids[listed].tolist(), dlids[listed].tolist(), why[listed].tolist(), strict=True)

    def has(self, why: Why) -> bool:
        """Return whether packets of a pair were lost for this reason."""
        return any(reason >> 48 == why for reason in self._reasons)

    def named(self) -> list[Unreachable]:
        """Return the pairs by source and destination, at most ``LISTED``, those of the first destinations."""
        texts = {reason: self._text(reason) for reason in {why for _, _, why in self._named}}
        return [Unreachable(slid, dlid, texts[why]) for slid, dlid, why in sorted(self._named)]

    def by_reason(self) -> list[tuple[str, Port, int, tuple[int, int]]]:
        """Return every reason with the port of the loss, the number of pairs and the first pair.

        All missing LIDs of one switch are one reason, at port 0.
        """
        groups: dict[int, list[tuple[tuple[int, int], int, int]]] = {}
        for reason, (count, least) in self._reasons.items():
            key = reason >> 16 << 16 if reason >> 48 == Why.NO_ENTRY else reason
            groups.setdefault(key, []).append((least, count, reason))
        found = []
        for same in groups.values():
            least, _, reason = min(same)
            more = f" and {len(same) - 1} more LIDs" if len(same) > 1 else ""
            found.append((self._text(reason) + more, self._port(reason), sum(count for _, count, _ in same), least))
        return sorted(found, key=lambda each: each[3])

    def _port(self, reason: int) -> Port:
        why, place, detail = Why(reason >> 48), reason >> 16 & 0xFFFFFFFF, reason & 0xFFFF
        if why in (Why.NO_ENTRY, Why.NO_PORT):
            return Port(self._wiring.nodes[place].guid, detail if why is Why.NO_PORT else 0)
        return self._wiring.port(place)

    def _text(self, reason: int) -> str:
        why, place, detail = Why(reason >> 48), reason >> 16 & 0xFFFFFFFF, reason & 0xFFFF
        if why in (Why.NO_ENTRY, Why.NO_PORT):
            node = self._wiring.nodes[place]
            if why is Why.NO_ENTRY:
                return f"{self._fabric.show_node(node)} has no entry for LID {detail}"
            return f"{self._fabric.show_node(node)} port {detail} has no cable"
        where = self._fabric.show(self._wiring.port(place))
        return {
            Why.DROPPED: f"{where} drops SL {detail}: its VL is 15",
            Why.NO_CABLE: f"{where} has no cable",
            Why.DELIVERED: f"delivered to {where}",
        }.get(why, f"circulates forever through {where}")
