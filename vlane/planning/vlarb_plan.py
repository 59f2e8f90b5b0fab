"""Arbitration tables from what service levels want: least shares and longest waits (``docs/vlarb_plan.md``)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import combinations, islice
from math import ceil, inf

from vlane.errors import InputError
from vlane.fabric.dumps.opensm_conf import OP_VLS
from vlane.planning.exact import shown_exact
from vlane.planning.vlarb_waits import blocks_of_limit, longest_wait
from vlane.planning.vlarb_wants import Wanted, Wants
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, MAX_WEIGHT, VLArbEntry, VLArbTable
from vlane.tables.sl2vl import SL_COUNT, VL_DROP
from vlane.units import mtu_blocks

_TRIED = 300
"""Lists that are tried for waits."""
_SHORT = 10
"""Entries of a list whose order is searched, too."""
_GROWN, _HALVED = 12, 8
"""Steps in which the least wait beside the other wants is found for a refusal: four times as long, and halvings."""

_Entries = tuple[VLArbEntry, ...]
_TableOf = Callable[[_Entries], VLArbTable]


@dataclass(frozen=True, slots=True)
class PlannedLevel:
    """What a level gets.

    Parameters
    ----------
    wanted : Wanted
        What it wants.
    vl : int
        Its lane.
    share : Fraction
        Of a link that all levels want more of, with packets of the MTU. Levels in one lane have it together.
    wait_blocks : float
        Longest wait of a packet for its turn, in blocks; infinite if there is no bound.
    """

    wanted: Wanted
    vl: int
    share: Fraction
    wait_blocks: float


@dataclass(frozen=True, slots=True)
class VLArbPlan:
    """Tables of every port.

    Parameters
    ----------
    table : VLArbTable
        Both lists and the limit.
    sl2vl : tuple of int
        Lane of each SL, 15 for one that is dropped.
    levels : tuple of PlannedLevel
        In the order of the wants.
    """

    table: VLArbTable
    sl2vl: tuple[int, ...]
    levels: tuple[PlannedLevel, ...]


@dataclass(frozen=True, slots=True)
class _Lane:
    """A lane's wants: least share of the link, longest wait in blocks."""

    vl: int
    share: Fraction
    wait: float
    high: bool


def plan_vlarb(wants: Wants) -> VLArbPlan:
    """Return tables that give every level its share and its wait.

    Raises
    ------
    InputError
        Naming the want that cannot be met beside the others, and what could.
    """
    vls, mtu = _vls(wants), mtu_blocks(wants.mtu)
    table = _planned(_lanes(wants, vls), mtu)
    if table is None:
        raise _refusal(wants, vls, mtu)
    others = next((vls[each.sl] for each in reversed(wants.levels) if not each.is_guaranteed), VL_DROP)
    most, shares = dict.fromkeys(vls.values(), mtu), _shares(table, mtu)
    levels = tuple(
        PlannedLevel(each, vls[each.sl], shares[vls[each.sl]], longest_wait(table, vls[each.sl], most=most))
        for each in wants.levels
    )
    return VLArbPlan(table, tuple(vls.get(sl, others) for sl in range(SL_COUNT)), levels)


def opensm_lines(plan: VLArbPlan, data_vls: int) -> list[str]:
    """Return the lines of ``opensm.conf`` that make OpenSM program a plan on ports with that many lanes."""
    high, low = (
        ",".join(f"{entry.vl}:{entry.weight}" for entry in entries) or "0:0"
        for entries in (plan.table.high, plan.table.low)
    )
    return [
        "qos TRUE",
        f"max_op_vls {next(number for number, lanes in OP_VLS.items() if lanes == data_vls)}",
        f"qos_high_limit {plan.table.limit_of_high_priority}",
        f"qos_vlarb_high {high}",
        f"qos_vlarb_low {low}",
        f"qos_sl2vl {','.join(map(str, plan.sl2vl))}",
    ]


def _vls(wants: Wants) -> dict[int, int]:
    """Return each level's lane: one of its own, or if there are too few one for all without a want in each list."""
    alone = len(wants.levels) <= wants.data_vls
    keys = {each.sl: (each.high, each.sl if alone or each.is_guaranteed else -1) for each in wants.levels}
    lanes = {key: vl for vl, key in enumerate(dict.fromkeys(keys.values()))}
    if len(lanes) > wants.data_vls:
        raise InputError(
            "link.data_vls",
            f"at least {len(lanes)}, a lane for every level that wants something and for the others",
            wants.data_vls,
            source=wants.source,
        )
    return {sl: lanes[key] for sl, key in keys.items()}


def _lanes(wants: Wants, vls: Mapping[int, int]) -> list[_Lane]:
    """Return the wants of every lane, in the order of the lanes."""
    made: dict[int, _Lane] = {}
    for each in wants.levels:
        wait = inf if each.wait_us is None else float(each.wait_us) * 1000 / wants.clock.ns(1)
        made.setdefault(vls[each.sl], _Lane(vls[each.sl], each.share or Fraction(0), wait, each.high))
    return list(made.values())


def _planned(lanes: Sequence[_Lane], mtu: int) -> VLArbTable | None:
    """Return tables that meet the wants of all lanes, with the least limit, which gives the low list most."""
    high, low = ([each for each in lanes if each.high is is_high] for is_high in (True, False))
    if not high:
        entries = _list(low, Fraction(1), mtu, lambda entries: VLArbTable((), entries, 0))
        return VLArbTable((), entries, 0) if entries else None
    if not low:
        entries = _list(high, Fraction(1), mtu, lambda entries: VLArbTable(entries, (), LIMIT_UNBOUNDED))
        return VLArbTable(entries, (), LIMIT_UNBOUNDED) if entries else None
    at_least = tuple(VLArbEntry(each.vl, mtu) for each in low)

    @cache
    def upper_of(limit: int) -> _Entries | None:
        return _list(high, _part(limit, mtu), mtu, lambda entries: VLArbTable(entries, at_least, limit))

    wanted = sum(each.share for each in low)
    limits = [limit for limit in range(LIMIT_UNBOUNDED + 1) if 1 - _part(limit, mtu) >= wanted]
    place = bisect_left(limits, True, key=lambda limit: upper_of(limit) is not None)  # noqa: FBT003 - what it looks for
    if place == len(limits):
        return None
    limit = limits[place]
    upper = upper_of(limit) or ()
    lower = _list(low, 1 - _part(limit, mtu), mtu, lambda entries: VLArbTable(upper, entries, limit))
    return VLArbTable(upper, lower, limit) if lower else None


def _part(limit: int, mtu: int) -> Fraction:
    """Return the high list's part of a full link: n packets of it for each one of the low list."""
    packets = -(-blocks_of_limit(limit) // mtu)
    return Fraction(1) if limit == LIMIT_UNBOUNDED else Fraction(packets, packets + 1)


def _list(lanes: Sequence[_Lane], part: Fraction, mtu: int, table_of: _TableOf) -> _Entries | None:
    """Return a list, with that part of the link, that gives its lanes what they want; ``None`` if none was found."""
    waiting = [each for each in lanes if each.wait < inf]
    if not part:
        entries = _spread(lanes, [1] * len(lanes), [1] * len(lanes), mtu)
        return None if waiting or any(each.share for each in lanes) else entries
    passes = _passes([each.share / part for each in lanes], mtu)
    if not waiting:
        whole = ([_most_packets(mtu)] * len(lanes), mtu)
        return next(filter(None, (_spread(lanes, packets, *whole) for packets, _ in passes)), None)
    tried = islice(_candidates(lanes, passes, mtu, table_of), _TRIED)
    return next((entries for entries, over in tried if over <= 1), None)


def _most_packets(mtu: int) -> int:
    """Return the packets of the MTU that an entry's weight can be a multiple of."""
    return MAX_WEIGHT // mtu


def _passes(shares: Sequence[Fraction], mtu: int) -> Iterator[tuple[list[int], int]]:
    """Yield packets of each lane, which have these shares in a pass of the list, and the packets to spare.

    The least packets first; of passes that differ only in packets to spare the one with the most.
    """
    before: tuple[list[int], int] | None = None
    for total in range(len(shares), MAX_ENTRIES * _most_packets(mtu) + 1):
        packets = [max(1, ceil(each * total)) for each in shares]
        spare = total - sum(packets)
        if spare >= 0:
            if before and before[0] != packets:
                yield before
            before = packets, spare
    if before:
        yield before


def _candidates(
    lanes: Sequence[_Lane], passes: Iterable[tuple[list[int], int]], mtu: int, table_of: _TableOf
) -> Iterator[tuple[_Entries, float]]:
    """Yield lists with these shares, and the longest wait in each as a part of what is wanted.

    Of a pass with packets to spare, the lane that waits longest in its best list is given one more, and so on.
    """
    for least, spare in passes:
        packets = least
        for _ in range(spare + 1):
            found: list[tuple[list[float], _Entries]] = []
            for entries in _splits(lanes, packets, mtu):
                waits = _waits(lanes, table_of(entries), mtu)
                yield entries, max(waits)
                found.append((waits, entries))
            if not found:
                break
            waits, entries = min(found, key=lambda each: max(each[0]))
            if len(entries) <= _SHORT:
                waits, entries = _swapped(lanes, waits, entries, mtu, table_of)
                yield entries, max(waits)
            worst = waits.index(max(waits))
            packets = [count + (place == worst) for place, count in enumerate(packets)]


def _swapped(
    lanes: Sequence[_Lane], waits: list[float], entries: _Entries, mtu: int, table_of: _TableOf
) -> tuple[list[float], _Entries]:
    """Return a short list whose entries are swapped, two at a time, for as long as the waits get shorter."""
    while True:
        tried = []
        for one, other in combinations(range(len(entries)), 2):
            made = list(entries)
            made[one], made[other] = made[other], made[one]
            tried.append((_waits(lanes, table_of(tuple(made)), mtu), tuple(made)))
        best = min(tried, key=lambda each: sorted(each[0], reverse=True), default=(waits, entries))
        if sorted(best[0], reverse=True) >= sorted(waits, reverse=True):
            return waits, entries
        waits, entries = best


def _waits(lanes: Sequence[_Lane], table: VLArbTable, mtu: int) -> list[float]:
    """Return each lane's longest wait as a part of what is wanted, 0 if any is."""
    most = {entry.vl: mtu for entry in (*table.high, *table.low)}
    return [longest_wait(table, each.vl, most=most) / each.wait if each.wait < inf else 0.0 for each in lanes]


def _splits(lanes: Sequence[_Lane], packets: Sequence[int], mtu: int) -> Iterator[_Entries]:
    """Yield lists of these packets, the most in an entry first; those of lanes with a wait one by one, or likewise."""
    most = min(_most_packets(mtu), max(packets))
    sizes = sorted({min(most, -(-max(packets) // parts)) for parts in range(1, max(packets) + 1)}, reverse=True)
    seen = set()
    for others in sizes:
        for own in (1, others):
            entries = _spread(lanes, packets, [own if each.wait < inf else others for each in lanes], mtu)
            if entries and entries not in seen:
                seen.add(entries)
                yield entries


def _spread(lanes: Sequence[_Lane], packets: Sequence[int], each_most: Sequence[int], mtu: int) -> _Entries:
    """Return entries of at most so many packets each, at equal distances for a lane; none if there are too many."""
    placed = []
    for lane, count, size in zip(lanes, packets, each_most, strict=True):
        parts = -(-count // size)
        each, more = divmod(count, parts)
        for number in range(parts):
            weight = mtu * (each + (number < more))
            placed.append((Fraction(2 * number + 1, 2 * parts), -parts, VLArbEntry(lane.vl, weight)))
    return tuple(entry for *_, entry in sorted(placed)) if len(placed) <= MAX_ENTRIES else ()


def _shares(table: VLArbTable, mtu: int) -> dict[int, Fraction]:
    """Return each lane's share of a full link, all packets of the MTU."""
    part = _part(table.limit_of_high_priority, mtu) if table.high and table.low else Fraction(bool(table.high))
    shares: dict[int, Fraction] = {}
    for entries, of_all in ((table.high, part), (table.low, 1 - part)):
        whole = sum(entry.weight for entry in entries)
        for entry in entries:
            shares[entry.vl] = shares.get(entry.vl, Fraction(0)) + of_all * entry.weight / whole
    return shares


def _refusal(wants: Wants, vls: Mapping[int, int], mtu: int) -> InputError:
    """Return which want cannot be met: of waits the first in the file that cannot beside those before it."""
    kept = replace(wants, levels=tuple(replace(each, wait_us=None) for each in wants.levels))
    if _planned(_lanes(kept, vls), mtu) is None:
        return _refused_shares(wants, mtu)
    for place, level in enumerate(wants.levels):
        before, kept = kept, _with_wait(kept, place, level.wait_us)
        if level.wait_us is not None and _planned(_lanes(kept, vls), mtu) is None:
            must = _least_wait(before, vls, place, level.wait_us, mtu)
            return _told(wants, place, "wait_us", must, shown_exact(level.wait_us))
    raise AssertionError("all wants together are those that were refused")


def _told(wants: Wants, place: int, name: str, must: str, got: str) -> InputError:
    return InputError(f"level.{place}.{name}", f"{must} (SL {wants.levels[place].sl})", got, source=wants.source)


def _with_wait(wants: Wants, place: int, wait: Fraction | None) -> Wants:
    level = replace(wants.levels[place], wait_us=wait)
    return replace(wants, levels=(*wants.levels[:place], level, *wants.levels[place + 1 :]))


def _least_wait(wants: Wants, vls: Mapping[int, int], place: int, refused: Fraction, mtu: int) -> str:
    """Return what a level's wait must be beside these wants: the least that was found, by growing and halving."""

    def is_met(wait: Fraction) -> bool:
        return _planned(_lanes(_with_wait(wants, place, wait), vls), mtu) is not None

    least = max(refused, Fraction(wants.clock.ns(1)) / 1000)
    above = next((wait for step in range(_GROWN) if is_met(wait := least * 4**step)), None)
    if above is None:
        return "left out, as there is no bound beside the other wants,"
    below = max(least, above / 4)
    for _ in range(_HALVED):
        middle = (above + below) / 2
        above, below = (middle, below) if is_met(middle) else (above, middle)
    return f"at least about {float(above):.4g} beside the shares and the waits before it"


def _refused_shares(wants: Wants, mtu: int) -> InputError:
    """Return which shares cannot be given together: in all, in the low list, or with whole packets in 64 entries."""
    high, low = (sum(each.share or Fraction(0) for each in wants.levels if each.high is way) for way in (True, False))

    def largest_must_be_less(places: Iterable[int], so_that: str, total: Fraction | int) -> InputError:
        place = max(places, key=lambda place: wants.levels[place].share or 0)
        return _told(wants, place, wants.levels[place].field, f"less, so that {so_that}", f"{float(total):.6g} in all")

    every = range(len(wants.levels))
    if high + low > 1:
        return largest_must_be_less(every, "all shares are at most 1", high + low)
    beside = 1 - min(part for limit in range(LIMIT_UNBOUNDED + 1) if (part := _part(limit, mtu)) >= high)
    if low > beside and any(each.high for each in wants.levels):
        of_low = (place for place in every if not wants.levels[place].high)
        must = f"the low list has at most {float(beside):.4g} beside {float(high):.4g} of the high list"
        return largest_must_be_less(of_low, f"{must}, by LimitOfHighPriority, or of priority high", low)
    return largest_must_be_less(every, f"whole packets of the MTU in {MAX_ENTRIES} entries give all shares", high + low)
