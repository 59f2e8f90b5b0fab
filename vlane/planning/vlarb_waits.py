"""Upper bounds on the wait of a VL under an arbitration table (``docs/vlarb_waits.md``)."""

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
    """Upper bound on the arrivals of a VL: at most burst + rate x t blocks in any interval of t blocks.

    Parameters
    ----------
    rate : Fraction
        Sustained rate, as a share of a full link.
    burst : int
        Burst, in blocks of 64 bytes.
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
    """Return the longest wait of a packet at the head of its VL, in blocks sent before its first one.

    The bound assumes a link without stalls, free buffer space for the packet at the far end, and no VL15 or
    flow-control packets.

    Parameters
    ----------
    table : VLArbTable
        Lists and limit.
    vl : int
        VL of the packet.
    most, least : mapping of int to int
        Largest and smallest packet of each sending VL, in blocks; the smallest is 1 by default. Entries of VLs without
        a size are never served.
    arrivals : mapping of int to Arrivals
        Upper bounds on arrivals, by VL. They shorten the wait of a VL in the low list if every VL of the high list has
        a bound.

    Returns
    -------
    float
        Blocks; infinite if there is no bound.

    Raises
    ------
    InputError
        If the VL does not send, or a size is out of range.

    Examples
    --------
    >>> from vlane.schedulers.vlarb import VLArbEntry
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
    """Return the longest wait of a packet, in blocks, after a new table becomes active.

    The wait begins at the end of the last packet chosen by the previous table. Arguments and assumptions are the same
    as in ``longest_wait``. If tables are exchanged during a wait, add this bound for each new table to the longest wait
    under the first table.

    Returns
    -------
    float
        Blocks; infinite if there is no bound.

    Raises
    ------
    InputError
        If the VL does not send, or a size is out of range.

    Examples
    --------
    >>> from vlane.schedulers.vlarb import VLArbEntry
    >>> table = VLArbTable((VLArbEntry(1, 8), VLArbEntry(0, 4)), (VLArbEntry(2, 1),), 255)
    >>> wait_after_exchange(table, 0, most={0: 2, 1: 3}), wait_after_exchange(table, 1, most={0: 2, 1: 3})
    (10, 0)
    """
    return _bound(wait_after_exchange_blocks(vl, *table.columns(), *_checked(vl, most, least)))


def _wait_behind_arrivals(
    table: VLArbTable, vl: int, most: list[int], least: list[int], arrivals: Mapping[int, Arrivals]
) -> float:
    """Return the longest wait of a VL in the low list, with bounded arrivals in the high list.

    During a wait W, High sends its arrivals of W and its backlog at the start of W. If High is served faster than its
    packets arrive, the backlog is at most one burst and the arrivals during two low packets.
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
    """Return the largest and the smallest packet by VL, or 0 for a VL without packets."""
    if vl not in most:
        raise InputError("vl", f"a VL with packet sizes ({', '.join(map(str, sorted(most)))})", vl)
    largest, smallest = [0] * (VL15 + 1), [0] * (VL15 + 1)
    for each, blocks in most.items():
        largest[each], smallest[each] = blocks, (least or {}).get(each, 1)
        if not 1 <= smallest[each] <= blocks <= MAX_PACKET_BLOCKS:
            must, got = f"1 to {MAX_PACKET_BLOCKS}, the smallest first", (smallest[each], blocks)
            raise InputError(f"blocks of VL {each}", must, got)
    return largest, smallest


def _bound(blocks: int) -> float:
    return inf if blocks == NO_BOUND else blocks


def wait_of_distance(distance: int, *, largest: int, weight: int = MAX_WEIGHT) -> int:
    """Return the longest wait, in blocks, of a VL with this distance between its high entries.

    The bound holds for any other entries under limit 255: one packet occupies the link, and each entry between two
    entries of the VL takes its longest turn. The distance is rounded down to a power of two, as in fill-in.

    Parameters
    ----------
    distance : int
        Largest number of list places from one entry of the VL to the next.
    largest : int
        Largest packet of any VL, in blocks.
    weight : int
        Largest weight of an entry.

    Examples
    --------
    >>> wait_of_distance(2, largest=64), wait_of_distance(7, largest=4)
    (382, 778)
    """
    between = (1 << distance.bit_length() - 1) - 1
    return largest + between * (weight - 1 + largest)
