"""VOQsw: service levels and SL2VL tables that keep packets for different outputs on different VLs.

Plain data in, plain data out; ``docs/voqsw.md`` says what is planned, and what the paper leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.planning.voqsw_paths import Cabled, Ints, Tuples
from vlane.planning.voqsw_search import assign_sls, grow, largest
from vlane.sl2vl import SL_COUNT, VL_DROP

__all__ = ["SEARCHES", "VOQswPlan", "VOQswTables", "lanes_left", "levels_left", "make_tables", "plan_voqsw"]

SEARCHES = ("growth", "largest")
"""How many tuples are considered if not all can be: the paper's growth by one, or the largest number that works."""


@dataclass(frozen=True)
class VOQswPlan:
    """Service levels of paths.

    Parameters
    ----------
    tuples : Tuples
        The 4-tuples of the network, by rank.
    considered : int
        How many of them are considered, from the first.
    path_level : array of int64, (paths)
        Level of each path, from 0; tables name SLs instead.
    levels_used : int
        Number of levels that some path has.
    levels_for_full : int
        Number that all tuples need.
    """

    tuples: Tuples
    considered: int
    path_level: Ints
    levels_used: int
    levels_for_full: int

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


def plan_voqsw(tuples: Tuples, levels: int, search: str = "growth") -> VOQswPlan:
    """Return the plan for so many service levels: full VOQ if they suffice, else as many tuples as the search finds."""
    path_level = assign_sls(tuples, len(tuples.weight))
    considered, needed = len(tuples.weight), _count(path_level)
    if needed > levels:
        considered = (grow if search == "growth" else largest)(tuples, levels)
        path_level = assign_sls(tuples, considered)
    return VOQswPlan(tuples, considered, path_level, _count(path_level), needed)


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
    if not 1 <= count <= len(left):
        without = f", as {', '.join(map(str, sorted(aside)))} of {whole} are set aside" if aside else ""
        raise InputError(option, f"1 to {len(left)}{without}", count)
    return tuple(left[:count])


def make_tables(
    plan: VOQswPlan,
    sls: tuple[int, ...],
    vls: tuple[int, ...],
    vl: NDArray[np.uint8],
    nic_vl: NDArray[np.uint8],
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
    """
    vl, nic_vl, lanes = vl.copy(), nic_vl.copy(), np.array(vls, np.uint8)
    cabled = plan.tuples.paths.cabled
    used = _in_use(cabled)
    between = used[:, :, None] & used[:, None, :]
    for level, sl in enumerate(sls):
        vl[between, sl] = lanes[level % len(lanes)]
        nic_vl[:, sl] = lanes[level % len(lanes)]
    kept = plan.tuples.passed < plan.considered
    path = np.repeat(np.arange(len(plan.path_level)), np.diff(plan.tuples.first))[kept]
    path_sl = np.array(sls, np.int64)[plan.path_level]
    switch, entered, out, to = plan.tuples.place[plan.tuples.passed[kept]].T
    vl[switch, entered, out, path_sl[path]] = lanes[to % len(lanes)]
    return VOQswTables(vl, nic_vl, path_sl)


def _in_use(cabled: Cabled) -> NDArray[np.bool_]:
    """Return whether each port of each switch has a cable."""
    used = cabled.far >= 0
    used[cabled.hosts] = True
    return used.reshape(cabled.switches, cabled.ports)
