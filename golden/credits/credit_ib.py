"""Golden model of InfiniBand's absolute credits at both ends of a port: CIB-1 to CIB-14 (``docs/credit_ib.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.credits import counters
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.packets.fcp import COUNTER_MODULUS, CREDIT_CAP, Op

RULES = (
    Rule("granted", "CIB-1", "a packet used credit"),
    Rule("no_credit", "CIB-2", "a head packet exceeded the available credit"),
    Rule("accepted", "CIB-3", "a packet arrived and its buffer space was taken"),
    Rule("discarded", "CIB-4", "a packet arrived without buffer space: discarded, ABR unchanged"),
    Rule("freed", "CIB-5", "a block left the buffer"),
    Rule("sent_for_advance", "CIB-6", "an FCP was sent because the limit had advanced"),
    Rule("sent_for_period", "CIB-7", "an FCP was sent at the end of its period with an unchanged limit"),
    Rule("waited_for_packet", "CIB-8", "a due FCP waited for the end of a packet"),
    Rule("taken_over", "CIB-9", "an FCP set the limit and ABR"),
    Rule(
        "blocks_returned",
        "CIB-10",
        "an FCP changed ABR: blocks of lost packets were returned, and an FCP is due at once",
    ),
    Rule("corrupt", "CIB-11", "an FCP with a wrong checksum, op or lane was ignored"),
    Rule("counter_wrapped", "CIB-12", "FCTBS went past 4095"),
    Rule("initializing", "CIB-13", "an initial FCP was sent, nothing fitted"),
    Rule("overdue", "CIB-14", "a lane received no FCP for a whole watchdog period"),
)
(
    GRANTED,
    NO_CREDIT,
    ACCEPTED,
    DISCARDED,
    FREED,
    FOR_ADVANCE,
    FOR_PERIOD,
    WAITED,
    TAKEN_OVER,
    RETURNED,
    CORRUPT,
    WRAPPED,
    INITIALIZING,
    OVERDUE,
) = range(len(RULES))

PERIOD, WATCHDOG, LAST_VL, BUSY, PENDING, SEEN, OVERDUE_BITS = range(7)
_MASK = COUNTER_MODULUS - 1
_INITIALIZE = int(Op.INITIALIZE)


class CreditIBState(NamedTuple):
    """Counters of one port.

    Parameters
    ----------
    data_vls, buffer_blocks, fcp_blocks, fcp_period, watchdog_cycles : int
        Parameters of the component, with the default of ``fcp_blocks`` resolved.
    fctbs : array of int64, (data_vls,)
        Sender: blocks sent.
    fccl : array of int64, (data_vls,)
        Sender: limit received.
    abr : array of int64, (data_vls,)
        Receiver: blocks received.
    room : array of int64, (data_vls,)
        Receiver: free blocks.
    limit_sent : array of int64, (data_vls,)
        Receiver: limit sent last.
    regs : array of int64, (7,)
        FCP timer, watchdog timer, lane of the last FCP, packet in transmission, lanes whose period is over, lanes
        with an FCP in this watchdog window, overdue lanes.
    """

    data_vls: int
    buffer_blocks: int
    fcp_blocks: int
    fcp_period: int
    watchdog_cycles: int
    fctbs: NDArray[np.int64]
    fccl: NDArray[np.int64]
    abr: NDArray[np.int64]
    room: NDArray[np.int64]
    limit_sent: NDArray[np.int64]
    regs: NDArray[np.int64]


class Inputs(NamedTuple):
    """Inputs of a port in a cycle.

    Parameters
    ----------
    blocks : array of int64, (data_vls,)
        Sizes of the head packets.
    flags : array of int64, (7,)
        grant, tail, fcp_taken, fcp_arrived, arrived, freed, initializing.
    values : array of int64, (6,)
        grant_vl, grant_blocks, fcp_in, arrived_vl, arrived_blocks, freed_vl.
    """

    blocks: NDArray[np.int64]
    flags: NDArray[np.int64]
    values: NDArray[np.int64]


GRANT, TAIL, TAKEN, FCP_ARRIVED, ARRIVED, FREE, INIT = range(7)
GRANT_VL, GRANT_BLOCKS, FCP_IN, ARRIVED_VL, ARRIVED_BLOCKS, FREED_VL = range(6)


def new_inputs(data_vls: int) -> Inputs:
    """Return idle inputs."""
    return Inputs(np.ones(data_vls, np.int64), np.zeros(7, np.int64), np.zeros(6, np.int64))


def new_state(
    *, data_vls: int, buffer_blocks: int, fcp_blocks: int, fcp_period: int, watchdog_cycles: int, parity: bool = False
) -> CreditIBState:
    """Return the state after reset. ``fcp_blocks`` 0 means a quarter of the buffer."""
    del parity  # golden models no bit flips
    advance = fcp_blocks or max(1, buffer_blocks // 4)
    lanes = np.zeros((5, data_vls), np.int64)
    state = CreditIBState(
        data_vls=data_vls,
        buffer_blocks=buffer_blocks,
        fcp_blocks=advance,
        fcp_period=fcp_period,
        watchdog_cycles=watchdog_cycles,
        fctbs=lanes[0],
        fccl=lanes[1],
        abr=lanes[2],
        room=lanes[3],
        limit_sent=lanes[4],
        regs=np.zeros(7, np.int64),
    )
    reset(state)
    return state


@kernel
def reset(state: CreditIBState) -> None:
    """Reset: nothing sent or received, all buffers empty, no credit."""
    state.fctbs[:] = 0
    state.fccl[:] = 0
    state.abr[:] = 0
    state.limit_sent[:] = 0
    state.room[:] = state.buffer_blocks
    state.regs[:] = 0
    state.regs[LAST_VL] = state.data_vls - 1


@kernel
def fits(
    state: CreditIBState,
    vl: int,
    blocks: int,
    initializing: bool,  # noqa: FBT001 - a signal of the hardware
) -> bool:
    """Return whether a packet's blocks are within the limit, modulo 4096 (IBA 7.9.4.3)."""
    return not initializing and counters.within_limit(state.fccl[vl], state.fctbs[vl], blocks)


@kernel
def credit_limit(state: CreditIBState, vl: int) -> int:
    """Return the credit limit to send: blocks received plus free blocks, at most 2048."""
    return (state.abr[vl] + min(state.room[vl], CREDIT_CAP)) & _MASK


@inner
def has_advanced(state: CreditIBState, vl: int) -> bool:
    """Return whether the limit has advanced enough for an FCP before the period is over."""
    return counters.has_advanced(credit_limit(state, vl), state.limit_sent[vl], state.fcp_blocks)


@inner
def due_lanes(state: CreditIBState) -> int:
    """Return a bit mask of the lanes for which an FCP is due."""
    due = state.regs[PENDING]
    for vl in range(state.data_vls):
        if has_advanced(state, vl):
            due |= 1 << vl
    return due


@kernel
def body_crc(body: int) -> int:
    """Return the LPCRC over 32 bits, most significant byte first, least significant bit of each byte first."""
    crc = 0xFFFF
    for byte in range(4):
        crc ^= (body >> 8 * (3 - byte)) & 0xFF
        for _ in range(8):
            crc = (crc >> 1) ^ 0xD008 if crc & 1 else crc >> 1
    return crc ^ 0xFFFF


@inner
def offered_fcp(state: CreditIBState, initializing: bool) -> tuple[int, int]:  # noqa: FBT001 - a signal of the hardware
    """Return (lane, packet) of the FCP that may be sent now.

    The lane is -1 if no FCP is due or a packet is being sent.
    """
    if state.regs[BUSY] != 0:
        return -1, 0
    due = due_lanes(state)
    if due == 0:
        return -1, 0
    vl = counters.next_due_lane(due, state.regs[LAST_VL])
    body = (state.fctbs[vl] << 16) | (vl << 12) | credit_limit(state, vl)
    if initializing:
        body |= _INITIALIZE << 28
    return vl, (body << 16) | body_crc(body)


@inner
def read_fcp(state: CreditIBState, packet: int) -> tuple[int, int, int]:
    """Parse an arrived FCP and return (lane, FCTBS, FCCL). The lane is -1 if the FCP must be ignored."""
    body = packet >> 16
    vl = (body >> 12) & 15
    if body_crc(body) != packet & 0xFFFF or body >> 28 > _INITIALIZE or vl >= state.data_vls:
        return -1, 0, 0
    return vl, (body >> 16) & _MASK, body & _MASK


@inner
def has_space_for_arrival(state: CreditIBState, inputs: Inputs) -> bool:
    """Return whether the buffer has space for the packet that arrives in this cycle."""
    vl = inputs.values[ARRIVED_VL]
    return inputs.flags[ARRIVED] != 0 and vl < state.data_vls and state.room[vl] >= inputs.values[ARRIVED_BLOCKS]


@kernel
def step(state: CreditIBState, inputs: Inputs, rule_counts: NDArray[np.int64]) -> None:
    """Run a clock cycle. An arriving FCP is applied before an arriving packet."""
    regs, flags, values = state.regs, inputs.flags, inputs.values
    initializing = flags[INIT] != 0
    sent_vl, _ = offered_fcp(state, initializing)
    rule_counts[WAITED] += regs[BUSY] != 0 and due_lanes(state) != 0
    accepted = has_space_for_arrival(state, inputs)
    for vl in range(state.data_vls):
        rule_counts[NO_CREDIT] += not fits(state, vl, inputs.blocks[vl], initializing)

    if flags[TAKEN] != 0 and sent_vl >= 0:
        rule_counts[FOR_ADVANCE] += has_advanced(state, sent_vl)
        rule_counts[FOR_PERIOD] += credit_limit(state, sent_vl) == state.limit_sent[sent_vl]
        rule_counts[INITIALIZING] += initializing
        state.limit_sent[sent_vl] = credit_limit(state, sent_vl)
        regs[PENDING] &= ~(1 << sent_vl)
        regs[LAST_VL] = sent_vl

    received = _receive_fcp(state, values[FCP_IN], rule_counts) if flags[FCP_ARRIVED] != 0 else 0
    if flags[ARRIVED] != 0:
        rule_counts[ACCEPTED] += accepted
        rule_counts[DISCARDED] += not accepted
    taken, freed = -1, -1
    if accepted:
        taken = values[ARRIVED_VL]
        state.abr[taken] = (state.abr[taken] + values[ARRIVED_BLOCKS]) & _MASK
        state.room[taken] -= values[ARRIVED_BLOCKS]
    if flags[FREE] != 0 and values[FREED_VL] < state.data_vls:
        freed = values[FREED_VL]
        if state.room[freed] < state.buffer_blocks:
            state.room[freed] += 1
            rule_counts[FREED] += 1

    if flags[GRANT] != 0 and values[GRANT_VL] < state.data_vls:
        vl = values[GRANT_VL]
        rule_counts[GRANTED] += 1
        rule_counts[WRAPPED] += state.fctbs[vl] + values[GRANT_BLOCKS] > _MASK
        state.fctbs[vl] = (state.fctbs[vl] + values[GRANT_BLOCKS]) & _MASK
    if flags[TAIL] != 0:
        regs[BUSY] = 0
    elif flags[GRANT] != 0:
        regs[BUSY] = 1
    run_timers(state, received, rule_counts)


@inner
def _receive_fcp(state: CreditIBState, packet: int, rule_counts: NDArray[np.int64]) -> int:
    """Apply a valid FCP (CIB-9 to CIB-11) and return the mask of its lane, 0 if it is ignored."""
    vl, fctbs, fccl = read_fcp(state, packet)
    if vl < 0:
        rule_counts[CORRUPT] += 1
        return 0
    rule_counts[TAKEN_OVER] += 1
    if fctbs != state.abr[vl]:
        rule_counts[RETURNED] += 1
        state.regs[PENDING] |= 1 << vl
    state.abr[vl], state.fccl[vl] = fctbs, fccl
    return 1 << vl


@inner
def run_timers(state: CreditIBState, received: int, rule_counts: NDArray[np.int64]) -> None:
    """Advance the FCP period and the watchdog."""
    regs = state.regs
    every = (1 << state.data_vls) - 1
    regs[PERIOD] += 1
    if regs[PERIOD] == state.fcp_period:
        regs[PERIOD], regs[PENDING] = 0, every
    regs[SEEN] |= received
    regs[WATCHDOG] += 1
    if regs[WATCHDOG] == state.watchdog_cycles:
        regs[OVERDUE_BITS] = every & ~regs[SEEN]
        rule_counts[OVERDUE] += regs[OVERDUE_BITS] != 0
        regs[WATCHDOG], regs[SEEN] = 0, 0
