"""Speed of an Ethernet network under congestion management: flit-hops (64 bytes over a link) a second of one core."""

from __future__ import annotations

import json

from bars import at_least

from vlane.golden.ethernet.network import Options, Scheme
from vlane.sim_top.studies.e2cm_runs import EthernetRun, made_run
from vlane.sim_top.studies.e2cm_scenarios import SCENARIOS

TARGET = 15_000_000
SECONDS = 0.2


def main() -> None:
    """Print one JSON document: a bar for each scenario with all flows probed, with PAUSE."""
    options = Options(prober={"base": "given"})
    bars = []
    for name in SCENARIOS:
        given = EthernetRun(name, Scheme(points=True, probing="all", pause=True), 1.0, SECONDS, options)
        made_run(given, 1)  # compiled, and in the caches
        _, cycles, seconds, rows = made_run(given, 1)
        speed = round(rows[0]["flit_hops"] / seconds)
        more = {"cpu_seconds": round(seconds, 2), "network_seconds": round(cycles * 51.2e-9, 3)}
        bars.append(at_least(f"{name}: flit-hops a CPU second", speed, TARGET, **more))
    print(json.dumps({"bars": bars}, indent=1))


if __name__ == "__main__":
    main()
