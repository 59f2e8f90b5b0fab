"""Lanes that a programmed scheduler serves, determined by stepping it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from vlane.golden.schedulers.bank import REST_CYCLES, Write, new_scheduler, step
from vlane.golden.schedulers.by_name import module_of
from vlane.golden.schedulers.heads import NO_WRITE, Heads
from vlane.schedulers.dtable import MAX_ENTRIES

_CYCLES_OF_A_TURN = 8
"""Upper bound of the cycles per turn in the line-rate forms, with packets that have credit."""

_LONG_ENOUGH = _CYCLES_OF_A_TURN * MAX_ENTRIES + REST_CYCLES
_READY, _HOLD, _SWAP = True, False, False


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
    served = set()
    for lane in lanes:
        heads = Heads(1 << lane, 1 << lane, sizes, 0, none)
        for _ in range(_LONG_ENOUGH):
            named, _, granted = step(state, heads, _READY, _HOLD, NO_WRITE, _SWAP, rules)
            if granted and named == lane:
                served.add(lane)
                break
    return served
