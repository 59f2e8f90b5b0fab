"""Pairs whose packets do not arrive, and why: all are counted, a limited number is listed."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from vlane.fabric.model import Fabric
from vlane.fabric.wiring import Ints, Wiring

LISTED = 100_000
"""Largest number of pairs that are listed; a large fabric has millions."""


class Unreachable(NamedTuple):
    """A pair whose packets do not arrive.

    Parameters
    ----------
    slid, dlid : int
        The pair.
    reason : str
        Where and why the packets stop.
    """

    slid: int
    dlid: int
    reason: str


class Why(IntEnum):
    """Reasons for which packets stop; encoded with a port or node and a detail of 16 bits in one number."""

    DROPPED = 1
    NO_CABLE = 2
    DELIVERED = 3
    RING = 4
    NO_ENTRY = 5
    NO_PORT = 6

    def at(self, place: Ints, detail: Ints | int = 0) -> Ints:
        """Return the number of the reason at a port, or at a node for the last two."""
        return (np.int64(self) << 48) | (place << 16) | detail


class Lost:
    """Pairs that do not arrive.

    Parameters
    ----------
    fabric : Fabric
        For names.
    wiring : Wiring
        For what the places of reasons are.

    Attributes
    ----------
    count : int
        All of them.
    """

    def __init__(self, fabric: Fabric, wiring: Wiring) -> None:
        self._fabric, self._wiring = fabric, wiring
        self.count = 0
        self._named: list[tuple[int, int, int]] = []
        self._reasons: dict[int, tuple[int, tuple[int, int]]] = {}

    def add(self, slids: Ints, dlids: Ints, why: Ints) -> None:
        """Record the pairs whose reason is not 0."""
        mine = np.flatnonzero(why)
        self.count += len(mine)
        order = mine[np.lexsort((dlids[mine], slids[mine], why[mine]))]
        reasons, first, counts = np.unique(why[order], return_index=True, return_counts=True)
        for reason, at, count in zip(reasons.tolist(), order[first].tolist(), counts.tolist(), strict=True):
            before, least = self._reasons.get(reason, (0, (1 << 16, 0)))
            self._reasons[reason] = before + count, min(least, (int(slids[at]), int(dlids[at])))
        listed = mine[: max(0, LISTED - len(self._named))]
        self._named += zip(slids[listed].tolist(), dlids[listed].tolist(), why[listed].tolist(), strict=True)

    def named(self) -> list[Unreachable]:
        """Return the pairs by source and destination; of more than ``LISTED``, those of the first destinations."""
        texts = {reason: self._text(reason) for reason in {why for _, _, why in self._named}}
        return [Unreachable(slid, dlid, texts[why]) for slid, dlid, why in sorted(self._named)]

    def by_reason(self) -> list[tuple[str, int, tuple[int, int]]]:
        """Return every reason with its pairs and the first of them; a switch that lacks several LIDs is one."""
        groups: dict[int, list[tuple[tuple[int, int], int, int]]] = {}
        for reason, (count, least) in self._reasons.items():
            key = reason >> 16 << 16 if reason >> 48 == Why.NO_ENTRY else reason
            groups.setdefault(key, []).append((least, count, reason))
        found = []
        for same in groups.values():
            least, _, reason = min(same)
            more = f" and {len(same) - 1} more LIDs" if len(same) > 1 else ""
            found.append((self._text(reason) + more, sum(count for _, count, _ in same), least))
        return sorted(found, key=lambda each: each[2])

    def _text(self, reason: int) -> str:
        why, place, detail = Why(reason >> 48), reason >> 16 & 0xFFFFFFFF, reason & 0xFFFF
        if why in (Why.NO_ENTRY, Why.NO_PORT):
            node = self._wiring.nodes[place]
            if why is Why.NO_ENTRY:
                return f"{node.name or hex(node.guid)} has no entry for LID {detail}"
            return f"{node.name or hex(node.guid)} port {detail} has no cable"
        where = self._fabric.show(self._wiring.port(place))
        return {
            Why.DROPPED: f"{where} drops SL {detail}: its VL is 15",
            Why.NO_CABLE: f"{where} has no cable",
            Why.DELIVERED: f"delivered to {where}",
        }.get(why, f"goes round for ever through {where}")
