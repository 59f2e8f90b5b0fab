"""Stimulus of the look-up tables: random look-ups and writes, often of the same entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import by_type, kernel
from vlane.golden.engine.random_bits import seeded_rng
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.tables import LFTMachine, SCMachine, SL2VLMachine, run_lft, run_sc, run_sl2vl
from vlane.tb.by_name import crosses
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import in_rows, put_inputs
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus


@dataclass(frozen=True, slots=True)
class LookupPhase:
    """A phase of look-ups. Probabilities are in 1/256 per cycle.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    write : int
        Probability of a write.
    near : int
        Probability that a write addresses the entry that is looked up in the same cycle.
    reset : int
        Probability of a reset, in 1/65536.
    wild : bool
        Whether the rules of this phase are counted separately.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    write: int
    near: int = 0
    reset: int = 0
    wild: bool = False
    name: str = ""


def lookup_phases(cycles: int) -> tuple[LookupPhase, ...]:
    """Return phases of ``cycles`` cycles in total: unwritten tables, tables under writes, and resets."""
    part = cycles // 8
    return (
        LookupPhase(part, 0, name="as after power-on"),
        LookupPhase(3 * part, 256, near=64, name="written all the time"),
        LookupPhase(part, 40, near=128, reset=64, name="written now and then, with resets"),
        LookupPhase(part, 128, near=128, reset=1024, name="many resets"),
        LookupPhase(cycles - 6 * part, 2, name="mostly read"),
    )


DRAW: dict[type, Callable[..., Any]] = {}
"""Function ``draw_inputs`` by type of the oracle's machine, registered by each stimulus."""


@by_type(DRAW)
def draw_inputs(  # type: ignore[empty-body]
    machine: Any, probabilities: NDArray[np.int64], last: NDArray[np.int64], rng: NDArray[np.uint64]
) -> int:
    """Draw the look-ups and the write of a cycle into ``machine.input_values``, and return whether it resets.

    Parameters
    ----------
    probabilities : array of int64, (3,)
        Probabilities of a write, of a look-up of the written entry, and of a reset.
    last : array of int64, (1,)
        Value that the stimulus keeps from one cycle to the next.
    """


@by_type({SL2VLMachine: run_sl2vl, LFTMachine: run_lft, SCMachine: run_sc})
def _run(machine: Any, resets: int, outputs: NDArray[np.uint64]) -> None:
    """Run the oracle for a cycle."""


@kernel
def _fill(
    machine: Any,
    probabilities: NDArray[np.int64],
    last: NDArray[np.int64],
    rng: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    for cycle in range(len(rows)):
        resets = draw_inputs(machine, probabilities, last, rng)
        put_inputs(rows[cycle], machine.input_fields, resets, machine.input_values)
        _run(machine, resets, expected[cycle])
        log_rules(event_log, machine.rules, cycle)


class TableStimulus(Stimulus):
    """Random look-ups and writes of a table.

    Parameters
    ----------
    oracle : Oracle
        Oracle of the table, with its ports in rows.
    lookups : int
        Number of look-ups per cycle.
    phases : sequence of LookupPhase
        Phases, in the order in which they run.
    never : set of str
        Rules that this instance cannot reach.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    """

    def __init__(
        self, oracle: Oracle, lookups: int, *, phases: tuple[LookupPhase, ...], never: set[str], seed: int
    ) -> None:
        super().__init__(phases, oracle.rules)
        self._machine, self._each, self._bits = oracle.machine, lookups, seeded_rng(seed)
        self._last, self._cycles = np.zeros(1, np.int64), 0
        self.applicable = frozenset(rule.name for rule in oracle.rules) - never

    @property
    def decisions(self) -> int:
        """Number of look-ups so far."""
        return self._cycles * self._each

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: LookupPhase = self.phases[index]
        chances = np.array([phase.write, phase.near, phase.reset], np.int64)
        machine = self._machine._replace(rules=rules)
        _fill(machine, chances, self._last, self._bits, rows, expected, self.happened)
        self._cycles += len(rows)


def qualified_table(
    name: str,
    oracle: Callable[..., Oracle],
    parameters: Mapping[str, Any],
    lookups: int,
    never: set[str],
    *,
    cycles: int,
    seed: int,
    inputs: Layout,
    outputs: Layout,
    phases: tuple[LookupPhase, ...] = (),
) -> Stimulus:
    """Return the stimulus that qualifies a table: it reaches every rule, except ``never``, and every corner case.

    ``phases`` replaces the usual phases. Crosses are then not counted.
    """
    made = oracle(parameters, in_rows(inputs, outputs))
    stimulus = TableStimulus(made, lookups, phases=phases or lookup_phases(cycles), never=never, seed=seed)
    if phases:
        return stimulus
    module = crosses(name)
    stimulus.watch(
        module.crosses(parameters),
        module.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=module.JUDGED_FROM_CYCLES,
    )
    return stimulus
