"""Switches in hardware under cocotb: a top module with all of them, and a bench that runs golden's network."""

from __future__ import annotations

import json
import pickle
import re
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vlane.golden.network.state import Network
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cosim.first_difference import first_difference
from vlane.sim_top.cosim.network_hardware import Cabled, cable, period_of, switch_block
from vlane.sim_top.cosim.network_run import MixedRun
from vlane.sim_top.scenario.faults import faults_of
from vlane.sim_top.scenario.world import World
from vlane.sim_top.study.simulate import StuckError
from vlane.tb.machinery.cocotb_benches.cocotb_bench import run_verilog
from vlane.tb.machinery.native.model import component_ports, simulated_verilog
from vlane.tb.machinery.native.rows import Field, Words, row_layout
from vlane.tb.networks.carried_network import CarriedNetwork
from vlane.tb.networks.network_top import TOP, network_top

_BENCH = "vlane.tb.networks.bench"
_RESET_CYCLES = 2
_DEPTH = 2
"""Depth of modules in a wave: the top and the ports of the switches."""


def run_under_cocotb(
    world: World,
    at_rest: Callable[[], Network],
    switches: Sequence[int],
    parameters: Mapping[str, Any],
    *,
    cycles: int,
    expected: MixedRun,
) -> MixedRun:
    """Run a network with its hardware in a simulator. On a difference, rerun with a wave and find the first signal.

    Raises
    ------
    StuckError
        If no flit moves any more.
    """
    block = switch_block(world)
    component = BLOCKS[block].make(parameters)
    ports = component_ports(component)
    inputs, outputs = (row_layout(ports, inputs=each) for each in (True, False))
    text = network_top({block: (simulated_verilog(component, block), ports)}, dict.fromkeys(switches, block))

    def carried(*, beside: bool) -> CarriedNetwork:
        cabled = cable(world, at_rest(), switches, parameters, ports)
        return CarriedNetwork(
            switches=list(switches),
            net=cabled.net,
            hardware=cabled.hardware,
            faults=cabled.faults,
            boot=_boot_together(cabled, inputs, parameters),
            cycles=cycles,
            outputs=outputs,
            plain=at_rest() if beside else None,
            plain_faults=faults_of(world) if beside else deque(),
        )

    log, _ = _run(text, carried(beside=False), trace_depth=0)
    said = json.loads(_line(log, "VLANE"))
    mixed = MixedRun(
        digest=said["digest"],
        bad_flits=said["bad_flits"],
        dropped=said["dropped"],
        marked=said["marked"],
        seconds=said["seconds"],
        mismatch="",
    )
    if said["is_done"] and replace(mixed, seconds=expected.seconds) == expected:
        return mixed
    log, wave = _run(text, carried(beside=True), trace_depth=_DEPTH)
    mismatch = ""
    if found := _line(log, "VLANE_DIFFERS"):
        mismatch = first_difference(wave, f"{TOP}.{json.loads(found)['instance']}", json.loads(found))
    if not said["is_done"]:
        raise StuckError(f"cycle {said['cycle']} with hardware{f'; {mismatch}' if mismatch else ''}")
    return replace(mixed, mismatch=mismatch)


def _run(text: str, carried: CarriedNetwork, *, trace_depth: int) -> tuple[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "carried.pickle"
        file.write_bytes(pickle.dumps(carried))
        outcome = run_verilog(text, top=TOP, bench=_BENCH, settings={"carried": str(file)}, trace_depth=trace_depth)
    if outcome.failures or outcome.tests != 1:
        raise RuntimeError(f"the bench of the network failed: {outcome.messages}\n{outcome.log[-4000:]}")
    return outcome.log, outcome.wave


def _line(log: str, word: str) -> str:
    """Return the JSON text that a bench logged after a word, or an empty text."""
    found = re.search(rf"{word} (\{{.*\}})", log)
    return found.group(1) if found else ""


def _boot_together(cabled: Cabled, inputs: Mapping[str, Field], parameters: Mapping[str, Any]) -> Words:
    """Return rows that reset and program all switches so that all become ready in the same cycle.

    The switches' periods begin with the first cycle after these rows, like golden's in cycle 0.
    """
    longest = max(map(len, cabled.boots))
    length = longest + -longest % period_of(parameters)
    rows = np.zeros((_RESET_CYCLES + length, len(cabled.boots), cabled.hardware.given.shape[1]), np.uint64)
    inputs["ready"].put(rows, (1 << parameters["ports"]) - 1)
    inputs["rst"].put(rows[:_RESET_CYCLES], 1)
    for number, boot in enumerate(cabled.boots):
        rows[_RESET_CYCLES : _RESET_CYCLES + len(boot), number] = boot
    return rows
