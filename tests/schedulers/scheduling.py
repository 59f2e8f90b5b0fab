"""Shared helpers for tests of blocks: qualification in lockstep, hand-written rows, cocotb benches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.sim_top.blocks import BLOCKS
from vlane.tb.by_name import bench
from vlane.tb.machinery.cocotb_benches.cocotb_bench import run_cocotb
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import compile_model, component_ports
from vlane.tb.machinery.native.rows import Field, row_layout, row_words
from vlane.tb.machinery.native.stimulus import Stimulus
from vlane.tb.switches.phases_switch import switch_phases


def qualified_lockstep(name: str, given: dict[str, Any], *, cycles: int = 150_000, seed: int = 5) -> Stimulus:
    """Run a block's qualification in lockstep and assert equal outputs and full rule coverage."""
    block = BLOCKS[name]
    parameters = {**block.defaults(), **given}
    with compile_model(block.make(parameters), name) as model:
        stimulus = block.qualify(parameters, cycles=cycles, seed=seed, inputs=model.inputs, outputs=model.outputs)
        outcome = run_lockstep(model, stimulus)
    assert outcome.mismatch is None, str(outcome.mismatch)
    assert outcome.cycles == stimulus.cycles == cycles
    counts = stimulus.rule_counts()
    assert stimulus.applicable
    assert [name for name in sorted(stimulus.applicable) if not counts[name]] == []
    return stimulus


def qualification_of(
    name: str, parameters: Mapping[str, Any], cycles: int, seed: int = 1
) -> tuple[Any, dict[str, Field], dict[str, Field]]:
    """Return a block's qualification stimulus and the layouts of its input and output rows.

    No hardware model is compiled.
    """
    ports = component_ports(BLOCKS[name].make(parameters))
    inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
    stimulus = BLOCKS[name].qualify(parameters, cycles=cycles, seed=seed, inputs=inputs, outputs=outputs)
    return stimulus, inputs, outputs


def qualified_outputs(name: str, *, cycles: int = 2_000_000) -> dict[str, NDArray[np.uint64]]:
    """Return the expected values of each output of up to 64 bits, by cycle.

    The stimulus is the qualification used for mutants.
    """
    stimulus, inputs, outputs = qualification_of(name, BLOCKS[name].parameters([], BLOCKS[name].mutated), cycles)
    _, expected = stimulus.record(row_words(inputs), row_words(outputs))
    return {port: field.get(expected) for port, field in outputs.items() if field.bits <= 64}


def run_rows(
    name: str, given: dict[str, Any], steps: Iterable[tuple[dict[str, int], dict[str, int]]]
) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Drive rows of (inputs, expected outputs) from power-on and return (outputs, expected) for each."""
    block, listed = BLOCKS[name], list(steps)
    with compile_model(block.make({**block.defaults(), **given}), name) as model:
        packed = np.zeros((len(listed), model.input_words), np.uint64)
        for row, (values, _) in zip(packed, listed, strict=True):
            for port, value in values.items():
                model.inputs[port].put(row, value)
        outs = model.run(packed)
        return [
            ({port: model.outputs[port].value(out) for port in expected}, expected)
            for out, (_, expected) in zip(outs, listed, strict=True)
        ]


def assert_bench_agrees(
    name: str, given: dict[str, Any], *, tests: int, cycles: int = 1500, apart: tuple[str, ...] = ()
) -> None:
    """Run a block's cocotb bench and assert that exactly ``tests`` tests ran and passed.

    Each test named in ``apart`` runs in a simulation of its own, because memories keep their contents between tests.
    """
    block = BLOCKS[name]
    parameters = {**block.defaults(), **given}
    ran = 0
    for chosen in [(test,) for test in apart] or [()]:
        outcome = run_cocotb(
            block.make(parameters),
            top=name,
            bench=bench(name),
            settings={"parameters": parameters, "cycles": cycles, "seed": 4},
            tests=chosen,
        )
        assert outcome.failures == 0, outcome.messages
        ran += outcome.tests
    assert ran == tests


def assert_every_phase_agrees(name: str, given: dict[str, Any], *, map_writes: int) -> None:
    """Run every phase of a switch's qualification under cocotb and assert that all phases agree."""
    block = BLOCKS[name]
    parameters = {**block.defaults(), **given}
    phases = switch_phases(parameters, 1, map_writes=map_writes)
    outcome = run_cocotb(
        block.make(parameters),
        top=name,
        bench=bench(name),
        settings={"parameters": parameters, "cycles": sum(phase.cycles for phase in phases), "seed": 4},
        tests=("agrees_with_golden_in_every_cycle",),
    )
    assert (outcome.tests, outcome.failures) == (1, 0), outcome.messages
    assert json.dumps([phase.name for phase in phases]) in outcome.log
