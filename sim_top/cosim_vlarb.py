"""The VL arbiter against golden: run a plan, and say what each lane got."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from vlane.golden.vlarb_rules import RULES, applicable_rules
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.plan_vlarb import FULL, SMALL, Plan
from vlane.tb.cocotb_bench import run_cocotb
from vlane.tb.lockstep import run_lockstep
from vlane.tb.model import CompiledModel, Words, compile_model
from vlane.tb.mutate import SELECT, Mutant, list_mutants, mutant_model
from vlane.tb.stimulus_vlarb import VLArbTraffic
from vlane.tb.tb_vlarb import encode_plan

from vlane.egress import ListCode
from vlane.paths import build_dir

__all__ = [
    "FAULT_COUNT",
    "CosimResult",
    "LaneResult",
    "ServiceEvent",
    "TableResult",
    "cosim_cocotb",
    "cosim_native",
    "fault",
]

FAULT_COUNT = 256
_FAULT_SEED = 1
_EVENTS = 400


@dataclass(frozen=True, slots=True)
class LaneResult:
    """What one lane got from one list of a table.

    Parameters
    ----------
    vl : int
        The lane.
    list : str
        ``high`` or ``low``.
    weight : int
        Sum of its weights in the list.
    weight_share : float
        Of the list's weights.
    share_small, share_full : float
        Of the list's blocks, every lane full, with 64-byte and with MTU packets.
    link_share : float
        Of all blocks, with MTU packets.
    packets : int
        That started from this list, with MTU packets.
    longest_wait_cycles : int
        Of a head packet of the lane, with MTU packets on a link of one block per cycle.
    """

    vl: int
    list: str
    weight: int
    weight_share: float
    share_small: float
    share_full: float
    link_share: float
    packets: int
    longest_wait_cycles: int


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """A packet that started, for the picture of the service order.

    Parameters
    ----------
    cycle : int
        Since the first one shown.
    vl, blocks : int
        Its lane and size.
    list : str
        Where its grant came from.
    """

    cycle: int
    vl: int
    blocks: int
    list: str


@dataclass(slots=True)
class TableResult:
    """What one table did.

    Parameters
    ----------
    where : str
        Ports that have it.
    high, low : list of [VL, weight]
        Its lists.
    limit : int
        LimitOfHighPriority.
    lanes : list of LaneResult
        Per list and lane.
    events : list of ServiceEvent
        The first packets with every lane full and MTU packets.
    """

    where: str
    high: list[tuple[int, int]]
    low: list[tuple[int, int]]
    limit: int
    lanes: list[LaneResult]
    events: list[ServiceEvent]


@dataclass(slots=True)
class CosimResult:
    """A finished run.

    Parameters
    ----------
    engine, simulator : str
        How it ran.
    parameters : mapping
        Of the arbiter.
    cycles, decisions, mismatches : int
        Cycles compared, packets started, differences (the run stops at the first).
    seconds : float
        Wall time, compilation apart.
    seed : int
        Repeats it.
    tables : list of TableResult
        One per table of the fabric or file.
    rules : dict of str to int
        How often each rule happened.
    applicable : list of str
        Rules that the tables can make happen.
    mismatch : str
        The first difference: cycle, inputs, both decisions.
    mismatch_cycle : int or None
        Its cycle.
    fault : str
        The planted mutant.
    """

    engine: str
    simulator: str
    parameters: Mapping[str, Any]
    cycles: int
    decisions: int
    mismatches: int
    seconds: float
    seed: int
    tables: list[TableResult] = field(default_factory=list)
    rules: dict[str, int] = field(default_factory=dict)
    applicable: list[str] = field(default_factory=list)
    mismatch: str = ""
    mismatch_cycle: int | None = None
    fault: str = ""

    @property
    def cycles_per_second(self) -> float:
        """Compared cycles per second of wall time."""
        return self.cycles / self.seconds if self.seconds else 0.0

    @property
    def missed(self) -> list[str]:
        """Rules that apply to the tables but did not happen."""
        return [name for name in self.applicable if not self.rules.get(name)]


class _Events:
    """Collects the first packets of the MTU phase of every table."""

    def __init__(self, plan: Plan, model: CompiledModel) -> None:
        self.model = model
        self.spans = []
        start = 0
        for phase in plan.phases:
            if phase.name == FULL:
                self.spans.append((start, start + phase.cycles))
            start += phase.cycles
        self.events: list[list[ServiceEvent]] = [[] for _ in self.spans]

    def __call__(self, cycle: int, rows: Words, outs: Words) -> None:
        for (start, stop), events in zip(self.spans, self.events, strict=True):
            if not start <= cycle < stop or len(events) >= _EVENTS:
                continue
            given, shown = self.model.inputs, self.model.outputs
            started = np.flatnonzero(given["ready"].get(rows) & shown["grant"].get(outs))
            vl, source, blocks = (shown[name].get(outs) for name in ("vl", "list", "blocks"))
            for at in started[: _EVENTS - len(events)]:
                code = ListCode(int(source[at]))
                events.append(ServiceEvent(int(cycle + at - start), int(vl[at]), int(blocks[at]), code.word))


def fault(number: int, parameters: Mapping[str, Any]) -> Mutant:
    """Return mutant ``number`` (1 to ``FAULT_COUNT``) of an arbiter with these parameters."""
    mutants = list_mutants(BLOCKS["vlarb"].make(parameters), "vlarb", count=FAULT_COUNT, seed=_FAULT_SEED)
    return mutants[number - 1]


def cosim_native(plan: Plan, *, seed: int, planted: Mutant | None = None) -> CosimResult:
    """Run a plan through the compiled hardware, with a mutant planted in it if one is given."""
    component = BLOCKS["vlarb"].make(plan.parameters)
    model = mutant_model(component, "vlarb", (planted,)) if planted else compile_model(component, "vlarb")
    traffic, warm_up = (_traffic(plan, model, seed) for _ in range(2))
    warm_up.fill(np.zeros((1, model.input_words), np.uint64), np.zeros((1, model.output_words), np.uint64))
    events = _Events(plan, model)
    with model:
        outcome = run_lockstep(model, _Planted(traffic, model, planted) if planted else traffic, events)
    result = CosimResult(
        "native", "verilator", plan.parameters, outcome.cycles, traffic.decisions, int(outcome.mismatch is not None),
        outcome.seconds, seed, rules=traffic.rule_counts(), applicable=_applicable(plan),
        mismatch=str(outcome.mismatch or ""), mismatch_cycle=outcome.mismatch.cycle if outcome.mismatch else None,
        fault=str(planted or ""),
    )  # fmt: skip
    if outcome.mismatch is None:
        result.tables = _table_results(plan, traffic, events.events)
    return result


def _traffic(plan: Plan, model: CompiledModel, seed: int) -> VLArbTraffic:
    return VLArbTraffic(
        **plan.parameters, tables=plan.tables, phases=plan.phases, seed=seed, inputs=model.inputs, outputs=model.outputs
    )


def cosim_cocotb(plan: Plan, *, seed: int, simulator: str) -> CosimResult:
    """Run a plan through the cocotb bench.

    Raises
    ------
    InputError
        If the simulator is not installed.
    """
    where = build_dir("cocotb") / f"vlarb-{simulator}-{'-'.join(map(str, plan.parameters.values()))}"
    outcome = run_cocotb(
        BLOCKS["vlarb"].make(plan.parameters), top="vlarb", bench="vlane.tb.tb_vlarb", where=where, simulator=simulator,
        environment=encode_plan(**plan.parameters, tables=plan.tables, phases=plan.phases, seed=seed),
        tests=("agrees_with_golden_in_every_cycle",),
    )  # fmt: skip
    said = re.search(r"VLANE (\{.*\})", outcome.log.read_text())
    done: dict[str, Any] = json.loads(said.group(1)) if said else {"cycles": 0, "decisions": 0, "rules": {}}
    if outcome.tests != 1:
        raise RuntimeError(f"the bench ran {outcome.tests} tests, not 1: see {outcome.log}")
    at = re.search(r"cycle (\d+)", " ".join(outcome.messages))
    return CosimResult(
        "cocotb", simulator, plan.parameters, int(at.group(1)) + 1 if at else done["cycles"], done["decisions"],
        outcome.failures, outcome.seconds, seed, rules=done["rules"], applicable=_applicable(plan),
        mismatch=" ".join(outcome.messages), mismatch_cycle=int(at.group(1)) if at else None,
    )  # fmt: skip


class _Planted:
    """A source that also drives the select input of a mutant."""

    def __init__(self, source: VLArbTraffic, model: CompiledModel, planted: Mutant) -> None:
        self.source, self.select, self.number = source, model.inputs[SELECT], planted.number

    def fill(self, rows: Words, expected: Words) -> int:
        count = self.source.fill(rows, expected)
        self.select.put(rows[:count], self.number)
        return count


def _applicable(plan: Plan) -> list[str]:
    parameters = plan.parameters
    sets = [
        applicable_rules(table, data_vls=parameters["data_vls"], has_vl15=parameters["vl15"])
        for table in (tuple(use.table for use in plan.uses) or plan.tables)
    ]
    return [rule.name for rule in RULES if any(rule.name in names for names in sets)]


def _table_results(plan: Plan, traffic: VLArbTraffic, events: list[list[ServiceEvent]]) -> list[TableResult]:
    by_name = {
        name: [s for p, s in zip(plan.phases, traffic.statistics, strict=True) if p.name == name]
        for name in (SMALL, FULL)
    }
    results = []
    for index, use in enumerate(plan.uses):
        table = use.table
        lanes = []
        if index < len(by_name[FULL]):
            small, full = by_name[SMALL][index], by_name[FULL][index]
            for code, entries in ((ListCode.HIGH, table.high), (ListCode.LOW, table.low)):
                served = sorted({e.vl for e in entries if e.weight and e.vl < plan.parameters["data_vls"]})
                total = sum(e.weight for e in entries if e.vl in served)
                for vl in served:
                    weight = sum(e.weight for e in entries if e.vl == vl)
                    lanes.append(
                        LaneResult(
                            vl, code.word, weight, weight / total,
                            _part(small.blocks[vl, code], small.blocks[:, code].sum()),
                            _part(full.blocks[vl, code], full.blocks[:, code].sum()),
                            _part(full.blocks[vl, code], full.blocks.sum()),
                            int(full.packets[vl, code]),
                            int(full.longest_wait[vl]),
                        )
                    )  # fmt: skip
        shown = events[index] if index < len(events) else []
        results.append(
            TableResult(use.where, list(table.high), list(table.low), table.limit_of_high_priority, lanes, shown)
        )
    return results


def _part(value: Any, whole: Any) -> float:
    return float(value) / float(whole) if whole else 0.0
