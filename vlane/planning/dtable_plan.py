"""Planner of Deficit Tables: weights and places of entries for bandwidths and distances (``docs/dtable_plan.md``).

The decoupling methodology has two parameters: k sets the total weight of all entries, w the largest weight of an entry.
The arithmetic uses integers and fractions only, so a request gives the same table on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vlane.planning.dtable_request import ServiceLevel, TableRequest
from vlane.planning.fill_in import reversed_bits
from vlane.schedulers.dtable import IB_COUNTER_MOST, MAX_WEIGHT, DTable

__all__ = ["LevelPlan", "TablePlan", "plan_table"]

_STEP = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """Entries of one service level in a plan.

    Parameters
    ----------
    level : ServiceLevel
        Requirements of the service level.
    places : tuple of int
        Places of the entries in the table.
    weights : tuple of int
        Weight of each entry.
    phi_min, phi_max : Fraction
        Smallest and largest possible bandwidth of the entries with this k and w.
    """

    level: ServiceLevel
    places: tuple[int, ...]
    weights: tuple[int, ...]
    phi_min: Fraction
    phi_max: Fraction

    @property
    def total_weight(self) -> int:
        """Sum of the weights of the entries."""
        return sum(self.weights)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A planned table.

    Parameters
    ----------
    k : Fraction
        Pool per entry, in GMTUs.
    w : Fraction
        Largest weight of an entry, in GMTUs.
    pool : Fraction
        Pool of the whole table, in blocks of 64 bytes.
    most_weight : Fraction
        Largest weight of an entry, in blocks of 64 bytes.
    levels : tuple of LevelPlan
        Plans in the order of the request.
    table : DTable
        Entries of the table; unused entries have weight 0.
    """

    k: Fraction
    w: Fraction
    pool: Fraction
    most_weight: Fraction
    levels: tuple[LevelPlan, ...]
    table: DTable


def plan_table(request: TableRequest) -> TablePlan:
    """Return a table with the requested bandwidth and distance of every service level.

    Raises
    ------
    InputError
        If no such table exists. The message names a service level and the violated bound.

    Examples
    --------
    >>> levels = tuple(ServiceLevel(name, sl, 2, 4, Fraction(1, 2)) for sl, name in enumerate("AB"))
    >>> plan = plan_table(TableRequest(32, 4, "free", levels))
    >>> plan.k, plan.w, [level.total_weight for level in plan.levels]
    (Fraction(1, 1), Fraction(1, 1), [64, 64])
    """
    total = sum((level.bandwidth for level in request.sls), Fraction(0))
    if total > 1:
        got = f"1 + {float(total - 1):g}"
        problem = f": the bandwidths sum to {got}; the sum must be at most 1"
        raise request.refusal("sl", "given with bandwidths whose sum is at most 1", got, problem=problem)
    places = _place(request)
    most_w = _largest_w(request)
    k = _find_k(request, most_w)
    weights = _weights(request, k, total)
    w = _find_w(request, k, weights, most_w)
    levels, entries = [], [(0, 0)] * request.entries
    for level in request.sls:
        share = Fraction(1, level.distance)
        listed = _spread(weights[level.sl], request.entries // level.distance)
        plan = LevelPlan(level, places[level.sl], listed, _phi_min(request, level, k), share * w / k)
        levels.append(plan)
        for place, weight in zip(plan.places, plan.weights, strict=True):
            entries[place] = (level.sl, weight)
    pool = k * request.entries * request.gmtu_blocks
    table = DTable(tuple(entries))  # type: ignore[arg-type]
    return TablePlan(k, w, pool, w * request.gmtu_blocks, tuple(levels), table)


def _place(request: TableRequest) -> dict[int, tuple[int, ...]]:
    """Return evenly spaced entries of each SL: first fit, smallest distance first, in bit-reversed order.

    With this order, a free sequence exists whenever enough entries are free.
    """
    free = [True] * request.entries
    places: dict[int, tuple[int, ...]] = {}
    for level in sorted(request.sls, key=lambda one: (one.distance, one.sl)):
        bits = level.distance.bit_length() - 1
        for turn in range(level.distance):
            first = reversed_bits(turn, bits)
            wanted = range(first, request.entries, level.distance)
            if all(free[place] for place in wanted):
                break
        else:
            need = request.entries // level.distance
            raise request.refusal(
                "distance",
                f"a distance that needs at most {sum(free)} entries",
                f"{level.distance}, which needs {need}",
                level=level,
                problem=f": distance {level.distance} needs {need} entries, but only {sum(free)} are free",
            )
        places[level.sl] = tuple(wanted)
        for place in wanted:
            free[place] = False
    return places


def _largest_w(request: TableRequest) -> Fraction:
    """Return the largest w, in steps of 0.1, for weights of 8 bits and, in the ib form, a deficit counter of 8 bits."""
    most = MAX_WEIGHT if request.form == "free" else IB_COUNTER_MOST - (request.gmtu_blocks - 1)
    return Fraction(10 * most // request.gmtu_blocks, 10)


def _phi_min(request: TableRequest, level: ServiceLevel, k: Fraction) -> Fraction:
    """Return the bandwidth of entries whose weight is one packet each."""
    return Fraction(1, level.distance) * Fraction(level.mtu_blocks, request.gmtu_blocks) / k


def _find_k(request: TableRequest, most: Fraction) -> Fraction:
    """Return the smallest k, in steps of 0.1, with phi_min at most the requested bandwidth of every SL."""
    k = request.k if request.k is not None else _STEP
    while (wide := _least_slack(request, k)) is not None:
        if request.k is not None or k + _STEP > most:
            must = float(_phi_min(request, wide, k))
            why = "given" if request.k is not None else f"the largest that weights of {request.form} entries allow"
            raise request.refusal(
                "bandwidth",
                f"at least phi_min = {must:.5f} (k = {float(k):g}, {why})",
                f"{float(wide.bandwidth):g}",
                level=wide,
            )
        k += _STEP
    if k > most:
        raise request.refusal("k", f"at most {float(most):g}, because weights have 8 bits", f"{float(k):g}")
    return k


def _least_slack(request: TableRequest, k: Fraction) -> ServiceLevel | None:
    """Return the SL with the smallest ratio of bandwidth to phi_min if the ratio is below 1, else ``None``."""
    level = min(request.sls, key=lambda one: one.bandwidth / _phi_min(request, one, k))
    return level if level.bandwidth < _phi_min(request, level, k) else None


def _weights(request: TableRequest, k: Fraction, total: Fraction) -> dict[int, int]:
    """Return the weight of each SL: the pool, enlarged by rounding up every entry, divided by bandwidth.

    Rounding would change the shares; dividing the enlarged pool restores the shares.
    """
    pool = k * request.entries * request.gmtu_blocks
    raised = 0
    for level in request.sls:
        count = request.entries // level.distance
        raised += count * _ceil(level.bandwidth * pool / count)
    return {level.sl: _round(level.bandwidth * raised / total) for level in request.sls}


def _find_w(request: TableRequest, k: Fraction, weights: dict[int, int], most: Fraction) -> Fraction:
    """Return the smallest w, in steps of 0.1 from k, that bounds the bandwidth and the entry weights of every SL."""
    w = request.w if request.w is not None else k
    if w < k:
        raise request.refusal("w", f"at least k, {float(k):g}", f"{float(w):g}")
    if w > most:
        raise request.refusal("w", f"at most {float(most):g}, because weights have 8 bits", f"{float(w):g}")
    while (high := _above(request, k, w, weights)) is not None:
        if request.w is not None or w + _STEP > most:
            must = float(w / k / high.distance)
            raise request.refusal(
                "bandwidth",
                f"at most phi_max = {must:.5f}, so no weight exceeds w x GMTU (w = {float(w):g}, k = {float(k):g})",
                f"{float(high.bandwidth):g}",
                level=high,
            )
        w += _STEP
    return w


def _above(request: TableRequest, k: Fraction, w: Fraction, weights: dict[int, int]) -> ServiceLevel | None:
    for level in request.sls:
        heaviest = -(-weights[level.sl] * level.distance // request.entries)
        if level.bandwidth > w / k / level.distance or heaviest > w * request.gmtu_blocks:
            return level
    return None


def _spread(total: int, count: int) -> tuple[int, ...]:
    """Divide ``total`` into ``count`` parts that differ by one at most, with evenly spaced larger parts."""
    return tuple(total * (index + 1) // count - total * index // count for index in range(count))


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _round(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)
