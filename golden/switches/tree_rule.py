"""Table-free D-mod-k forwarding in trees, for networks with more LIDs than the tables hold.

The routes equal those of the generated tables of small trees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.tables.lft import UNASSIGNED

(_K, _LEVELS, _HALVES, _COPIES, _HOSTS) = range(5)
NO_RULE: NDArray[np.int64] = np.zeros(0, np.int64)
"""Rule of switches that use forwarding tables."""


def tree_rule(shape: dict[str, Any], *, hosts: int, copies: int) -> NDArray[np.int64]:
    """Return the forwarding rule of a tree: ``copies`` LIDs for each host, those of host 0 from LID ``copies`` on."""
    return np.array([shape["k"], shape["n"], shape["halves"], copies, hosts], np.int64)


@inner
def tree_output(rule: NDArray[np.int64], switch: int, dlid: int) -> int:
    """Return the output for a DLID at a switch, or ``UNASSIGNED`` for an unknown DLID or without a rule."""
    if len(rule) == 0:
        return UNASSIGNED
    k, last, copies = rule[_K], rule[_LEVELS] - 1, rule[_COPIES]
    host, copy = dlid // copies - 1, dlid % copies
    if not 0 <= host < rule[_HOSTS]:
        return UNASSIGNED
    row = 1
    for _ in range(last):
        row *= k
    level = min(switch // (rule[_HALVES] * row), last)
    word, power = switch - level * rule[_HALVES] * row, 1
    for _ in range(level):
        power *= k
    digits = host // power
    if level == last:
        return int(digits % (rule[_HALVES] * k))
    if digits // k == word // power:
        return int(digits % k)
    return int(k + (digits + copy // power) % k)
