"""How often the intervals of single runs hold the mean over all seeds, and how often a short run errs about saturation.

    python bench/coverage.py [--seeds 200] [--only "4-ary 3-tree"]

A network is measured at 0.3, 0.6 and 0.8 of the load that it accepts when it is offered 1. Two levels send packets of
2,112 bytes; runs have 20,000 cycles with 5,000 of warm-up. The second table counts levels that runs of 2,000 cycles
without warm-up call saturated, at a load at which long runs are steady.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import fmean
from typing import Any

from vlane.sim_top.scenario.world import World, make_world
from vlane.sim_top.study.simulate import PerSL, simulate
from vlane.study.study import Study

__all__ = ["NETWORKS", "covered", "main", "world_of"]

NETWORKS: dict[str, dict[str, Any]] = {
    "4-ary 2-tree": {"topology": "tree", "k": 4, "n": 2},
    "4-ary 3-tree": {"topology": "tree", "k": 4, "n": 3},
    "4 x 4 torus": {"topology": "torus", "size": [4, 4]},
    "8 x 8 torus": {"topology": "torus", "size": [8, 8]},
}
PARTS = (0.3, 0.6, 0.8)
"""Loads relative to the accepted load of a saturated network."""
SHORT_LOAD = 0.7


def world_of(network: str, **run: int) -> World:
    """Return the world of a network with two levels of equal traffic."""
    content = {
        "network": NETWORKS[network],
        "buffers": {"blocks": 256},
        "traffic": [{"sl": sl, "share": 0.5, "bytes": 2112, "pattern": "others"} for sl in (0, 1)],
        "run": {"loads": [1.0], "cycles": 20_000, "warm_up_cycles": 5000, **run},
    }
    return make_world(Study.model_validate(content), Path())


def covered(levels: list[PerSL]) -> tuple[int, int]:
    """Return how many levels have an interval, and how many of these intervals hold the mean of all levels."""
    truth = fmean(level.latency_mean_cycles or 0.0 for level in levels)
    given = [level for level in levels if level.latency_ci95_cycles is not None]
    held = [abs((level.latency_mean_cycles or 0.0) - truth) <= (level.latency_ci95_cycles or 0.0) for level in given]
    return len(given), sum(held)


def _print_coverage(network: str, seeds: int) -> None:
    world = world_of(network)
    accepted = simulate(world, load=1.0, seed=1, with_tables=False)[0].accepted
    for part in PARTS:
        load = round(part * accepted, 2)
        runs = [simulate(world, load=load, seed=seed, with_tables=False)[0] for seed in range(1, seeds + 1)]
        for sl in (0, 1):
            levels = [run.per_sl[sl] for run in runs]
            given, held = covered(levels)
            mean = fmean(level.latency_mean_cycles or 0.0 for level in levels)
            width = fmean(level.latency_ci95_cycles or 0.0 for level in levels) / mean
            row = (network, load, sl, f"{mean:.1f}", f"{100 * held / given:.1f} %", f"{width:.1%}", seeds - given)
            print(f"| {' | '.join(map(str, row))} |")


def _print_short(network: str, seeds: int) -> None:
    world = world_of(network, cycles=2000, warm_up_cycles=0)
    runs = [simulate(world, load=SHORT_LOAD, seed=seed, with_tables=False)[0] for seed in range(1, seeds + 1)]
    levels = [level for run in runs for level in run.per_sl]
    words = [sum(level.saturated for level in levels), sum(not level.warmed_up for level in levels)]
    print(f"| {network} | {SHORT_LOAD} | {len(levels)} | {words[0]} | {words[1]} |")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, help="number of runs of each load [default: 200]")
    parser.add_argument("--only", choices=list(NETWORKS), action="append", help="only this network")
    given = parser.parse_args()
    start, networks = time.process_time(), given.only or list(NETWORKS)
    print("| network | load | SL | mean latency | intervals that hold it | half width | no interval |")
    print("|---|---|---|---|---|---|---|")
    for network in networks:
        _print_coverage(network, given.seeds)
    if "4-ary 3-tree" in networks:
        print("\n| network | load | levels | called saturated | cannot tell |\n|---|---|---|---|---|")
        _print_short("4-ary 3-tree", 20)
    print(f"\n{given.seeds} seeds, {time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
