"""Stimulus of Omni-Path credits: the port at one end of a simulated link, a golden port at the other.

Nothing is lost. The division of the far buffer is programmed through the port and changed under traffic. The
outstanding units must never exceed the far buffer, and when the link is idle every unit must have returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.credits import credit_opa as golden
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below, seeded_rng
from vlane.golden.oracle.credits import CreditOPAMachine, credit_opa_oracle, put_credit_opa, run_credit_opa
from vlane.tb.credits.credit_opa import crosses as crosses_credit_opa
from vlane.tb.credits.credit_opa.phases import BUFFER, CERTAIN, FLIGHT, SharedPhase, shared_phases
from vlane.tb.credits.credit_opa.wild import TURN_BITS, draw_any_inputs
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import in_rows
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut_whole

(C_SEND, C_FREE, C_RESET, C_CHANGE, C_LTP, C_LEAST, C_MOST) = range(7)
(W_BUSY, W_SENT, W_OVERFLOWS, W_WRITE, W_CLOCK) = range(5)


class CreditEnvironment(NamedTuple):
    """State of the traffic around the port.

    Parameters
    ----------
    packet_vl : array of int64, (2 directions, 16)
        Lane of the packet in flight, by cycle modulo the flight time.
    packet_blocks : array of int64, (2 directions, 16)
        Blocks of the packet in flight.
    ltp : array of int64, (2 directions, 16)
        Two bits of a credit return in flight, plus 1.
    held : array of int64, (2 ends, vls)
        Units in the far end's buffer and in the port's.
    wanted : array of int64, (2, vls)
        Dedicated and shared limits being programmed.
    overall : array of int64, (1,)
        Shared limit of all lanes that belongs to them.
    regs : array of int64, (2, 5)
        Per direction: cycles until the sender is free, packets sent, overflows; the next write; the cycle.
    """

    packet_vl: NDArray[np.int64]
    packet_blocks: NDArray[np.int64]
    ltp: NDArray[np.int64]
    held: NDArray[np.int64]
    wanted: NDArray[np.int64]
    overall: NDArray[np.int64]
    regs: NDArray[np.int64]


def _new_environment(vls: int) -> CreditEnvironment:
    flying, lanes = np.zeros((3, 2, FLIGHT), np.int64), np.zeros((2, 2, vls), np.int64)
    environment = CreditEnvironment(
        packet_vl=flying[0],
        packet_blocks=flying[1],
        ltp=flying[2],
        held=lanes[0],
        wanted=lanes[1],
        overall=np.zeros(1, np.int64),
        regs=np.zeros((2, 5), np.int64),
    )
    environment.regs[:, W_WRITE] = -1
    return environment


@kernel
def _draw_division(environment: CreditEnvironment, rng: NDArray[np.uint64]) -> None:
    """Draw a new division of the far buffer: dedicated units, shared units, and each lane's shared limit."""
    vls = environment.wanted.shape[1]
    left = BUFFER
    for vl in range(vls):
        if draw_below(rng, 3) != 0:
            environment.wanted[0, vl] = min(left, draw_below(rng, 1 + BUFFER // vls))
        left -= environment.wanted[0, vl]
    if left < 0:
        for vl in range(vls):
            environment.wanted[0, vl] = BUFFER // (2 * vls)
        left = BUFFER // 2
    environment.overall[0] = draw_below(rng, left + 1)
    for vl in range(vls):
        if draw_below(rng, 3) != 0:
            environment.wanted[1, vl] = draw_below(rng, environment.overall[0] + 1)


@kernel
def _program(
    port: golden.CreditOPAState,
    inputs: golden.Inputs,
    environment: CreditEnvironment,
    probabilities: NDArray[np.int64],
    rng: NDArray[np.uint64],
) -> None:
    """Write a division limit by limit, then request the change."""
    regs = environment.regs
    vls = port.vls
    if regs[0, W_WRITE] < 0:
        if port.regs[golden.STEP] == 0 and draw_below(rng, CERTAIN) < probabilities[C_CHANGE]:
            _draw_division(environment, rng)
            regs[0, W_WRITE] = 0
        elif probabilities[C_CHANGE] and draw_below(rng, 256) == 0:
            inputs.flags[golden.APPLY] = port.regs[golden.STEP] != 0
            inputs.flags[golden.ENABLE] = 1
            inputs.values[golden.SELECT] = 3
        return
    at = regs[0, W_WRITE]
    regs[0, W_WRITE] += 1
    if at == 2 * vls + 1:
        inputs.flags[golden.APPLY] = 1
        regs[0, W_WRITE] = -1
        return
    inputs.flags[golden.ENABLE] = 1
    if at == 2 * vls:
        inputs.values[golden.SELECT], inputs.values[golden.UNITS] = 2, environment.overall[0]
    else:
        which, vl = at // vls, at % vls
        inputs.values[golden.SELECT], inputs.values[golden.TO_VL] = which, vl
        inputs.values[golden.UNITS] = environment.wanted[which, vl]


@inner
def _run_end(
    state: golden.CreditOPAState,
    inputs: golden.Inputs,
    environment: CreditEnvironment,
    end: int,
    slot: int,
    probabilities: NDArray[np.int64],
    rng: NDArray[np.uint64],
) -> None:
    """Receive, free and send at one end. It sends in direction ``end`` and receives from the other."""
    regs, other = environment.regs, 1 - end
    if environment.packet_blocks[other, slot] != 0:
        environment.held[other, environment.packet_vl[other, slot]] += environment.packet_blocks[other, slot]
        environment.packet_blocks[other, slot] = 0
        regs[other, W_OVERFLOWS] += environment.held[other].sum() > BUFFER
    if environment.ltp[other, slot] != 0:
        inputs.flags[golden.LTP_ARRIVED] = 1
        inputs.values[golden.CREDIT_IN] = environment.ltp[other, slot] - 1
        environment.ltp[other, slot] = 0
    if draw_below(rng, CERTAIN) < probabilities[C_LTP]:
        inputs.flags[golden.LTP_SENT] = 1
        environment.ltp[end, slot] = 1 + golden.outgoing_bits(state)
    vl = draw_below(rng, state.vls)
    if draw_below(rng, CERTAIN) < probabilities[C_FREE]:
        for _ in range(state.vls):
            if environment.held[other, vl] > 0:
                units = min(environment.held[other, vl], 1 + draw_below(rng, 3))
                inputs.flags[golden.FREE] = 1
                inputs.values[golden.FREED_VL], inputs.values[golden.FREED_BLOCKS] = vl, units
                environment.held[other, vl] -= units
                break
            vl = vl + 1 if vl + 1 < state.vls else 0
    lane = draw_below(rng, state.vls)
    inputs.blocks[lane] = probabilities[C_LEAST] + draw_below(rng, probabilities[C_MOST] - probabilities[C_LEAST] + 1)
    if regs[end, W_BUSY] > 0:
        regs[end, W_BUSY] -= 1
        return
    lane = draw_below(rng, state.vls)
    blocks = inputs.blocks[lane]
    if draw_below(rng, CERTAIN) < probabilities[C_SEND] and golden.fits(state, lane, blocks):
        inputs.flags[golden.GRANT] = 1
        inputs.values[golden.GRANT_VL], inputs.values[golden.GRANT_BLOCKS] = lane, blocks
        environment.packet_vl[end, slot], environment.packet_blocks[end, slot] = lane, blocks
        regs[end, W_BUSY] = blocks - 1
        regs[end, W_SENT] += 1


@kernel
def _fill(
    machine: CreditOPAMachine,
    far: golden.CreditOPAState,
    at_far: golden.Inputs,
    environment: CreditEnvironment,
    probabilities: NDArray[np.int64],
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    far_rules: NDArray[np.int64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    port, at_port = machine.state, machine.input_values
    for cycle in range(len(rows)):
        slot = environment.regs[0, W_CLOCK] % FLIGHT
        environment.regs[0, W_CLOCK] += 1
        resets = draw_below(rng, CERTAIN) < probabilities[C_RESET]
        if forbidden_inputs:
            draw_any_inputs(port, at_port, environment.regs[0, W_CLOCK], rng)
            resets = draw_below(rng, 8192) == 0 or environment.regs[0, W_CLOCK] & ((4 << TURN_BITS) - 1) == 0
        else:
            for given in (at_port, at_far):
                given.flags[:] = 0
                given.values[:] = 0
            _run_end(port, at_port, environment, 0, slot, probabilities, rng)
            _run_end(far, at_far, environment, 1, slot, probabilities, rng)
            _program(port, at_port, environment, probabilities, rng)
            if resets and draw_below(rng, 2):
                at_port.flags[golden.APPLY] = 1
        put_credit_opa(machine, rows[cycle], resets)
        run_credit_opa(machine, resets, expected[cycle])
        log_rules(event_log, machine.rules, cycle)
        if not forbidden_inputs:
            golden.step(far, at_far, far_rules)
        if resets:
            start_far_end(far)
            clear_environment(environment)


@kernel
def start_far_end(far: golden.CreditOPAState) -> None:
    """Reset the far end and set its limits: half of the near buffer dedicated to lanes, half shared."""
    golden.reset(far)
    far.dedicated[:] = BUFFER // (2 * far.vls)
    far.shared[:] = BUFFER // 4
    far.regs[golden.OVERALL] = BUFFER // 2


@kernel
def clear_environment(environment: CreditEnvironment) -> None:
    """Empty the link and both buffers, and restart the programming of the current division."""
    environment.packet_blocks[:] = 0
    environment.ltp[:] = 0
    environment.held[:] = 0
    for lane in range(len(environment.regs)):
        environment.regs[lane, W_BUSY] = 0
    environment.regs[0, W_WRITE] = 0


class CreditOPALink(Stimulus):
    """Stimulus of Omni-Path credits: two golden ports joined by a lossless link.

    The inputs and outputs of the first port are the rows.

    Parameters
    ----------
    parameters : mapping
        Parameters of the component.
    phases : sequence of SharedPhase
        Phases, in the order in which they run.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.

    Attributes
    ----------
    audit : dict of str to int
        Buffer overflows and units that did not return, both of which must be 0; audits, and packets sent.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        phases: tuple[SharedPhase, ...],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        super().__init__(phases, golden.RULES)
        vls = parameters["vls"]
        self._machine = credit_opa_oracle(parameters, in_rows(inputs, outputs)).machine
        self._far, self._at_far = golden.new_state(**parameters), golden.new_inputs(vls)
        self._around, self._bits = _new_environment(vls), seeded_rng(seed)
        start_far_end(self._far)
        _draw_division(self._around, self._bits)
        clear_environment(self._around)
        self._far_rules = np.zeros(len(golden.RULES), np.int64)
        self.audit = {"overflows": 0, "leaked_blocks": 0, "audits": 0, "packets": 0}
        self.applicable = frozenset(rule.name for rule in golden.RULES) - {"return_too_large"}
        if parameters["vcu"] > 1:
            self.applicable -= {"returned_most"}

    @property
    def decisions(self) -> int:
        """Number of packets sent so far by both ends."""
        return int(self._around.regs[:, W_SENT].sum())

    def _enter(self, index: int) -> None:
        """After a wild phase, empty the link and reset the far end."""
        if index and self.phases[index - 1].wild:
            start_far_end(self._far)
            clear_environment(self._around)

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: SharedPhase = self.phases[index]
        chances = np.array(
            [phase.send, phase.free, phase.reset, phase.change, phase.ltp, phase.least_blocks, phase.most_blocks],
            np.int64,
        )
        _fill(
            self._machine._replace(rules=rules),
            self._far,
            self._at_far,
            self._around,
            chances,
            phase.wild,
            self._bits,
            rows,
            expected,
            self._far_rules,
            self.happened,
        )
        self.audit["overflows"] = int(self._around.regs[:, W_OVERFLOWS].sum())
        self.audit["packets"] = self.decisions
        if phase.audit and self._done + len(rows) == phase.cycles:
            self.audit["audits"] += 1
            self.audit["leaked_blocks"] += self.missing()

    def missing(self) -> int:
        """Return the units that have not been returned when all buffers are empty."""
        return sum(int(port.used.sum() + port.owed.sum()) for port in (self._machine.state, self._far))


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the qualification stimulus of the credits, which reaches every rule, with audited changes of limits."""
    phases = cut_whole(shared_phases(parameters, cycles), cycles, partial(SharedPhase, name="rest"))
    traffic = CreditOPALink(parameters, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    traffic.watch(crosses_credit_opa.crosses(parameters), crosses_credit_opa.EVENTS, inputs=inputs, outputs=outputs)
    return traffic
