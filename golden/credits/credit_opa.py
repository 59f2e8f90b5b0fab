"""Golden model of Omni-Path's sender-managed credits at both ends of a port: COPA-1 to COPA-6.

The rules are in ``docs/credit_opa.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.credits.credit_opa import BufferSelect, ResizeStep
from vlane.golden.credits.room_rule import excess_over_minimum
from vlane.golden.credits.room_rule import fits as within_room
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule

RULES = (
    Rule("granted", "COPA-1", "a packet used credit"),
    Rule("from_dedicated", "COPA-2", "a packet used only dedicated units of its lane"),
    Rule("from_shared", "COPA-2", "a packet used shared units"),
    Rule("lane_full", "COPA-3", "a head packet exceeded its lane's limits"),
    Rule("shared_full", "COPA-3", "a head packet was within its lane's limits but exceeded the overall limit"),
    Rule("returned", "COPA-4", "a return arrived"),
    Rule("returned_one", "COPA-4", "a return of a single unit"),
    Rule("returned_most", "COPA-4", "a return of the largest code"),
    Rule("return_too_large", "COPA-5", "a return exceeded the outstanding units: error, none are outstanding any more"),
    Rule("resized", "COPA-6", "new limits came into force"),
    Rule("shared_drained", "COPA-6", "a change waited for shared units to come back"),
    Rule("dedicated_drained", "COPA-6", "a change waited for dedicated units to come back"),
    Rule("overall_shrank", "COPA-6", "the overall limit shrank, so all lanes stopped sharing first"),
)
(
    GRANTED,
    FROM_DEDICATED,
    FROM_SHARED,
    LANE_FULL,
    SHARED_FULL,
    RETURNED,
    RETURNED_ONE,
    RETURNED_MOST,
    TOO_LARGE,
    RESIZED,
    SHARED_DRAINED,
    DEDICATED_DRAINED,
    OVERALL_SHRANK,
) = range(len(RULES))

OVERALL, NEW_OVERALL, STEP, CHANGING, HEARD, HEARD_LTPS, SAYING, SAID_LTPS, LAST = range(9)
_IDLE, _DRAIN_SHARED, _LOWER, _DRAIN_DEDICATED, _RAISE_DEDICATED, _RAISE_SHARED, _RAISE_OVERALL = (
    int(one) for one in ResizeStep
)
_DEDICATED, _SHARED, _OVERALL = (int(one) for one in BufferSelect)
_MOST_CODE = 7


class CreditOPAState(NamedTuple):
    """Counters of one port.

    Parameters
    ----------
    vls : int
        Number of lanes.
    vcu : int
        Exponent of the credit unit.
    used : array of int64, (vls,)
        Sender: outstanding units of each VL.
    dedicated, shared : array of int64, (vls,)
        Sender: limits in force.
    new_dedicated, new_shared : array of int64, (vls,)
        Sender: pending limits.
    owed : array of int64, (vls,)
        Receiver: units to be returned.
    regs : array of int64, (9,)
        Overall limit; pending overall limit; step of the change; lanes that change; return being received and number
        of its LTPs; return being sent and number of its LTPs; lane of the last return.
    """

    vls: int
    vcu: int
    used: NDArray[np.int64]
    dedicated: NDArray[np.int64]
    shared: NDArray[np.int64]
    new_dedicated: NDArray[np.int64]
    new_shared: NDArray[np.int64]
    owed: NDArray[np.int64]
    regs: NDArray[np.int64]


class Inputs(NamedTuple):
    """Inputs of a port in a cycle.

    Parameters
    ----------
    blocks : array of int64, (vls,)
        Sizes of the head packets in units.
    flags : array of int64, (6,)
        grant, ltp_arrived, ltp_sent, freed, program enable, apply.
    values : array of int64, (8,)
        grant_vl, grant_blocks, credit_in, freed_vl, freed_blocks, program select, vl, units.
    """

    blocks: NDArray[np.int64]
    flags: NDArray[np.int64]
    values: NDArray[np.int64]


GRANT, LTP_ARRIVED, LTP_SENT, FREE, ENABLE, APPLY = range(6)
GRANT_VL, GRANT_BLOCKS, CREDIT_IN, FREED_VL, FREED_BLOCKS, SELECT, TO_VL, UNITS = range(8)


def new_inputs(vls: int) -> Inputs:
    """Return idle inputs."""
    return Inputs(np.ones(vls, np.int64), np.zeros(6, np.int64), np.zeros(8, np.int64))


def new_state(*, vls: int, vcu: int, parity: bool = False) -> CreditOPAState:
    """Return the state after reset: no limits, so nothing fits."""
    del parity  # golden models no bit flips
    lanes = np.zeros((6, vls), np.int64)
    state = CreditOPAState(
        vls=vls,
        vcu=vcu,
        used=lanes[0],
        dedicated=lanes[1],
        shared=lanes[2],
        new_dedicated=lanes[3],
        new_shared=lanes[4],
        owed=lanes[5],
        regs=np.zeros(9, np.int64),
    )
    reset(state)
    return state


@kernel
def reset(state: CreditOPAState) -> None:
    """Reset: no limits, no outstanding units, no units to return."""
    for counters in (state.used, state.dedicated, state.shared, state.new_dedicated, state.new_shared, state.owed):
        counters[:] = 0
    state.regs[:] = 0
    state.regs[LAST] = state.vls - 1


@kernel
def excess(state: CreditOPAState, vl: int) -> int:
    """Return the outstanding units of a lane in excess of its dedicated units."""
    return excess_over_minimum(state.used[vl], state.dedicated[vl])


@inner
def shared_in_use(state: CreditOPAState) -> int:
    """Return the outstanding shared units of all lanes."""
    total = 0
    for vl in range(state.vls):
        total += excess(state, vl)
    return total


@inner
def within_lane(state: CreditOPAState, vl: int, blocks: int) -> bool:
    """Return whether a packet is within its lane's limits."""
    return state.used[vl] + blocks <= state.dedicated[vl] + state.shared[vl]


@kernel
def fits(state: CreditOPAState, vl: int, blocks: int) -> bool:
    """Return whether a packet is within its lane's limits and the overall limit (COPA-3).

    Dedicated units are used first.
    """
    dedicated, in_use = state.dedicated[vl], shared_in_use(state)
    return within_room(state.used[vl], blocks, dedicated, dedicated + state.shared[vl], in_use, state.regs[OVERALL])


@kernel
def units_of(state: CreditOPAState, code: int) -> int:
    """Return the units that a return code represents."""
    return code if code < 2 else 1 << (code - 1 + state.vcu)


@inner
def outgoing_bits(state: CreditOPAState) -> int:
    """Return the two bits of the current credit return that the next LTP carries, lowest bits first."""
    return (state.regs[SAYING] >> 2 * state.regs[SAID_LTPS]) & 3


@inner
def next_return(state: CreditOPAState) -> int:
    """Return the next credit return as ``lane << 3 | code``, or 0 for none.

    The next lane in order returns the largest code that its units allow; the units are subtracted.
    """
    for step_on in range(1, state.vls + 1):
        vl = (state.regs[LAST] + step_on) % state.vls
        if state.owed[vl] != 0:
            code = _MOST_CODE
            while units_of(state, code) > state.owed[vl]:
                code -= 1
            state.owed[vl] -= units_of(state, code)
            state.regs[LAST] = vl
            return (vl << 3) | code
    return 0


@inner
def receive_credit_bits(state: CreditOPAState, bits: int, rule_counts: NDArray[np.int64]) -> bool:
    """Receive two bits of a return and apply the return when complete.

    Return whether the return exceeds the outstanding units.
    """
    regs = state.regs
    received = regs[HEARD] | (bits << 2 * regs[HEARD_LTPS])
    regs[HEARD_LTPS] += 1
    regs[HEARD] = received
    if regs[HEARD_LTPS] < 4:
        return False
    regs[HEARD], regs[HEARD_LTPS] = 0, 0
    vl, code = received >> 3, received & 7
    units = units_of(state, code)
    if code == 0:
        return False
    if vl >= state.vls or units > state.used[vl]:
        rule_counts[TOO_LARGE] += 1
        if vl < state.vls:
            state.used[vl] = 0
        return True
    rule_counts[RETURNED] += 1
    rule_counts[RETURNED_ONE] += code == 1
    rule_counts[RETURNED_MOST] += code == _MOST_CODE
    state.used[vl] -= units
    return False


@inner
def is_error(state: CreditOPAState, inputs: Inputs) -> bool:
    """Return whether the return completed in this cycle exceeds the outstanding units."""
    if inputs.flags[LTP_ARRIVED] == 0 or state.regs[HEARD_LTPS] < 3:
        return False
    received = state.regs[HEARD] | (inputs.values[CREDIT_IN] << 6)
    vl, code = received >> 3, received & 7
    return code != 0 and (vl >= state.vls or units_of(state, code) > state.used[vl])


@kernel
def write(state: CreditOPAState, select: int, vl: int, units: int) -> None:
    """Write a pending limit."""
    if select == _OVERALL:
        state.regs[NEW_OVERALL] = units
    elif select == _DEDICATED and vl < state.vls:
        state.new_dedicated[vl] = units
    elif select == _SHARED and vl < state.vls:
        state.new_shared[vl] = units


@inner
def _begin_change(state: CreditOPAState, rule_counts: NDArray[np.int64]) -> None:
    """Start a change of limits: determine the lanes that change, and stop their use of shared units (COPA-6)."""
    regs = state.regs
    shrinks = regs[NEW_OVERALL] < regs[OVERALL]
    rule_counts[OVERALL_SHRANK] += shrinks
    regs[CHANGING] = 0
    for vl in range(state.vls):
        same = state.new_dedicated[vl] == state.dedicated[vl] and state.new_shared[vl] == state.shared[vl]
        if shrinks or not same:
            regs[CHANGING] |= 1 << vl
            state.shared[vl] = 0
    regs[STEP] = _DRAIN_SHARED


@inner
def run_change(
    state: CreditOPAState,
    apply: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> None:
    """Advance a change of the limits (COPA-6).

    Sharing stops and drains, dedicated limits shrink and drain, then all limits grow.
    """
    regs = state.regs
    if regs[STEP] == _IDLE:
        if apply:
            _begin_change(state, rule_counts)
        return
    if regs[STEP] in (_DRAIN_SHARED, _DRAIN_DEDICATED):
        for vl in range(state.vls):
            if (regs[CHANGING] >> vl) & 1 and excess(state, vl) != 0:
                rule_counts[SHARED_DRAINED] += regs[STEP] == _DRAIN_SHARED
                rule_counts[DEDICATED_DRAINED] += regs[STEP] == _DRAIN_DEDICATED
                return
        regs[STEP] += 1
        return
    for vl in range(state.vls):
        if (regs[CHANGING] >> vl) & 1:
            if regs[STEP] == _LOWER:
                state.dedicated[vl] = min(state.dedicated[vl], state.new_dedicated[vl])
            elif regs[STEP] == _RAISE_DEDICATED:
                state.dedicated[vl] = state.new_dedicated[vl]
            elif regs[STEP] == _RAISE_SHARED:
                state.shared[vl] = state.new_shared[vl]
    if regs[STEP] == _LOWER:
        regs[OVERALL] = min(regs[OVERALL], regs[NEW_OVERALL])
    if regs[STEP] == _RAISE_OVERALL:
        regs[OVERALL] = regs[NEW_OVERALL]
        rule_counts[RESIZED] += 1
        regs[STEP] = _IDLE
    else:
        regs[STEP] += 1


@kernel
def step(state: CreditOPAState, inputs: Inputs, rule_counts: NDArray[np.int64]) -> None:
    """Run a clock cycle. A change of limits uses the counters from the start of the cycle."""
    flags, values, regs = inputs.flags, inputs.values, state.regs
    for vl in range(state.vls):
        inside = within_lane(state, vl, inputs.blocks[vl])
        rule_counts[LANE_FULL] += not inside
        rule_counts[SHARED_FULL] += inside and not fits(state, vl, inputs.blocks[vl])

    changing = regs[STEP] != _IDLE
    granted = values[GRANT_VL] if flags[GRANT] != 0 and values[GRANT_VL] < state.vls else -1
    dedicated = state.dedicated[granted] if granted >= 0 else 0
    run_change(state, flags[APPLY] != 0, rule_counts)
    if flags[ENABLE] != 0 and not changing and flags[APPLY] == 0:
        write(state, values[SELECT], values[TO_VL], values[UNITS])

    if flags[LTP_ARRIVED] != 0:
        receive_credit_bits(state, values[CREDIT_IN], rule_counts)
    if granted >= 0:
        rule_counts[GRANTED] += 1
        state.used[granted] = (state.used[granted] + values[GRANT_BLOCKS]) & 0xFFF
        rule_counts[FROM_DEDICATED] += state.used[granted] <= dedicated
        rule_counts[FROM_SHARED] += state.used[granted] > dedicated

    if flags[LTP_SENT] != 0:
        regs[SAID_LTPS] += 1
        if regs[SAID_LTPS] == 4:
            regs[SAID_LTPS] = 0
            regs[SAYING] = next_return(state)
    if flags[FREE] != 0 and values[FREED_VL] < state.vls:
        vl = values[FREED_VL]
        state.owed[vl] = (state.owed[vl] + values[FREED_BLOCKS]) & 0xFFF
