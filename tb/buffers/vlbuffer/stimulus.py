"""Stimulus of the VL buffer: packets reserve space, are written flit by flit, and are read lane by lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.buffers import vlbuffer as golden
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import below, draw, seeded
from vlane.tb.buffers.vlbuffer import crosses as crosses_vlbuffer
from vlane.tb.machinery.native.crosses import Happened, note_rules
from vlane.tb.machinery.native.packing import clear_row, elements, pieces, put
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
    reserve, write, read : int
        Probabilities that a packet requests space, that a port writes, that a port reads.
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


class BufferSurroundings(NamedTuple):
    """State of the traffic around the buffer.

    Parameters
    ----------
    owed : array of int64, (vls,)
        Flits still to be written, of packets with a reservation.
    writes_to : array of int64, (writers,)
        Lane to which each write port writes.
    looks_at : array of int64, (readers,)
        Lane that each read port reads.
    write_count, read_count : array of int64
        Number of flits that each port writes or reads in this cycle.
    write_data : array of int64, (writers, write_flits)
        Flits, numbered in the order in which they are written.
    moved : array of int64, (1,)
        Flits written so far.
    """

    owed: NDArray[np.int64]
    writes_to: NDArray[np.int64]
    looks_at: NDArray[np.int64]
    write_count: NDArray[np.int64]
    read_count: NDArray[np.int64]
    write_data: NDArray[np.int64]
    moved: NDArray[np.int64]


@kernel
def _ports(
    state: golden.VLBufferState, around: BufferSurroundings, chances: NDArray[np.int64], bits: NDArray[np.uint64]
) -> tuple[int, int]:
    """Choose each port's actions within the contract, and return the reservation (lane, flits)."""
    vls = state.vls
    reserved_vl, flits = below(bits, vls), 0
    if below(bits, _CERTAIN) < chances[C_RESERVE]:
        flits = 1 + below(bits, state.mtu_flits)
        if below(bits, 3) == 0:
            flits = 1
        if below(bits, 16) == 0:
            flits |= 1 << below(bits, _RESERVE_BITS)  # refused sizes must exercise every bit
        if golden.fits(state, reserved_vl, flits):
            around.owed[reserved_vl] += flits
    for port in range(len(around.writes_to)):
        vl = around.writes_to[port]
        taken = port == 1 and around.writes_to[0] == vl
        if around.owed[vl] == 0 or taken or below(bits, 16) == 0:
            vl = below(bits, vls)
            for _ in range(vls):
                if around.owed[vl] != 0 and not (port == 1 and around.writes_to[0] == vl):
                    break
                vl = vl + 1 if vl + 1 < vls else 0
            around.writes_to[port] = vl
            taken = port == 1 and around.writes_to[0] == vl
        count = 0
        if not taken and below(bits, _CERTAIN) < chances[C_WRITE]:
            count = min(around.owed[vl], 1 + below(bits, state.write_flits))
        around.write_count[port] = count
        around.owed[vl] -= count
    for port in range(len(around.looks_at)):
        if below(bits, _CERTAIN) < chances[C_STAY]:
            around.looks_at[port] = below(bits, vls)
        other = port == 1 and around.looks_at[0] == around.looks_at[1]
        reads = below(bits, _CERTAIN) < chances[C_READ] and (not other or below(bits, 4) == 0)
        around.read_count[port] = below(bits, state.read_flits + 1) if reads else 0
    return reserved_vl, flits


@inner
def _put_flit(
    rows: NDArray[np.uint64], cycle: int, where: NDArray[np.int64], first: int, count: int, flit: int
) -> None:
    """Put a flit in pieces, each of them another function of the bits that golden holds."""
    for piece in range(count):
        put(
            rows,
            cycle,
            where,
            first + piece,
            (flit ^ (flit >> piece if piece else 0)) & ((1 << where[first + piece, 2]) - 1),
        )


@kernel
def _fill(
    state: golden.VLBufferState,
    around: BufferSurroundings,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - kernels take positional arguments only
    data_mask: int,
    pieces_each: int,
    bits: NDArray[np.uint64],
    ins: NDArray[np.int64],
    outs: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    happened: Happened,
) -> None:
    """Fill one row of inputs and of expected outputs per cycle."""
    vls, writes, reads = state.vls, state.write_flits, state.read_flits
    writers, readers = len(around.writes_to), len(around.looks_at)
    for cycle in range(len(rows)):
        clear_row(rows, cycle)
        clear_row(expected, cycle)
        resets = draw(bits) & 0xFFFF < chances[C_RESET]
        if wild:
            vl, flits = below(bits, 32), below(bits, 4) * below(bits, state.mtu_flits + 3)
            resets = below(bits, 512) == 0
            for port in range(writers):
                around.writes_to[port] = below(bits, 32 if below(bits, 4) == 0 else vls)
                around.write_count[port] = below(bits, 4)
            for port in range(readers):
                around.looks_at[port] = below(bits, 32 if below(bits, 4) == 0 else vls)
                around.read_count[port] = below(bits, 4)
        else:
            vl, flits = _ports(state, around, chances, bits)
        for port in range(writers):
            for index in range(writes):
                around.write_data[port, index] = draw(bits) & data_mask

        put(rows, cycle, ins, 0, resets)
        put(rows, cycle, ins, 1, flits)
        put(rows, cycle, ins, 2, vl)
        for port in range(writers):
            put(rows, cycle, ins, 3 + port, around.writes_to[port])
            put(rows, cycle, ins, 3 + writers + port, around.write_count[port])
            for index in range(writes):
                at = 3 + 2 * writers + (port * writes + index) * pieces_each
                _put_flit(rows, cycle, ins, at, pieces_each, around.write_data[port, index])
        at = 3 + 2 * writers + writers * writes * pieces_each
        for port in range(readers):
            put(rows, cycle, ins, at + port, around.looks_at[port])
            put(rows, cycle, ins, at + readers + port, around.read_count[port])
            put(expected, cycle, outs, 2 + port, golden.readable(state, around.looks_at[port]))
            for index in range(reads):
                flit = golden.shown(state, around.looks_at[port], index)
                first = 2 + readers + (port * reads + index) * pieces_each
                _put_flit(expected, cycle, outs, first, pieces_each, flit)
        at = 2 + readers + readers * reads * pieces_each
        for lane in range(vls):
            put(expected, cycle, outs, at + lane, golden.fits(state, lane, state.mtu_flits))
            put(expected, cycle, outs, at + vls + lane, state.held[lane])
            put(expected, cycle, outs, at + 2 * vls + lane, state.used[lane])
        put(expected, cycle, outs, 0, flits > 0 and vl < vls and golden.fits(state, vl, flits))
        discarded = golden.step(
            state,
            vl,
            flits,
            around.writes_to,
            around.write_count,
            around.write_data,
            around.looks_at,
            around.read_count,
            rules,
        )
        note_rules(happened, rules, cycle)
        put(expected, cycle, outs, 1, discarded)
        around.moved[0] += around.write_count.sum()
        if resets:
            golden.reset(state)
            around.owed[:] = 0


class BufferTraffic(Stimulus):
    """Golden with random traffic at its ports.

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
        vls, writers, readers = (parameters[name] for name in ("vls", "writers", "readers"))
        writes, reads = parameters["write_flits"], parameters["read_flits"]
        scalars = [("rst", 1), ("reserve_flits", 1), ("reserve_vl", 1), ("write_vl", writers), ("write_count", writers)]
        self._ins = np.concatenate(
            (
                elements(inputs, scalars),
                pieces(inputs, "write_data", writers * writes, _FLIT_BITS),
                elements(inputs, [("read_vl", readers), ("read_count", readers)]),
            )
        )
        self._outs = np.concatenate(
            (
                elements(outputs, [("accepted", 1), ("discarded", 1), ("readable", readers)]),
                pieces(outputs, "read_data", readers * reads, _FLIT_BITS),
                elements(outputs, [("room", vls), ("held", vls), ("used", vls)]),
            )
        )
        self._pieces = -(-parameters["data_bits"] // _FLIT_BITS)
        names = ("vls", "flits", "minimum", "maximum", "mtu_flits", "write_flits", "read_flits")
        self._state = golden.new_state(**{name: parameters[name] for name in names})
        self._around = BufferSurroundings(
            owed=np.zeros(vls, np.int64),
            writes_to=np.zeros(writers, np.int64),
            looks_at=np.zeros(readers, np.int64),
            write_count=np.zeros(writers, np.int64),
            read_count=np.zeros(readers, np.int64),
            write_data=np.zeros((writers, writes), np.int64),
            moved=np.zeros(1, np.int64),
        )
        self._mask = (1 << min(_FLIT_BITS, parameters["data_bits"])) - 1
        self._bits = seeded(seed)
        self.applicable = applicable(parameters)

    @property
    def decisions(self) -> int:
        """Flits written so far."""
        return int(self._around.moved[0])

    def _enter(self, index: int) -> None:
        """Reset the buffer after a wild phase, because the state of its packets is unknown then."""
        if index and self.phases[index - 1].wild:
            self._around.owed[:] = 0
            for ports in (self._around.writes_to, self._around.looks_at):
                ports[:] = 0

    def _run(self, index: int, rows: Words, expected: Words, rules: Counts) -> None:
        phase: BufferPhase = self.phases[index]
        chances = np.array([phase.reserve, phase.write, phase.read, phase.reset, phase.stay], np.int64)
        _fill(
            self._state,
            self._around,
            chances,
            phase.wild,
            self._mask,
            self._pieces,
            self._bits,
            self._ins,
            self._outs,
            rows,
            expected,
            rules,
            self.happened,
        )


def applicable(parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the rules that permitted traffic can reach in an instance with these parameters."""
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
    """Return phases of ``cycles`` cycles in total: filling, draining, balanced, light load, resets, random inputs."""
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
    """Return the stimulus that qualifies the buffer: it reaches every rule and every corner case."""
    phases = cut(buffer_phases(cycles), cycles)
    traffic = BufferTraffic(parameters, phases=phases, seed=seed, inputs=inputs, outputs=outputs)
    traffic.watch(crosses_vlbuffer.crosses(parameters), crosses_vlbuffer.EVENTS, inputs=inputs, outputs=outputs)
    return traffic
