"""Run of a foreign arbiter under closed-loop requesters: elastic comparison, own golden, or policies."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.dut_map import DutMap, ElasticTiming, Whole
from vlane.dut_policy import Policy
from vlane.errors import misplaced
from vlane.schedulers.registry import SCHEDULERS
from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.closed_loop import ClosedLoop
from vlane.sim_top.dut.design import Design, ForeignModel, stdout_elsewhere
from vlane.sim_top.dut.elastic import Elastic
from vlane.sim_top.dut.findings import Failure
from vlane.sim_top.dut.follower import Follower
from vlane.sim_top.dut.goldens import (
    BlockGolden,
    OwnGolden,
    Rotated,
    StateGolden,
    check_table,
    idle_of,
    reachable_rules,
    read_own_golden,
)
from vlane.sim_top.dut.lockstep import BEFORE, Cycle, Difference
from vlane.sim_top.dut.own_oracle import OwnOracle
from vlane.sim_top.dut.policies import Line, Monitors
from vlane.sim_top.dut.ports import block_rows
from vlane.sim_top.dut.signals import Signals
from vlane.sim_top.dut.wiring import Wiring
from vlane.tb.machinery.native.rows import Words

_CHUNK = 8192
_DEFAULTS = {"heads__fits": Whole(each=1), "heads__blocks": Whole(each=1), "hold_data": Whole(value=0)}
"""Inputs of a scheduler that are absent unless the map names them."""
_TABLE_INPUTS = ("program__", "swap")


def closed_map(given: DutMap, wiring_inputs: Mapping[str, Any]) -> DutMap:
    """Return a map with the defaults of a comparison of decisions for inputs that it omits.

    Parameters
    ----------
    given : DutMap
        Map.
    wiring_inputs : mapping
        Inputs of the block by name.
    """
    absent = dict(given.absent)
    for name in wiring_inputs:
        if name in given.inputs or name in absent:
            continue
        if name in _DEFAULTS:
            absent[name] = _DEFAULTS[name]
        elif name.startswith(_TABLE_INPUTS):
            absent[name] = Whole(value=0)
    made = given.model_copy(update={"absent": absent})
    return made.named(given.source)


@dataclass
class ClosedResult:
    """Result of a run.

    Parameters
    ----------
    cycles : int
        Number of cycles.
    decisions : int
        Number of decisions.
    checked : int
        Number of explained decisions, or of compared answers.
    resets : int
        Number of resets.
    seconds : float
        Wall time without compilation.
    failure : Failure or None
        First failure of the elastic comparison or of a policy.
    difference : Difference or None
        First difference of a lockstep with an own golden.
    before : list of Cycle
        Cycles before a failure, and the failing one.
    lines : list of Line
        Results of the policies.
    ended : str
        Reason why the run ended early; empty otherwise.
    elastic : dict
        Counters of the elastic comparison; empty otherwise.
    rules : dict of str to int
        Number of occurrences of golden's rules.
    unreachable : list of str or None
        Rules that no requests can reach; ``None`` if golden has too many states to search.
    """

    cycles: int
    decisions: int
    checked: int
    resets: int
    seconds: float
    failure: Failure | None = None
    difference: Difference | None = None
    before: list[Cycle] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    ended: str = ""
    elastic: dict[str, Any] = field(default_factory=dict)
    rules: dict[str, int] = field(default_factory=dict)
    unreachable: list[str] | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing differed, no policy was violated and something was compared."""
        return self.failure is None and self.difference is None and not self.ended

    @property
    def failed_cycle(self) -> int | None:
        """Cycle of the failure, if there is one."""
        found = self.failure or self.difference
        return None if found is None else found.cycle


@dataclass
class ClosedRun:
    """Foreign arbiter with its map and the settings of the run.

    Parameters
    ----------
    block : Block
        Scheduler that names the ports and, unless ``golden_file`` or ``policy`` is given, is golden.
    parameters : mapping
        Parameters of the block's instance.
    given : DutMap
        Port map.
    design : Design
        Foreign design.
    cycles, seed : int
        Number of cycles, and seed of requesters and power-on values.
    table : Path, optional
        Table file of golden.
    golden_file : Path, optional
        Python file with an own golden.
    policy : Policy, optional
        Policies to check instead of a golden.

    Raises
    ------
    InputError
        If the map, the table, the golden or the policy does not fit.
    """

    block: Block
    parameters: Mapping[str, Any]
    given: DutMap
    design: Design
    cycles: int
    seed: int
    table: Path | None = None
    golden_file: Path | None = None
    policy: Policy | None = None
    wiring: Wiring = field(init=False)
    signals: Signals = field(init=False)
    golden: StateGolden | None = field(init=False)

    def __post_init__(self) -> None:
        self.wiring = closed_wiring(self.block, self.parameters, self.given, self.design.top, self.design.ports)
        self.given = self.wiring.map
        self.signals = Signals(self.wiring)
        if self.policy is not None:
            self.policy.fit(self.signals.lanes)
        self.golden = (
            None if self.policy else golden_of(self.wiring, self.block, self.parameters, self.table, self.golden_file)
        )
        if self.given.requesters.wild_ack and not self.signals.gated:
            raise self.given.misplaced(("requesters", "wild_ack"), "unless inputs.ready has a gate")
        if self.given.requesters.bursts and "release" not in self.wiring.strobes:
            raise self.given.misplaced(("requesters", "bursts"), "unless timing.release names the last beat")

    def model(self, *, traced: bool = False) -> ForeignModel:
        """Return the compiled design."""
        clock, ports = self.given.clock, self.wiring.dut_ports
        return self.design.compiled(ports, clock.port, falling=clock.edge == "falling", traced=traced, closed=True)

    def plan(self) -> NDArray[np.int64]:
        """Return the plan of the run's requesters."""
        return self.signals.plan(seed=self.seed, cycles=self.cycles)

    def checker(self) -> Elastic | Monitors | Follower:
        """Return a new checker of the run's kind."""
        timing, gated, has_reset = self.given.timing, self.signals.gated, self.given.reset is not None
        if self.policy is not None:
            return Monitors(self.policy, timing, self.signals.lanes, gated=gated, has_reset=has_reset)
        assert self.golden is not None  # noqa: S101 - the only run without golden is that of a policy
        if isinstance(timing, ElasticTiming):
            return elastic_of(self.wiring, self.block, self.parameters, self.golden, gated=gated)
        return Follower(self.wiring, OwnOracle(self.golden))

    def run(self) -> ClosedResult:
        """Run the design until the first failure or the end."""
        checker = self.checker()
        kept: tuple[int, Words, Words] | None = None
        failure, difference, ended, done = None, None, "", 0
        with stdout_elsewhere(), self.model() as model:
            model.begin(self.seed)
            start = time.perf_counter()
            with ClosedLoop(model, self.plan()) as loop:
                while done < self.cycles and failure is None and difference is None and not ended:
                    rows, shown, ended = loop.run(min(_CHUNK, self.cycles - done))
                    if isinstance(checker, Follower):
                        difference = self._follow(checker, rows, shown)
                    else:
                        failure = self._judge(checker, rows, shown)
                    if failure is not None:
                        before = self._before(kept, (done, rows, shown), failure.cycle)
                    kept, done = (done, rows, shown), done + len(rows)
            seconds = time.perf_counter() - start
        decisions = checker.decisions
        if failure is None and difference is None and not ended and not decisions:
            ended = "nothing was compared: the run has no decision"
        result = ClosedResult(
            checker.cycles, decisions, decisions, checker.resets, seconds, failure, difference, ended=ended
        )
        result.before = [] if failure is None else before
        if isinstance(checker, Monitors):
            result.lines = list(checker.lines.values())
        if isinstance(checker, Follower):
            result.checked = checker.checked
        if isinstance(checker, Elastic):
            result.elastic, result.rules = checker.document(), checker.rules()
            reached = reachable_rules(self.golden, idle=checker.idle != "nothing") if self.golden else set()
            result.unreachable = None if reached is None else [name for name in result.rules if name not in reached]
        return result

    def _judge(self, checker: Elastic | Monitors, rows: Words, shown: Words) -> Failure | None:
        cycle = checker.cycle
        for sample in self.signals.samples(rows, shown):
            if (failure := cycle(sample)) is not None:
                return failure
        return None

    def _follow(self, follower: Follower, rows: Words, shown: Words) -> Difference | None:
        inputs, outputs = self.wiring.dut_inputs, self.wiring.dut_outputs
        for given, got in zip(rows, shown, strict=True):
            if (found := follower.cycle(inputs.values(given), outputs.values(got))) is not None:
                return found
        return None

    def _before(self, earlier: tuple[int, Words, Words] | None, last: tuple[int, Words, Words], at: int) -> list[Cycle]:
        """Return the cycles up to a failure."""
        found = []
        for first, rows, shown in filter(None, (earlier, last)):
            for cycle in range(max(first, at - BEFORE), min(first + len(rows), at + 1)):
                row, out = rows[cycle - first], shown[cycle - first]
                values = self.wiring.dut_inputs.values(row)
                found.append(Cycle(cycle, None, {}, values, self.wiring.dut_outputs.values(out)))
        return found


def closed_wiring(block: Block, parameters: Mapping[str, Any], given: DutMap, top: str, ports: Any) -> Wiring:
    """Return the wiring of a comparison of decisions, with its defaults for absent inputs."""
    inputs, _ = block_rows(block, parameters)
    return Wiring(block, parameters, closed_map(given, inputs.ports), top, ports, closed=True)


def golden_of(
    wiring: Wiring, block: Block, parameters: Mapping[str, Any], table: Path | None, golden_file: Path | None
) -> StateGolden:
    """Return the golden model of a comparison of decisions.

    Raises
    ------
    InputError
        If the table or the golden is rejected, or the scheduler has too many states for a window.
    """
    given, lanes = wiring.map, len(wiring.lanes.by_vl)
    timing = given.timing
    golden: StateGolden
    if golden_file is not None:
        if table is not None:
            raise misplaced("--table", "with --golden")
        golden = read_own_golden(golden_file, lanes)
    else:
        check_table(block, table)
        is_window = isinstance(timing, ElasticTiming) and timing.window[0] != timing.window[1]
        if is_window and not SCHEDULERS[block.name].has_few_states:
            raise given.refusal(("timing", "latency"), f"one number for {block.name}", timing.latency)
        packed = wiring.absent["heads__blocks"]
        port = wiring.inputs.ports["heads__blocks"]
        bits = port.bits // port.elements
        sizes = [packed >> bits * lane & (1 << bits) - 1 for lane in range(lanes)]
        golden = BlockGolden(block, parameters, sizes, table)
    if isinstance(timing, ElasticTiming) and timing.first:
        if timing.first >= lanes:
            raise given.refusal(("timing", "first"), f"below {lanes}", timing.first)
        golden = Rotated(golden, timing.first)
    return golden


def elastic_of(
    wiring: Wiring, block: Block, parameters: Mapping[str, Any], golden: StateGolden, *, gated: bool
) -> Elastic:
    """Return the elastic checker of a map."""
    timing = wiring.map.timing
    assert isinstance(timing, ElasticTiming)  # noqa: S101 - the callers choose by it
    own = isinstance(golden, OwnGolden)
    return Elastic(
        golden,
        timing,
        idle="nothing" if own else idle_of(block, parameters),
        stand=wiring.map.requesters.stand,
        gated=gated,
        has_reset=wiring.map.reset is not None,
    )
