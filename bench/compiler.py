"""Cost of the translator, as JSON: translation, compilation, loading and calls of the kernel that runs a network.

Seconds are processor time of this process and of the C++ compiler. ``call_microseconds`` is a call of a compiled kernel
that runs no cycle of the network; ``first_call_microseconds`` is the first one with a network, which collects the
addresses of its arrays.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import vlane.sim_top
from vlane.golden.compiler.build import translated
from vlane.golden.compiler.kernel import Kernel
from vlane.golden.compiler.types import type_of
from vlane.golden.engine.kernel import source_digest
from vlane.golden.network.network import run
from vlane.golden.network.runs import new_packet_pool
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.study.file import read_study_file

CONFIGS = Path(vlane.sim_top.__file__).parent / "configs"
STUDIES = ("tree43_rtl", "tree43_opa", "tree43_ib", "hot_spot_cc", "tree42_flits", "tree42_per_vl", "torus888_ib")
CALLS = 2000


def seconds(call: Callable[[], object]) -> float:
    """Return the processor time of a call, that of the C++ compiler included."""

    def now() -> float:
        used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(each.ru_utime + each.ru_stime for each in used)

    before = now()
    call()
    return now() - before


def measured(name: str, cycles: int, repeats: int) -> dict[str, Any]:
    """Return the figures of a study's network."""
    file = CONFIGS / f"{name}.toml"
    study = read_study_file(file).study
    world, load = make_world(study, file.parent), study.run.loads[len(study.run.loads) // 2] if study.run.loads else 0.0

    def network() -> tuple[Any, Any]:
        net = make_network(world, load=load, seed=1)
        return net, new_packet_pool(net, 1 << 17)

    net, packets = network()
    kernel = Kernel(run.python_function, source_digest)  # type: ignore[attr-defined]  # one that nobody has compiled
    types = tuple(type_of(each) for each in (net, packets, 0))
    translation = min(seconds(lambda: translated(run, types)) for _ in range(repeats))
    whole = seconds(lambda: kernel(net, packets, 0))
    net, packets = network()
    first = seconds(lambda: kernel(net, packets, 0))
    start = time.perf_counter()
    for _ in range(CALLS):
        kernel(net, packets, 0)
    call = (time.perf_counter() - start) / CALLS
    speeds = []
    for _ in range(repeats):
        net, packets = network()
        speeds.append(seconds(lambda: kernel(net, packets, cycles)) / int(net.meters.digest[1]))  # noqa: B023 - at once
    return {
        "study": name,
        "translation_seconds": round(translation, 3),
        "translation_and_compilation_seconds": round(whole, 2),
        "first_call_microseconds": round(first * 1e6),
        "call_microseconds": round(call * 1e6, 1),
        "nanoseconds_per_flit_hop": round(min(speeds) * 1e9, 1),
        "digest": int(net.meters.digest[0]),
    }


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--study", choices=STUDIES, action="append", help="only this one")
    given = parser.parse_args()
    results = []
    for name in given.study or STUDIES:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["VLANE_CACHE"] = cache  # nothing is compiled yet
            results.append(measured(name, given.cycles, given.repeats))
    json.dump({"cycles": given.cycles, "studies": results}, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
