"""Oracles of the credit blocks of InfiniBand and Omni-Path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.credits.credit_opa import COUNTER_BITS as UNIT_BITS
from vlane.credits.credit_opa import BufferSelect, ResizeStep
from vlane.golden.credits import credit_ib as ib
from vlane.golden.credits import credit_opa as opa
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.ports import RESET, Placing, Port, bits_of, places, ports_of, upset
from vlane.golden.oracle.words import clear, flag, read_each, write, write_each
from vlane.packets.fcp import COUNTER_BITS, FCP_BITS

_BLOCK_BITS, _IB_VL_BITS, _OPA_VL_BITS = 7, 4, 5
_IB_FLAGS = ("grant", "tail", "fcp_taken", "fcp_arrived", "arrived", "freed", "initializing")
_IB_VALUES = ("grant_vl", "grant_blocks", "fcp_in", "arrived_vl", "arrived_blocks", "freed_vl")
_OPA_FLAGS = ("grant", "ltp_arrived", "ltp_sent", "freed", "program__enable", "apply")
_OPA_VALUES = (
    "grant_vl",
    "grant_blocks",
    "credit_in",
    "freed_vl",
    "freed_blocks",
    "program__select",
    "program__vl",
    "program__units",
)


class CreditIBMachine(NamedTuple):
    """A port's absolute credits behind its ports.

    Parameters
    ----------
    state : CreditIBState
        Counters.
    input_values : Inputs
        Scratch of a cycle: the inputs.
    input_fields, output_fields : array of int64, (elements, 6)
        Bit positions of the ports.
    rules : array of int64
        Rule counters.
    """

    state: ib.CreditIBState
    input_values: ib.Inputs
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def credit_ib_cycle(
    machine: CreditIBMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]
) -> None:
    """Run a clock cycle."""
    seen, ins = machine.input_values, machine.input_fields
    element = read_each(input_words, ins, 1, seen.flags)
    element = read_each(input_words, ins, element, seen.values)
    read_each(input_words, ins, element, seen.blocks)
    run_credit_ib(machine, flag(input_words, ins, 0), output_words)


@inner
def run_credit_ib(machine: CreditIBMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``."""
    state, seen, outs = machine.state, machine.input_values, machine.output_fields
    flags, values, lanes = seen.flags, seen.values, state.data_vls
    clear(output_words)
    initializing = flags[ib.INIT] != 0
    for lane in range(lanes):
        write(output_words, outs, 7 + lane, ib.fits(state, lane, seen.blocks[lane], initializing))
        write(output_words, outs, 7 + lanes + lane, state.fctbs[lane])
        write(output_words, outs, 7 + 2 * lanes + lane, state.fccl[lane])
        write(output_words, outs, 7 + 3 * lanes + lane, state.abr[lane])
        write(output_words, outs, 7 + 4 * lanes + lane, state.room[lane])
    vl, packet = ib.offered_fcp(state, initializing)
    write(output_words, outs, 0, vl >= 0)
    write(output_words, outs, 1, packet)
    if flags[ib.FCP_ARRIVED] != 0:
        write(output_words, outs, 2, ib.read_fcp(state, values[ib.FCP_IN])[0] < 0)
    write(output_words, outs, 3, ib.has_space_for_arrival(state, seen))
    write(output_words, outs, 4, state.regs[ib.OVERDUE_BITS])
    write(output_words, outs, 5, state.regs[ib.PERIOD])
    write(output_words, outs, 6, state.regs[ib.WATCHDOG])
    ib.step(state, seen, machine.rules)
    if is_reset != 0:
        ib.reset(state)


@inner
def put_credit_ib(machine: CreditIBMachine, input_words: NDArray[np.uint64], is_reset: int) -> None:
    """Write the inputs of a cycle, in ``machine.input_values``, to words."""
    seen, ins = machine.input_values, machine.input_fields
    clear(input_words)
    write(input_words, ins, 0, is_reset)
    write_each(input_words, ins, 1, seen.flags)
    write_each(input_words, ins, 1 + len(seen.flags), seen.values)
    write_each(input_words, ins, 1 + len(seen.flags) + len(seen.values), seen.blocks)


def credit_ib_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of InfiniBand's absolute credits."""
    lanes = parameters["data_vls"]
    inputs = place(
        RESET,
        Port("initializing", 1, 1, "The link is initializing: nothing fits, and FCPs have the initializing op."),
        Port("blocks", _BLOCK_BITS, lanes, "Sizes of the head packets in blocks."),
        Port("grant", 1, 1, "A packet starts; it must fit."),
        Port("grant_vl", _IB_VL_BITS, 1, "Lane of the packet that starts; an absent lane is not counted."),
        Port("grant_blocks", _BLOCK_BITS, 1, "Size of the packet that starts, in blocks."),
        Port("tail", 1, 1, "The last flit of the packet leaves; for a packet of one flit in the cycle of grant."),
        Port("fcp_taken", 1, 1, "The offered FCP is sent."),
        Port("fcp_arrived", 1, 1, "An FCP arrives."),
        Port("fcp_in", FCP_BITS, 1, "FCP that arrives."),
        Port("arrived", 1, 1, "A packet's head arrives."),
        Port("arrived_vl", _IB_VL_BITS, 1, "Lane of the packet that arrives; absent lanes accept none."),
        Port("arrived_blocks", _BLOCK_BITS, 1, "Size of the packet that arrives, in blocks."),
        Port("freed", 1, 1, "A block leaves a buffer."),
        Port("freed_vl", _IB_VL_BITS, 1, "Lane of the freed block; an empty or absent lane frees nothing."),
    )
    outputs = place(
        Port("fits", lanes, 1, "Bit per lane: the far end has space for the whole head packet."),
        Port("fcp_valid", 1, 1, "An FCP is due and no packet is being sent."),
        Port("fcp", FCP_BITS, 1, "FCP that is due: op, FCTBS, VL, FCCL, LPCRC from the most significant bits."),
        Port("fcp_bad", 1, 1, "The FCP that arrives is ignored: wrong checksum, op or lane."),
        Port("accepted", 1, 1, "There is space for the packet that arrives; otherwise it must be discarded."),
        Port("overdue", lanes, 1, "Bit per lane: no FCP arrived in the last complete watchdog window."),
        Port("fctbs", COUNTER_BITS, lanes, "FCTBS of each lane: blocks sent, modulo 4096."),
        Port("fccl", COUNTER_BITS, lanes, "FCCL received for each lane: limit of the blocks sent."),
        Port("abr", COUNTER_BITS, lanes, "ABR of each lane: blocks received, modulo 4096."),
        Port("room", COUNTER_BITS, lanes, "Free blocks of each lane's buffer."),
        Port("fcp_timer", (parameters["fcp_period"] - 1).bit_length(), 1, "Cycles since the FCP period began."),
        Port("watchdog_timer", (parameters["watchdog_cycles"] - 1).bit_length(), 1, "Cycles since the window began."),
        upset(parity=parameters["parity"]),
    )
    shown = ["fcp_valid", "fcp", "fcp_bad", "accepted", "overdue", "fcp_timer", "watchdog_timer"]
    machine = CreditIBMachine(
        ib.new_state(**parameters),
        ib.new_inputs(lanes),
        places(inputs, ["rst", *_IB_FLAGS, *_IB_VALUES, "blocks"]),
        np.concatenate(
            [places(outputs, shown), bits_of(outputs, "fits", lanes), places(outputs, ["fctbs", "fccl", "abr", "room"])]
        ),
        np.zeros(len(ib.RULES), np.int64),
    )
    return Oracle(machine, credit_ib_cycle, inputs, outputs, ib.RULES)


class CreditOPAMachine(NamedTuple):
    """A port's sender-managed credits behind its ports. The fields are those of ``CreditIBMachine``."""

    state: opa.CreditOPAState
    input_values: opa.Inputs
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def credit_opa_cycle(
    machine: CreditOPAMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]
) -> None:
    """Run a clock cycle."""
    seen, ins = machine.input_values, machine.input_fields
    element = read_each(input_words, ins, 1, seen.flags)
    element = read_each(input_words, ins, element, seen.values)
    read_each(input_words, ins, element, seen.blocks)
    run_credit_opa(machine, flag(input_words, ins, 0), output_words)


@inner
def run_credit_opa(machine: CreditOPAMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``."""
    state, seen, outs = machine.state, machine.input_values, machine.output_fields
    lanes = state.vls
    clear(output_words)
    write(output_words, outs, 0, opa.is_error(state, seen))
    write(output_words, outs, 1, opa.outgoing_bits(state))
    write(output_words, outs, 2, state.regs[opa.STEP])
    write(output_words, outs, 3, state.regs[opa.OVERALL])
    for lane in range(lanes):
        write(output_words, outs, 4 + lane, opa.fits(state, lane, seen.blocks[lane]))
        write(output_words, outs, 4 + lanes + lane, state.used[lane])
        write(output_words, outs, 4 + 2 * lanes + lane, state.owed[lane])
        write(output_words, outs, 4 + 3 * lanes + lane, state.dedicated[lane])
        write(output_words, outs, 4 + 4 * lanes + lane, state.shared[lane])
    opa.step(state, seen, machine.rules)
    if is_reset != 0:
        opa.reset(state)


@inner
def put_credit_opa(machine: CreditOPAMachine, input_words: NDArray[np.uint64], is_reset: int) -> None:
    """Write the inputs of a cycle, in ``machine.input_values``, to words."""
    seen, ins = machine.input_values, machine.input_fields
    clear(input_words)
    write(input_words, ins, 0, is_reset)
    write_each(input_words, ins, 1, seen.flags)
    write_each(input_words, ins, 1 + len(seen.flags), seen.values)
    write_each(input_words, ins, 1 + len(seen.flags) + len(seen.values), seen.blocks)


def credit_opa_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of Omni-Path's sender-managed credits."""
    lanes = parameters["vls"]
    inputs = place(
        RESET,
        Port("blocks", _BLOCK_BITS, lanes, "Sizes of the head packets, in units of 64 bytes."),
        Port("grant", 1, 1, "A packet starts; it must fit."),
        Port("grant_vl", _OPA_VL_BITS, 1, "Lane of the packet that starts; an absent lane is not counted."),
        Port("grant_blocks", _BLOCK_BITS, 1, "Size of the packet that starts, in units."),
        Port("ltp_arrived", 1, 1, "An LTP arrives."),
        Port("credit_in", 2, 1, "The two credit-return bits of the LTP that arrives."),
        Port("ltp_sent", 1, 1, "An LTP leaves."),
        Port("freed", 1, 1, "Units leave a buffer."),
        Port("freed_vl", _OPA_VL_BITS, 1, "Lane of the freed units; an absent lane frees nothing."),
        Port("freed_blocks", 2, 1, "Number of freed units, up to 3."),
        Port("program__enable", 1, 1, "Write a pending limit."),
        Port("program__select", 2, 1, "Limit to write.", BufferSelect),
        Port("program__vl", _OPA_VL_BITS, 1, "Lane of the limit."),
        Port("program__units", UNIT_BITS, 1, "Limit in units."),
        Port("apply", 1, 1, "Apply the pending limits; ignored while a change is in progress."),
    )
    outputs = place(
        Port("fits", lanes, 1, "Bit per lane: the far buffer has space for the whole head packet."),
        Port("return_error", 1, 1, "A return exceeds the outstanding units or names an absent lane."),
        Port("credit_out", 2, 1, "The two credit-return bits for the LTP that leaves."),
        Port("step", 3, 1, "Progress of a change of the limits.", ResizeStep),
        Port("used", UNIT_BITS, lanes, "Outstanding units of each lane."),
        Port("owed", UNIT_BITS, lanes, "Units of each lane to be returned."),
        Port("dedicated", UNIT_BITS, lanes, "Dedicated limit of each lane in force."),
        Port("shared_limit", UNIT_BITS, lanes, "Shared limit of each lane in force."),
        Port("overall", UNIT_BITS, 1, "Overall shared limit in force."),
        upset(parity=parameters["parity"]),
    )
    machine = CreditOPAMachine(
        opa.new_state(**parameters),
        opa.new_inputs(lanes),
        places(inputs, ["rst", *_OPA_FLAGS, *_OPA_VALUES, "blocks"]),
        np.concatenate(
            [
                places(outputs, ["return_error", "credit_out", "step", "overall"]),
                bits_of(outputs, "fits", lanes),
                places(outputs, ["used", "owed", "dedicated", "shared_limit"]),
            ]
        ),
        np.zeros(len(opa.RULES), np.int64),
    )
    return Oracle(machine, credit_opa_cycle, inputs, outputs, opa.RULES)
