"""One run by two cores against the same run by one: how many times as fast, the digests being equal.

``python bench/cores.py`` prints the bars; the two run in turns, and the fastest of each counts.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path
from typing import Any

from bars import at_least

from vlane.golden.network.cores import start_network
from vlane.sim_top.scenario.world import World, make_network, make_world
from vlane.study.study import Study

__all__ = ["core_bars"]

TORUS: dict[str, Any] = {"topology": "torus", "size": [8, 8, 8], "hosts_per_switch": 4, "trunks": 4}
CASES: dict[str, tuple[dict[str, Any], int, int, int]] = {
    "8x8x8 torus, 2,048 hosts, 8 flits": (TORUS, 2, 8, 3000),
    "8x8x8 torus, 2,048 hosts, 1 flit": (TORUS, 2, 1, 1000),
    "24-ary 2-tree, 576 hosts, 8 flits": ({"topology": "tree", "k": 24, "n": 2}, 7, 8, 6000),
}
"""Network, service levels, flits of a packet, cycles; load 0.3."""
FROM_HOSTS, TARGET, CORES, TURNS = 2048, 1.7, 2, 5
"""The target is for networks of so many hosts and more."""


def _bar(name: str) -> dict[str, Any]:
    network, levels, flits, cycles = CASES[name]
    study = Study.model_validate(
        {
            "network": network,
            "buffers": {"blocks": 256},
            "traffic": [{"sl": sl, "share": 1 / levels, "bytes": 64 * flits} for sl in range(levels)],
            "run": {"loads": [0.3], "cycles": cycles, "warm_up_cycles": cycles // 4},
        }
    )
    world = make_world(study, Path())
    turns = [[_timed(world, cores, cycles) for cores in (1, CORES)] for _ in range(TURNS)]
    if len({digest for turn in turns for *_, digest in turn}) != 1:
        raise AssertionError(f"{name}: digests differ")
    (one, one_cpu), (many, many_cpu) = (
        [min(turn[place][what] for turn in turns) for what in (0, 1)] for place in (0, 1)
    )
    more = {"seconds": [round(one, 3), round(many, 3)], "cpu_seconds": [round(one_cpu, 3), round(many_cpu, 3)]}
    words = f"{name}: speed of {CORES} cores over 1"
    target = TARGET if len(world.topology.hosts) >= FROM_HOSTS else 1.0
    return at_least(words, round(one / many, 2), target, load_average=round(os.getloadavg()[0], 1), **more)


def _timed(world: World, cores: int, cycles: int) -> tuple[float, float, int]:
    """Return seconds and CPU seconds of all but the first quarter of a run, and the digest of all of it."""
    network = start_network(make_network(world, load=0.3, seed=1), cores=cores)
    network.warm()
    network.run_to(cycles // 4, deque())
    start, spent = time.perf_counter(), network.cpu_seconds
    network.run_to(cycles, deque())
    seconds = time.perf_counter() - start
    return seconds, network.cpu_seconds - spent, int(network.whole()[0].meters.digest[0])


def core_bars() -> list[dict[str, Any]]:
    """Return the bars of one run by several cores."""
    return [_bar(name) for name in CASES]


if __name__ == "__main__":
    print(json.dumps(core_bars(), indent=2))
