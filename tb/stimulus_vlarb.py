"""Traffic for the VL arbiter, closed around the golden model: rows of inputs, and what must come out.

A lane shows a head packet until it is granted; then its next one. The link is paced (a packet holds it for
its blocks) or ready at random. Tables are written through the shadow bank while traffic runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden import vlarb as golden
from vlane.golden.kernel import kernel
from vlane.golden.vlarb_rules import RULES
from vlane.tb.model import Field
from vlane.tb.random_bits import below, draw, seeded
from vlane.tb.traffic import CERTAIN, LANES, Phase, Statistics, new_statistics

from vlane.units import MAX_PACKET_BLOCKS
from vlane.vlarb import VL15, VLArbTable

__all__ = ["INPUTS", "OUTPUTS", "VLArbTraffic"]

INPUTS = ("rst", "heads__request", "heads__fits", "heads__blocks", "ready", "hold_data", "program__enable",
          "program__select", "program__index", "program__vl", "program__weight", "swap")  # fmt: skip
"""Order in which the kernel knows the inputs."""

OUTPUTS = ("grant", "vl", "list", "blocks", "swap_pending", "unreachable", "bad_entries")
"""Order in which the kernel knows the outputs."""

(RST, REQUEST, FITS, BLOCKS, READY, HOLD, ENABLE, SELECT, INDEX, VL, WEIGHT, SWAP) = range(len(INPUTS))
(GRANT, OUT_VL, OUT_LIST, OUT_BLOCKS, OUT_PENDING, OUT_UNREACHABLE, OUT_BAD) = range(len(OUTPUTS))
_BLOCK_BITS = 7
_WORD_BITS = 64


(P_LEAST, P_MOST, P_EXTREMES, P_IDLE_BITS, P_PACED, P_READY, P_HOLD, P_STALL, P_VL15, P_RESET, P_REWRITE) = range(11)
(T_BUSY, T_WRITE, T_TABLE, T_NOW) = range(4)


class Traffic(NamedTuple):
    """What surrounds the arbiter: the queues' heads, the link and the programmer."""

    request: NDArray[np.int64]
    fits: NDArray[np.int64]
    blocks: NDArray[np.int64]
    packed: NDArray[np.uint64]
    since: NDArray[np.int64]
    regs: NDArray[np.int64]
    bits: NDArray[np.uint64]


@kernel
def _pack(traffic: Traffic, lane: int) -> None:
    """Keep the sizes as the port has them, 7 bits a lane, in two words."""
    word, bit = lane * _BLOCK_BITS // _WORD_BITS, lane * _BLOCK_BITS % _WORD_BITS
    size, mask = np.uint64(traffic.blocks[lane]), np.uint64((1 << _BLOCK_BITS) - 1)
    traffic.packed[word] = (traffic.packed[word] & ~(mask << np.uint64(bit))) | (size << np.uint64(bit))
    if bit + _BLOCK_BITS > _WORD_BITS:
        over = np.uint64(_WORD_BITS - bit)
        traffic.packed[word + 1] = (traffic.packed[word + 1] & ~(mask >> over)) | (size >> over)


@kernel
def _new_head(traffic: Traffic, lane: int, chances: NDArray[np.int64]) -> None:
    traffic.since[lane] = traffic.regs[T_NOW]
    if below(traffic.bits, CERTAIN) < chances[P_EXTREMES]:
        traffic.blocks[lane] = 1 if below(traffic.bits, 2) else MAX_PACKET_BLOCKS
    else:
        traffic.blocks[lane] = chances[P_LEAST] + below(traffic.bits, chances[P_MOST] - chances[P_LEAST] + 1)
    _pack(traffic, lane)


@kernel
def _arrivals(traffic: Traffic, data_vls: int, lanes: int, chances: NDArray[np.int64]) -> None:
    """Give empty lanes packets, and turn the credit of one lane now and then."""
    empty = ~traffic.request[0] & ((1 << data_vls) - 1)
    for _ in range(chances[P_IDLE_BITS]):
        if empty == 0:
            break
        empty &= draw(traffic.bits)
    if empty != 0:
        for lane in range(data_vls):
            if (empty >> lane) & 1:
                _new_head(traffic, lane, chances)
        traffic.request[0] |= empty
    if lanes > data_vls and not (traffic.request[0] >> data_vls) & 1 and below(traffic.bits, CERTAIN) < chances[P_VL15]:
        _new_head(traffic, data_vls, chances)
        traffic.request[0] |= 1 << data_vls
    if chances[P_STALL]:
        chance = draw(traffic.bits)
        if chance % CERTAIN < chances[P_STALL]:
            traffic.fits[0] ^= 1 << ((chance >> 8) % data_vls)
    else:
        traffic.fits[0] |= (1 << data_vls) - 1


@kernel
def _write_of(traffic: Traffic, tables: NDArray[np.int64], limits: NDArray[np.int64]) -> tuple[int, int, int, int, int]:
    """Return the next write of the table being programmed: high, low, then the limit."""
    entries = tables.shape[2]
    at, table = traffic.regs[T_WRITE], traffic.regs[T_TABLE]
    if at < 0 or at > 2 * entries:
        return 0, 0, 0, 0, 0
    if at == 2 * entries:
        return 1, golden.SELECT_LIMIT, 0, 0, limits[table]
    which, entry = at // entries, at % entries
    return 1, which, entry, tables[table, which, entry, 0], tables[table, which, entry, 1]


@kernel
def _put(rows: NDArray[np.uint64], cycle: int, fields: NDArray[np.int64], port: int, value: int) -> None:
    """Add a port of up to 64 bits to a row of zeros; most are 0 most of the time."""
    if value != 0:
        rows[cycle, fields[port, 0]] |= np.uint64(value) << np.uint64(fields[port, 1])


@kernel
def _account(traffic: Traffic, lane: int, vl: int, source: int, stats: Statistics) -> None:
    stats.decisions[0] += 1
    stats.packets[vl, source] += 1
    stats.blocks[vl, source] += traffic.blocks[lane]
    stats.longest_wait[vl] = max(stats.longest_wait[vl], traffic.regs[T_NOW] - traffic.since[lane])


@kernel
def _fill(
    state: golden.VLArbState,
    data_vls: int,
    lanes: int,
    traffic: Traffic,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    tables: NDArray[np.int64],
    limits: NDArray[np.int64],
    given: NDArray[np.int64],
    wanted: NDArray[np.int64],
    rows: NDArray[np.uint64],
    expected: NDArray[np.uint64],
    rules: NDArray[np.int64],
    stats: Statistics,
) -> None:
    """Write one row of inputs and of expected outputs per cycle."""
    missing, bad = golden.unreachable(state, data_vls), golden.bad_entries(state, data_vls)
    regs = traffic.regs
    for cycle in range(len(rows)):
        chance = draw(traffic.bits)
        if wild:
            traffic.request[0], traffic.fits[0] = draw(traffic.bits) & 0xFFFF, draw(traffic.bits) & 0xFFFF
            for lane in range(lanes):
                traffic.blocks[lane] = below(traffic.bits, 128)
                _pack(traffic, lane)
            word = draw(traffic.bits)
            write = (word & 1, (word >> 1) & 3, (word >> 3) & 63, (word >> 9) & 15, (word >> 13) & 255)
            swap = (word >> 21) & 15 == 0
            resets = (word >> 27) & 0x1FF == 0
            ready, hold = chance & 3 != 0, (chance >> 3) & 7 == 0
        else:
            _arrivals(traffic, data_vls, lanes, chances)
            write = _write_of(traffic, tables, limits)
            swap = regs[T_WRITE] == 2 * tables.shape[2] + 1
            resets = (chance >> 24) & 0xFFFF < chances[P_RESET]
            hold = (chance >> 8) & 0xFF < chances[P_HOLD]
            ready = regs[T_BUSY] == 0 if chances[P_PACED] else chance & 0xFF < chances[P_READY]
        request, fits = traffic.request[0] & ((1 << lanes) - 1), traffic.fits[0] & ((1 << lanes) - 1)
        pending = state.regs[golden.SWAP_PENDING]
        swaps = ready and (swap or pending != 0)
        vl, source = golden.step(
            state, data_vls, lanes > data_vls, request, fits, traffic.blocks, ready, hold, write, swap, rules
        )
        granted = source != 0
        lane = min(vl, data_vls)

        for word in range(rows.shape[1]):
            rows[cycle, word] = 0
        for word in range(expected.shape[1]):
            expected[cycle, word] = 0
        rows[cycle, given[BLOCKS, 0]] = traffic.packed[0] << np.uint64(given[BLOCKS, 1])
        if lanes * _BLOCK_BITS > _WORD_BITS:
            rows[cycle, given[BLOCKS, 0] + 1] = traffic.packed[1]
        _put(rows, cycle, given, RST, resets)
        _put(rows, cycle, given, REQUEST, request)
        _put(rows, cycle, given, FITS, fits)
        _put(rows, cycle, given, READY, ready)
        _put(rows, cycle, given, HOLD, hold)
        _put(rows, cycle, given, SWAP, swap)
        for field in range(5):
            _put(rows, cycle, given, ENABLE + field, write[field])
        _put(expected, cycle, wanted, GRANT, granted)
        _put(expected, cycle, wanted, OUT_VL, vl)
        _put(expected, cycle, wanted, OUT_LIST, source)
        _put(expected, cycle, wanted, OUT_BLOCKS, traffic.blocks[lane] if granted else 0)
        _put(expected, cycle, wanted, OUT_PENDING, pending)
        _put(expected, cycle, wanted, OUT_UNREACHABLE, missing)
        _put(expected, cycle, wanted, OUT_BAD, bad)

        if regs[T_BUSY] > 0:
            regs[T_BUSY] -= 1
        if granted and ready:
            _account(traffic, lane, vl, source, stats)
            regs[T_BUSY] = traffic.blocks[lane] - 1
            traffic.request[0] &= ~(1 << lane)
        regs[T_NOW] += 1
        if regs[T_WRITE] >= 0:
            regs[T_WRITE] += 1
            if swap:
                regs[T_WRITE] = -1
        elif (chance >> 16) & 0xFF < chances[P_REWRITE]:
            regs[T_WRITE], regs[T_TABLE] = 0, below(traffic.bits, len(tables))
        if resets:
            golden.reset(state)
            regs[T_WRITE] = 0
        if swaps or resets:
            missing, bad = golden.unreachable(state, data_vls), golden.bad_entries(state, data_vls)
    for lane in range(lanes):
        if (traffic.request[0] >> lane) & 1:
            vl = lane if lane < data_vls else VL15
            stats.longest_wait[vl] = max(stats.longest_wait[vl], traffic.regs[T_NOW] - traffic.since[lane])


class VLArbTraffic:
    """A source of rows for the lockstep: golden, its surroundings, and a plan of phases.

    Parameters
    ----------
    data_vls, entries : int
        Parameters of the arbiter.
    vl15 : bool
        Whether it has the VL15 requester.
    tables : sequence of VLArbTable
        What phases and live rewrites choose from; padded with empty entries.
    phases : sequence of Phase
        Run in order.
    seed : int
        Two sources with equal arguments give equal rows.
    inputs, outputs : mapping
        Where every port is in its row.

    Raises
    ------
    ValueError
        If a table has more entries than the arbiter, or a phase names a table that is not there.
    """

    def __init__(
        self,
        *,
        data_vls: int,
        entries: int,
        vl15: bool,
        tables: tuple[VLArbTable, ...],
        phases: tuple[Phase, ...],
        seed: int,
        inputs: dict[str, Field],
        outputs: dict[str, Field],
    ) -> None:
        if any(phase.table >= len(tables) for phase in phases):
            raise ValueError(f"a phase must name one of the {len(tables)} tables")
        self.data_vls, self.lanes = data_vls, data_vls + vl15
        self.phases = phases
        self.rules = np.zeros(len(RULES), np.int64)
        self._forbidden = np.zeros(len(RULES), np.int64)
        self.statistics = [new_statistics() for _ in phases]
        self._state = golden.new_state(entries)
        self._tables, self._limits = _as_arrays(tables, entries)
        self._given = np.array([(inputs[name].word, inputs[name].shift) for name in INPUTS], np.int64)
        self._wanted = np.array([(outputs[name].word, outputs[name].shift) for name in OUTPUTS], np.int64)
        self._traffic = Traffic(
            np.zeros(1, np.int64),
            np.full(1, (1 << self.lanes) - 1, np.int64),
            np.ones(LANES, np.int64),
            np.zeros(2, np.uint64),
            np.zeros(LANES, np.int64),
            np.array([0, -1, 0, 0], np.int64),
            seeded(seed),
        )
        self._phase, self._done = 0, 0
        self._pack_all()

    def _pack_all(self) -> None:
        for lane in range(self.lanes):
            _pack(self._traffic, lane)

    @property
    def cycles(self) -> int:
        """Cycles of the whole plan."""
        return sum(phase.cycles for phase in self.phases)

    @property
    def decisions(self) -> int:
        """Packets started so far."""
        return sum(int(stats.decisions[0]) for stats in self.statistics)

    def rule_counts(self) -> dict[str, int]:
        """Return how often each rule happened so far, wild phases apart."""
        return {rule.name: int(count) for rule, count in zip(RULES, self.rules, strict=True)}

    def _enter(self, phase: Phase) -> None:
        """Start the waits of a phase anew; after a wild one nothing forbidden is left in the queues."""
        traffic = self._traffic
        traffic.since[:] = traffic.regs[T_NOW]
        if self._phase and self.phases[self._phase - 1].wild:
            traffic.request[0], traffic.fits[0] = 0, (1 << self.lanes) - 1
            traffic.blocks[:] = 1
            self._pack_all()
            traffic.regs[T_BUSY] = 0
        if phase.table >= 0:
            traffic.regs[T_WRITE], traffic.regs[T_TABLE] = 0, phase.table

    def fill(self, rows: NDArray[np.uint64], expected: NDArray[np.uint64]) -> int:
        """Fill rows from the start and return how many; 0 at the end of the plan. A phase ends a batch."""
        while self._phase < len(self.phases) and self._done == self.phases[self._phase].cycles:
            self._phase, self._done = self._phase + 1, 0
        if self._phase == len(self.phases):
            return 0
        phase = self.phases[self._phase]
        if self._done == 0:
            self._enter(phase)
        count = min(len(rows), phase.cycles - self._done)
        chances = np.array(
            [phase.least_blocks, phase.most_blocks, phase.extremes, phase.idle_bits, phase.paced, phase.ready,
             phase.hold, phase.stall, phase.vl15, phase.reset, phase.rewrite], np.int64,
        )  # fmt: skip
        _fill(
            self._state, self.data_vls, self.lanes, self._traffic, chances, phase.wild, self._tables, self._limits,
            self._given, self._wanted, rows[:count], expected[:count],
            self._forbidden if phase.wild else self.rules, self.statistics[self._phase],
        )  # fmt: skip
        self._done += count
        return count


def _as_arrays(tables: tuple[VLArbTable, ...], entries: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    packed = np.zeros((len(tables), 2, entries, 2), np.int64)
    for index, table in enumerate(tables):
        for which, listed in enumerate((table.high, table.low)):
            if len(listed) > entries:
                raise ValueError(f"a table must have at most {entries} entries per list, not {len(listed)}")
            if listed:
                packed[index, which, : len(listed)] = listed
    return packed, np.array([table.limit_of_high_priority for table in tables], np.int64)
