"""Oracles of the blocks of Ethernet congestion management."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.ethernet.e2cm_prober import FLOW_BITS, STAMP_BITS
from vlane.ethernet.ecm_rp import RATE_BITS, Notice
from vlane.ethernet.pause import DROP_BITS, MAX_MEMORY_BYTES, PAUSE_QUANTA
from vlane.ethernet.shared import BYTES_BITS, CPID_BITS, FEEDBACK_BITS
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.ethernet import e2cm_prober, ecm_cp, ecm_rp, pause, watermarks
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.ports import RESET, Placing, Port, places, ports_of
from vlane.golden.oracle.words import clear, flag, read_each, write

_FEEDBACK_MASK = (1 << FEEDBACK_BITS) - 1
_MARK_BITS = MAX_MEMORY_BYTES.bit_length()


class PauseMachine(NamedTuple):
    """An input memory behind its ports.

    Parameters
    ----------
    state : PauseState
        State of the memory.
    input_values : array of int64
        Scratch of a cycle: the inputs.
    input_fields, output_fields : array of int64, (elements, 6)
        Bit positions of the ports.
    rules : array of int64
        Rule counters.
    """

    state: pause.PauseState
    input_values: NDArray[np.int64]
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def pause_cycle(machine: PauseMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    read_each(input_words, machine.input_fields, 1, machine.input_values)
    run_pause(machine, flag(input_words, machine.input_fields, 0), output_words)


@inner
def run_pause(machine: PauseMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``."""
    state, seen, outs = machine.state, machine.input_values, machine.output_fields
    marks, input_state, now = state.watermarks, state.watermarks.input[0], state.previous_state[pause.NOW]
    clear(output_words)
    write(output_words, outs, 0, pause.drops_frame(state, seen))
    write(output_words, outs, 1, watermarks.is_paused(marks, 0, now))
    write(output_words, outs, 2, watermarks.is_pause_frame_due(marks, 0, now))
    write(output_words, outs, 3, watermarks.pause_quanta(marks, 0, now))
    write(output_words, outs, 4, input_state.level)
    write(output_words, outs, 5, input_state.drops)
    write(output_words, outs, 6, input_state.high)
    write(output_words, outs, 7, input_state.low)
    write(output_words, outs, 8, input_state.enabled)
    pause.step(state, seen, machine.rules)
    if is_reset != 0:
        pause.reset(state)


def pause_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of an input memory with PAUSE."""
    inputs = place(
        RESET,
        Port("arrive", 1, 1, "A frame arrives."),
        Port("arrive_bytes", BYTES_BITS, 1, "Size of the frame that arrives."),
        Port("leave", 1, 1, "A frame leaves the memory."),
        Port("leave_bytes", BYTES_BITS, 1, "Size of the frame that leaves."),
        Port("pause_sent", 1, 1, "A PAUSE frame starts on the link."),
        Port("program__enable", 1, 1, "Write in this cycle; the new settings apply from the next cycle on."),
        Port("program__high", _MARK_BITS, 1, "High watermark in bytes."),
        Port("program__low", _MARK_BITS, 1, "Low watermark in bytes."),
        Port("program__pause_on", 1, 1, "PAUSE is on."),
    )
    outputs = place(
        Port("drop", 1, 1, "The frame that arrives does not fit."),
        Port("paused", 1, 1, "The neighbour must pause."),
        Port("request", 1, 1, "A PAUSE frame must be sent."),
        Port("quanta", PAUSE_QUANTA.bit_length(), 1, "Pause time for the PAUSE frame, in quanta."),
        Port("level", parameters["memory_bytes"].bit_length(), 1, "Bytes in the memory."),
        Port("drops", DROP_BITS, 1, "Number of dropped frames (saturating counter)."),
        Port("high", _MARK_BITS, 1, "High watermark in force."),
        Port("low", _MARK_BITS, 1, "Low watermark in force."),
        Port("pause_on", 1, 1, "PAUSE is on."),
    )
    machine = PauseMachine(
        pause.new_state(**parameters),
        pause.new_inputs(),
        places(inputs, [port.name for port in inputs]),
        places(outputs, [port.name for port in outputs]),
        np.zeros(len(pause.RULES), np.int64),
    )
    return Oracle(machine, pause_cycle, inputs, outputs, pause.RULES)


class ECMCPMachine(NamedTuple):
    """A congestion point behind its ports. The fields are those of ``PauseMachine``."""

    state: ecm_cp.ECMCPState
    input_values: NDArray[np.int64]
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def ecm_cp_cycle(machine: ECMCPMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    read_each(input_words, machine.input_fields, 1, machine.input_values)
    run_ecm_cp(machine, flag(input_words, machine.input_fields, 0), output_words)


@inner
def run_ecm_cp(machine: ECMCPMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``."""
    state, seen, outs = machine.state, machine.input_values, machine.output_fields
    clear(output_words)
    for number in range(ecm_cp.S_FEEDBACK):
        write(output_words, outs, number, state.shown[0, number])
    write(output_words, outs, ecm_cp.S_FEEDBACK, state.shown[0, ecm_cp.S_FEEDBACK] & _FEEDBACK_MASK)
    write(output_words, outs, ecm_cp.S_FEEDBACK + 1, state.registers[ecm_cp.WAITING])
    ecm_cp.step(state, seen, machine.rules)
    if is_reset != 0:
        ecm_cp.reset(state)


def ecm_cp_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of a congestion point."""
    inputs = place(
        RESET,
        Port("enter", 1, 1, "A frame joins the queue."),
        Port("enter_bytes", BYTES_BITS, 1, "Size of the frame that joins."),
        Port("managed", 1, 1, "The frame that joins may be sampled."),
        Port("has_tag", 1, 1, "The frame that joins carries a tag."),
        Port("tag", CPID_BITS, 1, "CPID of the tag."),
        Port("cpid", CPID_BITS, 1, "CPID of this point."),
        Port("leave", 1, 1, "A frame leaves the queue."),
        Port("leave_bytes", BYTES_BITS, 1, "Size of the frame that leaves."),
    )
    outputs = place(
        Port("sampled", 1, 1, "The frame that joined seven cycles before was sampled."),
        Port("notify", 1, 1, "The source of the sampled frame receives a notification."),
        Port("stop", 1, 1, "The notification is BCN(0,0)."),
        Port("feedback", FEEDBACK_BITS, 1, "Fb in units of 64 bytes, two's complement."),
        Port(
            "waiting", parameters["queue_bytes"].bit_length(), 1, "Queue at the start of the previous cycle, in bytes."
        ),
    )
    machine = ECMCPMachine(
        ecm_cp.new_state(**parameters),
        ecm_cp.new_inputs(),
        places(inputs, [port.name for port in inputs]),
        places(outputs, [port.name for port in outputs]),
        np.zeros(len(ecm_cp.RULES), np.int64),
    )
    return Oracle(machine, ecm_cp_cycle, inputs, outputs, ecm_cp.RULES)


class ECMRPMachine(NamedTuple):
    """A reaction point behind its ports. The fields are those of ``PauseMachine``."""

    state: ecm_rp.ECMRPState
    input_values: NDArray[np.int64]
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def ecm_rp_cycle(machine: ECMRPMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    read_each(input_words, machine.input_fields, 1, machine.input_values)
    if machine.input_values[ecm_rp.FEEDBACK] > _FEEDBACK_MASK >> 1:
        machine.input_values[ecm_rp.FEEDBACK] -= _FEEDBACK_MASK + 1
    run_ecm_rp(machine, flag(input_words, machine.input_fields, 0), output_words)


@inner
def run_ecm_rp(machine: ECMRPMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``."""
    state, seen, outs = machine.state, machine.input_values, machine.output_fields
    kept = state.registers
    clear(output_words)
    ready = ecm_rp.is_ready(state)
    write(output_words, outs, 0, ready)
    if ready and kept[ecm_rp.ANSWERS] != 0:
        write(output_words, outs, 1, 1)
        for number in range(5):
            write(output_words, outs, 2 + number, kept[ecm_rp.S_MAY + number])
    write(output_words, outs, 7, kept[ecm_rp.S_LIMITERS])
    ecm_rp.step(state, seen, machine.rules)
    if is_reset != 0:
        ecm_rp.reset(state)


def ecm_rp_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of a reaction point."""
    inputs = place(
        RESET,
        Port("order", 1, 1, "An order is given; it is accepted in a cycle with ready."),
        Port("ask", 1, 1, "The order asks whether a frame may start; otherwise it delivers a notice."),
        Port("flow", (parameters["flows"] - 1).bit_length(), 1, "Flow of the order."),
        Port("frame_bytes", BYTES_BITS, 1, "Size of the frame."),
        Port("notice", 2, 1, "Kind of the notice.", Notice),
        Port("cpid", CPID_BITS, 1, "CPID of the notice's sender."),
        Port("feedback", FEEDBACK_BITS, 1, "Fb in units of 64 bytes, two's complement."),
    )
    outputs = place(
        Port("ready", 1, 1, "An order may be given."),
        Port("done", 1, 1, "The previous order is answered."),
        Port("may", 1, 1, "The frame may start."),
        Port("limited", 1, 1, "The flow has a limiter now."),
        Port("rate", RATE_BITS, 1, "Rate of the limiter in 1/256 Mb/s."),
        Port("probe", 1, 1, "The rate was last lowered by a probe."),
        Port("tag", CPID_BITS, 1, "CPID of the sender that last lowered the rate."),
        Port("limiters", parameters["flows"].bit_length(), 1, "Number of installed limiters."),
    )
    machine = ECMRPMachine(
        ecm_rp.new_state(**parameters),
        ecm_rp.new_inputs(),
        places(inputs, [port.name for port in inputs]),
        places(outputs, [port.name for port in outputs]),
        np.zeros(len(ecm_rp.RULES), np.int64),
    )
    return Oracle(machine, ecm_rp_cycle, inputs, outputs, ecm_rp.RULES)


class E2CMProberMachine(NamedTuple):
    """A prober behind its ports. The fields are those of ``PauseMachine``."""

    state: e2cm_prober.E2CMProberState
    input_values: NDArray[np.int64]
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def e2cm_prober_cycle(
    machine: E2CMProberMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]
) -> None:
    """Run a clock cycle."""
    read_each(input_words, machine.input_fields, 1, machine.input_values)
    run_e2cm_prober(machine, flag(input_words, machine.input_fields, 0), output_words)


@inner
def run_e2cm_prober(machine: E2CMProberMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``."""
    state, seen, outs = machine.state, machine.input_values, machine.output_fields
    kept = state.registers
    clear(output_words)
    ready = e2cm_prober.is_ready(state)
    write(output_words, outs, 0, ready)
    if ready and kept[e2cm_prober.ANSWERS] != 0:
        write(output_words, outs, 1, 1)
        for number in range(3):
            write(output_words, outs, 2 + number, kept[e2cm_prober.S_FOLLOW + number])
        write(output_words, outs, 5, kept[e2cm_prober.S_FEEDBACK] & _FEEDBACK_MASK)
    e2cm_prober.step(state, seen, machine.rules)
    if is_reset != 0:
        e2cm_prober.reset(state)


def e2cm_prober_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of a prober."""
    inputs = place(
        RESET,
        Port("order", 1, 1, "An order is given; it is accepted in a cycle with ready."),
        Port("reply", 1, 1, "A reply to a probe has arrived; otherwise a frame or probe of the flow starts."),
        Port("probe", 1, 1, "A probe starts; otherwise a data frame."),
        Port("flow", (parameters["flows"] - 1).bit_length(), 1, "Flow of the order."),
        Port("frame_bytes", BYTES_BITS, 1, "Size of the frame."),
        Port("limited", 1, 1, "The flow has a rate limiter."),
        Port("stamp", STAMP_BITS, 1, "Cycle in which the probe started on the wire."),
        Port("arrival", STAMP_BITS, 1, "Cycle in which the probe arrived at the sink."),
        Port("reported", STAMP_BITS, 1, "Byte count of the flow that the probe carries."),
        Port("program__enable", 1, 1, "Write in this cycle; it applies to replies accepted in later cycles."),
        Port("program__flow", FLOW_BITS, 1, "Flow to write."),
        Port("program__base", STAMP_BITS, 1, "Minimum one-way delay of the flow in cycles."),
    )
    outputs = place(
        Port("ready", 1, 1, "An order may be given."),
        Port("done", 1, 1, "The previous order is answered."),
        Port("follow", 1, 1, "A probe must follow the frame."),
        Port("sent", STAMP_BITS, 1, "Byte count of the flow, for the probe to carry."),
        Port("valid", 1, 1, "The reply yields feedback."),
        Port("feedback", FEEDBACK_BITS, 1, "Fb in units of 64 bytes, two's complement."),
    )
    machine = E2CMProberMachine(
        e2cm_prober.new_state(**parameters),
        e2cm_prober.new_inputs(),
        places(inputs, [port.name for port in inputs]),
        places(outputs, [port.name for port in outputs]),
        np.zeros(len(e2cm_prober.RULES), np.int64),
    )
    return Oracle(machine, e2cm_prober_cycle, inputs, outputs, e2cm_prober.RULES)
