"""How long a VL waits for its turn under an arbitration table, at most (``docs/vlarb_waits.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf
from typing import NamedTuple

from vlane.errors import InputError
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_WEIGHT, VL15, VLArbTable
from vlane.schedulers.vlarb_service import NO_BOUND, expiry_blocks, longest_wait_blocks, wait_after_exchange_blocks
from vlane.units import MAX_PACKET_BLOCKS


class Arrivals(NamedTuple):
    """Upper bound on the packets of a VL that arrive: in any time of t blocks at most burst + rate x t blocks.

    Parameters
    ----------
    rate : Fraction
        Share of a full link.
    burst : int
        Blocks.
    """

    rate: Fraction
    burst: int


def longest_wait(
    table: VLArbTable,
    vl: int,
    *,
    most: Mapping[int, int],
    least: Mapping[int, int] | None = None,
    arrivals: Mapping[int, Arrivals] | None = None,
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
    arrivals : mapping of int to Arrivals
        Upper bounds, by VL. They shorten the wait of a VL of the low list if all other VLs of the high list have one.

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
    sizes = _checked(vl, most, least)
    bound = _bound(longest_wait_blocks(vl, *table.columns(), *sizes))
    return min(bound, _wait_behind_arrivals(table, vl, *sizes, arrivals)) if arrivals else bound


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
    return _bound(wait_after_exchange_blocks(vl, *table.columns(), *_checked(vl, most, least)))


def _wait_behind_arrivals(
    table: VLArbTable, vl: int, most: list[int], least: list[int], arrivals: Mapping[int, Arrivals]
) -> float:
    """Return the longest wait of a VL of the low list while the high list sends no more than arrives.

    The blocks of High in a wait W are those that arrive in W, and those that wait as W begins. The latter are at most
    one burst and the arrivals of two low packets, if High is served faster than its packets arrive.
    """
    high_vl, high_weight, low_vl, low_weight, limit = table.columns()
    high = {each for each, weight in zip(high_vl, high_weight, strict=True) if weight and most[each]}
    if not high or vl in high or not high <= set(arrivals):
        return inf
    rate, burst = sum(arrivals[each].rate for each in high), sum(arrivals[each].burst for each in high)
    low_packet = max(most[each] for each, weight in zip(low_vl, low_weight, strict=True) if weight)
    served = Fraction(1)
    if limit != LIMIT_UNBOUNDED:
        turn = expiry_blocks(limit, max(most[each] for each in high), min(least[each] for each in high))
        served = Fraction(turn, turn + low_packet)
    if rate >= 1 or rate > served:
        return inf
    alone = longest_wait_blocks(vl, [], [], low_vl, low_weight, limit, most, least)
    return inf if alone == NO_BOUND else float((alone + burst + 2 * low_packet * rate) / (1 - rate))


def _checked(vl: int, most: Mapping[int, int], least: Mapping[int, int] | None) -> tuple[list[int], list[int]]:
    """Return the largest and the smallest packet by VL, 0 for VLs that do not send."""
    if vl not in most:
        raise InputError("vl", f"one that sends: {', '.join(map(str, sorted(most)))}", vl)
    largest, smallest = [0] * (VL15 + 1), [0] * (VL15 + 1)
    for each, blocks in most.items():
        largest[each], smallest[each] = blocks, (least or {}).get(each, 1)
        if not 1 <= smallest[each] <= blocks <= MAX_PACKET_BLOCKS:
            must, got = f"1 to {MAX_PACKET_BLOCKS}, least first", (smallest[each], blocks)
            raise InputError(f"blocks of VL {each}", must, got)
    return largest, smallest


def _bound(blocks: int) -> float:
    return inf if blocks == NO_BOUND else blocks


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
