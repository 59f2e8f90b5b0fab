"""Forwarding of trees by rule, for networks of more LIDs than tables hold: D-mod-k, as the tables of small trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner
from vlane.tables.lft import UNASSIGNED

(_K, _LEVELS, _HALVES, _COPIES, _HOSTS) = range(5)
NO_RULE: NDArray[np.int64] = np.zeros(0, np.int64)
"""Of switches that have tables."""


def tree_rule(shape: dict[str, Any], *, hosts: int, copies: int) -> NDArray[np.int64]:
    """Return the rule of a tree with that shape whose hosts have so many LIDs each, host 0 from ``copies`` on."""
    return np.array([shape["k"], shape["n"], shape["halves"], copies, hosts], np.int64)


@inner
def tree_output(rule: NDArray[np.int64], switch: int, dlid: int) -> int:
    """Return the output of a DLID at a switch, ``UNASSIGNED`` if it is nobody's or there is no rule."""
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
