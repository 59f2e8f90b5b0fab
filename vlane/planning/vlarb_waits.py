"""How long a VL waits for its turn under an arbitration table, at most (``docs/vlarb_waits.md``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import inf

from vlane.errors import InputError
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_WEIGHT, VLArbEntry, VLArbTable
from vlane.units import MAX_PACKET_BLOCKS


def blocks_of_limit(limit: int) -> int:
    """Return the blocks of the high list that a LimitOfHighPriority below 255 allows before the low list (VLA-8)."""
    return max(1, 64 * limit)


def longest_wait(
    table: VLArbTable, vl: int, *, most: Mapping[int, int], least: Mapping[int, int] | None = None
) -> float:
    """Return the most blocks that pass on the link from when a packet is first of its VL until it starts.

    The link is not stalled, the far end has room for the packet all the while, and no VL15 or flow-control packets are
    sent.

    Parameters
    ----------
    table : VLArbTable
        Lists and limit.
    vl : int
        Of the packet.
    most, least : mapping of int to int
        Blocks of the largest and of the smallest packet of each VL that sends; of least 1 unless given. Entries of
        other VLs are never served.

    Returns
    -------
    float
        Infinite if it may wait for ever.

    Raises
    ------
    InputError
        If the VL does not send, or a size is out of range.

    Examples
    --------
    >>> table = VLArbTable((VLArbEntry(0, 4), VLArbEntry(1, 8)), (VLArbEntry(2, 1),), 255)
    >>> longest_wait(table, 0, most={0: 2, 1: 3})
    12
    >>> longest_wait(table, 2, most={0: 2, 1: 3, 2: 1})
    inf
    """
    sent = _Sent.of(vl, most, least)
    high, low = sent.listed(table.high), sent.listed(table.low)
    waits = [inf]
    if any(entry.vl == vl for entry in high):
        gap = max(sent.turns(each) for each in _gaps(high, vl))
        between = max(sent.others(low), default=0)
        if table.limit_of_high_priority == LIMIT_UNBOUNDED:
            waits.append(max(most[vl], between) + gap)
        else:
            ahead = most[vl] + gap
            waits.append(ahead + (1 + ahead // blocks_of_limit(table.limit_of_high_priority)) * between)
    if any(entry.vl == vl for entry in low):
        waits.append(max(most[vl] + sent.in_low(table, each, sent.others(high)) for each in _gaps(low, vl)))
    return min(waits)


def wait_after_exchange(
    table: VLArbTable, vl: int, *, most: Mapping[int, int], least: Mapping[int, int] | None = None
) -> float:
    """Return the most blocks that pass, once a table is the active one, until a packet that waits already starts.

    From the end of the packet that was chosen in the cycle of the exchange, which the table before it still chose; the
    arguments and the link are those of ``longest_wait``. A packet that waits while tables are exchanged waits at most
    its longest wait under the table that it found, and this of each table that comes after it.

    Returns
    -------
    float
        Infinite if it may wait for ever.

    Raises
    ------
    InputError
        If the VL does not send, or a size is out of range.

    Examples
    --------
    >>> table = VLArbTable((VLArbEntry(1, 8), VLArbEntry(0, 4)), (VLArbEntry(2, 1),), 255)
    >>> wait_after_exchange(table, 0, most={0: 2, 1: 3}), wait_after_exchange(table, 1, most={0: 2, 1: 3})
    (10, 0)
    """
    sent = _Sent.of(vl, most, least)
    high, low = sent.listed(table.high), sent.listed(table.low)
    waits = [inf]
    if any(entry.vl == vl for entry in high):
        ahead = sent.turns(_before(high, vl))
        is_counted = table.limit_of_high_priority != LIMIT_UNBOUNDED
        turns_of_low = ahead // blocks_of_limit(table.limit_of_high_priority) if is_counted else 0
        waits.append(ahead + turns_of_low * max(sent.others(low), default=0))
    if any(entry.vl == vl for entry in low):
        waits.append(sent.in_low(table, _before(low, vl), sent.others(high)))
    return min(waits)


@dataclass(frozen=True)
class _Sent:
    """What is sent while a packet of a VL waits: blocks of the largest and smallest packet of each VL that sends."""

    vl: int
    most: Mapping[int, int]
    least: Mapping[int, int]

    @classmethod
    def of(cls, vl: int, most: Mapping[int, int], least: Mapping[int, int] | None) -> _Sent:
        """Check the VL and the sizes."""
        if vl not in most:
            raise InputError("vl", f"one that sends: {', '.join(map(str, sorted(most)))}", vl)
        made = cls(vl, most, {each: (least or {}).get(each, 1) for each in most})
        for each, blocks in most.items():
            if not 1 <= made.least[each] <= blocks <= MAX_PACKET_BLOCKS:
                must, got = f"1 to {MAX_PACKET_BLOCKS}, least first", (made.least[each], blocks)
                raise InputError(f"blocks of VL {each}", must, got)
        return made

    def listed(self, entries: Sequence[VLArbEntry]) -> list[VLArbEntry]:
        """Return the entries that may be served."""
        return [entry for entry in entries if entry.weight and entry.vl in self.most]

    def others(self, entries: Sequence[VLArbEntry]) -> list[int]:
        """Return the largest packets of the other VLs of a list."""
        return [self.most[entry.vl] for entry in entries if entry.vl != self.vl]

    def turns(self, entries: Sequence[VLArbEntry]) -> int:
        """Return the most blocks of one turn of each of these entries (VLA-2)."""
        return sum(entry.weight - 1 + self.most[entry.vl] for entry in entries)

    def in_low(self, table: VLArbTable, entries: Sequence[VLArbEntry], others_high: Sequence[int]) -> float:
        """Return the most blocks of one turn of each of these low entries, and of High before each of their packets."""
        if others_high and table.limit_of_high_priority == LIMIT_UNBOUNDED:
            return inf
        burst = blocks_of_limit(table.limit_of_high_priority) - 1 + max(others_high) if others_high else 0
        packets = sum(-(-entry.weight // self.least[entry.vl]) for entry in entries)
        return self.turns(entries) + burst * (1 + packets)


def _before(entries: Sequence[VLArbEntry], vl: int) -> list[VLArbEntry]:
    """Return the entries before the first one of a VL."""
    return list(takewhile(lambda entry: entry.vl != vl, entries))


def _gaps(entries: Sequence[VLArbEntry], vl: int) -> list[list[VLArbEntry]]:
    """Return the entries between each entry of a VL and its next, around the list."""
    places = [place for place, entry in enumerate(entries) if entry.vl == vl]
    ends = [*places[1:], places[0] + len(entries)]
    around = [*entries, *entries]
    return [around[start + 1 : end] for start, end in zip(places, ends, strict=True)]


def wait_of_distance(distance: int, *, largest: int, weight: int = MAX_WEIGHT) -> int:
    """Return the longest wait, in blocks, of a VL whose entries of the high list are at most so far apart.

    It holds whatever the other entries are, with limit 255: one packet is on the link, and each entry between two of
    the VL's has its longest turn. Of a distance the power of two that is not greater counts, as in fill-in.

    Parameters
    ----------
    distance : int
        Entries from one entry of the VL to its next, at most.
    largest : int
        Blocks of the largest packet of any VL.
    weight : int
        Most weight of an entry.

    Examples
    --------
    >>> wait_of_distance(2, largest=64), wait_of_distance(7, largest=4)
    (382, 778)
    """
    between = (1 << distance.bit_length() - 1) - 1
    return largest + between * (weight - 1 + largest)
