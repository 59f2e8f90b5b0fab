"""Arbitration tables from wants of service levels: least shares and longest waits (``docs/vlarb_plan.md``)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, islice
from math import ceil, inf

from vlane.errors import InputError
from vlane.fabric.dumps.opensm_conf import OP_VLS
from vlane.planning.exact import shown_exact
from vlane.planning.vlarb_waits import Arrivals, longest_wait
from vlane.planning.vlarb_wants import Wanted, Wants
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, MAX_WEIGHT, VLArbEntry, VLArbTable
from vlane.schedulers.vlarb_service import expiry_blocks, limit_blocks
from vlane.tables.sl2vl import SL_COUNT, VL_DROP
from vlane.units import mtu_blocks

_TRIED = 300
"""Largest number of lists that are tried for waits."""
_SHORT = 10
"""Largest number of entries of a list whose order is searched."""
_GROWN, _HALVED = 12, 8
"""Steps of the search for the least wait that a refusal names: growing four times, then halving."""

_Entries = tuple[VLArbEntry, ...]
_Arrivals = Mapping[int, Arrivals]
_TableOf = Callable[[_Entries], VLArbTable]


@dataclass(frozen=True, slots=True)
class PlannedLevel:
    """Share and wait of a level under a plan.

    Parameters
    ----------
    wanted : Wanted
        Its wants.
    vl : int
        Its lane.
    share : Fraction
        Share of a link on which every level sends as much as it may, in packets of the MTU. Levels in one lane have the
        share together.
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
    """A lane's wants: least share of the link, longest wait in blocks; and the most that it sends, if that is known."""

    vl: int
    share: Fraction
    wait: float
    high: bool
    arrivals: Arrivals | None = None


def plan_vlarb(wants: Wants) -> VLArbPlan:
    """Return tables that give every level its share and its wait.

    Raises
    ------
    InputError
        Naming the want that cannot be met together with the others, and a value that can.
    """
    vls, mtu = _vls(wants), mtu_blocks(wants.mtu)
    lanes = _lanes(wants, vls)
    table = _planned(lanes, mtu)
    if table is None:
        raise _refusal(wants, vls, mtu)
    arrivals = _arrivals(lanes)
    others = next((vls[each.sl] for each in reversed(wants.levels) if not each.is_guaranteed), VL_DROP)
    most, shares = dict.fromkeys(vls.values(), mtu), _shares(table, mtu, arrivals)
    waits = {vl: longest_wait(table, vl, most=most, arrivals=arrivals) for vl in most}
    levels = tuple(PlannedLevel(each, vls[each.sl], shares[vls[each.sl]], waits[vls[each.sl]]) for each in wants.levels)
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
    """Return each level's lane. If lanes are scarce, levels of a list that want nothing share one lane."""
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
    for vl in dict.fromkeys(vls.values()):
        levels = [each for each in wants.levels if vls[each.sl] == vl]
        waits = [inf if each.wait_us is None else float(each.wait_us) * 1000 / wants.clock.ns(1) for each in levels]
        made[vl] = _Lane(vl, levels[0].share or Fraction(0), waits[0], levels[0].high, _lane_arrivals(wants, levels))
    return list(made.values())


def _lane_arrivals(wants: Wants, levels: Sequence[Wanted]) -> Arrivals | None:
    """Return the most that the levels of a lane send together, or ``None`` if one of them has no upper bound."""
    rates = [each.at_most for each in levels if each.at_most is not None]
    if len(rates) < len(levels):
        return None
    return Arrivals(sum(rates, Fraction(0)), sum(each.burst_packets for each in levels) * mtu_blocks(wants.mtu))


def _arrivals(lanes: Iterable[_Lane]) -> dict[int, Arrivals]:
    return {each.vl: each.arrivals for each in lanes if each.arrivals is not None}


def _sent_at_most(lanes: Sequence[_Lane]) -> Fraction:
    """Return the most that lanes send together, as a share of the link; 1 if one of them has no upper bound."""
    rates = [each.arrivals.rate for each in lanes if each.arrivals is not None]
    return min(Fraction(1), sum(rates, Fraction(0))) if len(rates) == len(lanes) else Fraction(1)


def _planned(lanes: Sequence[_Lane], mtu: int) -> VLArbTable | None:
    """Return tables that meet the wants of all lanes, with the least limit, which gives the low list most.

    Where the high list has an upper bound, a larger limit may shorten the waits of the low list: the least limit under
    which the bound counts, and no limit, are tried next.
    """
    high, low = ([each for each in lanes if each.high is is_high] for is_high in (True, False))
    arrivals = _arrivals(lanes)
    if not high:
        entries = _list(low, Fraction(1), mtu, lambda entries: VLArbTable((), entries, 0), arrivals)
        return VLArbTable((), entries, 0) if entries else None
    if not low:
        entries = _list(high, Fraction(1), mtu, lambda entries: VLArbTable(entries, (), LIMIT_UNBOUNDED), arrivals)
        return VLArbTable(entries, (), LIMIT_UNBOUNDED) if entries else None
    at_least = tuple(VLArbEntry(each.vl, mtu) for each in low)
    most_high, most_low = _sent_at_most(high), _sent_at_most(low)

    @cache
    def upper_of(limit: int) -> _Entries | None:
        part = max(_part(limit, mtu), 1 - most_low)
        return _list(high, part, mtu, lambda entries: VLArbTable(entries, at_least, limit), arrivals)

    wanted = sum(each.share for each in low)
    limits = [limit for limit in range(LIMIT_UNBOUNDED + 1) if 1 - min(_part(limit, mtu), most_high) >= wanted]
    place = bisect_left(limits, True, key=lambda limit: upper_of(limit) is not None)  # noqa: FBT003 - what it looks for
    tried = limits[place : place + 1]
    if most_high < 1:
        tried += [limit for limit in limits[place + 1 :] if _counts(most_high, limit, mtu)][:1] + limits[place + 1 :][
            -1:
        ]
    for limit in dict.fromkeys(tried):
        upper, part = upper_of(limit) or (), 1 - min(_part(limit, mtu), most_high)
        lower = _list(low, part, mtu, partial(_with_lower, upper, limit), arrivals)
        if lower:
            return VLArbTable(upper, lower, limit)
    return None


def _with_lower(upper: _Entries, limit: int, lower: _Entries) -> VLArbTable:
    return VLArbTable(upper, lower, limit)


def _counts(rate: Fraction, limit: int, mtu: int) -> bool:
    """Return whether High is served faster than this under a limit, in packets of any size."""
    blocks = expiry_blocks(limit, mtu, 1)
    return limit == LIMIT_UNBOUNDED or rate <= Fraction(blocks, blocks + mtu)


def _part(limit: int, mtu: int) -> Fraction:
    """Return the high list's part of a full link: n packets of it for each one of the low list."""
    packets = -(-limit_blocks(limit) // mtu)
    return Fraction(1) if limit == LIMIT_UNBOUNDED else Fraction(packets, packets + 1)


def _list(lanes: Sequence[_Lane], part: Fraction, mtu: int, table_of: _TableOf, arrivals: _Arrivals) -> _Entries | None:
    """Return a list that has this part of the link and meets the wants of its lanes; ``None`` if none was found."""
    waiting = [each for each in lanes if each.wait < inf]
    if not part:
        entries = _spread(lanes, [1] * len(lanes), [1] * len(lanes), mtu)
        return None if waiting or any(each.share for each in lanes) else entries
    passes = _passes([each.share / part for each in lanes], mtu)
    if not waiting:
        whole = ([_most_packets(mtu)] * len(lanes), mtu)
        return next(filter(None, (_spread(lanes, packets, *whole) for packets, _ in passes)), None)
    tried = islice(_candidates(lanes, passes, mtu, table_of, arrivals), _TRIED)
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
    lanes: Sequence[_Lane], passes: Iterable[tuple[list[int], int]], mtu: int, table_of: _TableOf, arrivals: _Arrivals
) -> Iterator[tuple[_Entries, float]]:
    """Yield lists with these shares, and the largest ratio of a wait to the wanted one in each.

    Of a pass with packets to spare, the lane that waits longest in its best list is given one more, and so on.
    """
    for least, spare in passes:
        packets = least
        for _ in range(spare + 1):
            found: list[tuple[list[float], _Entries]] = []
            for entries in _splits(lanes, packets, mtu):
                waits = _waits(lanes, table_of(entries), mtu, arrivals)
                yield entries, max(waits)
                found.append((waits, entries))
            if not found:
                break
            waits, entries = min(found, key=lambda each: max(each[0]))
            if len(entries) <= _SHORT:
                waits, entries = _swapped(lanes, waits, entries, mtu, table_of, arrivals)
                yield entries, max(waits)
            worst = waits.index(max(waits))
            packets = [count + (place == worst) for place, count in enumerate(packets)]


def _swapped(
    lanes: Sequence[_Lane], waits: list[float], entries: _Entries, mtu: int, table_of: _TableOf, arrivals: _Arrivals
) -> tuple[list[float], _Entries]:
    """Return a short list whose entries are swapped, two at a time, for as long as the waits get shorter."""
    while True:
        tried = []
        for one, other in combinations(range(len(entries)), 2):
            made = list(entries)
            made[one], made[other] = made[other], made[one]
            tried.append((_waits(lanes, table_of(tuple(made)), mtu, arrivals), tuple(made)))
        best = min(tried, key=lambda each: sorted(each[0], reverse=True), default=(waits, entries))
        if sorted(best[0], reverse=True) >= sorted(waits, reverse=True):
            return waits, entries
        waits, entries = best


def _waits(lanes: Sequence[_Lane], table: VLArbTable, mtu: int, arrivals: _Arrivals) -> list[float]:
    """Return the ratio of each lane's longest wait to the wanted one; 0 for a lane without a want."""
    most = {entry.vl: mtu for entry in (*table.high, *table.low)}
    return [
        longest_wait(table, each.vl, most=most, arrivals=arrivals) / each.wait if each.wait < inf else 0.0
        for each in lanes
    ]


def _splits(lanes: Sequence[_Lane], packets: Sequence[int], mtu: int) -> Iterator[_Entries]:
    """Yield lists of these packets, most packets in an entry first; lanes with a wait also with single packets."""
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


def _shares(table: VLArbTable, mtu: int, arrivals: _Arrivals) -> dict[int, Fraction]:
    """Return each lane's share of a link on which every lane sends as much as it may, all packets of the MTU."""
    part = _part(table.limit_of_high_priority, mtu) if table.high and table.low else Fraction(bool(table.high))
    lists = []
    for entries in (table.high, table.low):
        rates = [arrivals[vl].rate for vl in {entry.vl for entry in entries} if vl in arrivals]
        bounded = len(rates) == len({entry.vl for entry in entries})
        lists.append(min(Fraction(1), sum(rates, Fraction(0))) if bounded else Fraction(1))
    most_high, most_low = lists
    return {
        **_divided(table.high, max(part, 1 - most_low), arrivals),
        **_divided(table.low, max(1 - part, 1 - most_high), arrivals),
    }


def _divided(entries: _Entries, part: Fraction, arrivals: _Arrivals) -> dict[int, Fraction]:
    """Divide a list's part by weights; a lane with an upper bound takes no more, and the others divide the rest."""
    weights: dict[int, int] = {}
    for entry in entries:
        weights[entry.vl] = weights.get(entry.vl, 0) + entry.weight
    shares: dict[int, Fraction] = {}
    while weights:
        whole = sum(weights.values())
        full = [vl for vl in weights if vl in arrivals and arrivals[vl].rate <= part * weights[vl] / whole]
        if not full:
            return shares | {vl: part * weight / whole for vl, weight in weights.items()}
        for vl in full:
            shares[vl] = arrivals[vl].rate
            del weights[vl]
        part -= sum(shares[vl] for vl in full)
    return shares


def _refusal(wants: Wants, vls: Mapping[int, int], mtu: int) -> InputError:
    """Return the error about the want that cannot be met; of waits the first that conflicts with those before it."""
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
    """Return in words the least wait of a level that was found together with these wants."""

    def is_met(wait: Fraction) -> bool:
        return _planned(_lanes(_with_wait(wants, place, wait), vls), mtu) is not None

    least = max(refused, Fraction(wants.clock.ns(1)) / 1000)
    above = next((wait for step in range(_GROWN) if is_met(wait := least * 4**step)), None)
    if above is None:
        return (
            f"left out, as there is no bound beside the other wants{'' if wants.levels[place].high else _ways(wants)},"
        )
    below = max(least, above / 4)
    for _ in range(_HALVED):
        middle = (above + below) / 2
        above, below = (middle, below) if is_met(middle) else (above, middle)
    return f"at least about {float(above):.4g} together with the shares and the waits before it"


def _most_of(wants: Wants, *, high: bool) -> Fraction:
    """Return the most that the levels of a list send together, as a share of the link."""
    rates = [each.at_most for each in wants.levels if each.high is high]
    bounded = [rate for rate in rates if rate is not None]
    return min(Fraction(1), sum(bounded, Fraction(0))) if len(bounded) == len(rates) else Fraction(1)


def _ways(wants: Wants) -> str:
    """Return the levels of the high list that have no upper bound, which would leave the low list more."""
    unbounded = [
        f"level.{place} (SL {each.sl})" for place, each in enumerate(wants.levels) if each.high and each.at_most is None
    ]
    return f", or with an at_most of {' and '.join(unbounded)}" if unbounded else ""


def _refused_shares(wants: Wants, mtu: int) -> InputError:
    """Return the error about shares that exceed the link, the part of the low list, or whole packets in 64 entries."""
    high, low = (sum(each.share or Fraction(0) for each in wants.levels if each.high is way) for way in (True, False))

    def largest_must_be_less(places: Iterable[int], so_that: str, total: Fraction | int, ways: str = "") -> InputError:
        place = max(places, key=lambda place: wants.levels[place].share or 0)
        must = f"less{ways}, so that {so_that}"
        return _told(wants, place, wants.levels[place].field, must, f"{float(total):.6g} in all")

    every = range(len(wants.levels))
    if high + low > 1:
        return largest_must_be_less(every, "all shares are at most 1", high + low)
    most_high = _most_of(wants, high=True)
    parts = (_part(limit, mtu) for limit in range(LIMIT_UNBOUNDED + 1))
    beside = 1 - min(most_high, *(part for part in parts if max(part, 1 - _most_of(wants, high=False)) >= high))
    if low > beside and any(each.high for each in wants.levels):
        of_low = (place for place in every if not wants.levels[place].high)
        so_that = f"the low list has at most {float(beside):.4g} beside {float(high):.4g} of the high list"
        ways = f" (or of priority high{_ways(wants)})"
        return largest_must_be_less(of_low, f"{so_that}, by LimitOfHighPriority", low, ways)
    return largest_must_be_less(every, f"whole packets of the MTU in {MAX_ENTRIES} entries give all shares", high + low)
