"""Stimulus of the source: a few busy flows, full sets, bursts of BECNs, and settings that change under traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_source import CCT_ENTRIES, DLID_BITS, SL_BITS, CCSourceSelect
from vlane.golden.congestion import cc_source as golden
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below, seeded_rng
from vlane.golden.oracle.congestion import CCSourceMachine, cc_source_oracle, put_cc_source, run_cc_source
from vlane.tb.congestion.cc_source import crosses as crosses_cc_source
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import in_rows
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut

CERTAIN = 65536
"""Denominator of all probabilities."""

(C_WRITE, C_ASK, C_BECN, C_RESET, C_SHORT) = range(5)
(N_BURST, N_ASKED) = range(2)
_PORT_CONTROL, _TABLE = int(CCSourceSelect.PORT_CONTROL), int(CCSourceSelect.TABLE)
_QUIET = 256
"""Factor by which BECNs are rarer between bursts."""


@dataclass(frozen=True, slots=True)
class SourcePhase:
    """A phase of traffic. Probabilities are in 1/65536 per cycle.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    write : int
        Probability that a setting is written.
    ask : int
        Probability of a request.
    becn : int
        Probability of a BECN during a burst.
    reset : int
        Probability of a reset.
    short : int
        Probability that a packet has one or two blocks.
    wild : bool
        Whether every input is random.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    write: int = 0
    ask: int = CERTAIN
    becn: int = 0
    reset: int = 0
    short: int = CERTAIN // 2
    wild: bool = False
    name: str = ""


@inner
def _draw_flow(
    sources: golden.Sources, flow: NDArray[np.int64], other: NDArray[np.int64], rng: NDArray[np.uint64]
) -> None:
    """Draw a flow: from a few flows, from one set, of the next visited entry, or equal or close to ``other``."""
    kind = draw_below(rng, 16)
    if kind < 6:
        flow[1], flow[2] = draw_below(rng, 3), draw_below(rng, 2)
    elif kind < 9:
        flow[1], flow[2] = draw_below(rng, 7) << sources.set_bits, 0
    elif kind < 11:
        entry = sources.flow[0, (sources.sweep[0].next_entry + 1) % sources.flow.shape[1]]
        flow[1], flow[2] = entry.dlid, entry.sl
    elif kind < 13:
        flow[1], flow[2] = other[1], other[2]
        if kind == 12:
            bit = draw_below(rng, DLID_BITS + SL_BITS)
            flow[1] ^= 1 << bit if bit < DLID_BITS else 0
            flow[2] ^= 1 << bit - DLID_BITS if bit >= DLID_BITS else 0
    elif kind < 15:
        flow[1], flow[2] = draw_below(rng, sources.flow.shape[1]), draw_below(rng, 16)
    else:
        flow[1], flow[2] = draw_below(rng, 1 << 16), draw_below(rng, 16)


@inner
def _draw_write(sources: golden.Sources, written: NDArray[np.int64], rng: NDArray[np.uint64]) -> None:
    """Write a random setting, mostly a small value whose effect is visible soon."""
    written[golden.W_ENABLE], written[golden.W_SELECT] = 1, draw_below(rng, 4)
    if written[golden.W_SELECT] != _TABLE and draw_below(rng, 3) != 0:
        written[golden.W_SELECT] = _TABLE
    is_small, entries = draw_below(rng, 16) != 0, sources.table.shape[1]
    written[golden.W_INDEX] = draw_below(rng, 16 if is_small else CCT_ENTRIES)
    written[golden.W_PORT_MODE] = draw_below(rng, 8) == 0
    written[golden.W_LIMIT] = (
        draw_below(rng, 20 if draw_below(rng, 2) else entries) if is_small else draw_below(rng, CCT_ENTRIES)
    )
    written[golden.W_TIMER] = draw_below(rng, 4) if is_small else draw_below(rng, 1 << 16)
    written[golden.W_INCREASE] = draw_below(rng, 4) if is_small else draw_below(rng, 256)
    written[golden.W_TRIGGER] = draw_below(rng, 12) if is_small else draw_below(rng, 256)
    written[golden.W_MINIMUM] = draw_below(rng, 3) if is_small else draw_below(rng, 256)
    written[golden.W_SHIFT] = draw_below(rng, 4)
    written[golden.W_MULTIPLIER] = draw_below(rng, 8)
    if draw_below(rng, 256) == 0:  # near the largest multiplier, at a distance of any magnitude
        written[golden.W_MULTIPLIER] = (1 << 14) - 1 - draw_below(rng, 1 << draw_below(rng, 15))


@inner
def _write_defaults(inputs: golden.Inputs, cycle: int) -> None:
    """In the first cycles, write settings under which flows come and go: each SL, the CCT, the limit."""
    written = inputs.setting_write
    written[:] = 0
    written[golden.W_ENABLE], written[golden.W_INDEX] = 1, cycle
    written[golden.W_SELECT] = 2 if cycle < 16 else (3 if cycle < 48 else 1)
    if cycle >= 16:
        written[golden.W_INDEX] = cycle - 16
    written[golden.W_INCREASE], written[golden.W_TIMER], written[golden.W_TRIGGER] = 1 + cycle % 3, cycle % 2, 5
    written[golden.W_MULTIPLIER], written[golden.W_SHIFT] = max(cycle - 16, 1), 1
    written[golden.W_LIMIT] = 31


@kernel
def _fill(
    machine: CCSourceMachine,
    now: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    made, given, since_reset = machine.state, machine.input_values, machine.cycle
    asks, tells, written = given.request, given.becn, given.setting_write
    for cycle in range(len(rows)):
        resets = draw_below(rng, CERTAIN) < probabilities[C_RESET]
        written[golden.W_ENABLE] = 0
        if draw_below(rng, 1024) == 0:
            now[N_BURST] ^= 1
        chance = probabilities[C_BECN] if now[N_BURST] else probabilities[C_BECN] // _QUIET
        tells[golden.TELL] = draw_below(rng, CERTAIN) < chance
        asks[golden.ASK] = draw_below(rng, CERTAIN) < probabilities[C_ASK]
        asks[golden.ASK_BLOCKS] = 1 + draw_below(rng, 2 if draw_below(rng, CERTAIN) < probabilities[C_SHORT] else 66)
        _draw_flow(made, asks, tells, rng)
        _draw_flow(made, tells, asks, rng)
        if since_reset[0] < 49 and probabilities[C_WRITE] >= 0:
            _write_defaults(given, since_reset[0])
        elif draw_below(rng, CERTAIN) < probabilities[C_WRITE]:
            _draw_write(made, written, rng)
        if forbidden_inputs:
            asks[golden.ASK_BLOCKS] = draw_below(rng, 128)
            written[golden.W_SELECT], written[golden.W_LIMIT] = draw_below(rng, 4), draw_below(rng, CCT_ENTRIES)
            written[golden.W_PORT_MODE], written[golden.W_MINIMUM] = draw_below(rng, 2), draw_below(rng, 256)
        put_cc_source(machine, rows[cycle], resets)
        run_cc_source(machine, resets, expected[cycle])
        now[N_ASKED] += asks[golden.ASK]
        log_rules(event_log, machine.rules, cycle)


class CCSourceNIC(Stimulus):
    """Stimulus of the source: random requests, BECNs and settings, with golden's outputs.

    Parameters
    ----------
    parameters : mapping
        Parameters of the component.
    phases : sequence of SourcePhase
        Phases, in the order in which they run.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        phases: tuple[SourcePhase, ...],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        super().__init__(phases, golden.RULES)
        self._machine = cc_source_oracle(parameters, in_rows(inputs, outputs)).machine
        self._now, self._bits = np.zeros(2, np.int64), seeded_rng(seed)
        self.applicable = _applicable(parameters)

    @property
    def decisions(self) -> int:
        """Number of requests answered so far."""
        return int(self._now[N_ASKED])

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: SourcePhase = self.phases[index]
        chances = np.array([phase.write, phase.ask, phase.becn, phase.reset, phase.short], np.int64)
        machine = self._machine._replace(rules=rules)
        _fill(machine, self._now, chances, phase.wild, self._bits, rows, expected, self.happened)


def _applicable(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that an instance can reach."""
    found = {rule.name for rule in golden.RULES}
    return frozenset(found - ({"limit_capped", "absent_entry"} if parameters["cct_entries"] == CCT_ENTRIES else set()))


def source_phases(cycles: int) -> tuple[SourcePhase, ...]:
    """Return the phases of a run of ``cycles`` cycles: few or many flows, bursts of BECNs, writes, resets."""
    part = max(cycles // 12, 200)
    half, few = CERTAIN // 2, CERTAIN // 64
    return cut(
        (
            SourcePhase(part, becn=half, name="settings as at first"),
            SourcePhase(2 * part, write=few, becn=half, name="bursts"),
            SourcePhase(part, write=4 * few, ask=half, becn=8 * few, name="often written"),
            SourcePhase(part, write=half, ask=half, becn=8 * few, name="written all the time"),
            SourcePhase(2 * part, write=4, becn=4 * few, name="few BECNs"),
            SourcePhase(part, write=few, becn=CERTAIN, name="full sets"),
            SourcePhase(part, write=few, becn=half, reset=480, name="resets"),
            SourcePhase(2 * part, write=few, ask=half, becn=half, reset=16, wild=True, name="anything"),
            SourcePhase(part, write=2, becn=2 * few, short=CERTAIN, name="short packets"),
        ),
        cycles,
    )


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the qualification stimulus of the source, which reaches every rule. Flows become known and unknown."""
    nic = CCSourceNIC(parameters, phases=source_phases(cycles), seed=seed, inputs=inputs, outputs=outputs)
    nic.watch(
        crosses_cc_source.crosses(parameters),
        crosses_cc_source.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_cc_source.JUDGED_FROM_CYCLES,
    )
    return nic
