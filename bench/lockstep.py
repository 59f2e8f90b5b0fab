"""Speed of the ways to run the schedulers, as JSON: free-running, in lockstep, and the VL arbiter under cocotb.

Every figure is wall time of the same machine in the same run; read the ratios. ``cycles_per_cpu_second`` counts
the CPU time of all threads of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from vlane.schedulers.registry import IB_ARBITER, SCHEDULERS
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.by_name import bench
from vlane.tb.machinery.cocotb_benches.cocotb_bench import run_cocotb, simulator_installed
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import CompiledModel, compile_model
from vlane.tb.machinery.native.stimulus import Stimulus

SIZES: list[tuple[str, dict[str, Any]]] = [
    size
    for each in SCHEDULERS.values()
    for size in (
        (each.name, {**each.full_size, "requesters": 0} if each.maps else {}),
        (each.name, dict(each.full_size)),
    )
]
"""A port of lanes without a map, or the usual one where there is none, and the largest instance."""


def stimulus(name: str, shape: dict[str, Any], model: CompiledModel, cycles: int) -> Stimulus:
    """Return the block's qualification."""
    return BLOCKS[name].qualify(shape, cycles=cycles, seed=1, inputs=model.inputs, outputs=model.outputs)


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Return (wall, CPU) seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def native(name: str, shape: dict[str, Any], cycles: int, repeats: int) -> dict[str, Any]:
    """Return free-running and lockstep speed, taken in turns."""
    free, lock, lock_cpu = [], [], []
    with compile_model(BLOCKS[name].make(shape), name) as model:
        rows, _ = stimulus(name, shape, model, cycles).record(model.input_words, model.output_words)
        for _ in range(repeats):
            model.restart()
            free.append(cycles / timed(lambda: model.free_run(rows))[0])
            source = stimulus(name, shape, model, cycles)
            wall, cpu = timed(lambda: run_lockstep(model, source))  # noqa: B023 - called at once
            lock.append(cycles / wall)
            lock_cpu.append(cycles / cpu)
    return {
        "free_running_cycles_per_second": round(statistics.median(free)),
        "lockstep_cycles_per_second": round(statistics.median(lock)),
        "lockstep_cycles_per_cpu_second": round(statistics.median(lock_cpu)),
        "lockstep_to_free_running": round(statistics.median(a / b for a, b in zip(lock, free, strict=True)), 3),
    }


def cocotb(name: str, shape: dict[str, Any], cycles: int, simulator: str) -> float | None:
    """Return the speed of the bench that wakes in every cycle, or ``None`` if the simulator is not installed."""
    if not simulator_installed(simulator):
        return None
    seconds = []
    for length in (100, 200, 200 + cycles):  # the first warms caches up; the difference leaves start-up out
        outcome = run_cocotb(
            BLOCKS[name].make(shape),
            top=name,
            bench=bench(name),
            simulator=simulator,
            settings={"parameters": shape, "cycles": length, "seed": 1},
            tests=("agrees_with_golden_in_every_cycle",),
        )
        assert (outcome.tests, outcome.failures) == (1, 0), outcome.messages
        seconds.append(outcome.seconds)
    return cycles / (seconds[2] - seconds[1])


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=500_000)
    parser.add_argument("--cocotb-cycles", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--block", choices=sorted({name for name, _ in SIZES}), help="only this one")
    given = parser.parse_args()
    results = []
    for name, partial in SIZES:
        if given.block not in (None, name):
            continue
        shape = {**BLOCKS[name].defaults(), **partial}
        result = {"block": name, "parameters": shape, **native(name, shape, given.cycles, given.repeats)}
        for simulator in ("verilator", "icarus") if name == IB_ARBITER else ():
            speed = cocotb(name, shape, given.cocotb_cycles, simulator)
            result[f"cocotb_{simulator}_cycles_per_second"] = speed and round(speed)
            result[f"lockstep_to_cocotb_{simulator}"] = speed and round(result["lockstep_cycles_per_second"] / speed, 1)
        results.append(result)
    json.dump({"cores": os.cpu_count(), "sizes": results}, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
