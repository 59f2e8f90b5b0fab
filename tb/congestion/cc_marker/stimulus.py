"""Stimulus of the marker: a link, measures near the limit, waiting heads, and settings that change under traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.congestion import cc_marker as golden
from vlane.golden.congestion import markers
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below, draw_bits, seeded_rng
from vlane.golden.oracle.congestion import CCMarkerMachine, cc_marker_oracle, put_cc_marker, run_cc_marker
from vlane.packets.bth import BTH_AT, BTH_BEHIND_GRH_AT, CNP_OPCODE, LNH_GRH, bits_to_fecn
from vlane.tb.congestion.cc_marker import crosses as crosses_cc_marker
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import in_rows
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut

CERTAIN = 65536
"""Denominator of all probabilities."""

(C_WRITE, C_ASK, C_FIT, C_START, C_STALL, C_RESET, C_MEASURE) = range(7)
(L_BUSY, L_STARTED) = range(2)
_BYTES_PER_DRAW = 7
_MORE_AT_START = 8
"""Factor by which writes and resets are more likely in a cycle in which a packet starts."""


@dataclass(frozen=True, slots=True)
class MarkerPhase:
    """A phase of traffic. Probabilities are in 1/65536 per cycle.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    write : int
        Probability that a setting is written in a cycle in which no packet starts.
    ask : int
        Probability that a redrawn lane has a head packet.
    fit : int
        Probability that the head fits.
    start : int
        Probability that a packet that may start does start.
    stall : int
        Probability that an idle link is not free.
    reset : int
        Probability of a reset in a cycle in which no packet starts.
    measure : int
        Probability that a lane's measure is redrawn.
    wild : bool
        Whether every input is random.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    write: int = 0
    ask: int = CERTAIN
    fit: int = CERTAIN
    start: int = CERTAIN
    stall: int = 0
    reset: int = 0
    measure: int = CERTAIN // 4
    wild: bool = False
    name: str = ""


@inner
def _draw_measure(state: golden.CCMarkerState, inputs: golden.Inputs, maximum: int, rng: NDArray[np.uint64]) -> None:
    """Move a lane's measure: to any value, to an extreme, or (mostly) near the limit in force."""
    lane, kind = draw_below(rng, state.data_vls), draw_below(rng, 8)
    if kind == 0:
        inputs.measure[lane] = draw_below(rng, maximum + 1)
    elif kind == 1:
        inputs.measure[lane] = maximum * draw_below(rng, 2)
    else:
        threshold = markers.settings_in_force(state.markers, 0)[0]
        limit = state.markers.limits[lane, max(threshold, 1)]
        inputs.measure[lane] = min(max(limit - 2 + draw_below(rng, 5), 0), maximum)


@inner
def _draw_write(inputs: golden.Inputs, rng: NDArray[np.uint64]) -> None:
    """Write a random setting, mostly a small rate whose effect is visible soon."""
    values = inputs.values
    values[golden.W_ENABLE], values[golden.W_SELECT] = 1, draw_below(rng, 4)
    values[golden.W_VICTIM_MASK] = draw_below(rng, 2)
    values[golden.W_THRESHOLD] = draw_below(rng, 16)
    values[golden.W_PACKET_SIZE] = draw_below(rng, (1, 1, 8, 68, 256)[draw_below(rng, 5)])
    values[golden.W_RATE] = draw_below(rng, 4) if draw_below(rng, 4) else draw_below(rng, 1 << 16)
    if (
        draw_below(rng, 8) == 0
    ):  # a rate with a single bit set (and bit 0): each bit must keep the counter from expiring
        values[golden.W_RATE] = (1 << draw_below(rng, 16)) | draw_below(rng, 2)
    values[golden.W_VALID] = draw_below(rng, 2)
    values[golden.W_CONTROL_TYPE] = draw_below(rng, 2)


@inner
def _draw_flit(inputs: golden.Inputs, rng: NDArray[np.uint64]) -> None:
    """Fill a flit with random bytes, often with a relevant next header and opcode."""
    flit = inputs.flit
    word = 0
    for place in range(len(flit)):
        if place % _BYTES_PER_DRAW == 0:
            word = draw_bits(rng)
        flit[place] = word & 0xFF
        word >>= 8
    if draw_below(rng, 2):
        flit[1] |= 2
    if draw_below(rng, 8) == 0:
        at = BTH_BEHIND_GRH_AT if flit[1] & 3 == LNH_GRH and len(flit) > BTH_BEHIND_GRH_AT else BTH_AT
        flit[at] = CNP_OPCODE ^ (draw_below(rng, 4) == 0) << draw_below(rng, 8)


@inner
def _lane_bits(lanes: int, chance: int, rng: NDArray[np.uint64]) -> int:
    found = 0
    for lane in range(lanes):
        found |= (draw_below(rng, CERTAIN) < chance) << lane
    return found


@inner
def _run_link(
    state: golden.CCMarkerState,
    inputs: golden.Inputs,
    link: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    largest: int,
    rng: NDArray[np.uint64],
) -> None:
    """Continue the packet on the link, or start a packet."""
    values, lanes = inputs.values, state.data_vls
    lane = draw_below(rng, lanes)
    asks, fits = draw_below(rng, CERTAIN) < probabilities[C_ASK], draw_below(rng, CERTAIN) < probabilities[C_FIT]
    values[golden.ASKS] = values[golden.ASKS] & ~(1 << lane) | asks << lane
    values[golden.FITS] = values[golden.FITS] & ~(1 << lane) | fits << lane
    values[golden.FREE] = values[golden.START] = 0
    if link[L_BUSY] > 0:
        link[L_BUSY] -= 1
        return
    values[golden.FREE] = draw_below(rng, CERTAIN) >= probabilities[C_STALL]
    if values[golden.FREE] == 0 or draw_below(rng, CERTAIN) >= probabilities[C_START]:
        return
    vl, able = draw_below(rng, lanes), values[golden.ASKS] & values[golden.FITS]
    if draw_below(rng, 64) == 0:
        vl = 15 - draw_below(rng, 2) * draw_below(rng, 16 - lanes)
    elif able >> vl & 1 == 0:
        return
    blocks = largest if draw_below(rng, 16) == 0 else 1 + draw_below(rng, min(largest, 8))
    values[golden.START], values[golden.START_VL], values[golden.START_BLOCKS] = 1, vl, blocks
    link[L_BUSY] = blocks - 1


@inner
def _draw_any_inputs(state: golden.CCMarkerState, inputs: golden.Inputs, maximum: int, rng: NDArray[np.uint64]) -> None:
    """Draw every input at random."""
    values = inputs.values
    values[golden.FREE], values[golden.START] = draw_below(rng, 2), draw_below(rng, 2)
    values[golden.ASKS] = _lane_bits(state.data_vls, CERTAIN // 2, rng)
    values[golden.FITS] = _lane_bits(state.data_vls, CERTAIN // 2, rng)
    values[golden.START_VL] = draw_below(rng, 16) if draw_below(rng, 2) else draw_below(rng, state.data_vls)
    values[golden.START_BLOCKS] = draw_below(rng, 128)
    inputs.measure[draw_below(rng, state.data_vls)] = draw_below(rng, maximum + 1)


@kernel
def _fill(
    machine: CCMarkerMachine,
    link: NDArray[np.int64],
    probabilities: NDArray[np.int64],
    sizes: NDArray[np.int64],
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    rng: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    state, given, largest, most = machine.state, machine.input_values, sizes[0], sizes[1]
    for cycle in range(len(rows)):
        given.values[golden.W_ENABLE] = 0
        if forbidden_inputs:
            _draw_any_inputs(state, given, most, rng)
        else:
            if draw_below(rng, CERTAIN) < probabilities[C_MEASURE]:
                _draw_measure(state, given, most, rng)
            _run_link(state, given, link, probabilities, largest, rng)
        more = _MORE_AT_START if given.values[golden.START] != 0 else 1
        resets = draw_below(rng, CERTAIN) < more * probabilities[C_RESET]
        if draw_below(rng, CERTAIN) < more * probabilities[C_WRITE]:
            _draw_write(given, rng)
        _draw_flit(given, rng)
        link[L_STARTED] += given.values[golden.START]
        put_cc_marker(machine, rows[cycle], resets)
        run_cc_marker(machine, resets, expected[cycle])
        log_rules(event_log, machine.rules, cycle)
        if resets:
            link[L_BUSY] = 0


class CCMarkerPort(Stimulus):
    """Stimulus of the marker: an output port with random packets, occupancies and settings, with golden's outputs.

    Parameters
    ----------
    parameters : mapping
        Parameters of the component.
    phases : sequence of MarkerPhase
        Phases, in the order in which they run.
    seed : int
        Seed of the random choices; equal arguments give equal rows.
    inputs, outputs : mapping
        Position of every port in a row.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        phases: tuple[MarkerPhase, ...],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        super().__init__(phases, golden.RULES)
        self._machine = cc_marker_oracle(parameters, in_rows(inputs, outputs)).machine
        self._link, self._bits = np.zeros(2, np.int64), seeded_rng(seed)
        self._sizes = np.array([parameters["largest"], parameters["measure_blocks"]], np.int64)
        self.applicable = _applicable(parameters)

    @property
    def decisions(self) -> int:
        """Number of packets started so far."""
        return int(self._link[L_STARTED])

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: MarkerPhase = self.phases[index]
        chances = np.array(
            [phase.write, phase.ask, phase.fit, phase.start, phase.stall, phase.reset, phase.measure], np.int64
        )
        machine = self._machine._replace(rules=rules)
        _fill(machine, self._link, chances, self._sizes, phase.wild, self._bits, rows, expected, self.happened)


def _applicable(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that an instance can reach."""
    found = {rule.name for rule in golden.RULES}
    found -= {"out_of_reach"} if parameters["data_bits"] >= bits_to_fecn(BTH_BEHIND_GRH_AT) else {"grh_marked"}
    if not parameters["busy_blocks"]:
        found -= {"became_busy", "ceased_to_be_busy", "neither"}
    if not parameters["idle_blocks"]:
        found -= {"ceased_to_be_busy", "level_empty"}
    if parameters["idle_blocks"] == 1:
        found -= {"level_empty"}
    return frozenset(found)


_MOST, _HALF, _FEW = 15 * CERTAIN // 16, CERTAIN // 2, CERTAIN // 16
_FULL: dict[str, Any] = {"ask": _MOST, "fit": _MOST}


def _busy_idle_phases(parameters: Mapping[str, Any], cycles: int) -> list[MarkerPhase]:
    """Return about ``cycles`` cycles of phases in which the link repeatedly stops being busy and becomes busy again."""
    if not parameters["idle_blocks"]:
        return []
    above = parameters["level_blocks"] - parameters["busy_blocks"] + 50
    fall, rise = -(-above // parameters["idle_blocks"]), above + 200
    pair = (
        MarkerPhase(rise, write=200, **_FULL, name="becoming busy"),
        MarkerPhase(fall, **_FULL, start=0, name="ceasing to be busy"),
    )
    return list(pair) * (cycles // (rise + fall))


def marker_phases(parameters: Mapping[str, Any], cycles: int) -> tuple[MarkerPhase, ...]:
    """Return the phases of a run of ``cycles`` cycles: busy and idle links, with few or many changes of settings."""
    part = max(cycles // 16, 200)
    return cut(
        (
            MarkerPhase(50, write=_HALF, name="first settings"),
            MarkerPhase(part, write=200, **_FULL, name="full link"),
            *_busy_idle_phases(parameters, part),
            MarkerPhase(2 * part, write=200, ask=_MOST, fit=3 * CERTAIN // 4, stall=_FEW, name="heads wait"),
            MarkerPhase(2 * part, write=200, ask=_MOST, fit=_FEW, start=_MOST, name="little room"),
            MarkerPhase(part, write=100, ask=_HALF, fit=_HALF, start=_FEW, name="light load"),
            MarkerPhase(part, write=2000, **_FULL, name="often written"),
            MarkerPhase(part, write=_HALF, **_FULL, name="written all the time"),
            MarkerPhase(2 * part, write=20, **_FULL, name="seldom written"),
            MarkerPhase(part, write=_HALF // 4, **_FULL, reset=200, name="resets"),
            MarkerPhase(2 * part, wild=True, write=_FEW, reset=20, name="anything"),
            MarkerPhase(part, write=400, **_FULL, measure=CERTAIN, name="full link again"),
        ),
        cycles,
    )


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the qualification stimulus of the marker, which reaches every rule under every kind of load."""
    port = CCMarkerPort(parameters, phases=marker_phases(parameters, cycles), seed=seed, inputs=inputs, outputs=outputs)
    port.watch(
        crosses_cc_marker.crosses(parameters),
        crosses_cc_marker.EVENTS,
        inputs=inputs,
        outputs=outputs,
        judged_from_cycles=crosses_cc_marker.JUDGED_FROM_CYCLES,
    )
    return port
