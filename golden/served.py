"""Which lanes a programmed scheduler ever serves: whatever it is, it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from vlane.golden.schedulers import NO_WRITE, REST_CYCLES, Heads, Write, programmed

__all__ = ["served_lanes"]

_LONG_ENOUGH = 2 * REST_CYCLES


def served_lanes(
    name: str, lanes: Iterable[int], *, data_vls: int, writes: Sequence[Write] = (), **parameters: Any
) -> set[int]:
    """Return those of the lanes that send when nobody else asks, with a packet of one block and room for it.

    Parameters
    ----------
    name : str
        One of ``SCHEDULERS``.
    lanes : iterable of int
        Those in question.
    writes : sequence of (select, index, requester or VL, weight)
        What the program port was told.
    """
    _, step = programmed(name, data_vls=data_vls, writes=writes, **parameters)
    sizes, none = np.ones(data_vls + 1, np.int64), np.zeros(data_vls + 1, np.int64)
    served = set()
    for lane in lanes:
        heads = Heads(1 << lane, 1 << lane, sizes, 0, none)
        for _ in range(_LONG_ENOUGH):
            if step(heads, NO_WRITE, ready=True, swap=False)[0] == lane:
                served.add(lane)
                break
    return served
