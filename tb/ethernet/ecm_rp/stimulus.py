"""Stimulus of the reaction point: congestion notices for a few flows, and requests to start frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.ecm_rp import TOKENS_PER_BYTE, Notice
from vlane.ethernet.shared import BYTES_BITS, CPID_BITS, FEEDBACK_BITS
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below
from vlane.golden.ethernet import ecm_rp as golden
from vlane.golden.oracle.ethernet import ECMRPMachine, ecm_rp_oracle, run_ecm_rp
from vlane.tb.ethernet.ecm_rp import crosses as crosses_ecm_rp
from vlane.tb.ethernet.ethernet_stimulus import COUNT, EthernetStimulus
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import put_inputs
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut

CERTAIN = 65536
"""Denominator of all probabilities."""

(C_ORDER, C_ASK, C_RISE, C_STOP, C_DRIFT, C_RESET) = range(6)
_HOT, _MORE_AT_ONCE = 4, 16
"""Number of flows that get most orders; factor by which resets are more likely when an order may be given."""
_MOST_BYTES, _CPIDS = (1 << BYTES_BITS) - 1, 1 << CPID_BITS
_FEEDBACKS = 1 << FEEDBACK_BITS
_POINT, _PROBE, _STOP, _DRIFT = (int(each) for each in Notice)


@dataclass(frozen=True, slots=True)
class SourcePhase:
    """A phase of traffic. Probabilities are in 1/65536 per cycle, or per order.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    order : int
        Probability that an order is given.
    ask : int
        Probability that an order is a request.
    rise : int
        Probability that feedback is positive.
    stop, drift : int
        Probabilities that a notice is a stop, and that it is a drift.
    reset : int
        Probability of a reset per cycle; 16 times as high when an order may be given.
    wild : bool
        Whether every input is random.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    order: int = CERTAIN // 4
    ask: int = CERTAIN // 2
    rise: int = CERTAIN // 2
    stop: int = 0
    drift: int = 0
    reset: int = 0
    wild: bool = False
    name: str = ""


@inner
def _draw_order(
    state: golden.ECMRPState, values: NDArray[np.int64], probabilities: NDArray[np.int64], rng: NDArray[np.uint64]
) -> None:
    """Draw an order, mostly for a few flows. Positive feedback mostly comes from the sender that lowered the rate."""
    made = state.limiters
    flows = made.flow.shape[1]
    values[golden.FLOW] = draw_below(rng, _HOT) if draw_below(rng, 16) else draw_below(rng, flows)
    flow_state = made.flow[0, values[golden.FLOW]]
    values[golden.ASK] = draw_below(rng, CERTAIN) < probabilities[C_ASK]
    values[golden.FRAME_BYTES] = (
        draw_below(rng, made.full_tokens // TOKENS_PER_BYTE + 1) if draw_below(rng, 8) else draw_below(rng, _MOST_BYTES)
    )
    if draw_below(rng, 2) == 0:  # the largest frame for which the current tokens suffice, or one byte more
        passed = max(state.registers[golden.NOW] - flow_state.counted_until, 0)
        there = min(made.full_tokens, flow_state.tokens + passed * flow_state.rate)
        values[golden.FRAME_BYTES] = min(_MOST_BYTES, there // TOKENS_PER_BYTE + (draw_below(rng, 4) != 0))
    kind = draw_below(rng, CERTAIN)
    if kind < probabilities[C_STOP]:
        values[golden.NOTICE] = _STOP
    elif kind < probabilities[C_STOP] + probabilities[C_DRIFT]:
        values[golden.NOTICE] = _DRIFT
    else:
        values[golden.NOTICE] = _PROBE if draw_below(rng, 2) else _POINT
    values[golden.CPID] = 1 + draw_below(rng, 2) if draw_below(rng, 8) else draw_below(rng, _CPIDS)
    size = draw_below(rng, (2, 64, 700, _FEEDBACKS // 2)[draw_below(rng, 4)])
    values[golden.FEEDBACK] = -1 - size
    if draw_below(rng, CERTAIN) < probabilities[C_RISE]:
        values[golden.FEEDBACK] = size
        if draw_below(rng, 4) and flow_state.limited != 0:
            values[golden.NOTICE] = (
                flow_state.lowered_by_probe if values[golden.NOTICE] <= _PROBE else values[golden.NOTICE]
            )
            values[golden.CPID] = flow_state.cpid


@kernel
def _fill(
    machine: ECMRPMachine,
    link: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    state, values = machine.state, machine.input_values
    for cycle in range(len(rows)):
        values[golden.ORDER] = draw_below(rng, CERTAIN) < probabilities[C_ORDER]
        if forbidden_inputs:
            values[golden.ASK], values[golden.FLOW] = draw_below(rng, 2), draw_below(rng, state.limiters.flow.shape[1])
            values[golden.FRAME_BYTES], values[golden.NOTICE] = draw_below(rng, _MOST_BYTES + 1), draw_below(rng, 4)
            values[golden.CPID] = draw_below(rng, 4)
            values[golden.FEEDBACK] = draw_below(rng, _FEEDBACKS) - _FEEDBACKS // 2
        else:
            _draw_order(state, values, probabilities, rng)
        ready = golden.is_ready(state)
        more = _MORE_AT_ONCE if ready else 1
        resets = draw_below(rng, CERTAIN) < more * probabilities[C_RESET]
        link[COUNT] += ready and values[golden.ORDER] != 0
        put_inputs(rows[cycle], machine.input_fields, resets, values)
        run_ecm_rp(machine, resets, expected[cycle])
        log_rules(event_log, machine.rules, cycle)


class ECMRPSource(EthernetStimulus):
    """Stimulus of the reaction point: random notifications and requests in phases, with golden's outputs."""

    reference: ClassVar = golden
    oracle: ClassVar = ecm_rp_oracle

    @staticmethod
    def applicable_rules(parameters: Mapping[str, Any]) -> frozenset[str]:
        """Return the names of the rules that an instance can reach."""
        found = {rule.name for rule in golden.RULES}
        found -= {"any_probe"} if parameters["strict"] else {"strict_probe"}
        if not parameters["drift"]:
            found -= {"drifted"}
        return frozenset(found)

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: SourcePhase = self.phases[index]
        chances = np.array([phase.order, phase.ask, phase.rise, phase.stop, phase.drift, phase.reset], np.int64)
        machine = self._machine._replace(rules=rules)
        _fill(machine, self._link, chances, phase.wild, self._bits, rows, expected, self.happened)


def source_phases(cycles: int) -> tuple[SourcePhase, ...]:
    """Return the phases of a run of ``cycles`` cycles: requests, feedback, stops, drifts, resets."""
    part, often = max(cycles // 16, 200), 7 * CERTAIN // 8
    return cut(
        (
            SourcePhase(2 * part, name="notices and questions"),
            SourcePhase(2 * part, ask=often, order=CERTAIN, name="one order after another"),
            SourcePhase(2 * part, ask=CERTAIN // 8, rise=often, name="rates that rise"),
            SourcePhase(part, rise=CERTAIN // 8, name="rates that fall"),
            SourcePhase(2 * part, ask=CERTAIN // 4, stop=CERTAIN // 128, drift=CERTAIN // 4, rise=often, name="stops"),
            SourcePhase(part, order=CERTAIN // 512, ask=often, name="long waits"),
            SourcePhase(2 * part, rise=often, stop=CERTAIN // 8, reset=60, name="resets"),
            SourcePhase(part, wild=True, order=CERTAIN // 2, reset=20, name="anything"),
            SourcePhase(part, drift=CERTAIN // 8, rise=often, name="notices and questions again"),
        ),
        cycles,
    )


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the qualification stimulus of the reaction point, which reaches every rule, with flows in all states."""
    made = ECMRPSource(parameters, phases=source_phases(cycles), seed=seed, inputs=inputs, outputs=outputs)
    made.watch(
        crosses_ecm_rp.crosses(parameters),
        crosses_ecm_rp.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_ecm_rp.JUDGED_FROM_CYCLES,
    )
    return made
