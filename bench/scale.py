"""How large networks may be: seconds and MiB of checks and runs, and what a flit-hop costs in large networks.

Every figure is of a process of its own: ``python bench/scale.py NAME`` prints it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bars import at_most

from vlane.golden.network.network import run
from vlane.golden.network.runs import new_packet_pool, run_to
from vlane.sim_top.scenario.path_checks import check_world
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.study.study import Study

__all__ = ["scale_bars"]


def _study(network: dict[str, Any], *, levels: int, flits: int, load: float, cycles: int) -> Study:
    return Study.model_validate(
        {
            "network": network,
            "buffers": {"blocks": 256},
            "traffic": [{"sl": sl, "share": 1 / levels, "bytes": 64 * flits} for sl in range(levels)],
            "run": {"loads": [load], "cycles": cycles, "warm_up_cycles": cycles // 4},
        }
    )


def _memory() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _checked(study: Study) -> dict[str, Any]:
    """Return what the tables of a study and its checks before any run take, kernels compiled before."""
    check_world(
        make_world(_study({"topology": "tree", "k": 2, "n": 2}, levels=2, flits=8, load=0.3, cycles=100), Path())
    )
    start = time.process_time()
    check_world(make_world(study, Path()))
    return {"cpu_seconds": round(time.process_time() - start, 2), "mib": _memory()}


def _ran(study: Study) -> dict[str, Any]:
    """Return what the network of a study and its run take, and nanoseconds of CPU time of a flit-hop."""
    start = time.process_time()
    world = make_world(study, Path())
    net = make_network(world, load=study.run.loads[0], seed=1)
    packets = new_packet_pool(net, 1 << 14)
    run(net, packets, 0)
    built = time.process_time() - start
    start = time.process_time()
    _, packets = run_to(net, packets, study.run.cycles // 2)
    half, hops_of_half = time.process_time() - start, int(net.meters.digest[1])
    start = time.process_time()
    run_to(net, packets, study.run.cycles)
    seconds, flit_hops = time.process_time() - start, int(net.meters.digest[1])
    return {
        "set_up_cpu_seconds": round(built, 2),
        "cpu_seconds": round(half + seconds, 2),
        "mib": _memory(),
        "cycles": study.run.cycles,
        "flit_hops": flit_hops,
        "ns_per_flit_hop": seconds * 1e9 / (flit_hops - hops_of_half),
    }


def _tree(k: int, n: int) -> dict[str, Any]:
    return {"topology": "tree", "k": k, "n": n}


def _torus(*size: int, hosts: int, trunks: int) -> dict[str, Any]:
    return {"topology": "torus", "size": list(size), "hosts_per_switch": hosts, "trunks": trunks}


ONE: dict[str, Callable[[], dict[str, Any]]] = {
    "checked_13824": lambda: _checked(_study(_tree(24, 3), levels=7, flits=8, load=0.3, cycles=1000)),
    "wide_40": lambda: _ran(_study(_tree(40, 2), levels=7, flits=8, load=0.3, cycles=2000)),
    "wide_64": lambda: _ran(_study(_tree(64, 2), levels=7, flits=8, load=0.3, cycles=1000)),
    "by_rule_65536": lambda: _ran(_study(_tree(4, 8), levels=2, flits=8, load=0.3, cycles=300)),
    **{
        f"{name}_{flits}": partial(
            lambda network, cycles, flits: _ran(_study(network, levels=2, flits=flits, load=0.3, cycles=cycles)),
            network,
            cycles,
            flits,
        )
        for name, network, cycles in (
            ("torus_64", _torus(8, 8, hosts=1, trunks=1), 40_000),
            ("torus_2048", _torus(8, 8, 8, hosts=4, trunks=4), 2000),
            ("tree_64", _tree(4, 3), 40_000),
            ("tree_16384", _tree(4, 7), 600),
        )
        for flits in (1, 8)
    },
}
"""What is measured, by name; numbers are hosts, or links of a switch towards the hosts."""

SECONDS, CHECK_MIB, WIDE_MIB, RULE_MIB = 10, 1024, 4096, 8192
"""Targets: CPU seconds of a check, MiB."""
COSTS = (("torus_64", "torus_2048", 1.5), ("tree_64", "tree_16384", 3.0))
"""Small network, large one with the same traffic, and the cost of a flit-hop that the large one may have over it."""
TURNS = 3


def _measured(name: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
    sys.stderr.write(f"{name}: {done.stdout}")
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _cost(name: str) -> float:
    """Return nanoseconds of a flit-hop, the least of several runs, as others share the machine."""
    return min(float(_measured(name)["ns_per_flit_hop"]) for _ in range(TURNS))


def scale_bars() -> list[dict[str, Any]]:
    """Return bars of seconds, of MiB, and of the cost of a flit-hop."""
    checked = _measured("checked_13824")
    bars = [
        at_most("check of a 24-ary 3-tree, 13,824 hosts, 7 SLs: CPU seconds", checked["cpu_seconds"], SECONDS),
        at_most("check of a 24-ary 3-tree, 13,824 hosts, 7 SLs: MiB", checked["mib"], CHECK_MIB),
    ]
    for name, words, target in (
        ("wide_40", "run of a 40-ary 2-tree, 1,600 hosts: MiB", WIDE_MIB),
        ("wide_64", "run of a 64-ary 2-tree, 4,096 hosts: MiB", WIDE_MIB),
        ("by_rule_65536", "run of a 4-ary 8-tree, 65,536 hosts, by rule: MiB", RULE_MIB),
    ):
        found = _measured(name)
        bars.append(at_most(words, found.pop("mib"), target, **found))
    for small, large, target in COSTS:
        for flits in (1, 8):
            costs = [_cost(f"{name}_{flits}") for name in (small, large)]
            words = f"cost of a flit-hop, {large.replace('_', ' of ')} hosts over {small.rpartition('_')[2]}"
            more = {"ns_per_flit_hop": [round(cost, 1) for cost in costs]}
            bars.append(at_most(f"{words}, {flits} flits, load 0.3", round(costs[1] / costs[0], 2), target, **more))
    return bars


if __name__ == "__main__":
    print(json.dumps(ONE[sys.argv[1]]()))
