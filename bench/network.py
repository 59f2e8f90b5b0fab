"""Speed and memory of the golden network, and bars with their targets, as JSON.

``cases`` are flit-hops per CPU second of one core, compilation apart; each case runs in a process of its own, so that
memory is its own. ``first_call_seconds`` includes compilation with an empty cache, ``cached_call_seconds`` only what
the cache leaves. ``bars`` are how evenly the tables load the links, how large networks may be, how much faster two
cores make one run, and the speed against BookSim2. ``--only`` and ``--case`` make a part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from booksim import program_at
from comparison import speeds
from cores import core_bars
from links import link_bars
from scale import scale_bars

from vlane.errors import InputError
from vlane.golden.network.network import run
from vlane.golden.network.runs import run_to
from vlane.golden.switches.packets import new_packets
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.study.study import Study

TREE: dict[str, Any] = {"topology": "tree", "k": 4, "n": 3}
CASES: dict[str, tuple[dict[str, Any], int, float, int, int]] = {
    "tree43_1flit": (TREE, 7, 0.3, 64, 30_000),
    "tree43_8flit": (TREE, 7, 0.7, 512, 30_000),
    "torus88_1flit": ({"topology": "torus", "size": [8, 8]}, 2, 0.3, 64, 30_000),
    "torus88_8flit": ({"topology": "torus", "size": [8, 8]}, 2, 0.5, 512, 30_000),
    "tree43_8flit_opa": (TREE, 7, 0.7, 512, 30_000),
    "tree242_1flit": ({"topology": "tree", "k": 24, "n": 2}, 7, 0.3, 64, 2000),
    "tree242_8flit": ({"topology": "tree", "k": 24, "n": 2}, 7, 0.5, 512, 4000),
    "torus888_1flit": ({"topology": "torus", "size": [8, 8, 8], "hosts_per_switch": 4, "trunks": 2}, 2, 0.3, 64, 600),
    "torus888_8flit": ({"topology": "torus", "size": [8, 8, 8], "hosts_per_switch": 4, "trunks": 2}, 2, 0.3, 512, 3000),
}
"""Network, service levels, load, bytes of a packet, cycles; names that end in ``_opa`` have Omni-Path's switches."""

RUNS = 5
"""Of each case; the fastest counts, as others share the machine."""

TARGET, LARGE_TARGET, LARGE_MIB = 15_000_000, 7_500_000, 1024
"""Flit-hops per CPU second; of networks of more than 64 hosts, and their memory."""


def study_of(name: str) -> Study:
    """Return a case as a study: uniform traffic, round robin."""
    network, levels, load, size, cycles = CASES[name]
    return Study.model_validate(
        {
            "network": network,
            "switch": {"kind": "opa" if name.endswith("_opa") else "ib"},
            "buffers": {"blocks": 256},
            "traffic": [{"sl": sl, "share": 1 / levels, "bytes": size} for sl in range(levels)],
            "run": {"loads": [load], "cycles": cycles, "warm_up_cycles": cycles // 4},
        }
    )


def measured(name: str) -> dict[str, Any]:
    """Return the figures of one run of a case."""
    study = study_of(name)
    load, cycles = study.run.loads[0], study.run.cycles
    start = time.perf_counter()
    world = make_world(study, Path())
    run(make_network(world, load=load, seed=1), new_packets(1 << 14), 1)
    first_call = time.perf_counter() - start
    cpu = float("inf")
    for _ in range(RUNS):
        net, packets = make_network(world, load=load, seed=1), new_packets(1 << 14)
        start = time.process_time()
        run_to(net, packets, cycles)
        cpu = min(cpu, time.process_time() - start)
    hosts = len(world.topology.hosts)
    speed = round(int(net.meters.digest[1]) / cpu)
    target = TARGET if hosts <= 64 else LARGE_TARGET
    peak_mib = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return {
        "case": name,
        "hosts": hosts,
        "load": load,
        "packet_bytes": study.traffic[0].bytes,
        "cycles": cycles,
        "flit_hops": int(net.meters.digest[1]),
        "flit_hops_per_cpu_second": speed,
        "target": target,
        "reached": speed >= target and (hosts <= 64 or peak_mib < LARGE_MIB),
        "cycles_per_cpu_second": round(cycles / cpu),
        "first_call_seconds": round(first_call, 2),
        "peak_mib": peak_mib,
    }


def in_process(name: str, cache: str | None = None) -> dict[str, Any]:
    """Return the measurement of a separate process, with the usual cache or another cache."""
    given = {**os.environ, **({"VLANE_CACHE": cache} if cache else {})}
    done = subprocess.run(
        [sys.executable, __file__, "--one", name], env=given, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def two_at_once(name: str) -> float:
    """Return how many times as many runs two processes make as one, in the same time."""
    start = time.perf_counter()
    in_process(name)
    one = time.perf_counter() - start
    start = time.perf_counter()
    pair = [subprocess.Popen([sys.executable, __file__, "--one", name], stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [each.wait() for each in pair] == [0, 0]
    return 2 * one / (time.perf_counter() - start)


def all_cases(chosen: list[str]) -> dict[str, Any]:
    """Return the figures of cases, and what a first call takes."""
    with tempfile.TemporaryDirectory() as empty:
        cold = in_process(chosen[0], empty)["first_call_seconds"]
    in_process(chosen[0])
    cases = [in_process(name) for name in chosen]
    return {
        "cores": os.cpu_count(),
        "first_call_seconds": cold,
        "cached_call_seconds": cases[0]["first_call_seconds"],
        "two_processes_to_one": round(two_at_once(chosen[0]), 2),
        "cases": [{key: value for key, value in case.items() if key != "first_call_seconds"} for case in cases],
    }


PARTS = ("cases", "links", "scale", "cores", "speed")
_BARS = {"links": link_bars, "scale": scale_bars, "cores": core_bars}


def document_of(parts: list[str], chosen: list[str], booksim: str | None) -> dict[str, Any]:
    """Return the parts that are asked for. Without a program of BookSim2 a line says how to get one.

    Raises
    ------
    InputError
        If there is no such program.
    """
    program, found = None, {}
    if "speed" in parts:
        try:
            program = program_at(booksim)
        except InputError as error:
            if booksim is not None:
                raise
            found["speed"] = f"left out: {error}"
    if "cases" in parts:
        found |= all_cases(chosen)
    bars = [bar for part, make in _BARS.items() if part in parts for bar in make()]
    if program:
        bars += speeds(program)
    return {**found, "bars": bars} if set(parts) != {"cases"} else found


def main() -> int:
    """Print one JSON document and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", choices=list(CASES), help="measure only this case, in this process")
    parser.add_argument("--case", choices=list(CASES), action="append", help="only these cases, and no bars")
    parser.add_argument("--only", choices=PARTS, action="append", help="only these parts")
    parser.add_argument("--booksim", metavar="PATH", help="program of BookSim2, which you built, for the speed")
    given = parser.parse_args()
    parts = given.only or (["cases"] if given.case else list(PARTS))
    try:
        document = measured(given.one) if given.one else document_of(parts, given.case or list(CASES), given.booksim)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
