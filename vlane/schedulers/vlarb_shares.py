"""Shares of an arbitration list whose weights are rounded up to whole packets (decision VLA-2).

All functions but ``lane_shares`` and ``nearest_list`` use the compiler's subset of Python (``docs/compiler.md``).
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import NamedTuple

from vlane.schedulers.vlarb import MAX_ENTRIES, MAX_WEIGHT, VL15, VLArbEntry

_LANES = VL15 + 1
_OFF = 10
"""Tolerated relative deviation of a lane's share, as a divisor; with whole packets, small ones are unavoidable."""


class LaneShare(NamedTuple):
    """Share of a lane in its list while all lanes of the list are backlogged.

    Parameters
    ----------
    vl : int
        Lane.
    meant, given : float
        The lane's share of the weights, and its share of the blocks sent.
    """

    vl: int
    meant: float
    given: float


class NearestList(NamedTuple):
    """List with one entry for each lane, and weights whose shares are closest to the intended shares.

    Parameters
    ----------
    entries : tuple of VLArbEntry
        Entries whose weights are whole packets.
    shares : tuple of LaneShare
        Intended and actual shares of these entries.
    exact : bool
        Whether all actual shares equal the intended shares.
    """

    entries: tuple[VLArbEntry, ...]
    shares: tuple[LaneShare, ...]
    exact: bool


class ShareTable(NamedTuple):
    """Entries of a list that serve a lane, and sums by lane.

    Parameters
    ----------
    vl, weight : sequence of int, (64,)
        VL and weight of each entry.
    packets : sequence of int, (64,)
        Packets that each entry sends in its turn.
    nearest : sequence of int, (64,)
        Packets of each entry in the nearest list.
    meant : sequence of int, (16,)
        Sum of the weights of each lane.
    given : sequence of int, (16,)
        Packets of each lane.
    near : sequence of int, (16,)
        Packets of each lane in the nearest list.
    """

    vl: MutableSequence[int]
    weight: MutableSequence[int]
    packets: MutableSequence[int]
    nearest: MutableSequence[int]
    meant: MutableSequence[int]
    given: MutableSequence[int]
    near: MutableSequence[int]


def new_share_table(make: Callable[[int], MutableSequence[int]]) -> ShareTable:
    """Return an empty table. ``make`` returns a sequence of zeros of a given length."""
    return ShareTable(
        vl=make(MAX_ENTRIES),
        weight=make(MAX_ENTRIES),
        packets=make(MAX_ENTRIES),
        nearest=make(MAX_ENTRIES),
        meant=make(_LANES),
        given=make(_LANES),
        near=make(_LANES),
    )


def packets_of(weight: int, blocks: int) -> int:
    """Return the number of packets of ``blocks`` blocks in a turn of an entry. The last packet may overshoot.

    Examples
    --------
    >>> packets_of(32, 33), packets_of(34, 33), packets_of(0, 33)
    (1, 2, 0)
    """
    return -(-weight // blocks)


def fill_shares(table: ShareTable, vls: Sequence[int], weights: Sequence[int], data_vls: int, blocks: int) -> int:
    """Fill a table with the weighted entries of existing lanes, and return their number."""
    count = 0
    for entry in range(len(vls)):
        if weights[entry] > 0 and vls[entry] < data_vls:
            table.vl[count], table.weight[count] = vls[entry], weights[entry]
            table.packets[count] = packets_of(weights[entry], blocks)
            count += 1
    _sum_lanes(table, count, table.weight, table.meant)
    _sum_lanes(table, count, table.packets, table.given)
    return count


def _sum_lanes(table: ShareTable, count: int, values: Sequence[int], sums: MutableSequence[int]) -> None:
    for lane in range(len(sums)):
        sums[lane] = 0
    for entry in range(count):
        sums[table.vl[entry]] += values[entry]


def total(sums: Sequence[int]) -> int:
    """Return the sum of all lanes."""
    found = 0
    for lane in range(len(sums)):
        found += sums[lane]
    return found


def is_off(table: ShareTable) -> bool:
    """Return whether the share of any lane differs from the share of its weights by more than a tenth."""
    meant, given, off = total(table.meant), total(table.given), False
    for lane in range(len(table.meant)):
        wanted = table.meant[lane] * given
        off = off or _OFF * abs(table.given[lane] * meant - wanted) > wanted
    return off


def is_first(table: ShareTable, entry: int) -> bool:
    """Return whether an entry is the first one of its lane."""
    first = True
    for before in range(entry):
        first = first and table.vl[before] != table.vl[entry]
    return first


def same_shares(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether two sums by lane have equal shares."""
    first, second, same = total(one), total(other), True
    for lane in range(len(one)):
        same = same and one[lane] * second == other[lane] * first
    return same


def find_nearest(table: ShareTable, count: int, most: int) -> bool:
    """Fill ``nearest`` and ``near`` with at most ``most`` packets for each entry. Return whether the shares are exact.

    The search tries every multiple of the weights at which some entry has a whole number of packets, and rounds the
    packets of all other entries. Ties go to the smallest total, then to the smallest multiple.
    """
    common, largest = 0, 0
    for entry in range(count):
        common = _common_divisor(table.weight[entry], common)
        largest = max(largest, table.weight[entry])
    exact = largest <= most * common
    if exact:
        for entry in range(count):
            table.nearest[entry] = table.weight[entry] // common
    else:
        weight, packets, best_missed, best_total = 0, 0, 0, 0
        for entry in range(count):
            if _is_first_weight(table, entry):
                for number in range(1, most + 1):
                    missed, whole = _try_multiple(table, count, most, table.weight[entry], number)
                    less = missed * best_total - best_missed * whole
                    smaller = number * weight - packets * table.weight[entry]
                    if (
                        best_total == 0
                        or less < 0
                        or (less == 0 and (whole < best_total or (whole == best_total and smaller < 0)))
                    ):
                        weight, packets, best_missed, best_total = table.weight[entry], number, missed, whole
        _try_multiple(table, count, most, weight, packets)
    _sum_lanes(table, count, table.nearest, table.near)
    return exact


def _is_first_weight(table: ShareTable, entry: int) -> bool:
    first = True
    for before in range(entry):
        first = first and table.weight[before] != table.weight[entry]
    return first


def _try_multiple(table: ShareTable, count: int, most: int, weight: int, number: int) -> tuple[int, int]:
    """Fill ``nearest`` for a multiple with ``number`` packets of a weight. Return the deviation and all packets.

    The deviation of all shares together, times the number of all packets, is the first number divided by the sum of
    the weights.
    """
    whole = 0
    for entry in range(count):
        packets = (2 * table.weight[entry] * number + weight) // (2 * weight)
        table.nearest[entry] = min(max(packets, 1), most)
        whole += table.nearest[entry]
    _sum_lanes(table, count, table.nearest, table.near)
    meant, missed = total(table.meant), 0
    for lane in range(len(table.near)):
        missed += abs(table.near[lane] * meant - table.meant[lane] * whole)
    return missed, whole


def nearest_weight(packets: int, blocks: int) -> int:
    """Return the weight of an entry of the nearest list."""
    return min(packets * blocks, MAX_WEIGHT)


def _common_divisor(one: int, other: int) -> int:
    while other > 0:
        one, other = other, one % other
    return one


def lane_shares(entries: Sequence[VLArbEntry], blocks: int) -> tuple[LaneShare, ...]:
    """Return the shares of the lanes of a list, in the order of the entries, for packets of ``blocks`` blocks.

    Parameters
    ----------
    entries : sequence of VLArbEntry
        Arbitration list; entries of weight 0 are skipped.
    blocks : int
        Size of a packet, in blocks of 64 bytes.

    Examples
    --------
    >>> lane_shares([VLArbEntry(0, 32), VLArbEntry(1, 8)], 33)
    (LaneShare(vl=0, meant=0.8, given=0.5), LaneShare(vl=1, meant=0.2, given=0.5))
    """
    table, count = _table_of(entries, blocks)
    return _shares(table, count, table.given)


def nearest_list(entries: Sequence[VLArbEntry], blocks: int) -> NearestList:
    """Return the smallest whole-packet weights with the intended shares of a list, or with the nearest shares.

    Parameters
    ----------
    entries : sequence of VLArbEntry
        Arbitration list with at least one weight above 0; entries of weight 0 are skipped.
    blocks : int
        Size of a packet, in blocks of 64 bytes.

    Examples
    --------
    >>> nearest_list([VLArbEntry(0, 32), VLArbEntry(1, 8)], 33).entries
    (VLArbEntry(vl=0, weight=132), VLArbEntry(vl=1, weight=33))
    >>> nearest_list([VLArbEntry(0, 32), VLArbEntry(1, 1)], 33).exact
    False
    """
    table, count = _table_of(entries, blocks)
    exact = find_nearest(table, count, packets_of(MAX_WEIGHT, blocks))
    new = tuple(
        VLArbEntry(vl, nearest_weight(packets, blocks))
        for vl, packets in zip(table.vl[:count], table.nearest[:count], strict=True)
    )
    return NearestList(new, _shares(table, count, table.near), exact)


def _table_of(entries: Sequence[VLArbEntry], blocks: int) -> tuple[ShareTable, int]:
    table = new_share_table(lambda count: [0] * count)
    vls, weights = [entry.vl for entry in entries], [entry.weight for entry in entries]
    return table, fill_shares(table, vls, weights, _LANES, blocks)


def _shares(table: ShareTable, count: int, sums: Sequence[int]) -> tuple[LaneShare, ...]:
    weights, sent = total(table.meant), total(sums)
    lanes = dict.fromkeys(table.vl[:count])
    return tuple(LaneShare(vl, table.meant[vl] / weights, sums[vl] / sent) for vl in lanes)
