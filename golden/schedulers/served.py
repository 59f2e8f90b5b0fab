"""Lanes that a programmed scheduler serves, and their shares of a link, determined by stepping it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vlane.golden.schedulers.bank import REST_CYCLES, Write, new_scheduler, see_time, step
from vlane.golden.schedulers.by_name import module_of
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.schedulers.dtable import MAX_ENTRIES

_CYCLES_OF_A_TURN = 8
"""Upper bound of the cycles per turn in the line-rate forms, with packets that have credit."""

_LONG_ENOUGH = _CYCLES_OF_A_TURN * MAX_ENTRIES + REST_CYCLES
_READY, _HOLD, _SWAP = True, False, False
_TURNS = 16
"""Longest turns of a table over which shares are measured."""


def served_lanes(
    name: str, lanes: Iterable[int], *, data_vls: int, writes: Sequence[Write] = (), **parameters: Any
) -> set[int]:
    """Return the data lanes whose 1-block packet starts when no other lane has a packet and there is credit.

    Parameters
    ----------
    name : str
        One of ``by_name.SCHEDULERS``.
    lanes : iterable of int
        Data lanes to test.
    data_vls : int
        Number of data lanes of the port.
    writes : sequence of (select, index, requester or VL, value)
        Program-port writes.
    **parameters
        Other parameters of the component.
    """
    state = new_scheduler(name, data_vls=data_vls, writes=writes, **parameters)
    rules = np.zeros(module_of(name, parameters.get("form", "")).RULE_COUNT, np.int64)
    sizes, none = np.ones(data_vls + 1, np.int64), np.zeros(data_vls + 1, np.int64)
    served, cycle = set(), 0
    for lane in lanes:
        heads = Heads(1 << lane, 1 << lane, sizes, 0, none)
        for _ in range(_LONG_ENOUGH):
            see_time(state, cycle)
            cycle += 1
            named, _, granted = step(state, heads, _READY, _HOLD, NO_WRITE, _SWAP, rules)
            if granted and named == lane:
                served.add(lane)
                break
    return served


def backlogged_shares(
    name: str, blocks: Mapping[int, int], *, data_vls: int, writes: Sequence[Write] = (), **parameters: Any
) -> dict[int, float]:
    """Return the share of the sent blocks of each data lane if all lanes always have a packet and credit.

    Parameters
    ----------
    name, data_vls, writes, **parameters
        As for ``served_lanes``.
    blocks : mapping of int to int
        Size of the packets of each lane, by data lane.
    """
    state = new_scheduler(name, data_vls=data_vls, writes=writes, **parameters)
    rules = np.zeros(module_of(name, parameters.get("form", "")).RULE_COUNT, np.int64)
    sizes, none = np.zeros(data_vls + 1, np.int64), np.zeros(data_vls + 1, np.int64)
    for lane, size in blocks.items():
        sizes[lane] = size
    lanes = sum(1 << lane for lane in blocks)
    heads, sent = Heads(lanes, lanes, sizes, 0, none), dict.fromkeys(blocks, 0)
    for cycle in range(_TURNS * _LONG_ENOUGH):
        see_time(state, cycle)
        lane, _, granted = step(state, heads, _READY, _HOLD, NO_WRITE, _SWAP, rules)
        if granted:
            sent[int(lane)] += blocks[int(lane)]
    whole = sum(sent.values())
    return {lane: of_lane / whole if whole else 0.0 for lane, of_lane in sent.items()}
