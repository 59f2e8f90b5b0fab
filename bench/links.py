"""How evenly the tables load the links: most over mean of each class, every ordered pair of hosts counted equally."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bars import at_most

from vlane.golden.topologies.routing import Routes, dimension_order, dmodk
from vlane.golden.topologies.topology import Topology, torus, tree
from vlane.sim_top.scenario.link_loads import most_over_mean

__all__ = ["CASES", "link_bars"]

_ROW = tuple(range(16))

CASES: dict[str, tuple[Topology, Callable[[Topology], Routes], float]] = {
    "4-ary 3-tree": (tree(4, 3), lambda it: dmodk(it, _ROW), 1.05),
    "24-ary 2-tree": (tree(24, 2), lambda it: dmodk(it, _ROW), 1.05),
    "8x8 torus, 8 hosts, trunks 10": (torus((8, 8), hosts=8, trunks=10), lambda it: dimension_order(it, 1), 1.10),
    "8x8 torus, 8 hosts, trunks 10, lmc 1": (
        torus((8, 8), hosts=8, trunks=10),
        lambda it: dimension_order(it, 1, lmc=1),
        1.05,
    ),
    "8x8x8 torus, 4 hosts, trunks 4": (torus((8, 8, 8), hosts=4, trunks=4), lambda it: dimension_order(it, 1), 1.05),
}
"""Network, its routes, and the target."""


def link_bars() -> list[dict[str, Any]]:
    """Return a bar for each class of links of each network."""
    return [
        at_most(f"links of the {name}, {which}: most over mean", round(ratio, 4), target)
        for name, (topology, routes, target) in CASES.items()
        for which, ratio in most_over_mean(topology, routes(topology)).items()
    ]
