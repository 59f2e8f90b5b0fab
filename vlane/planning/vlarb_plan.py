"""Planner of arbitration tables for required shares and waits of service levels (``docs/vlarb_plan.md``)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, islice
from math import ceil, inf

from vlane.errors import InputError
from vlane.fabric.options.rules import OP_VLS
from vlane.planning.exact import shown_exact
from vlane.planning.vlarb_waits import Arrivals, longest_wait
from vlane.planning.vlarb_wants import Wanted, Wants
from vlane.schedulers.vlarb import LIMIT_UNBOUNDED, MAX_ENTRIES, MAX_WEIGHT, VLArbEntry, VLArbTable
from vlane.schedulers.vlarb_service import expiry_blocks, limit_blocks
from vlane.tables.sl2vl import SL_COUNT, VL_DROP
from vlane.units import mtu_blocks

_TRIED = 300
"""Largest number of lists tried for waits."""
_SHORT = 10
"""Largest number of entries of a list for which the order is searched."""
_GROWN, _HALVED = 12, 8
"""Steps of the search for a feasible wait: factors of four, then bisections."""

_Entries = tuple[VLArbEntry, ...]
_Arrivals = Mapping[int, Arrivals]
_TableOf = Callable[[_Entries], VLArbTable]


@dataclass(frozen=True, slots=True)
class PlannedLevel:
    """Planned share and wait of a level.

    Parameters
    ----------
    wanted : Wanted
        Requirements of the level.
    vl : int
        Lane of the level.
    share : Fraction
        The lane's share of a link on which all levels send as much as allowed, in packets of the MTU.
    wait_blocks : float
        Longest wait of a packet for its turn, in blocks; infinite if there is no bound.
    """

    wanted: Wanted
    vl: int
    share: Fraction
    wait_blocks: float


@dataclass(frozen=True, slots=True)
class VLArbPlan:
    """Planned tables, equal at every port.

    Parameters
    ----------
    table : VLArbTable
        Both lists and the limit.
    sl2vl : tuple of int
        Lane of each SL; 15 drops.
    levels : tuple of PlannedLevel
        Levels in the order of the wants file.
    """

    table: VLArbTable
    sl2vl: tuple[int, ...]
    levels: tuple[PlannedLevel, ...]


@dataclass(frozen=True, slots=True)
class _Lane:
    """Requirements of a lane: least share of the link, longest wait in blocks, and the bound on arrivals, if known."""

    vl: int
    share: Fraction
    wait: float
    high: bool
    arrivals: Arrivals | None = None


def plan_vlarb(wants: Wants) -> VLArbPlan:
    """Return tables with the required share and wait of every level.

    Raises
    ------
    InputError
        If the requirements conflict. The message names one requirement and a feasible value.
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
    """Return the lines of ``opensm.conf`` for a plan, on ports with ``data_vls`` lanes."""
    high, low = (
        ",".join(f"{entry.vl}:{entry.weight}" for entry in entries) or "0:0"
        for entries in (plan.table.high, plan.table.low)
    )
    return [
        "qos TRUE",
        f"max_op_vls {OP_VLS.index(data_vls)}",
        f"qos_high_limit {plan.table.limit_of_high_priority}",
        f"qos_vlarb_high {high}",
        f"qos_vlarb_low {low}",
        f"qos_sl2vl {','.join(map(str, plan.sl2vl))}",
    ]


def _vls(wants: Wants) -> dict[int, int]:
    """Return the lane of each level. If lanes are scarce, levels of a list without requirements share one lane."""
    alone = len(wants.levels) <= wants.data_vls
    keys = {each.sl: (each.high, each.sl if alone or each.is_guaranteed else -1) for each in wants.levels}
    lanes = {key: vl for vl, key in enumerate(dict.fromkeys(keys.values()))}
    if len(lanes) > wants.data_vls:
        raise InputError(
            "link.data_vls",
            f"at least {len(lanes)}: a lane for every level with requirements, and a lane for all other levels",
            wants.data_vls,
            source=wants.source,
        )
    return {sl: lanes[key] for sl, key in keys.items()}


def _lanes(wants: Wants, vls: Mapping[int, int]) -> list[_Lane]:
    """Return the requirements of every lane, in the order of the lanes."""
    made: dict[int, _Lane] = {}
    for vl in dict.fromkeys(vls.values()):
        levels = [each for each in wants.levels if vls[each.sl] == vl]
        waits = [inf if each.wait_us is None else float(each.wait_us) * 1000 / wants.clock.ns(1) for each in levels]
        made[vl] = _Lane(vl, levels[0].share or Fraction(0), waits[0], levels[0].high, _lane_arrivals(wants, levels))
    return list(made.values())


def _lane_arrivals(wants: Wants, levels: Sequence[Wanted]) -> Arrivals | None:
    """Return the bound on the arrivals of a lane, or ``None`` if a level of the lane has no upper bound."""
    rates = [each.at_most for each in levels if each.at_most is not None]
    if len(rates) < len(levels):
        return None
    return Arrivals(sum(rates, Fraction(0)), sum(each.burst_packets for each in levels) * mtu_blocks(wants.mtu))


def _arrivals(lanes: Iterable[_Lane]) -> dict[int, Arrivals]:
    return {each.vl: each.arrivals for each in lanes if each.arrivals is not None}


def _sent_at_most(lanes: Sequence[_Lane]) -> Fraction:
    """Return the bound on the total rate of lanes, as a share of the link, or 1 if a lane has no bound."""
    rates = [each.arrivals.rate for each in lanes if each.arrivals is not None]
    return min(Fraction(1), sum(rates, Fraction(0))) if len(rates) == len(lanes) else Fraction(1)


def _planned(lanes: Sequence[_Lane], mtu: int) -> VLArbTable | None:
    """Return tables that meet all requirements with the smallest possible limit, or ``None`` if none exist.

    The smallest limit leaves the low list most. If the high list has an upper bound, a larger limit may shorten the
    waits of the low list. The next trials are therefore the smallest limit under which the bound applies, and no limit.
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
    """Return whether a limit serves High at least at a rate, for packets of any size."""
    blocks = expiry_blocks(limit, mtu, 1)
    return limit == LIMIT_UNBOUNDED or rate <= Fraction(blocks, blocks + mtu)


def _part(limit: int, mtu: int) -> Fraction:
    """Return the high list's share of a full link: n of every n + 1 packets."""
    packets = -(-limit_blocks(limit) // mtu)
    return Fraction(1) if limit == LIMIT_UNBOUNDED else Fraction(packets, packets + 1)


def _list(lanes: Sequence[_Lane], part: Fraction, mtu: int, table_of: _TableOf, arrivals: _Arrivals) -> _Entries | None:
    """Return a list that meets its lanes' requirements with a share of the link, or ``None`` if none was found."""
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
    """Return the largest number of MTU packets in an entry's weight."""
    return MAX_WEIGHT // mtu


def _passes(shares: Sequence[Fraction], mtu: int) -> Iterator[tuple[list[int], int]]:
    """Yield, for passes of a list with these shares, the packets of each lane and the spare packets.

    Shorter passes come first. Of passes that differ only in spare packets, the longest is yielded.
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
    """Yield lists with these shares, each with the largest ratio of actual to required wait.

    Spare packets of a pass go one by one to the lane with the largest ratio in the best list so far.
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
    """Swap pairs of entries of a short list while the waits get shorter, and return the final waits and list."""
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
    """Return the ratio of longest wait to required wait of each lane, or 0 for a lane without a required wait."""
    most = {entry.vl: mtu for entry in (*table.high, *table.low)}
    return [
        longest_wait(table, each.vl, most=most, arrivals=arrivals) / each.wait if each.wait < inf else 0.0
        for each in lanes
    ]


def _splits(lanes: Sequence[_Lane], packets: Sequence[int], mtu: int) -> Iterator[_Entries]:
    """Yield lists of these packets, largest entries first. Lanes with a required wait also get one-packet entries."""
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
    """Return evenly spaced entries of at most ``each_most`` packets. Empty if 64 entries are too few."""
    placed = []
    for lane, count, size in zip(lanes, packets, each_most, strict=True):
        parts = -(-count // size)
        each, more = divmod(count, parts)
        for number in range(parts):
            weight = mtu * (each + (number < more))
            placed.append((Fraction(2 * number + 1, 2 * parts), -parts, VLArbEntry(lane.vl, weight)))
    return tuple(entry for *_, entry in sorted(placed)) if len(placed) <= MAX_ENTRIES else ()


def _shares(table: VLArbTable, mtu: int, arrivals: _Arrivals) -> dict[int, Fraction]:
    """Return each lane's share of a link on which all lanes send as much as allowed, in packets of the MTU."""
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
    """Divide a list's share of the link by weights, but give no lane more than its upper bound."""
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
    """Return the error: conflicting shares, or the first wait that conflicts with earlier requirements."""
    kept = replace(wants, levels=tuple(replace(each, wait_us=None) for each in wants.levels))
    if _planned(_lanes(kept, vls), mtu) is None:
        return _refused_shares(wants, mtu)
    for place, level in enumerate(wants.levels):
        before, kept = kept, _with_wait(kept, place, level.wait_us)
        if level.wait_us is not None and _planned(_lanes(kept, vls), mtu) is None:
            must = _least_wait(before, vls, place, level.wait_us, mtu)
            return _told(wants, place, "wait_us", must, shown_exact(level.wait_us))
    raise AssertionError("the complete requirements were refused before")


def _told(wants: Wants, place: int, name: str, must: str, got: str) -> InputError:
    return InputError(f"level.{place}.{name}", f"{must} (SL {wants.levels[place].sl})", got, source=wants.source)


def _with_wait(wants: Wants, place: int, wait: Fraction | None) -> Wants:
    level = replace(wants.levels[place], wait_us=wait)
    return replace(wants, levels=(*wants.levels[:place], level, *wants.levels[place + 1 :]))


def _least_wait(wants: Wants, vls: Mapping[int, int], place: int, refused: Fraction, mtu: int) -> str:
    """Return the text for the smallest feasible wait of a level, given the other requirements."""

    def is_met(wait: Fraction) -> bool:
        return _planned(_lanes(_with_wait(wants, place, wait), vls), mtu) is not None

    least = max(refused, Fraction(wants.clock.ns(1)) / 1000)
    above = next((wait for step in range(_GROWN) if is_met(wait := least * 4**step)), None)
    if above is None:
        return (
            "left out, because the other requirements allow no bound on the wait"
            f"{'' if wants.levels[place].high else _ways(wants)}"
        )
    below = max(least, above / 4)
    for _ in range(_HALVED):
        middle = (above + below) / 2
        above, below = (middle, below) if is_met(middle) else (above, middle)
    return f"at least about {float(above):.4g} together with all shares and the waits of earlier levels"


def _most_of(wants: Wants, *, high: bool) -> Fraction:
    """Return the bound on the total rate of a list, as a share of the link, or 1 if a level has no bound."""
    rates = [each.at_most for each in wants.levels if each.high is high]
    bounded = [rate for rate in rates if rate is not None]
    return min(Fraction(1), sum(bounded, Fraction(0))) if len(bounded) == len(rates) else Fraction(1)


def _ways(wants: Wants) -> str:
    """Return advice to add ``at_most`` to levels of the high list. Empty if all levels have an upper bound."""
    unbounded = [
        f"level.{place} (SL {each.sl})" for place, each in enumerate(wants.levels) if each.high and each.at_most is None
    ]
    return f", or given an at_most for {' and '.join(unbounded)}" if unbounded else ""


def _refused_shares(wants: Wants, mtu: int) -> InputError:
    """Return the error about shares that exceed the link, the low list's share, or the precision of 64 entries."""
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
        so_that = f"the low list has at most {float(beside):.4g}, with {float(high):.4g} for the high list"
        ways = f" (or of priority high{_ways(wants)})"
        return largest_must_be_less(of_low, f"{so_that}, by LimitOfHighPriority", low, ways)
    return largest_must_be_less(every, f"whole packets of the MTU in {MAX_ENTRIES} entries give all shares", high + low)
