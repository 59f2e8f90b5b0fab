"""Speed of the switch in hardware, as JSON: free-running, in lockstep, and inside the golden network.

The switch is that of the study, with its tables; free-running it gets the rows of its qualification. ``in_network``
are cycles of the whole network, one switch of it in hardware, per second.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.cosim_network import cosim_network
from vlane.sim_top.cosim.network_hardware import hardware_parameters, switch_block
from vlane.sim_top.scenario.world import make_world
from vlane.study.model import read_study
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import compile_model

STUDY = Path(__file__).parent.parent / "sim_top" / "configs" / "fabric_rtl.toml"


def main() -> None:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    study = read_study(STUDY)
    run = study.run.model_copy(update={"cycles": given.cycles, "warm_up_cycles": 0})
    world = make_world(study, STUDY.parent)
    world = replace(world, study=study.model_copy(update={"run": run}))
    parameters, name = hardware_parameters(world), switch_block(world)
    block = BLOCKS[name]
    start = time.perf_counter()
    free, lock, mixed = [], [], []
    with compile_model(block.make(parameters), name) as model:
        compiled = time.perf_counter() - start
        layouts = {"inputs": model.inputs, "outputs": model.outputs}
        source = block.qualify(parameters, cycles=given.cycles, seed=1, **layouts)
        rows, _ = source.record(model.input_words, model.output_words)
        for _ in range(given.repeats):
            model.restart()
            start = time.perf_counter()
            model.free_run(rows)
            free.append(given.cycles / (time.perf_counter() - start))
            model.restart()
            source = block.qualify(parameters, cycles=given.cycles, seed=1, **layouts)
            start = time.perf_counter()
            assert run_lockstep(model, source).mismatch is None
            lock.append(given.cycles / (time.perf_counter() - start))
            result = cosim_network(world, [3], parameters, cycles=given.cycles, load=study.run.loads[0], seed=1)
            assert result.agrees
            mixed.append(given.cycles / result.mixed_seconds)
    ratios = {
        "lockstep_to_free_running": [a / b for a, b in zip(lock, free, strict=True)],
        "in_network_to_free_running": [a / b for a, b in zip(mixed, free, strict=True)],
    }
    document = {
        "parameters": parameters,
        "compilation_seconds": round(compiled, 1),
        "free_running_cycles_per_second": round(statistics.median(free)),
        "lockstep_cycles_per_second": round(statistics.median(lock)),
        "in_network_cycles_per_second": round(statistics.median(mixed)),
        **{name: round(statistics.median(values), 2) for name, values in ratios.items()},
    }
    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
