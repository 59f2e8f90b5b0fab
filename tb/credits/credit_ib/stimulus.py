"""Stimulus of InfiniBand credits: the port at one end of a lossy link, a golden port at the other.

Packets and FCPs travel in order with the link's flight time; some packets and FCPs are lost, some FCPs corrupted. After
the losses the link stays idle for a period; then every block of credit must have returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.credits import credit_ib as golden
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below, draw_bits, seeded_rng
from vlane.golden.oracle.credits import CreditIBMachine, credit_ib_oracle, put_credit_ib, run_credit_ib
from vlane.packets.fcp import CREDIT_CAP, FCP_BITS
from vlane.tb.credits.credit_ib import crosses as crosses_credit_ib
from vlane.tb.credits.credit_ib.phases import CERTAIN, DEAD, FLIGHT, LinkPhase, full_round, link_phases
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import in_rows
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import JUDGED_FROM_CYCLES, Counts, Layout, Stimulus, cut_whole

_NOTHING, _PACKET, _FCP = range(3)
(C_LOSS, C_CORRUPT, C_SEND, C_FREE, C_RESET, C_INIT, C_LEAST, C_MOST, C_HOLD) = range(9)
_TAKEN_AFTER_PERIOD = 32
_RESETS_BIT = 14
(L_BUSY, L_FLYING, L_SENT, L_LOST) = range(4)


class Link(NamedTuple):
    """One direction of the link: items in flight, and the state of its sender.

    Parameters
    ----------
    kind : array of int64, (16,)
        Kind of the item in flight, by cycle modulo the flight time: nothing, packet or FCP.
    first : array of int64, (16,)
        Lane of a packet; bits of an FCP.
    second : array of int64, (16,)
        Blocks of a packet.
    regs : array of int64, (4,)
        Cycles until the sender is free, whether a packet is in transmission, packets sent, items lost.
    """

    kind: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    regs: NDArray[np.int64]


def _new_link() -> Link:
    empty = np.zeros(FLIGHT, np.int64)
    return Link(empty, empty.copy(), empty.copy(), np.zeros(4, np.int64))


@inner
def _clear(inputs: golden.Inputs) -> None:
    inputs.flags[:] = 0
    inputs.values[:] = 0


@inner
def _receive(inputs: golden.Inputs, link: Link, slot: int) -> None:
    """Deliver the item arriving at a port in this cycle."""
    if link.kind[slot] == _PACKET:
        inputs.flags[golden.ARRIVED] = 1
        inputs.values[golden.ARRIVED_VL] = link.first[slot]
        inputs.values[golden.ARRIVED_BLOCKS] = link.second[slot]
    elif link.kind[slot] == _FCP:
        inputs.flags[golden.FCP_ARRIVED] = 1
        inputs.values[golden.FCP_IN] = link.first[slot]
    link.kind[slot] = _NOTHING


@inner
def _send(
    state: golden.CreditIBState,
    inputs: golden.Inputs,
    link: Link,
    slot: int,
    probabilities: NDArray[np.int64],
    rng: NDArray[np.uint64],
) -> None:
    """Send a due FCP, or else the packet of a random lane if it fits."""
    regs = link.regs
    initializing = inputs.flags[golden.INIT] != 0
    if regs[L_BUSY] > 0:
        regs[L_BUSY] -= 1
        if regs[L_BUSY] == 0 and regs[L_FLYING] != 0:
            inputs.flags[golden.TAIL] = 1
            regs[L_FLYING] = 0
        return
    lost = draw_below(rng, CERTAIN) < probabilities[C_LOSS]
    vl, packet = golden.offered_fcp(state, initializing)
    if vl >= 0:
        inputs.flags[golden.TAKEN] = 1
        if draw_below(rng, CERTAIN) < probabilities[C_CORRUPT]:
            packet ^= (1 + draw_below(rng, CERTAIN - 1)) << draw_below(rng, FCP_BITS - 15)
        if not lost:
            link.kind[slot], link.first[slot] = _FCP, packet
        regs[L_LOST] += lost
        return
    lane = draw_below(rng, state.data_vls)
    blocks = inputs.blocks[lane]
    if draw_below(rng, CERTAIN) >= probabilities[C_SEND] or not golden.fits(state, lane, blocks, initializing):
        return
    inputs.flags[golden.GRANT] = 1
    inputs.values[golden.GRANT_VL], inputs.values[golden.GRANT_BLOCKS] = lane, blocks
    if blocks == 1:
        inputs.flags[golden.TAIL] = 1
    else:
        regs[L_BUSY], regs[L_FLYING] = blocks - 1, 1
    if not lost:
        link.kind[slot], link.first[slot], link.second[slot] = _PACKET, lane, blocks
    regs[L_SENT] += 1
    regs[L_LOST] += lost


@kernel
def _free_block(
    state: golden.CreditIBState, inputs: golden.Inputs, probabilities: NDArray[np.int64], rng: NDArray[np.uint64]
) -> None:
    """Remove a block from the buffer of a random non-empty lane."""
    lane = draw_below(rng, state.data_vls)
    if draw_below(rng, CERTAIN) >= probabilities[C_FREE]:
        return
    for _ in range(state.data_vls):
        if state.room[lane] < state.buffer_blocks:
            inputs.flags[golden.FREE] = 1
            inputs.values[golden.FREED_VL] = lane
            return
        lane = lane + 1 if lane + 1 < state.data_vls else 0


@inner
def _new_heads(inputs: golden.Inputs, probabilities: NDArray[np.int64], rng: NDArray[np.uint64]) -> None:
    lane = draw_below(rng, len(inputs.blocks))
    inputs.blocks[lane] = probabilities[C_LEAST] + draw_below(rng, probabilities[C_MOST] - probabilities[C_LEAST] + 1)


@inner
def _draw_any_inputs(
    state: golden.CreditIBState,
    inputs: golden.Inputs,
    rng: NDArray[np.uint64],
    rare: bool,  # noqa: FBT001 - kernels take positional arguments only
) -> None:
    """Draw every input at random. Half of the FCPs have the right checksum.

    With ``rare``, FCPs are so rare that lanes receive none for a watchdog window, and also arrive in its last cycle.
    """
    for lane in range(len(inputs.blocks)):
        inputs.blocks[lane] = draw_below(rng, 128)
    for flag in range(len(inputs.flags)):
        inputs.flags[flag] = draw_below(rng, 2 if flag != golden.INIT else 16) == 0
    if rare:
        is_last = state.regs[golden.WATCHDOG] == state.watchdog_cycles - 1
        inputs.flags[golden.FCP_ARRIVED] = draw_below(rng, 2 if is_last else max(100, state.watchdog_cycles // 20)) == 0
        inputs.flags[golden.ARRIVED], inputs.flags[golden.FREE] = 0, draw_below(rng, 3) == 0
    for value, most in (
        (golden.GRANT_VL, 16),
        (golden.GRANT_BLOCKS, 128),
        (golden.ARRIVED_VL, 16),
        (golden.ARRIVED_BLOCKS, 128),
        (golden.FREED_VL, 16),
    ):
        inputs.values[value] = draw_below(rng, most)
    body = draw_bits(rng) & 0xFFFF_FFFF
    if draw_below(rng, 2):
        body &= 0x1FFF_FFFF
    check = golden.body_crc(body) if draw_below(rng, 2) else draw_below(rng, CERTAIN)
    inputs.values[golden.FCP_IN] = (body << 16) | check


@inner
def _draw_advancing_limit(state: golden.CreditIBState, inputs: golden.Inputs, rng: NDArray[np.uint64]) -> None:
    """Pass blocks of one lane through the buffer, and take FCPs only just after a period."""
    inputs.flags[:] = 0
    inputs.blocks[:] = 1
    since = state.regs[golden.PERIOD]
    if since == 0:
        inputs.values[golden.FREED_VL] = draw_below(rng, state.data_vls)
    inputs.flags[golden.TAKEN] = since < _TAKEN_AFTER_PERIOD
    inputs.flags[golden.TAIL] = 1  # the previous phase may have left a packet in transmission, which blocks FCPs
    inputs.flags[golden.ARRIVED] = inputs.flags[golden.FREE] = 1
    inputs.values[golden.ARRIVED_VL] = inputs.values[golden.FREED_VL]
    inputs.values[golden.ARRIVED_BLOCKS] = 1


@kernel
def _fill(
    machine: CreditIBMachine,
    far: golden.CreditIBState,
    at_far: golden.Inputs,
    outward: Link,
    inward: Link,
    clock: NDArray[np.int64],
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
        slot = clock[0] % FLIGHT
        clock[0] += 1
        resets = draw_below(rng, CERTAIN) < probabilities[C_RESET]
        if probabilities[C_HOLD] != 0:
            _draw_advancing_limit(port, at_port, rng)
        elif forbidden_inputs:
            _draw_any_inputs(port, at_port, rng, probabilities[C_LOSS] != 0)
            resets = probabilities[C_LOSS] == 0 and (clock[0] >> _RESETS_BIT) & 1 != 0 and draw_below(rng, 256) == 0
        else:
            _clear(at_port)
            _clear(at_far)
            at_port.flags[golden.INIT] = draw_below(rng, CERTAIN) < probabilities[C_INIT]
            _receive(at_port, inward, slot)
            _receive(at_far, outward, slot)
            _new_heads(at_port, probabilities, rng)
            _new_heads(at_far, probabilities, rng)
            _send(port, at_port, outward, slot, probabilities, rng)
            _send(far, at_far, inward, slot, probabilities, rng)
            _free_block(port, at_port, probabilities, rng)
            _free_block(far, at_far, probabilities, rng)
        put_credit_ib(machine, rows[cycle], resets)
        run_credit_ib(machine, resets, expected[cycle])
        log_rules(event_log, machine.rules, cycle)
        if not forbidden_inputs:
            golden.step(far, at_far, far_rules)
        if resets:
            golden.reset(far)
            for link in (outward, inward):
                link.kind[:] = _NOTHING
                link.regs[L_BUSY], link.regs[L_FLYING] = 0, 0


class CreditIBLink(Stimulus):
    """Stimulus of InfiniBand credits: two golden ports joined by a lossy link.

    The inputs and outputs of the first port are the rows.

    Parameters
    ----------
    parameters : mapping
        Parameters of the component.
    phases : sequence of LinkPhase
        Phases, in the order in which they run.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.

    Attributes
    ----------
    audit : dict of str to int
        Buffer overflows and blocks that did not return, both of which must be 0; audits, packets sent, items lost.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        phases: tuple[LinkPhase, ...],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        super().__init__(phases, golden.RULES)
        lanes = parameters["data_vls"]
        self._machine = credit_ib_oracle(parameters, in_rows(inputs, outputs)).machine
        self._far, self._at_far = golden.new_state(**parameters), golden.new_inputs(lanes)
        self._links = (_new_link(), _new_link())
        self._clock, self._bits = np.zeros(1, np.int64), seeded_rng(seed)
        self._far_rules = np.zeros(len(golden.RULES), np.int64)
        self.audit = {"overflows": 0, "leaked_blocks": 0, "audits": 0, "packets": 0, "lost": 0}
        self.applicable = frozenset(rule.name for rule in golden.RULES) - {"discarded"}

    @property
    def decisions(self) -> int:
        """Number of packets sent so far by both ends."""
        return sum(int(link.regs[L_SENT]) for link in self._links)

    def _enter(self, index: int) -> None:
        """After a wild phase, empty the link and reset the far end."""
        if index and self.phases[index - 1].wild:
            golden.reset(self._far)
            for link in self._links:
                link.kind[:] = _NOTHING
                link.regs[L_BUSY] = link.regs[L_FLYING] = 0

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: LinkPhase = self.phases[index]
        chances = np.array(
            [
                phase.loss,
                phase.corrupt,
                phase.send,
                phase.free,
                phase.reset,
                phase.initializing,
                phase.least_blocks,
                phase.most_blocks,
                phase.hold,
            ],
            np.int64,
        )
        before = self._discards()
        _fill(
            self._machine._replace(rules=rules),
            self._far,
            self._at_far,
            *self._links,
            self._clock,
            chances,
            phase.wild,
            self._bits,
            rows,
            expected,
            self._far_rules,
            self.happened,
        )
        self.audit["overflows"] += self._discards() - before
        self.audit["packets"] = self.decisions
        self.audit["lost"] = sum(int(link.regs[L_LOST]) for link in self._links)
        if phase.audit and self._done + len(rows) == phase.cycles:
            self.audit["audits"] += 1
            self.audit["leaked_blocks"] += self.missing()

    def _discards(self) -> int:
        return int(self._counts[golden.DISCARDED] + self._far_rules[golden.DISCARDED])

    def missing(self) -> int:
        """Return by how many blocks the credits differ from those of an idle link with empty buffers."""
        total = 0
        port, far = self._machine.state, self._far
        for sender, receiver in ((port, far), (far, port)):
            most = min(receiver.buffer_blocks, CREDIT_CAP)
            credit = (sender.fccl - sender.fctbs) & 4095
            total += int(np.abs(most - credit).sum() + (receiver.buffer_blocks - receiver.room).sum())
        return total


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the qualification stimulus of the credits, which reaches every rule, with audited losses of up to 10 %."""
    rest = partial(LinkPhase, send=0, name="rest")
    phases = cut_whole(link_phases(parameters, cycles), cycles, rest)
    traffic = CreditIBLink(parameters, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    dead = max((phase.cycles for phase in phases if phase.name == DEAD), default=0)
    if dead < 2 * parameters["watchdog_cycles"]:
        traffic.applicable -= {"overdue"}
    traffic.watch(
        crosses_credit_ib.crosses(parameters),
        crosses_credit_ib.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=max(JUDGED_FROM_CYCLES, full_round(parameters)),
    )
    return traffic
