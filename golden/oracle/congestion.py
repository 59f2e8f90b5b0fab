"""Oracles of the blocks of InfiniBand congestion control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_marker import RATE_BITS, SIZE_BITS, THRESHOLD_BITS, CCMarkerSelect
from vlane.congestion.cc_source import (
    BYTE_BITS,
    CCTI_BITS,
    DLID_BITS,
    LOST_BITS,
    MULTIPLIER_BITS,
    SHIFT_BITS,
    SL_BITS,
    TIMER_BITS,
    CCSourceSelect,
)
from vlane.golden.congestion import cc_marker, cc_source, markers
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.ports import RESET, Placing, Port, places, ports_of
from vlane.golden.oracle.words import clear, flag, read, read_each, write, write_each

_VALUES = (
    "free",
    "asks",
    "fits",
    "start",
    "start_vl",
    "start_blocks",
    "program__enable",
    "program__select",
    "program__victim_mask",
    "program__threshold",
    "program__packet_size",
    "program__marking_rate",
    "program__valid",
    "program__control_type",
)
_SHOWN = (
    "mark",
    "root",
    "victim",
    "threshold",
    "packet_size",
    "marking_rate",
    "victim_mask",
    "level",
    "starved",
    "over",
    "left",
    "flit_out",
)
_FIRST_LEFT = 10
"""Index of the output element of the first marking counter."""


class CCMarkerMachine(NamedTuple):
    """A port's marker behind its ports.

    Parameters
    ----------
    state : CCMarkerState
        State of the marker.
    input_values : Inputs
        Scratch of a cycle: the inputs.
    input_fields, output_fields : array of int64, (elements, 6)
        Bit positions of the ports.
    rules : array of int64
        Rule counters.
    """

    state: cc_marker.CCMarkerState
    input_values: cc_marker.Inputs
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def cc_marker_cycle(
    machine: CCMarkerMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]
) -> None:
    """Run a clock cycle."""
    seen, ins = machine.input_values, machine.input_fields
    element = read_each(input_words, ins, 1, seen.values)
    read_each(input_words, ins, element, seen.measure)
    last = len(seen.values) + len(seen.measure) + len(seen.flit)
    for place in range(len(seen.flit)):
        seen.flit[place] = read(input_words, ins, last - place)
    run_cc_marker(machine, flag(input_words, ins, 0), output_words)


@inner
def run_cc_marker(machine: CCMarkerMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``."""
    state, seen, outs = machine.state, machine.input_values, machine.output_fields
    lanes, flit, made = state.data_vls, seen.flit, state.markers
    clear(output_words)
    starved, over = 0, 0
    for lane in range(lanes):
        starved |= made.lane[0, lane].starved << lane
        over |= markers.is_over(made, 0, lane, seen.measure[lane]) << lane
        write(output_words, outs, _FIRST_LEFT + lane, made.lane[0, lane].packets_until_mark)
    found = cc_marker.decision_of(state, seen)
    threshold, size, rate = markers.settings_in_force(made, 0)
    write(output_words, outs, 0, found.is_marked)
    write(output_words, outs, 1, found.is_root)
    write(output_words, outs, 2, found.is_victim)
    write(output_words, outs, 3, threshold)
    write(output_words, outs, 4, size)
    write(output_words, outs, 5, rate)
    write(output_words, outs, 6, made.port[0].victim_mask)
    write(output_words, outs, 7, made.port[0].level)
    write(output_words, outs, 8, starved)
    write(output_words, outs, 9, over)
    cc_marker.step(state, seen, machine.rules)
    for place in range(len(flit)):
        write(output_words, outs, _FIRST_LEFT + lanes + place, flit[len(flit) - 1 - place])
    if is_reset != 0:
        cc_marker.reset(state)


@inner
def put_cc_marker(machine: CCMarkerMachine, input_words: NDArray[np.uint64], is_reset: int) -> None:
    """Write the inputs of a cycle, in ``machine.input_values``, to words."""
    seen, ins = machine.input_values, machine.input_fields
    clear(input_words)
    write(input_words, ins, 0, is_reset)
    write_each(input_words, ins, 1, seen.values)
    write_each(input_words, ins, 1 + len(seen.values), seen.measure)
    last = len(seen.values) + len(seen.measure) + len(seen.flit)
    for place in range(len(seen.flit)):
        write(input_words, ins, last - place, seen.flit[place])


def cc_marker_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of a port's marker."""
    lanes, flit = parameters["data_vls"], parameters["data_bits"] // 8
    inputs = place(
        RESET,
        Port("measure", parameters["measure_blocks"].bit_length(), lanes, "Fill of each lane in blocks."),
        Port("free", 1, 1, "The link is free: a packet may start in this cycle."),
        Port("asks", lanes, 1, "Bit per lane: the lane has a head packet."),
        Port("fits", lanes, 1, "Bit per lane: the far end has space for the whole head packet."),
        Port("start", 1, 1, "A packet starts."),
        Port("start_vl", 4, 1, "Lane of the packet that starts; VL15 and absent lanes mark nothing."),
        Port("start_blocks", 7, 1, "Size of the packet that starts, in blocks."),
        Port("flit_in", 8, flit, "Flit, first byte most significant; the first flit of a packet that starts."),
        Port("program__enable", 1, 1, "Write in this cycle; the new setting applies from the next cycle on."),
        Port("program__select", 2, 1, "Setting to write.", CCMarkerSelect),
        Port("program__victim_mask", 1, 1, "This port's bit of Victim_Mask."),
        Port("program__threshold", THRESHOLD_BITS, 1, "Threshold of the switch or the element."),
        Port("program__packet_size", SIZE_BITS, 1, "Packet_Size of the switch or the element, in blocks."),
        Port("program__marking_rate", RATE_BITS, 1, "Marking_Rate of the switch or the element."),
        Port("program__valid", 1, 1, "The element is valid."),
        Port("program__control_type", 1, 1, "Control type of the element; 1 is credit starvation."),
    )
    outputs = place(
        Port("flit_out", 8, flit, "The flit of flit_in, with FECN if the packet is marked."),
        Port("mark", 1, 1, "The packet that starts is marked."),
        Port("root", 1, 1, "The lane of the packet that starts is a root of congestion."),
        Port("victim", 1, 1, "The lane of the packet that starts is a victim of congestion elsewhere."),
        Port("over", lanes, 1, "Bit per lane: the measure has reached the lane's limit."),
        Port("threshold", THRESHOLD_BITS, 1, "Threshold in force."),
        Port("packet_size", SIZE_BITS, 1, "Packet_Size in force."),
        Port("marking_rate", RATE_BITS, 1, "Marking_Rate in force."),
        Port("victim_mask", 1, 1, "The port is in Victim_Mask."),
        Port("level", parameters["level_blocks"].bit_length(), 1, "Level of the link's busy detector, in blocks."),
        Port("starved", lanes, 1, "Bit per lane: a head lacked credit since the lane's last packet started."),
        Port("left", RATE_BITS, lanes, "Eligible packets of each lane that pass unmarked before the next mark."),
    )
    machine = CCMarkerMachine(
        cc_marker.new_state(**parameters),
        cc_marker.new_inputs(lanes, parameters["data_bits"]),
        places(inputs, ["rst", *_VALUES, "measure", "flit_in"]),
        places(outputs, _SHOWN),
        np.zeros(len(cc_marker.RULES), np.int64),
    )
    return Oracle(machine, cc_marker_cycle, inputs, outputs, cc_marker.RULES)


class CCSourceMachine(NamedTuple):
    """A source's pacing behind its ports.

    Parameters
    ----------
    state : Sources
        State of the source.
    input_values : Inputs
        Inputs of this cycle and of the previous one.
    cycle : array of int64, (1,)
        Cycles since reset.
    input_fields, output_fields : array of int64, (elements, 6)
        Bit positions of the ports.
    rules : array of int64
        Rule counters.
    """

    state: cc_source.Sources
    input_values: cc_source.Inputs
    cycle: NDArray[np.int64]
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    rules: NDArray[np.int64]


@kernel
def cc_source_cycle(
    machine: CCSourceMachine, input_words: NDArray[np.uint64], output_words: NDArray[np.uint64]
) -> None:
    """Run a clock cycle."""
    seen, ins = machine.input_values, machine.input_fields
    element = read_each(input_words, ins, 1, seen.request)
    element = read_each(input_words, ins, element, seen.becn)
    read_each(input_words, ins, element, seen.setting_write)
    run_cc_source(machine, flag(input_words, ins, 0), output_words)


@inner
def run_cc_source(machine: CCSourceMachine, is_reset: int, output_words: NDArray[np.uint64]) -> None:
    """Run a clock cycle with the inputs in ``machine.input_values``."""
    made, seen, outs = machine.state, machine.input_values, machine.output_fields
    clear(output_words)
    cc_source.step(made, seen, machine.cycle[0], machine.rules)
    write_each(output_words, outs, 0, seen.results[-1])
    machine.cycle[0] += 1
    if is_reset != 0:
        cc_source.reset(made, 0)
        cc_source.clear_pending(seen)
        machine.cycle[0] = 0


@inner
def put_cc_source(machine: CCSourceMachine, input_words: NDArray[np.uint64], is_reset: int) -> None:
    """Write the inputs of a cycle, in ``machine.input_values``, to words."""
    seen, ins = machine.input_values, machine.input_fields
    clear(input_words)
    write(input_words, ins, 0, is_reset)
    write_each(input_words, ins, 1, seen.request)
    write_each(input_words, ins, 1 + len(seen.request), seen.becn)
    write_each(input_words, ins, 1 + len(seen.request) + len(seen.becn), seen.setting_write)


def cc_source_oracle(parameters: Mapping[str, Any], place: Placing = ports_of) -> Oracle:
    """Return the oracle of a source's pacing."""
    inputs = place(
        RESET,
        Port("ask", 1, 1, "A packet requests injection."),
        Port("ask_dlid", DLID_BITS, 1, "DLID of the packet."),
        Port("ask_sl", SL_BITS, 1, "Service level of the packet."),
        Port("ask_blocks", 7, 1, "Size of the packet in blocks."),
        Port("becn", 1, 1, "A BECN arrives."),
        Port("becn_dlid", DLID_BITS, 1, "DLID of the flow of the BECN."),
        Port("becn_sl", SL_BITS, 1, "Service level of the flow of the BECN."),
        Port("program__enable", 1, 1, "Write in this cycle; the new setting applies from the next cycle on."),
        Port("program__select", 2, 1, "Setting to write.", CCSourceSelect),
        Port("program__index", CCTI_BITS, 1, "SL or CCT entry; writes to absent entries are ignored."),
        Port("program__port_mode", 1, 1, "Bit 0 of Port_Control: flows are SLs."),
        Port("program__limit", CCTI_BITS, 1, "CCTI_Limit."),
        Port("program__timer", TIMER_BITS, 1, "CCTI_Timer of an SL, in ticks."),
        Port("program__increase", BYTE_BITS, 1, "CCTI_Increase of an SL."),
        Port("program__trigger", BYTE_BITS, 1, "Trigger_Threshold of an SL."),
        Port("program__minimum", BYTE_BITS, 1, "CCTI_Min of an SL."),
        Port("program__shift", SHIFT_BITS, 1, "Shift of an entry of the CCT."),
        Port("program__multiplier", MULTIPLIER_BITS, 1, "Multiplier of an entry of the CCT."),
    )
    outputs = place(
        Port("may", 1, 1, "The packet of the previous cycle's request may be injected, and counts as injected."),
        Port("known", 1, 1, "The flow of that packet has an entry."),
        Port("ccti", CCTI_BITS, 1, "CCTI of the flow of that packet; 0 without an entry."),
        Port("lost", 1, 1, "The BECN of the previous cycle found no free entry and is ignored."),
        Port("log", 1, 1, "The BECN of the previous cycle raised a CCTI to Trigger_Threshold or above."),
        Port("log_dlid", DLID_BITS, 1, "DLID of the logged flow."),
        Port("log_sl", SL_BITS, 1, "Service level of the logged flow."),
        Port("taken", parameters["flows"].bit_length(), 1, "Entries in use."),
        Port("lost_becns", LOST_BITS, 1, "Number of lost BECNs (saturating counter)."),
    )
    machine = CCSourceMachine(
        cc_source.new_sources(**parameters),
        cc_source.new_inputs(),
        np.zeros(1, np.int64),
        places(inputs, [port.name for port in inputs]),
        places(outputs, [port.name for port in outputs]),
        np.zeros(len(cc_source.RULES), np.int64),
    )
    return Oracle(machine, cc_source_cycle, inputs, outputs, cc_source.RULES)
