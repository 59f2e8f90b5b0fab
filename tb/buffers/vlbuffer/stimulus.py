"""Stimulus of the VL buffer: packets reserve space, are written flit by flit, and are read lane by lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.buffers import vlbuffer as golden
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below, draw_bits, seeded_rng
from vlane.golden.oracle.buffer import BufferMachine, buffer_cycle, buffer_oracle, put_buffer
from vlane.tb.buffers.vlbuffer import crosses as crosses_vlbuffer
from vlane.tb.machinery.native.crosses import EventLog, log_rules
from vlane.tb.machinery.native.packing import in_rows, pieces, put
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Counts, Layout, Stimulus, cut

_CERTAIN = 256
_FLIT_BITS = 60
"""Bits of a flit that golden holds; the other bits of a wider one follow from them."""
_RESERVE_BITS = 10
(C_RESERVE, C_WRITE, C_READ, C_RESET, C_STAY) = range(5)


@dataclass(frozen=True, slots=True)
class BufferPhase:
    """A phase of traffic. Probabilities are in 1/256 per cycle, that of a reset in 1/65536.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    reserve : int
        Probability that a packet requests space.
    write : int
        Probability that a port writes.
    read : int
        Probability that a port reads.
    reset : int
        Probability of a reset.
    stay : int
        Probability that a read port changes to another lane.
    wild : bool
        Whether all inputs are random, including values that the contract forbids.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    reserve: int = _CERTAIN
    write: int = _CERTAIN
    read: int = _CERTAIN
    reset: int = 0
    stay: int = 64
    wild: bool = False
    name: str = ""


class BufferEnvironment(NamedTuple):
    """State of the traffic around the buffer.

    Parameters
    ----------
    owed : array of int64, (vls,)
        Flits still to be written, of packets with a reservation.
    moved : array of int64, (1,)
        Flits written so far.
    """

    owed: NDArray[np.int64]
    moved: NDArray[np.int64]


@kernel
def _ports(
    machine: BufferMachine, environment: BufferEnvironment, probabilities: NDArray[np.int64], rng: NDArray[np.uint64]
) -> tuple[int, int]:
    """Choose each port's actions within the contract, and return the reservation (lane, flits)."""
    state, vls = machine.state, machine.vls
    reserved_vl, flits = draw_below(rng, vls), 0
    if draw_below(rng, _CERTAIN) < probabilities[C_RESERVE]:
        flits = 1 + draw_below(rng, state.mtu_flits)
        if draw_below(rng, 3) == 0:
            flits = 1
        if draw_below(rng, 16) == 0:
            flits |= 1 << draw_below(rng, _RESERVE_BITS)  # refused sizes must exercise every bit
        if golden.fits(state, reserved_vl, flits):
            environment.owed[reserved_vl] += flits
    for port in range(len(machine.write_vl)):
        vl = machine.write_vl[port]
        taken = port == 1 and machine.write_vl[0] == vl
        if environment.owed[vl] == 0 or taken or draw_below(rng, 16) == 0:
            vl = draw_below(rng, vls)
            for _ in range(vls):
                if environment.owed[vl] != 0 and not (port == 1 and machine.write_vl[0] == vl):
                    break
                vl = vl + 1 if vl + 1 < vls else 0
            machine.write_vl[port] = vl
            taken = port == 1 and machine.write_vl[0] == vl
        count = 0
        if not taken and draw_below(rng, _CERTAIN) < probabilities[C_WRITE]:
            count = min(environment.owed[vl], 1 + draw_below(rng, state.write_flits))
        machine.write_count[port] = count
        environment.owed[vl] -= count
    for port in range(len(machine.read_vl)):
        if draw_below(rng, _CERTAIN) < probabilities[C_STAY]:
            machine.read_vl[port] = draw_below(rng, vls)
        other = port == 1 and machine.read_vl[0] == machine.read_vl[1]
        reads = draw_below(rng, _CERTAIN) < probabilities[C_READ] and (not other or draw_below(rng, 4) == 0)
        machine.read_count[port] = draw_below(rng, state.read_flits + 1) if reads else 0
    return reserved_vl, flits


@inner
def _put_flit(
    rows: NDArray[np.uint64], cycle: int, port_positions: NDArray[np.int64], first: int, count: int, flit: int
) -> None:
    """Put a flit in pieces, each of them another function of the bits that golden holds."""
    for piece in range(count):
        put(
            rows,
            cycle,
            port_positions,
            first + piece,
            (flit ^ (flit >> piece if piece else 0)) & ((1 << port_positions[first + piece, 2]) - 1),
        )


@kernel
def _fill(
    machine: BufferMachine,
    environment: BufferEnvironment,
    probabilities: NDArray[np.int64],
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    data_mask: int,
    pieces_each: int,
    rng: NDArray[np.uint64],
    data: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    event_log: EventLog,
) -> None:
    """Draw the inputs of each cycle, and run the oracle for the expected outputs."""
    state, vls = machine.state, machine.vls
    for cycle in range(len(rows)):
        resets = draw_bits(rng) & 0xFFFF < probabilities[C_RESET]
        if forbidden_inputs:
            vl, flits = draw_below(rng, 32), draw_below(rng, 4) * draw_below(rng, state.mtu_flits + 3)
            resets = draw_below(rng, 512) == 0
            for port in range(len(machine.write_vl)):
                machine.write_vl[port] = draw_below(rng, 32 if draw_below(rng, 4) == 0 else vls)
                machine.write_count[port] = draw_below(rng, 4)
            for port in range(len(machine.read_vl)):
                machine.read_vl[port] = draw_below(rng, 32 if draw_below(rng, 4) == 0 else vls)
                machine.read_count[port] = draw_below(rng, 4)
        else:
            vl, flits = _ports(machine, environment, probabilities, rng)
        put_buffer(machine, rows[cycle], resets, vl, flits)
        for flit in range(len(machine.write_vl) * state.write_flits):
            _put_flit(rows, cycle, data, flit * pieces_each, pieces_each, draw_bits(rng) & data_mask)
        buffer_cycle(machine, rows[cycle], expected[cycle])
        log_rules(event_log, machine.rules, cycle)
        environment.moved[0] += machine.write_count.sum()
        if resets:
            environment.owed[:] = 0


class BufferTraffic(Stimulus):
    """Stimulus of the VL buffer: random reservations, writes and reads, with golden's outputs.

    Parameters
    ----------
    parameters : mapping
        Parameters of the component.
    phases : sequence of BufferPhase
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
        phases: tuple[BufferPhase, ...],
        seed: int,
        inputs: Layout,
        outputs: Layout,
    ) -> None:
        super().__init__(phases, golden.RULES)
        flits = parameters["writers"] * parameters["write_flits"]
        self._machine = buffer_oracle(parameters, in_rows(inputs, outputs)).machine
        self._data, self._pieces = (
            pieces(inputs, "write_data", flits, _FLIT_BITS),
            -(-parameters["data_bits"] // _FLIT_BITS),
        )
        self._around = BufferEnvironment(np.zeros(parameters["vls"], np.int64), np.zeros(1, np.int64))
        self._mask = (1 << min(_FLIT_BITS, parameters["data_bits"])) - 1
        self._bits = seeded_rng(seed)
        self.applicable = applicable(parameters)

    @property
    def decisions(self) -> int:
        """Number of flits written so far."""
        return int(self._around.moved[0])

    def _enter(self, index: int) -> None:
        """Reset the buffer after a wild phase, because the state of its packets is unknown then."""
        if index and self.phases[index - 1].wild:
            self._around.owed[:] = 0
            for ports in (self._machine.write_vl, self._machine.read_vl):
                ports[:] = 0

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: BufferPhase = self.phases[index]
        chances = np.array([phase.reserve, phase.write, phase.read, phase.reset, phase.stay], np.int64)
        _fill(
            self._machine._replace(rules=rules),
            self._around,
            chances,
            phase.wild,
            self._mask,
            self._pieces,
            self._bits,
            self._data,
            rows,
            expected,
            self.happened,
        )


def applicable(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the rules that an instance can reach without forbidden inputs."""
    names = {rule.name for rule in golden.RULES} - {"not_reserved"}
    shared = parameters["flits"] > parameters["vls"] * parameters["minimum"]
    conditions = {
        "within_minimum": parameters["minimum"] > 0,
        "from_shared": parameters["maximum"] > parameters["minimum"],
        "shared_gone": shared and parameters["vls"] > 1 and parameters["form"] == "shared",
        "several_written": parameters["write_flits"] > 1,
        "several_read": parameters["read_flits"] > 1,
        "two_writers": parameters["writers"] > 1 and parameters["vls"] > 1,
        "two_readers": parameters["readers"] > 1 and parameters["vls"] > 1,
        "same_lane_refused": parameters["readers"] > 1,
    }
    return frozenset(names - {name for name, holds in conditions.items() if not holds})


def buffer_phases(cycles: int) -> tuple[BufferPhase, ...]:
    """Return the phases of a run of ``cycles`` cycles: filling, draining, balanced and light load, resets, random."""
    part = max(64, cycles // 48)
    once = (
        BufferPhase(part, read=80, name="filling"),
        BufferPhase(part, reserve=120, name="draining"),
        BufferPhase(2 * part, stay=200, name="balance"),
        BufferPhase(part, reserve=20, write=120, name="light load"),
        BufferPhase(part, write=100, read=100, reset=200, name="resets"),
        BufferPhase(part, stay=4, read=200, name="ports stay"),
        BufferPhase(part, wild=True, name="anything"),
        BufferPhase(1, reserve=0, write=0, read=0, reset=65536, name="reset"),
    )
    return tuple(once * 8)


def qualified(parameters: Mapping[str, Any], *, cycles: int, seed: int, inputs: Layout, outputs: Layout) -> Stimulus:
    """Return the qualification stimulus of the buffer, which reaches every rule and corner case."""
    phases = cut(buffer_phases(cycles), cycles)
    traffic = BufferTraffic(parameters, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    traffic.watch(crosses_vlbuffer.crosses(parameters), crosses_vlbuffer.EVENTS, inputs=inputs, outputs=outputs)
    return traffic
