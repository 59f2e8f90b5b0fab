"""How long a VL waits for its turn under an arbitration table, at most (``docs/vlarb_waits.md``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from vlane.errors import InputError
from vlane.units import MAX_PACKET_BLOCKS
from vlane.vlarb import LIMIT_UNBOUNDED, MAX_WEIGHT, VLArbEntry, VLArbTable

__all__ = ["blocks_of_limit", "longest_wait", "wait_of_distance"]


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
    if vl not in most:
        raise InputError("vl", f"one that sends: {', '.join(map(str, sorted(most)))}", vl)
    smallest = {each: (least or {}).get(each, 1) for each in most}
    for each, blocks in most.items():
        if not 1 <= smallest[each] <= blocks <= MAX_PACKET_BLOCKS:
            raise InputError(f"blocks of VL {each}", f"1 to {MAX_PACKET_BLOCKS}, least first", (smallest[each], blocks))
    high, low = (
        [entry for entry in entries if entry.weight and entry.vl in most] for entries in (table.high, table.low)
    )
    others_high = [most[entry.vl] for entry in high if entry.vl != vl]
    others_low = [most[entry.vl] for entry in low if entry.vl != vl]
    load = blocks_of_limit(table.limit_of_high_priority)
    waits = [inf]
    if any(entry.vl == vl for entry in high):
        gap = max(sum(entry.weight - 1 + most[entry.vl] for entry in each) for each in _gaps(high, vl))
        if not others_low:
            waits.append(most[vl] + gap)
        elif table.limit_of_high_priority == LIMIT_UNBOUNDED:
            waits.append(max(most[vl], *others_low) + gap)
        else:
            waits.append(most[vl] + gap + (1 + (most[vl] + gap) // load) * max(others_low))
    if any(entry.vl == vl for entry in low) and not (others_high and table.limit_of_high_priority == LIMIT_UNBOUNDED):
        burst = load - 1 + max(others_high) if others_high else 0
        waits += [
            max(
                most[vl] + sum(entry.weight - 1 + most[entry.vl] for entry in each)
                + burst * (1 + sum(-(-entry.weight // smallest[entry.vl]) for entry in each))
                for each in _gaps(low, vl)
            )
        ]  # fmt: skip
    return min(waits)


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
