"""Surroundings of an egress scheduler: the heads of the queues, credit, the link, and the program port.

A lane shows a head packet until granted, then the next packet. The link is paced (a packet occupies it for one cycle
per block) or ready at random. A table is a list of writes through the program port, followed by a swap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.random_bits import draw_below, draw_bits, seeded_rng
from vlane.golden.oracle.egress import (
    ENABLE,
    FITS,
    HOLD,
    INPUTS,
    READY,
    REQUEST,
    RST,
    SELECT,
    SWAP,
    EgressMachine,
    vl_of,
)
from vlane.tb.schedulers.traffic import CERTAIN, Statistics
from vlane.units import MAX_PACKET_BLOCKS

(P_LEAST, P_MOST, P_EXTREMES, P_IDLE_BITS, P_PACED, P_READY, P_HOLD, P_STALL, P_VL15, P_RESET, P_REWRITE) = range(11)
(T_REQUEST, T_FITS, T_BUSY, T_WRITE, T_TABLE, T_NOW, T_CHANCE, T_LEFT_OUT) = range(8)

_BLOCK_BITS = 7
_NOTHING, _, _, _VL15 = (int(code) for code in ListCode)


class Surroundings(NamedTuple):
    """State of the surroundings of one scheduler.

    Parameters
    ----------
    data_vls, lanes : int
        Number of data lanes, and of all lanes, VL15 included.
    blocks : array of int64, (lanes + 1,)
        Sizes of the heads in blocks, plus a spare entry that is 0.
    since : array of int64, (lanes,)
        Cycle in which each head appeared.
    regs : array of int64, (8,)
        Requests, credit, cycles until the link is free, the next write and the table being programmed, the cycle, a
        random number, and the mask by which writes are skipped.
    bits : array of uint64, (1,)
        State of the random sequence.
    """

    data_vls: int
    lanes: int
    blocks: NDArray[np.int64]
    since: NDArray[np.int64]
    regs: NDArray[np.int64]
    bits: NDArray[np.uint64]


def new_surroundings(machine: EgressMachine, seed: int) -> Surroundings:
    """Return empty queues with credit on all lanes and no programming in progress."""
    lanes = machine.lanes
    surroundings = Surroundings(
        machine.data_vls,
        lanes,
        machine.blocks,
        np.zeros(lanes, np.int64),
        np.array([0, (1 << lanes) - 1, 0, -1, 0, 0, 0, 0], np.int64),
        seeded_rng(seed),
    )
    clear(surroundings)
    return surroundings


def clear(surroundings: Surroundings) -> None:
    """Empty the queues, so that no forbidden packet is left."""
    surroundings.regs[T_REQUEST], surroundings.regs[T_FITS], surroundings.regs[T_BUSY] = (
        0,
        (1 << surroundings.lanes) - 1,
        0,
    )
    surroundings.blocks[:] = 1
    surroundings.blocks[surroundings.lanes] = 0


@inner
def draw_size(surroundings: Surroundings, chances: NDArray[np.int64]) -> int:
    """Draw the size of a packet."""
    if draw_below(surroundings.bits, CERTAIN) < chances[P_EXTREMES]:
        return 1 if draw_below(surroundings.bits, 2) else MAX_PACKET_BLOCKS
    return chances[P_LEAST] + draw_below(surroundings.bits, chances[P_MOST] - chances[P_LEAST] + 1)


@inner
def set_head(surroundings: Surroundings, lane: int, blocks: int) -> None:
    """Put a packet at the head of a lane."""
    surroundings.since[lane] = surroundings.regs[T_NOW]
    surroundings.blocks[lane] = blocks
    surroundings.regs[T_REQUEST] |= 1 << lane


@inner
def _arrivals(surroundings: Surroundings, chances: NDArray[np.int64]) -> None:
    """Give empty lanes packets, and occasionally toggle the credit of one lane."""
    regs, data_vls = surroundings.regs, surroundings.data_vls
    every = (1 << data_vls) - 1
    empty = ~regs[T_REQUEST] & every
    for _ in range(chances[P_IDLE_BITS]):
        if empty == 0:
            break
        empty &= draw_bits(surroundings.bits)
    if empty != 0:
        for lane in range(data_vls):
            if (empty >> lane) & 1:
                set_head(surroundings, lane, draw_size(surroundings, chances))
    if (
        surroundings.lanes > data_vls
        and not (regs[T_REQUEST] >> data_vls) & 1
        and draw_below(surroundings.bits, CERTAIN) < chances[P_VL15]
    ):
        set_head(surroundings, data_vls, draw_size(surroundings, chances))
    if chances[P_STALL]:
        chance = draw_bits(surroundings.bits)
        if chance % CERTAIN < chances[P_STALL]:
            regs[T_FITS] ^= 1 << ((chance >> 8) % data_vls)
    else:
        regs[T_FITS] |= every


@kernel
def before(
    surroundings: Surroundings,
    chances: NDArray[np.int64],
    wild: bool,  # noqa: FBT001 - kernels take positional arguments only
    writes: NDArray[np.int64],
    field_bits: NDArray[np.int64],
    given: NDArray[np.int64],
) -> None:
    """Draw the inputs of a cycle into ``given``. The sizes stay in ``around``.

    ``writes`` contains the tables, (tables, writes, 4 fields); ``field_bits`` the widths of the fields.
    """
    regs = surroundings.regs
    chance = draw_bits(surroundings.bits)
    regs[T_CHANCE] = chance
    for port in range(ENABLE, INPUTS):
        given[port] = 0
    if wild:
        every = (1 << surroundings.lanes) - 1
        regs[T_REQUEST], regs[T_FITS] = draw_bits(surroundings.bits) & every, draw_bits(surroundings.bits) & every
        for lane in range(surroundings.lanes):
            surroundings.blocks[lane] = draw_below(surroundings.bits, 1 << _BLOCK_BITS)
        word = draw_bits(surroundings.bits)
        given[ENABLE] = word & 1
        given[SWAP] = (word >> 1) & 15 == 0
        given[RST] = (word >> 5) & 0xFF == 0
        given[READY], given[HOLD] = chance & 3 != 0, (chance >> 3) & 7 == 0
        for field in range(4):
            given[SELECT + field] = draw_bits(surroundings.bits) & ((1 << field_bits[field]) - 1)
    else:
        _arrivals(surroundings, chances)
        at = regs[T_WRITE]
        if 0 <= at < writes.shape[1]:
            given[ENABLE] = (chance >> 40) & regs[T_LEFT_OUT] == 0
            for field in range(4):
                given[SELECT + field] = writes[regs[T_TABLE], at, field] & ((1 << field_bits[field]) - 1)
        given[SWAP] = at == writes.shape[1]
        given[RST] = (chance >> 24) & 0xFFFF < chances[P_RESET]
        given[HOLD] = (chance >> 8) & 0xFF < chances[P_HOLD]
        given[READY] = regs[T_BUSY] == 0 if chances[P_PACED] else chance & 0xFF < chances[P_READY]
    given[REQUEST], given[FITS] = regs[T_REQUEST], regs[T_FITS]


@kernel
def after(
    surroundings: Surroundings,
    chances: NDArray[np.int64],
    tables: int,
    given: NDArray[np.int64],
    lane: int,
    source: int,
    stats: Statistics,
) -> None:
    """Update the surroundings after a cycle: start the granted packet, advance time and programming."""
    regs = surroundings.regs
    if regs[T_BUSY] > 0:
        regs[T_BUSY] -= 1
    if lane >= 0 and given[READY] != 0:
        vl = vl_of(surroundings.data_vls, surroundings.lanes, lane)
        stats.decisions[0] += 1
        stats.packets[vl, source] += 1
        stats.blocks[vl, source] += surroundings.blocks[lane]
        stats.longest_wait[vl, source] = max(stats.longest_wait[vl, source], regs[T_NOW] - surroundings.since[lane])
        regs[T_BUSY] = surroundings.blocks[lane] - 1
        regs[T_REQUEST] &= ~(1 << lane)
    regs[T_NOW] += 1
    if regs[T_WRITE] >= 0:
        regs[T_WRITE] = -1 if given[SWAP] != 0 else regs[T_WRITE] + 1
    elif (regs[T_CHANCE] >> 16) & 0xFF < chances[P_REWRITE]:
        regs[T_WRITE], regs[T_TABLE] = 0, draw_below(surroundings.bits, tables)
        _leave_out(surroundings)
    if given[RST] != 0:
        regs[T_WRITE] = 0
        _leave_out(surroundings)


@inner
def _leave_out(surroundings: Surroundings) -> None:
    """Draw the share of a table's writes to skip: none, a half, three quarters or seven eighths."""
    surroundings.regs[T_LEFT_OUT] = (1 << ((surroundings.regs[T_CHANCE] >> 43) & 3)) - 1


@kernel
def count_waiting(surroundings: Surroundings, stats: Statistics) -> None:
    """Include the heads that are still waiting in the longest waits."""
    for lane in range(surroundings.lanes):
        if (surroundings.regs[T_REQUEST] >> lane) & 1:
            vl = vl_of(surroundings.data_vls, surroundings.lanes, lane)
            stats.longest_wait[vl, 0] = max(
                stats.longest_wait[vl, 0], surroundings.regs[T_NOW] - surroundings.since[lane]
            )
