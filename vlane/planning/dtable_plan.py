"""Weights and places of a Deficit Table from bandwidths, distances and packet sizes (``docs/dtable_plan.md``).

The decoupling methodology: k sets the pool of weight that all entries share, w the most one entry may have.
Whole numbers and fractions throughout, so that the same request gives the same table everywhere.
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
    """What one service level gets.

    Parameters
    ----------
    level : ServiceLevel
        What it asked for.
    places : tuple of int
        Its entries in the table.
    weights : tuple of int
        The weight of each.
    phi_min, phi_max : Fraction
        Least and most bandwidth that its entries can have with this k and w.
    """

    level: ServiceLevel
    places: tuple[int, ...]
    weights: tuple[int, ...]
    phi_min: Fraction
    phi_max: Fraction

    @property
    def total_weight(self) -> int:
        """Weight of all its entries."""
        return sum(self.weights)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A planned table.

    Parameters
    ----------
    k, w : Fraction
        Pool per entry and most weight of an entry, in GMTUs.
    pool, most_weight : Fraction
        The same in blocks, the pool for the whole table.
    levels : tuple of LevelPlan
        In the order of the request.
    table : DTable
        The entries; those that nobody asked for have weight 0.
    """

    k: Fraction
    w: Fraction
    pool: Fraction
    most_weight: Fraction
    levels: tuple[LevelPlan, ...]
    table: DTable


def plan_table(request: TableRequest) -> TablePlan:
    """Return a table that gives every service level its bandwidth and its distance.

    Raises
    ------
    InputError
        If there is none, naming the service level and the bound it breaks.

    Examples
    --------
    >>> levels = tuple(ServiceLevel(name, sl, 2, 4, Fraction(1, 2)) for sl, name in enumerate("AB"))
    >>> plan = plan_table(TableRequest(32, 4, "free", levels))
    >>> plan.k, plan.w, [level.total_weight for level in plan.levels]
    (Fraction(1, 1), Fraction(1, 1), [64, 64])
    """
    total = sum((level.bandwidth for level in request.sls), Fraction(0))
    if total > 1:
        raise request.refusal("sl", "of bandwidths that are at most 1 in all", f"1 + {float(total - 1):g}")
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
    """Return the entries of each SL, evenly spaced: first fit, closest spaced first, in bit-reversed order.

    In that order a free sequence of entries exists whenever as many entries are free.
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
                f"one for which entries are left ({sum(free)} are free)",
                f"{level.distance}, which takes {need}",
                level,
            )
        places[level.sl] = tuple(wanted)
        for place in wanted:
            free[place] = False
    return places


def _largest_w(request: TableRequest) -> Fraction:
    """Return the largest w, in steps of 0.1, whose weight, and in the ib form whose sum, fits into 8 bits."""
    most = MAX_WEIGHT if request.form == "free" else IB_COUNTER_MOST - (request.gmtu_blocks - 1)
    return Fraction(10 * most // request.gmtu_blocks, 10)


def _phi_min(request: TableRequest, level: ServiceLevel, k: Fraction) -> Fraction:
    """Return the bandwidth of entries that just hold one packet each."""
    return Fraction(1, level.distance) * Fraction(level.mtu_blocks, request.gmtu_blocks) / k


def _find_k(request: TableRequest, most: Fraction) -> Fraction:
    """Return the least k, in steps of 0.1, with which no SL asks for less than its entries must have."""
    k = request.k if request.k is not None else _STEP
    while (wide := _least_slack(request, k)) is not None:
        if request.k is not None or k + _STEP > most:
            must = float(_phi_min(request, wide, k))
            why = "given" if request.k is not None else f"the largest that weights of {request.form} entries allow"
            raise request.refusal(
                "bandwidth",
                f"at least phi_min = {must:.5f}, with k = {float(k):g}, {why}",
                f"{float(wide.bandwidth):g}",
                wide,
            )
        k += _STEP
    if k > most:
        raise request.refusal("k", f"at most {float(most):g}, that weights fit into their 8 bits", f"{float(k):g}")
    return k


def _least_slack(request: TableRequest, k: Fraction) -> ServiceLevel | None:
    """Return the SL that asks least, measured by what its entries must have, if it asks for too little."""
    level = min(request.sls, key=lambda one: one.bandwidth / _phi_min(request, one, k))
    return level if level.bandwidth < _phi_min(request, level, k) else None


def _weights(request: TableRequest, k: Fraction, total: Fraction) -> dict[int, int]:
    """Return the weight of each SL: whole weights per entry first, their sum then shared by bandwidth.

    Rounding entries up makes the pool larger; sharing the larger one corrects what rounding gave away.
    """
    pool = k * request.entries * request.gmtu_blocks
    raised = 0
    for level in request.sls:
        count = request.entries // level.distance
        raised += count * _ceil(level.bandwidth * pool / count)
    return {level.sl: _round(level.bandwidth * raised / total) for level in request.sls}


def _find_w(request: TableRequest, k: Fraction, weights: dict[int, int], most: Fraction) -> Fraction:
    """Return the least w, in steps of 0.1 from k, that no SL's bandwidth and no entry's weight is above."""
    w = request.w if request.w is not None else k
    if w < k:
        raise request.refusal("w", f"at least k, {float(k):g}", f"{float(w):g}")
    if w > most:
        raise request.refusal("w", f"at most {float(most):g}, that weights fit into their 8 bits", f"{float(w):g}")
    while (high := _above(request, k, w, weights)) is not None:
        if request.w is not None or w + _STEP > most:
            must = float(w / k / high.distance)
            raise request.refusal(
                "bandwidth",
                f"at most phi_max = {must:.5f}, and no entry's weight above w x GMTU, with w = {float(w):g} and "
                f"k = {float(k):g}",
                f"{float(high.bandwidth):g}",
                high,
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
    """Return ``total`` in ``count`` parts that differ by one at most, the larger ones evenly spaced."""
    return tuple(total * (index + 1) // count - total * index // count for index in range(count))


def _ceil(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)


def _round(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)
