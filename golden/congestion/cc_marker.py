"""Golden model of marking at one output port, cycle by cycle: CCM-1 to CCM-15 (``docs/cc_marker.md``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.congestion.cc_marker import CCMarkerSelect
from vlane.golden.congestion import bth, markers
from vlane.golden.congestion.markers import NOTHING, Decision, Markers
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.packets.bth import BTH_AT

RULES = (
    Rule("over", "CCM-1", "a packet of a lane over its limit started"),
    Rule("not_over", "CCM-1", "a packet of a lane below its limit started"),
    Rule("never", "CCM-2", "with threshold 0, a packet started whose lane would be over with threshold 1"),
    Rule("became_busy", "CCM-3", "the link became busy"),
    Rule("ceased_to_be_busy", "CCM-3", "the link ceased to be busy"),
    Rule("level_full", "CCM-3", "the level saturated at its maximum"),
    Rule("level_empty", "CCM-3", "the level saturated at 0"),
    Rule("starved", "CCM-4", "a lane became starved"),
    Rule("fed", "CCM-4", "a packet of a starved lane started"),
    Rule("root", "CCM-5", "a packet of a root started"),
    Rule("victim", "CCM-5", "a packet of a victim started"),
    Rule("neither", "CCM-5", "a packet of a lane over its limit started on a link that was not busy"),
    Rule("masked", "CCM-6", "a packet was eligible only because of the mask"),
    Rule("not_masked", "CCM-6", "a packet of a lane over its limit was not eligible without the mask"),
    Rule("too_small", "CCM-7", "a packet was smaller than Packet_Size"),
    Rule("cnp", "CCM-8", "a CNP was not marked where another packet would have counted"),
    Rule("no_header", "CCM-8", "a packet without a transport header was not marked where another would have counted"),
    Rule("absent_lane", "CCM-8", "a packet on VL15 or on an absent lane started"),
    Rule("out_of_reach", "CCM-9", "a packet with a GRH was not eligible because the flit ends before its FECN"),
    Rule("grh_marked", "CCM-9", "a packet with a GRH was marked"),
    Rule("marked", "CCM-10", "a packet was marked"),
    Rule("passed", "CCM-10", "an eligible packet passed unmarked"),
    Rule("fecn_set", "CCM-11", "a packet without FECN was marked"),
    Rule("fecn_kept", "CCM-11", "an unmarked packet kept its FECN"),
    Rule("written", "CCM-12", "a setting was written in the cycle in which a packet started"),
    Rule("port_element", "CCM-13", "a packet started under the port's own element"),
    Rule("starvation_element", "CCM-13", "a packet started while the port had a valid element of credit starvation"),
    Rule("begun_again", "CCM-14", "a write of the rate reset a counter"),
    Rule("written_with_mark", "CCM-14", "a write of the rate won over a mark in the same cycle"),
)
(
    OVER,
    NOT_OVER,
    NEVER,
    BECAME_BUSY,
    CEASED,
    FULL,
    EMPTY,
    STARVED,
    FED,
    ROOT,
    VICTIM,
    NEITHER,
    MASKED,
    NOT_MASKED,
    TOO_SMALL,
    CNP,
    NO_HEADER,
    ABSENT,
    OUT_OF_REACH,
    GRH_MARKED,
    MARKED,
    PASSED,
    FECN_SET,
    FECN_KEPT,
    WRITTEN,
    ELEMENT,
    STARVATION,
    BEGUN_AGAIN,
    WRITTEN_WITH_MARK,
) = range(len(RULES))

_VICTIM_MASK, _THRESHOLD = int(CCMarkerSelect.VICTIM_MASK), int(CCMarkerSelect.THRESHOLD)
_RATE, _PORT = int(CCMarkerSelect.MARKING_RATE), int(CCMarkerSelect.PORT)


class CCMarkerState(NamedTuple):
    """State of one port.

    Parameters
    ----------
    markers : Markers
        Marker of one port.
    data_vls : int
        Number of lanes.
    """

    markers: Markers
    data_vls: int


class Inputs(NamedTuple):
    """Inputs of a port in a cycle.

    Parameters
    ----------
    measure : array of int64, (data_vls,)
        Fill of each lane in blocks.
    values : array of int64, (14,)
        free, asks, fits, start, start_vl, start_blocks, then the write: enable, select, victim_mask, threshold,
        packet_size, marking_rate, valid and control_type; ``asks`` and ``fits`` have a bit per lane.
    flit : array of int64, (bytes,)
        Bytes of the flit, in transmission order.
    """

    measure: NDArray[np.int64]
    values: NDArray[np.int64]
    flit: NDArray[np.int64]


(
    FREE,
    ASKS,
    FITS,
    START,
    START_VL,
    START_BLOCKS,
    W_ENABLE,
    W_SELECT,
    W_VICTIM_MASK,
    W_THRESHOLD,
    W_PACKET_SIZE,
    W_RATE,
    W_VALID,
    W_CONTROL_TYPE,
    VALUES,
) = range(15)


def new_inputs(data_vls: int, data_bits: int) -> Inputs:
    """Return idle inputs."""
    return Inputs(np.zeros(data_vls, np.int64), np.zeros(VALUES, np.int64), np.zeros(data_bits // 8, np.int64))


def new_state(
    *,
    data_vls: int,
    maximum: int,
    largest: int,
    measure_blocks: int,  # noqa: ARG001 - the width of an input
    busy_blocks: int,
    level_blocks: int,
    idle_blocks: int,
    data_bits: int,  # noqa: ARG001 - the length of ``Inputs.flit``
) -> CCMarkerState:
    """Return the state after reset."""
    made = markers.new_markers(
        ports=1,
        maximum=(maximum,) * data_vls,
        largest=largest,
        busy_blocks=busy_blocks,
        level_blocks=level_blocks,
        idle_blocks=idle_blocks,
    )
    return CCMarkerState(made, data_vls)


@kernel
def reset(state: CCMarkerState) -> None:
    """Reset the marker (CCM-15)."""
    markers.reset(state.markers, 0)


@inner
def _is_markable(inputs: Inputs) -> bool:
    at = bth.header_at(inputs.flit)
    return at >= 0 and not bth.is_cnp(inputs.flit, at)


@inner
def _measure_of(state: CCMarkerState, inputs: Inputs) -> int:
    vl = inputs.values[START_VL]
    return inputs.measure[vl] if vl < state.data_vls else 0


@inner
def decision_of(state: CCMarkerState, inputs: Inputs) -> Decision:
    """Return the marking decision of a cycle, or ``NOTHING`` if no packet starts."""
    values = inputs.values
    if values[START] == 0:
        return NOTHING
    return markers.decide(
        state.markers, 0, values[START_VL], _measure_of(state, inputs), values[START_BLOCKS], _is_markable(inputs)
    )


@inner
def step(state: CCMarkerState, inputs: Inputs, rule_counts: NDArray[np.int64]) -> bool:
    """Run a clock cycle and return whether the packet that starts is marked. FECN is then set in ``inputs.flit``."""
    values, port_state = inputs.values, state.markers.port[0]
    count_rules(state, inputs, rule_counts)
    level, mark, vl = port_state.level, False, values[START_VL]
    if values[START] != 0:
        mark = markers.start_packet(
            state.markers, 0, vl, _measure_of(state, inputs), values[START_BLOCKS], _is_markable(inputs)
        )
        if mark:
            bth.set_fecn(inputs.flit, bth.header_at(inputs.flit))
    elif values[FREE] != 0:
        markers.note_idle_cycles(state.markers, 0, 1)
    if values[FREE] != 0:
        for lane in range(state.data_vls):
            waits = (values[ASKS] & ~values[FITS]) >> lane & 1 != 0
            if waits and not (values[START] != 0 and lane == vl):
                rule_counts[STARVED] += state.markers.lane[0, lane].starved == 0
                markers.record_starved(state.markers, 0, lane)
    rule_counts[BECAME_BUSY] += level < state.markers.busy_blocks <= port_state.level
    rule_counts[CEASED] += port_state.level < state.markers.busy_blocks <= level
    if values[W_ENABLE] != 0:
        _write(state, inputs, mark, rule_counts)
    return mark


@inner
def _write(
    state: CCMarkerState,
    inputs: Inputs,
    mark: bool,  # noqa: FBT001 - kernels take positional arguments only
    rule_counts: NDArray[np.int64],
) -> None:
    """Write the selected setting, from the next cycle on (CCM-12)."""
    values, select = inputs.values, inputs.values[W_SELECT]
    rule_counts[WRITTEN] += values[START] != 0
    if select in (_RATE, _PORT):
        counts = False
        for lane in range(state.data_vls):
            counts |= state.markers.lane[0, lane].packets_until_mark != 0
        rule_counts[BEGUN_AGAIN] += counts and not mark
        rule_counts[WRITTEN_WITH_MARK] += counts and mark
    if select == _VICTIM_MASK:
        markers.set_victim_mask(state.markers, 0, values[W_VICTIM_MASK])
    elif select == _THRESHOLD:
        markers.set_threshold(state.markers, 0, values[W_THRESHOLD], values[W_PACKET_SIZE])
    elif select == _RATE:
        markers.set_marking_rate(state.markers, 0, values[W_RATE])
    else:
        markers.set_port_element(
            state.markers,
            0,
            values[W_VALID],
            values[W_CONTROL_TYPE],
            values[W_THRESHOLD],
            values[W_PACKET_SIZE],
            values[W_RATE],
        )


@inner
def count_rules(state: CCMarkerState, inputs: Inputs, rule_counts: NDArray[np.int64]) -> None:
    """Count the rules that a cycle exercises, from the state before the cycle."""
    values, port_state, most = inputs.values, state.markers.port[0], state.markers.level_blocks
    if values[START] == 0:
        rule_counts[EMPTY] += values[FREE] != 0 and 0 < port_state.level < state.markers.idle_blocks
        return
    rule_counts[FULL] += port_state.level + values[START_BLOCKS] > most
    vl, blocks = values[START_VL], values[START_BLOCKS]
    rule_counts[ELEMENT] += port_state.valid != 0 and port_state.control_type == 0
    rule_counts[STARVATION] += port_state.valid != 0 and port_state.control_type != 0
    if vl >= state.data_vls:
        rule_counts[ABSENT] += 1
        return
    found, at = decision_of(state, inputs), bth.header_at(inputs.flit)
    measure = inputs.measure[vl]
    threshold, least, _ = markers.settings_in_force(state.markers, 0)
    rule_counts[OVER] += found.is_over
    rule_counts[NOT_OVER] += threshold != 0 and not found.is_over
    rule_counts[NEVER] += threshold == 0 and measure >= state.markers.limits[vl, 1]
    rule_counts[FED] += state.markers.lane[0, vl].starved != 0
    rule_counts[ROOT] += found.is_root
    rule_counts[VICTIM] += found.is_victim
    rule_counts[NEITHER] += found.is_over and not found.is_root and not found.is_victim
    rule_counts[MASKED] += found.is_eligible and not found.is_root
    rule_counts[NOT_MASKED] += found.is_over and not found.is_root and port_state.victim_mask == 0
    admitted = found.is_root or (found.is_over and port_state.victim_mask != 0)
    rule_counts[TOO_SMALL] += admitted and blocks < least
    rule_counts[NO_HEADER] += admitted and blocks >= least and at == bth.NO_HEADER
    rule_counts[OUT_OF_REACH] += admitted and blocks >= least and at == bth.OUT_OF_REACH
    rule_counts[MARKED] += found.is_marked
    rule_counts[PASSED] += found.is_eligible and not found.is_marked
    if at >= 0:
        rule_counts[CNP] += admitted and blocks >= least and bth.is_cnp(inputs.flit, at)
        rule_counts[GRH_MARKED] += found.is_marked and at != BTH_AT
        rule_counts[FECN_SET] += found.is_marked and not bth.has_fecn(inputs.flit, at)
        rule_counts[FECN_KEPT] += not found.is_marked and bth.has_fecn(inputs.flit, at)
