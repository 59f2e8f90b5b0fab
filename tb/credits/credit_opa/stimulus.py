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
from vlane.tb.credits.credit_opa.wild import TURN_BITS, anything
from vlane.tb.machinery.native.crosses import Happened, note_rules
from vlane.tb.machinery.native.packing import in_rows
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut_whole

(C_SEND, C_FREE, C_RESET, C_CHANGE, C_LTP, C_LEAST, C_MOST) = range(7)
(W_BUSY, W_SENT, W_OVERFLOWS, W_WRITE, W_CLOCK) = range(5)


class CreditSurroundings(NamedTuple):
    """State of the traffic around the port.

    Parameters
    ----------
    packet_vl, packet_blocks, ltp : array of int64, (2 directions, 16)
        Items in flight by cycle modulo the flight time: packets, and two bits of a return plus 1.
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


def _new_surroundings(vls: int) -> CreditSurroundings:
    flying, lanes = np.zeros((3, 2, FLIGHT), np.int64), np.zeros((2, 2, vls), np.int64)
    surroundings = CreditSurroundings(
        packet_vl=flying[0],
        packet_blocks=flying[1],
        ltp=flying[2],
        held=lanes[0],
        wanted=lanes[1],
        overall=np.zeros(1, np.int64),
        regs=np.zeros((2, 5), np.int64),
    )
    surroundings.regs[:, W_WRITE] = -1
    return surroundings


@kernel
def _draw_division(surroundings: CreditSurroundings, bits: NDArray[np.uint64]) -> None:
    """Draw a new division of the far buffer: dedicated units, shared units, and each lane's shared limit."""
    vls = surroundings.wanted.shape[1]
    left = BUFFER
    for vl in range(vls):
        if draw_below(bits, 3) != 0:
            surroundings.wanted[0, vl] = min(left, draw_below(bits, 1 + BUFFER // vls))
        left -= surroundings.wanted[0, vl]
    if left < 0:
        for vl in range(vls):
            surroundings.wanted[0, vl] = BUFFER // (2 * vls)
        left = BUFFER // 2
    surroundings.overall[0] = draw_below(bits, left + 1)
    for vl in range(vls):
        if draw_below(bits, 3) != 0:
            surroundings.wanted[1, vl] = draw_below(bits, surroundings.overall[0] + 1)


@kernel
def _program(
    port: golden.CreditOPAState,
    given: golden.Inputs,
    surroundings: CreditSurroundings,
    chances: NDArray[np.int64],
    bits: NDArray[np.uint64],
) -> None:
    """Write a division limit by limit, then request the change."""
    regs = surroundings.regs
    vls = port.vls
    if regs[0, W_WRITE] < 0:
        if port.regs[golden.STEP] == 0 and draw_below(bits, CERTAIN) < chances[C_CHANGE]:
            _draw_division(surroundings, bits)
            regs[0, W_WRITE] = 0
        elif chances[C_CHANGE] and draw_below(bits, 256) == 0:
            given.flags[golden.APPLY] = port.regs[golden.STEP] != 0
            given.flags[golden.ENABLE] = 1
            given.values[golden.SELECT] = 3
        return
    at = regs[0, W_WRITE]
    regs[0, W_WRITE] += 1
    if at == 2 * vls + 1:
        given.flags[golden.APPLY] = 1
        regs[0, W_WRITE] = -1
        return
    given.flags[golden.ENABLE] = 1
    if at == 2 * vls:
        given.values[golden.SELECT], given.values[golden.UNITS] = 2, surroundings.overall[0]
    else:
        which, vl = at // vls, at % vls
        given.values[golden.SELECT], given.values[golden.TO_VL] = which, vl
        given.values[golden.UNITS] = surroundings.wanted[which, vl]


@inner
def _exchange(
    state: golden.CreditOPAState,
    given: golden.Inputs,
    surroundings: CreditSurroundings,
    end: int,
    slot: int,
    chances: NDArray[np.int64],
    bits: NDArray[np.uint64],
) -> None:
    """Receive, free and send at one end. It sends in direction ``end`` and receives from the other."""
    regs, other = surroundings.regs, 1 - end
    if surroundings.packet_blocks[other, slot] != 0:
        surroundings.held[other, surroundings.packet_vl[other, slot]] += surroundings.packet_blocks[other, slot]
        surroundings.packet_blocks[other, slot] = 0
        regs[other, W_OVERFLOWS] += surroundings.held[other].sum() > BUFFER
    if surroundings.ltp[other, slot] != 0:
        given.flags[golden.LTP_ARRIVED] = 1
        given.values[golden.CREDIT_IN] = surroundings.ltp[other, slot] - 1
        surroundings.ltp[other, slot] = 0
    if draw_below(bits, CERTAIN) < chances[C_LTP]:
        given.flags[golden.LTP_SENT] = 1
        surroundings.ltp[end, slot] = 1 + golden.outgoing_bits(state)
    vl = draw_below(bits, state.vls)
    if draw_below(bits, CERTAIN) < chances[C_FREE]:
        for _ in range(state.vls):
            if surroundings.held[other, vl] > 0:
                units = min(surroundings.held[other, vl], 1 + draw_below(bits, 3))
                given.flags[golden.FREE] = 1
                given.values[golden.FREED_VL], given.values[golden.FREED_BLOCKS] = vl, units
                surroundings.held[other, vl] -= units
                break
            vl = vl + 1 if vl + 1 < state.vls else 0
    lane = draw_below(bits, state.vls)
    given.blocks[lane] = chances[C_LEAST] + draw_below(bits, chances[C_MOST] - chances[C_LEAST] + 1)
    if regs[end, W_BUSY] > 0:
        regs[end, W_BUSY] -= 1
        return
    lane = draw_below(bits, state.vls)
    blocks = given.blocks[lane]
    if draw_below(bits, CERTAIN) < chances[C_SEND] and golden.fits(state, lane, blocks):
        given.flags[golden.GRANT] = 1
        given.values[golden.GRANT_VL], given.values[golden.GRANT_BLOCKS] = lane, blocks
        surroundings.packet_vl[end, slot], surroundings.packet_blocks[end, slot] = lane, blocks
        regs[end, W_BUSY] = blocks - 1
        regs[end, W_SENT] += 1


@kernel
def _fill(
    machine: CreditOPAMachine,
    far: golden.CreditOPAState,
    at_far: golden.Inputs,
    surroundings: CreditSurroundings,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - kernels take positional arguments only
    bits: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    far_rules: NDArray[np.int64],
    happened: Happened,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    port, at_port = machine.state, machine.seen
    for cycle in range(len(rows)):
        slot = surroundings.regs[0, W_CLOCK] % FLIGHT
        surroundings.regs[0, W_CLOCK] += 1
        resets = draw_below(bits, CERTAIN) < chances[C_RESET]
        if wild:
            anything(port, at_port, surroundings.regs[0, W_CLOCK], bits)
            resets = draw_below(bits, 8192) == 0 or surroundings.regs[0, W_CLOCK] & ((4 << TURN_BITS) - 1) == 0
        else:
            for given in (at_port, at_far):
                given.flags[:] = 0
                given.values[:] = 0
            _exchange(port, at_port, surroundings, 0, slot, chances, bits)
            _exchange(far, at_far, surroundings, 1, slot, chances, bits)
            _program(port, at_port, surroundings, chances, bits)
            if resets and draw_below(bits, 2):
                at_port.flags[golden.APPLY] = 1
        put_credit_opa(machine, rows[cycle], resets)
        run_credit_opa(machine, resets, expected[cycle])
        note_rules(happened, machine.rules, cycle)
        if not wild:
            golden.step(far, at_far, far_rules)
        if resets:
            start_far(far)
            clear_surroundings(surroundings)


@kernel
def start_far(far: golden.CreditOPAState) -> None:
    """Reset the far end and set its limits: half of the port's buffer dedicated, half shared."""
    golden.reset(far)
    far.dedicated[:] = BUFFER // (2 * far.vls)
    far.shared[:] = BUFFER // 4
    far.regs[golden.OVERALL] = BUFFER // 2


@kernel
def clear_surroundings(surroundings: CreditSurroundings) -> None:
    """Empty the link and the buffers, and restart the programming of the current division."""
    surroundings.packet_blocks[:] = 0
    surroundings.ltp[:] = 0
    surroundings.held[:] = 0
    for lane in range(len(surroundings.regs)):
        surroundings.regs[lane, W_BUSY] = 0
    surroundings.regs[0, W_WRITE] = 0


class CreditOPALink(Stimulus):
    """Golden at both ends of a link.

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
        self._around, self._bits = _new_surroundings(vls), seeded_rng(seed)
        start_far(self._far)
        _draw_division(self._around, self._bits)
        clear_surroundings(self._around)
        self._far_rules = np.zeros(len(golden.RULES), np.int64)
        self.audit = {"overflows": 0, "leaked_blocks": 0, "audits": 0, "packets": 0}
        self.applicable = frozenset(rule.name for rule in golden.RULES) - {"return_too_large"}
        if parameters["vcu"] > 1:
            self.applicable -= {"returned_most"}

    @property
    def decisions(self) -> int:
        """Number of packets sent so far, by both ends."""
        return int(self._around.regs[:, W_SENT].sum())

    def _enter(self, index: int) -> None:
        """After a wild phase, empty the link and reset the far end."""
        if index and self.phases[index - 1].wild:
            start_far(self._far)
            clear_surroundings(self._around)

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
        """Return the units that are missing when all buffers are empty."""
        return sum(int(port.used.sum() + port.owed.sum()) for port in (self._machine.state, self._far))


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the stimulus that qualifies the credits: it reaches every rule, with audited changes of limits."""
    phases = cut_whole(shared_phases(parameters, cycles), cycles, partial(SharedPhase, name="rest"))
    traffic = CreditOPALink(parameters, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    traffic.watch(crosses_credit_opa.crosses(parameters), crosses_credit_opa.EVENTS, inputs=inputs, outputs=outputs)
    return traffic
