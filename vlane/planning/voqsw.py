"""VOQsw: assignment of service levels and SL2VL tables that separate packets for different outputs by VL.

``docs/voqsw.md`` describes the plan and the questions left open by the paper.
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
"""Searches for the number of considered tuples: the paper's growth by one, the largest feasible number, or growth
followed by DSATUR colouring. Colouring may also reduce the levels of full VOQ."""

RESTS = ("lowest", "spread")
"""Policies for paths without a considered tuple."""


@dataclass(frozen=True)
class VOQswPlan:
    """Service levels of paths.

    Parameters
    ----------
    tuples : Tuples
        4-tuples of the network, by rank.
    layers : Layers
        Layers of paths and groups of VLs.
    considered : int
        Number of considered tuples: the first ones by rank.
    path_level : array of int64, (paths)
        Level of each path, from 0; ``make_tables`` maps levels to SLs.
    levels_used : int
        Number of different levels of paths.
    levels_for_full : int
        Number of levels with which the search considers all tuples.
    least_for_full : int
        Lower bound on the number of levels for all tuples.
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
        """Whether all tuples are considered."""
        return self.considered == len(self.tuples.weight)

    @property
    def share(self) -> float:
        """Share of VOQ: total weight of the considered tuples divided by the total weight of all tuples."""
        return self.tuples.share(self.considered)


@dataclass(frozen=True)
class VOQswTables:
    """Tables to program (stage 5).

    Parameters
    ----------
    vl : array of uint8, (switches, inputs, outputs, 16)
        Outgoing VL by SL.
    nic_vl : array of uint8, (hosts, 16)
        Outgoing VL of a host's NIC by SL.
    path_sl : array of int64, (paths)
        SL of each path.
    """

    vl: NDArray[np.uint8]
    nic_vl: NDArray[np.uint8]
    path_sl: Ints


def plan_voqsw(
    tuples: Tuples, levels: int, search: str = "growth", layers: Layers | None = None, *, rest: str = "lowest"
) -> VOQswPlan:
    """Return the plan for ``levels`` service levels: full VOQ if they suffice, else a part of the tuples.

    All layers have equally many levels; those of layer n start at n x (levels per layer). Paths without a considered
    tuple take level 0 of the layer, or with ``rest="spread"`` the levels in turn.

    Raises
    ------
    InputError
        If there are fewer levels than layers, or the search does not support several layers.
    """
    layers = layers or one_layer(tuples.paths)
    each = layers.levels_of_each(levels)
    members = [layers.path == layer for layer in range(len(layers.sls))]
    parts = [tuples.of(some) for some in members] if len(members) > 1 else [tuples]
    if search != "growth" and len(parts) > 1:
        raise InputError("--search", f"growth if the network has {len(parts)} layers", search)
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
    """Return levels of full VOQ by colouring if colouring needs fewer levels, else ``path_level``."""
    if _count(path_level) <= least:
        return path_level
    fewer = colour_paths(tuples, len(tuples.weight), _count(path_level) - 1)
    return path_level if fewer is None else fewer


def _count(path_level: Ints) -> int:
    return int(path_level.max(initial=-1)) + 1


def levels_left(count: int, aside: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lowest ``count`` SLs outside ``aside``.

    Raises
    ------
    InputError
        If fewer SLs remain.
    """
    return _left("--sls", count, SL_COUNT, aside)


def lanes_left(count: int, aside: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lowest ``count`` data VLs outside ``aside``.

    Raises
    ------
    InputError
        If fewer VLs remain.
    """
    return _left("--vls", count, VL_DROP, aside)


def _left(option: str, count: int, whole: int, aside: tuple[int, ...]) -> tuple[int, ...]:
    left = [number for number in range(whole) if number not in aside]
    if not left:
        problem = f"sets all {whole} aside; leave at least one"
        raise InputError(option.replace("--", "--aside-"), f"at most {whole - 1} numbers", "all", problem=problem)
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
        Plan with at most ``len(sls)`` levels.
    sls : tuple of int
        SL of each level.
    vls : tuple of int
        VL of each output; outputs share VLs if there are fewer VLs than outputs.
    vl : array of uint8
        SL2VL tables of the switches before the change, in the form of ``VOQswTables``. Entries of other SLs are
        kept.
    nic_vl : array of uint8
        SL2VL tables of the adapters before the change.

    Raises
    ------
    InputError
        If there are fewer VLs than groups.
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
    """Return for each port of each switch whether the port has a host, and whether the port has any cable."""
    at_host = np.zeros(len(cabled.far), bool)
    at_host[cabled.hosts] = True
    shape = cabled.switches, cabled.ports
    return at_host.reshape(shape), (at_host | (cabled.far >= 0)).reshape(shape)
