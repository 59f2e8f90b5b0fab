"""Block against golden: drives a stimulus through the hardware and compares every output in every cycle."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np

from vlane.golden.engine.rule import Rule
from vlane.sim_top.blocks import Block
from vlane.sim_top.cosim.first_difference import first_difference
from vlane.sim_top.systemverilog.netlist_source import netlist_source
from vlane.tb.by_name import bench
from vlane.tb.machinery.cocotb_benches.cocotb_bench import CocotbOutcome, run_verilog
from vlane.tb.machinery.native.coverage import Coverage, coverage_of
from vlane.tb.machinery.native.lockstep import Outcome, run_lockstep
from vlane.tb.machinery.native.model import CompiledModel, compile_model, component_ports, simulated_verilog
from vlane.tb.machinery.native.rows import Words, row_layout
from vlane.tb.machinery.native.stimulus import Layout, Stimulus
from vlane.tb.machinery.synthesis.mutate import SELECT, Mutant, list_mutants, mutant_model, mutant_verilog
from vlane.tb.machinery.synthesis.netlist import compile_netlist

FAULT_COUNT = 256
_FAULT_SEED = 1
MUST_BE_ZERO = ("overflows", "leaked_blocks")
"""Counts of an audit that fail a run unless they are 0; other counts are only reported."""

Make = Callable[[Layout, Layout], Stimulus]
Observe = Callable[[int, Words, Words], None]


@dataclass(frozen=True, slots=True)
class Job:
    """Description of a run.

    Parameters
    ----------
    block : Block
        Block to run.
    parameters : mapping
        Parameters of the instance.
    seed : int
        Seed of the stimulus.
    make : callable
        Constructor of the stimulus from the layouts of inputs and outputs. All stimuli it returns are equal.
    told : mapping
        Arguments from which the cocotb bench constructs the same stimulus.
    """

    block: Block
    parameters: Mapping[str, Any]
    seed: int
    make: Make
    told: Mapping[str, Any]


@dataclass(slots=True)
class CosimResult:
    """Result of a run.

    Parameters
    ----------
    engine, simulator : str
        Engine and simulator.
    parameters : mapping
        Parameters of the instance.
    cycles : int
        Number of cycles compared.
    decisions : int
        Number of golden's decisions.
    mismatches : int
        Number of differences; the run stops at the first.
    seconds : float
        Wall time without compilation.
    seed : int
        Seed of the stimulus.
    rules : tuple of Rule
        Counted rules.
    coverage : Coverage
        Coverage of the rules and crosses that apply.
    mismatch : str
        First difference: cycle, inputs, both decisions.
    mismatch_cycle : int or None
        Cycle of the first difference.
    fault : str
        Planted mutant.
    audit : dict of str to int
        Counts of a stimulus that audits (see ``MUST_BE_ZERO``).
    tables : list
        Results of each table of a fabric or file, for blocks that report them.
    """

    engine: str
    simulator: str
    parameters: Mapping[str, Any]
    cycles: int
    decisions: int
    mismatches: int
    seconds: float
    seed: int
    rules: tuple[Rule, ...]
    coverage: Coverage
    mismatch: str = ""
    mismatch_cycle: int | None = None
    fault: str = ""
    audit: dict[str, int] = field(default_factory=dict)
    tables: list[Any] = field(default_factory=list)

    @property
    def cycles_per_second(self) -> float:
        """Cycles compared per second of wall time."""
        return self.cycles / self.seconds if self.seconds else 0.0

    @property
    def failed_audits(self) -> list[str]:
        """Audit counts that must be 0 but are not."""
        return [name for name in MUST_BE_ZERO if self.audit.get(name)]

    @property
    def failed(self) -> bool:
        """Whether outputs differ, the audit failed, or a judged run did not trigger everything that applies."""
        return bool(self.mismatches or self.failed_audits or self.coverage.failed)


def qualification_job(block: Block, parameters: Mapping[str, Any], *, cycles: int, seed: int, **beside: Any) -> Job:
    """Return the job of the block's qualification. ``beside`` is passed to the stimulus."""
    return Job(
        block,
        parameters,
        seed,
        lambda inputs, outputs: block.qualify(
            parameters, cycles=cycles, seed=seed, inputs=inputs, outputs=outputs, **beside
        ),
        {"parameters": dict(parameters), "cycles": cycles, "seed": seed, **beside},
    )


def fault(block: Block, number: int, parameters: Mapping[str, Any]) -> Mutant:
    """Return mutant ``number`` (1 to ``FAULT_COUNT``) of an instance with these parameters."""
    mutants = list_mutants(block.make(parameters), block.name, count=FAULT_COUNT, seed=_FAULT_SEED)
    return mutants[(number - 1) % len(mutants)]


def cosim_native(
    job: Job,
    *,
    planted: Mutant | None = None,
    netlist: str = "",
    observer: Callable[[CompiledModel], Observe] | None = None,
) -> tuple[CosimResult, Stimulus]:
    """Run a job through the compiled hardware, optionally with a planted mutant.

    With ``netlist``, one of ``NETLISTS``, run the synthesised netlist. ``observer`` receives the model and returns a
    callback that receives every batch that agreed.
    """
    component, name = job.block.make(job.parameters), job.block.name
    if netlist:
        model = compile_netlist(netlist_source(job.block, job.parameters), component_ports(component), name, netlist)
    else:
        model = mutant_model(component, name, (planted,)) if planted else compile_model(component, name)
    stimulus, warm_up = (job.make(model.inputs, model.outputs) for _ in range(2))
    warm_up.fill(np.zeros((1, model.input_words), np.uint64), np.zeros((1, model.output_words), np.uint64))
    source = _Planted(stimulus, model, planted) if planted else stimulus
    with model:
        outcome: Outcome = run_lockstep(model, source, observer(model) if observer else None)
    return CosimResult(
        "native",
        "verilator",
        job.parameters,
        outcome.cycles,
        stimulus.decisions,
        int(outcome.mismatch is not None),
        outcome.seconds,
        job.seed,
        stimulus.rules,
        coverage_of(stimulus, outcome.cycles, complete=outcome.mismatch is None and planted is None),
        mismatch=str(outcome.mismatch or ""),
        mismatch_cycle=outcome.mismatch.cycle if outcome.mismatch else None,
        fault=str(planted or ""),
        audit=dict(stimulus.audit),
    ), stimulus


def cosim_cocotb(job: Job, *, simulator: str, planted: Mutant | None = None) -> CosimResult:
    """Run a job through the block's cocotb bench, optionally with a planted mutant.

    If the run fails under Verilator, repeat it with a wave and read the first differing signal from the wave.

    Raises
    ------
    InputError
        If the simulator is not installed.
    """
    name = job.block.name
    component = job.block.make(job.parameters)
    ports = component_ports(component)
    told = {**job.told, "ports": [astuple(port) for port in ports]}
    if planted:
        text, select = mutant_verilog(component, name, (planted,))
        told["constant"] = {select.name: planted.number}
    else:
        text = simulated_verilog(component, name)

    def run(trace_depth: int) -> CocotbOutcome:
        return run_verilog(
            text,
            top=name,
            bench=bench(name),
            simulator=simulator,
            settings=told,
            tests=("agrees_with_golden_in_every_cycle",),
            trace_depth=trace_depth,
        )

    outcome = run(0)
    said = re.search(r"VLANE (\{.*\})", outcome.log)
    done: dict[str, Any] = (
        json.loads(said.group(1)) if said else {"cycles": 0, "decisions": 0, "rules": {}, "crosses": {}}
    )
    if outcome.tests != 1:
        raise RuntimeError(f"the bench ran {outcome.tests} tests, not 1: {outcome.log[-2000:]}")
    mismatch, at = " ".join(outcome.messages), re.search(r"cycle (\d+)", " ".join(outcome.messages))
    if outcome.failures and simulator == "verilator":
        again = run(1)
        if found := re.search(r"VLANE_DIFFERS (\{.*\})", again.log):
            mismatch = f"{first_difference(again.wave, name, json.loads(found.group(1)))}\n{mismatch}"
    stimulus = job.make(row_layout(ports, inputs=True), row_layout(ports, inputs=False))
    coverage = coverage_of(
        stimulus, done["cycles"], complete=not outcome.failures, counts=done["rules"], crosses=done["crosses"]
    )
    return CosimResult(
        "cocotb",
        simulator,
        job.parameters,
        int(at.group(1)) + 1 if at else done["cycles"],
        done["decisions"],
        outcome.failures,
        outcome.seconds,
        job.seed,
        stimulus.rules,
        coverage,
        mismatch=mismatch,
        mismatch_cycle=int(at.group(1)) if at else None,
        fault=str(planted or ""),
    )


class _Planted:
    """Stimulus that also drives the select input of a mutant."""

    def __init__(self, source: Stimulus, model: CompiledModel, planted: Mutant) -> None:
        self.source, self.select, self.number = source, model.inputs[SELECT], planted.number

    def fill(self, rows: Words, expected: Words) -> int:
        count = self.source.fill(rows, expected)
        self.select.put(rows[:count], self.number)
        return count
