"""VOQsw: service levels and SL2VL tables that keep packets for different outputs on different VLs.

Plain data in, plain data out; ``docs/voqsw.md`` says what is planned, and what the paper leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.planning.voqsw_colouring import colour_paths, least_levels
from vlane.planning.voqsw_layers import Layers, one_layer
from vlane.planning.voqsw_paths import Cabled, Ints, Tuples
from vlane.planning.voqsw_search import assign_sls, grow, largest
from vlane.tables.sl2vl import SL_COUNT, VL_DROP

__all__ = ["RESTS", "SEARCHES", "VOQswPlan", "VOQswTables", "lanes_left", "levels_left", "make_tables", "plan_voqsw"]

SEARCHES = ("growth", "largest", "colouring")
"""How many tuples are considered if not all can be: by the paper's growth by one; the largest number that works; as
many as growth and then DSATUR find, which also may give full VOQ fewer levels."""

RESTS = ("lowest", "spread")
"""Which level a path gets that passes no considered tuple."""


@dataclass(frozen=True)
class VOQswPlan:
    """Service levels of paths.

    Parameters
    ----------
    tuples : Tuples
        The 4-tuples of the network, by rank.
    layers : Layers
        What stays apart.
    considered : int
        How many of them are considered, from the first.
    path_level : array of int64, (paths)
        Level of each path, from 0; tables name SLs instead.
    levels_used : int
        Number of levels that some path has.
    levels_for_full : int
        Number with which the search considers all tuples.
    least_for_full : int
        Number below which nobody can.
    """

    tuples: Tuples
    layers: Layers
    considered: int
    path_level: Ints
    levels_used: int
    levels_for_full: int
    least_for_full: int

    @property
    def full(self) -> bool:
        """Whether every tuple is considered."""
        return self.considered == len(self.tuples.weight)

    @property
    def share(self) -> float:
        """Share of VOQ: weight of the considered tuples in that of all."""
        return self.tuples.share(self.considered)


@dataclass(frozen=True)
class VOQswTables:
    """What is programmed: stage 5.

    Parameters
    ----------
    vl : array of uint8, (switches, inputs, outputs, 16)
        Outgoing VL by SL.
    nic_vl : array of uint8, (hosts, 16)
        VL by SL where packets start.
    path_sl : array of int64, (paths)
        SL of each path.
    """

    vl: NDArray[np.uint8]
    nic_vl: NDArray[np.uint8]
    path_sl: Ints


def plan_voqsw(
    tuples: Tuples, levels: int, search: str = "growth", layers: Layers | None = None, *, rest: str = "lowest"
) -> VOQswPlan:
    """Return the plan for so many service levels: full VOQ if they suffice, else as many tuples as the search finds.

    Each layer has as many of the levels as the others: layer n those from n x share on. With ``rest`` "spread" paths
    that pass no considered tuple take the levels in turn, instead of the lowest.

    Raises
    ------
    InputError
        If there are fewer levels than layers, or the search is not for layers.
    """
    layers = layers or one_layer(tuples.paths)
    each = layers.levels_of_each(levels)
    members = [layers.path == layer for layer in range(len(layers.sls))]
    parts = [tuples.of(some) for some in members] if len(members) > 1 else [tuples]
    if search != "growth" and len(parts) > 1:
        raise InputError("--search", f"growth with {len(parts)} layers", search)
    considered, least = len(tuples.weight), max(map(least_levels, parts))
    chosen = [assign_sls(part, considered) for part in parts]
    if search == "colouring":
        chosen = [_coloured(tuples, least, chosen[0])]
    needed = max(map(_count, chosen))
    if needed > each:
        considered = min((largest if search == "largest" else grow)(part, each) for part in parts)
        chosen = [assign_sls(part, considered) for part in parts]
    if search == "colouring":
        while considered < len(tuples.weight) and (more := colour_paths(tuples, considered + 1, each)) is not None:
            considered, chosen = considered + 1, [more]
    if rest == "spread":
        for part, level in zip(parts, chosen, strict=True):
            free = np.setdiff1d(np.arange(len(level)), part.through(considered)[0])
            level[free] = np.arange(len(free)) % each
    path_level = np.zeros(len(layers.path), np.int64)
    for layer, (some, level) in enumerate(zip(members, chosen, strict=True)):
        path_level[some] = layer * each + level
    used, of_all = len(np.unique(path_level)), len(parts)
    return VOQswPlan(tuples, layers, considered, path_level, used, needed * of_all, least * of_all)


def _coloured(tuples: Tuples, least: int, path_level: Ints) -> Ints:
    """Return levels of full VOQ by colouring, if they are fewer than these."""
    if _count(path_level) <= least:
        return path_level
    fewer = colour_paths(tuples, len(tuples.weight), _count(path_level) - 1)
    return path_level if fewer is None else fewer


def _count(path_level: Ints) -> int:
    return int(path_level.max(initial=-1)) + 1


def levels_left(count: int, aside: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lowest so many SLs that are not set aside.

    Raises
    ------
    InputError
        If there are fewer.
    """
    return _left("--sls", count, SL_COUNT, aside)


def lanes_left(count: int, aside: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lowest so many data VLs that are not set aside.

    Raises
    ------
    InputError
        If there are fewer.
    """
    return _left("--vls", count, VL_DROP, aside)


def _left(option: str, count: int, whole: int, aside: tuple[int, ...]) -> tuple[int, ...]:
    left = [number for number in range(whole) if number not in aside]
    if not left:
        raise InputError(option.replace("--", "--aside-"), f"fewer than all {whole}", "all")
    if not 1 <= count <= len(left):
        without = f", as {', '.join(map(str, sorted(aside)))} of {whole} are set aside" if aside else ""
        raise InputError(option, f"1 to {len(left)}{without}", count)
    return tuple(left[:count])


def make_tables(
    plan: VOQswPlan, sls: tuple[int, ...], vls: tuple[int, ...], vl: NDArray[np.uint8], nic_vl: NDArray[np.uint8]
) -> VOQswTables:
    """Return the tables of a plan.

    Parameters
    ----------
    plan : VOQswPlan
        At most as many levels as there are SLs.
    sls, vls : tuple of int
        SLs that stand for levels 0, 1, ..., and VLs of output 0, 1, ...; outputs share VLs if there are fewer.
    vl, nic_vl : array of uint8
        Tables as they are, in the form of ``VOQswTables``: entries of other SLs stay.

    Raises
    ------
    InputError
        If there are fewer VLs than layers need.
    """
    new_vl, new_nic_vl = vl.copy(), nic_vl.copy()
    paths, layers, place = plan.tuples.paths, plan.layers, plan.tuples.place
    lanes = layers.lanes_of_each(vls)
    each = layers.levels_of_each(len(sls))
    at_host, in_use = _ends(paths.cabled)
    between = in_use[:, :, None] & in_use[:, None, :]
    to_host = between & at_host[:, None, :]
    for level, sl in enumerate(sls[: each * len(layers.sls)]):
        layer, member = divmod(level, each)
        new_vl[between, sl] = lanes[layers.group[between, layer], member % lanes.shape[1]]
        spread = vls[level % len(vls)]
        new_vl[to_host, sl] = np.where(np.isin(vl[to_host, sl], vls), vl[to_host, sl], spread)
        new_nic_vl[:, sl] = np.where(np.isin(nic_vl[:, sl], vls), nic_vl[:, sl], spread)
    kept = plan.tuples.passed < plan.considered
    path = np.repeat(np.arange(len(plan.path_level)), np.diff(plan.tuples.first))[kept]
    path_sl = np.array(sls, np.int64)[plan.path_level]
    switch, entered, out, to = place[plan.tuples.passed[kept]].T
    group = layers.group[switch, entered, out, layers.path[path]]
    new_vl[switch, entered, out, path_sl[path]] = lanes[group, to % lanes.shape[1]]
    return VOQswTables(new_vl, new_nic_vl, path_sl)


def _ends(cabled: Cabled) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each port of each switch has a host, and whether it has a cable at all."""
    at_host = np.zeros(len(cabled.far), bool)
    at_host[cabled.hosts] = True
    shape = cabled.switches, cabled.ports
    return at_host.reshape(shape), (at_host | (cabled.far >= 0)).reshape(shape)
