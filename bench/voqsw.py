"""Planning of VOQsw on random networks, as JSON: service levels for full VOQ, shares with fewer, CPU seconds.

Networks are those of ``vlane voqsw --topology irregular:SWITCHES --seed S``, S = 1, 2, ...: 8 ports, 4 of them with
hosts, up*/down* from switch 0. Each figure is given as mean, standard deviation, least and most over the networks.
``seconds`` are CPU seconds of paths and 4-tuples; of the count for full VOQ; of each search with fewer levels.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any

from vlane.golden.topologies.routing import up_down
from vlane.golden.topologies.topology import irregular
from vlane.planning.voqsw import plan_voqsw
from vlane.planning.voqsw_paths import find_tuples, follow_paths
from vlane.planning.voqsw_search import assign_sls
from vlane.sim_top.scenario.planned_voqsw import as_cabled


def measured(switches: int, seed: int, levels: list[int], *, colouring: bool) -> dict[str, float]:
    """Return the figures of one network."""
    topology = irregular(switches, ports=8, hosts=4, seed=seed)
    routes = up_down(topology, (0,) * 16)
    cabled = as_cabled(topology, routes)
    start = time.process_time()
    tuples = find_tuples(follow_paths(cabled, routes.lft))
    found = time.process_time()
    assign_sls(tuples, len(tuples.weight))
    figures: dict[str, float] = {"seconds_tuples": found - start, "seconds_full": time.process_time() - found}
    for count in levels:
        start = time.process_time()
        plan = plan_voqsw(tuples, count)
        figures[f"seconds_{count}_sls"] = time.process_time() - start
        figures[f"share_{count}_sls"] = plan.share
        figures[f"considered_{count}_sls"] = plan.considered
        figures["sls_for_full"] = plan.levels_for_full
        figures["sls_for_full_at_least"] = plan.least_for_full
        if colouring:
            coloured = plan_voqsw(tuples, count, "colouring")
            figures[f"share_{count}_sls_coloured"] = coloured.share
            figures["sls_for_full_coloured"] = coloured.levels_for_full
    return {**figures, "paths": len(tuples.paths.source), "tuples": len(tuples.weight)}


def summary(runs: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return mean, standard deviation, least and most of every figure."""
    return {
        name: {
            "mean": round(statistics.mean(values), 4),
            "sd": round(statistics.stdev(values), 4) if len(values) > 1 else 0.0,
            "least": round(min(values), 4),
            "most": round(max(values), 4),
        }
        for name in sorted(runs[0])
        if (values := [run[name] for run in runs])
    }


def main() -> None:
    """Print the figures of every size that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("switches", nargs="*", type=int, default=[8, 16, 32, 64], help="Sizes of networks.")
    parser.add_argument("--networks", type=int, default=10, help="Networks of each size.")
    parser.add_argument("--sls", type=int, nargs="*", default=[8, 4], help="Service levels that may be used.")
    parser.add_argument("--colouring", action="store_true", help="Colour the paths as well.")
    asked = parser.parse_args()
    sizes: list[dict[str, Any]] = []
    for switches in asked.switches:
        runs = [measured(switches, seed, asked.sls, colouring=asked.colouring) for seed in range(1, asked.networks + 1)]
        sizes.append({"switches": switches, "networks": asked.networks, **summary(runs)})
    print(json.dumps(sizes, indent=2))


if __name__ == "__main__":
    main()
