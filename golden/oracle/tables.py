"""Oracles of the look-up tables.

Look-ups read the tables before the clock edge, writes take effect after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.ports import RESET, Placing, Port, places, ports_of
from vlane.golden.oracle.words import clear, flag, read_each, write
from vlane.golden.tables import lft, sc, sl2vl
from vlane.tables.lft import LFTCause
from vlane.tables.sc import SCTable

_PORT_BITS, _LID_BITS, _VL_BITS, _SC_BITS = 6, 16, 4, 5


class SL2VLMachine(NamedTuple):
    """SL-to-VL mapping behind its ports.

    Parameters
    ----------
    state : SL2VLState
        Tables.
    input_values : array of int64
        Scratch of a cycle: the inputs, without the reset.
    input_fields, output_fields : array of int64, (elements, 6)
        Bit positions of the ports.
    rules : array of int64
        Rule counters.
    """

    state: sl2vl.SL2VLState
    input_values: NDArray[np.int64]
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def sl2vl_cycle(machine: SL2VLMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    read_each(input_words, machine.input_fields, 1, machine.input_values)
    run_sl2vl(machine, flag(input_words, machine.input_fields, 0), output_words)


@inner
def run_sl2vl(machine: SL2VLMachine, _resets: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``.

    A reset has no effect, because the tables are memory.
    """
    state, seen, outs, rules = machine.state, machine.input_values, machine.output_fields, machine.rules
    inputs = state.row.shape[0]
    clear(output_words)
    at = 2 * inputs
    writes, every, to_input, to_output = seen[at] != 0, seen[at + 1] != 0, seen[at + 2], seen[at + 3]
    for port in range(inputs):
        output = seen[port]
        vl, dropped, invalid = sl2vl.look_up(state, port, output, seen[inputs + port])
        sl2vl.count_rules(state, dropped, invalid, output, rules)
        rules[sl2vl.WHILE_WRITTEN] += writes and to_output == output and (every or to_input == port)
        write(output_words, outs, port, vl)
        write(output_words, outs, inputs + port, dropped)
        write(output_words, outs, 2 * inputs + port, invalid)
    if writes:
        sl2vl.write(state, every, to_input, to_output, seen[at + 4])
        rules[sl2vl.ALL_INPUTS] += every and to_output < state.row.shape[1]


def sl2vl_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of the SL-to-VL mapping."""
    count = parameters["inputs"]
    inputs = place(
        RESET,
        Port("out_port", _PORT_BITS, count, "Output port of the packet at each input."),
        Port("sl", _VL_BITS, count, "Service level of the packet at each input."),
        Port("program__enable", 1, 1, "Write in this cycle; the new value holds from the next one on."),
        Port("program__every_input", 1, 1, "The row is written for every input."),
        Port("program__input", _PORT_BITS, 1, "Without every_input: the input whose row is written."),
        Port("program__output", _PORT_BITS, 1, "Output whose row is written; an absent one writes nothing."),
        Port("program__row", 64, 1, "Lanes of the 16 SLs, 4 bits each, SL 0 lowest; 15 drops."),
    )
    outputs = place(
        Port("vl", _VL_BITS, count, "Lane of each packet; 15 if the packet is dropped."),
        Port("drop", 1, count, "The packet must be discarded."),
        Port("invalid", 1, count, "The packet is dropped because its lane or output is absent."),
    )
    machine = SL2VLMachine(
        sl2vl.new_state(**parameters),
        np.zeros(2 * count + 5, np.int64),
        places(inputs, [port.name for port in inputs]),
        places(outputs, [port.name for port in outputs]),
        np.zeros(len(sl2vl.RULES), np.int64),
    )
    return Oracle(machine, sl2vl_cycle, inputs, outputs, sl2vl.RULES)


class LFTMachine(NamedTuple):
    """Forwarding table behind its ports.

    The fields are those of ``SL2VLMachine``, and the number of look-ups per cycle.
    """

    state: lft.LFTState
    lookups: int
    input_values: NDArray[np.int64]
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def lft_cycle(machine: LFTMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    read_each(input_words, machine.input_fields, 1, machine.input_values)
    run_lft(machine, flag(input_words, machine.input_fields, 0), output_words)


@inner
def run_lft(machine: LFTMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``.

    A reset sets the top to 0 and keeps the entries, including one being written.
    """
    state, seen, outs, lookups = machine.state, machine.input_values, machine.output_fields, machine.lookups
    clear(output_words)
    for index in range(lookups):
        out, cause = lft.look_up(state, seen[index], machine.rules)
        write(output_words, outs, index, out)
        write(output_words, outs, lookups + index, cause != 0)
        write(output_words, outs, 2 * lookups + index, cause)
    if seen[lookups] != 0:
        lft.write(state, seen[lookups + 1] != 0, seen[lookups + 2], seen[lookups + 3])
    if is_reset != 0:
        lft.reset(state)


def lft_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of the forwarding table."""
    count = parameters["lookups"]
    inputs = place(
        RESET,
        Port("dlid", _LID_BITS, count, "Destination LIDs."),
        Port("program__enable", 1, 1, "Write in this cycle; the new value holds from the next one on."),
        Port("program__top", 1, 1, "Write the top of the table, taken from lid, instead of an entry."),
        Port("program__lid", _LID_BITS, 1, "LID of the entry, or the new top; an absent entry is not written."),
        Port("program__port", 8, 1, "Output port of the LID; 255 means unassigned."),
    )
    outputs = place(
        Port("out_port", 8, count, "Output port of each destination LID; 255 if the packet is dropped."),
        Port("drop", 1, count, "The packet must be discarded."),
        Port("cause", max(LFTCause).bit_length(), count, "Reason of the drop.", LFTCause),
    )
    machine = LFTMachine(
        lft.new_state(**parameters),
        count,
        np.zeros(count + 4, np.int64),
        places(inputs, [port.name for port in inputs]),
        places(outputs, [port.name for port in outputs]),
        np.zeros(len(lft.RULES), np.int64),
    )
    return Oracle(machine, lft_cycle, inputs, outputs, lft.RULES)


class SCMachine(NamedTuple):
    """Omni-Path's channel maps behind their ports. The fields are those of ``SL2VLMachine``."""

    state: sc.SCState
    input_values: NDArray[np.int64]
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def sc_cycle(machine: SCMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle."""
    read_each(input_words, machine.input_fields, 1, machine.input_values)
    run_sc(machine, flag(input_words, machine.input_fields, 0), output_words)


@inner
def run_sc(machine: SCMachine, _resets: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``.

    A reset has no effect, because the tables are memory.
    """
    state, seen, outs, rules = machine.state, machine.input_values, machine.output_fields, machine.rules
    ports = state.channels.shape[0]
    clear(output_words)
    for port in range(ports):
        channel, egress = seen[port], seen[ports + port]
        vl_in, invalid = sc.lane_in(state, port, channel, rules)
        leaves, vl, dropped = sc.forward(state, port, egress, channel, rules)
        write(output_words, outs, port, vl_in)
        write(output_words, outs, ports + port, invalid)
        write(output_words, outs, 2 * ports + port, leaves)
        write(output_words, outs, 3 * ports + port, vl)
        write(output_words, outs, 4 * ports + port, dropped)
    at = 2 * ports
    injected, refused = sc.inject(state, seen[at], rules)
    write(output_words, outs, 5 * ports, injected)
    write(output_words, outs, 5 * ports + 1, refused)
    write(output_words, outs, 5 * ports + 2, sc.receive(state, seen[at + 1]))
    if seen[at + 2] != 0:
        sc.write(state, seen[at + 3], seen[at + 4], seen[at + 5], seen[at + 6], seen[at + 7])


def sc_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of Omni-Path's channel maps."""
    ports = parameters["ports"]
    inputs = place(
        RESET,
        Port("channel", _SC_BITS, ports, "Channel of the packet that arrived at each port."),
        Port("egress", _PORT_BITS, ports, "Output port of the packet that arrived at each port."),
        Port("inject_sl", _SC_BITS, 1, "Service level of a packet at its source."),
        Port("receive_sc", _SC_BITS, 1, "Channel of a packet at its destination."),
        Port("program__enable", 1, 1, "Write in this cycle; the new value holds from the next one on."),
        Port("program__table", 3, 1, "Table to write; 5 to 7 write nothing.", SCTable),
        Port("program__ingress", _PORT_BITS, 1, "Port of SC2SC and SC2VL_nt; an absent one writes nothing."),
        Port("program__egress", _PORT_BITS, 1, "Port of SC2SC and SC2VL_t; an absent one writes nothing."),
        Port("program__index", _SC_BITS, 1, "Level or channel whose entry is written."),
        Port("program__value", _SC_BITS, 1, "Channel, lane or level that the entry maps to."),
    )
    outputs = place(
        Port("vl_in", _SC_BITS, ports, "Lane on which each packet is queued; 0 if invalid."),
        Port("invalid_in", 1, ports, "The channel of the packet has no lane at this port."),
        Port("channel_out", _SC_BITS, ports, "Outgoing channel of each packet; 0 if the packet is dropped."),
        Port("vl", _SC_BITS, ports, "Outgoing lane of each packet; 0 if the packet is dropped."),
        Port("drop", 1, ports, "The packet must be discarded."),
        Port("inject_sc", _SC_BITS, 1, "Channel of the injected packet; 0 if the packet is dropped."),
        Port("inject_drop", 1, 1, "The injected packet's level is mapped to SC15: it must be discarded."),
        Port("receive_sl", _SC_BITS, 1, "Service level of the channel."),
    )
    machine = SCMachine(
        sc.new_state(**parameters),
        np.zeros(2 * ports + 8, np.int64),
        places(inputs, [port.name for port in inputs]),
        places(outputs, [port.name for port in outputs]),
        np.zeros(len(sc.RULES), np.int64),
    )
    return Oracle(machine, sc_cycle, inputs, outputs, sc.RULES)
