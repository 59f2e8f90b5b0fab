"""Environment of an egress scheduler: the heads of the queues, credit, the link, and the program port.

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


class QueueEnvironment(NamedTuple):
    """State of the environment of one scheduler.

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


def new_environment(machine: EgressMachine, seed: int) -> QueueEnvironment:
    """Return empty queues with credit on all lanes and no programming in progress."""
    lanes = machine.lanes
    environment = QueueEnvironment(
        machine.data_vls,
        lanes,
        machine.blocks,
        np.zeros(lanes, np.int64),
        np.array([0, (1 << lanes) - 1, 0, -1, 0, 0, 0, 0], np.int64),
        seeded_rng(seed),
    )
    clear_queues(environment)
    return environment


def clear_queues(environment: QueueEnvironment) -> None:
    """Empty the queues, for example after a phase with packets that the contract forbids."""
    environment.regs[T_REQUEST], environment.regs[T_FITS], environment.regs[T_BUSY] = (
        0,
        (1 << environment.lanes) - 1,
        0,
    )
    environment.blocks[:] = 1
    environment.blocks[environment.lanes] = 0


@inner
def draw_size(environment: QueueEnvironment, probabilities: NDArray[np.int64]) -> int:
    """Draw a packet size in blocks, within the bounds of the phase."""
    if draw_below(environment.bits, CERTAIN) < probabilities[P_EXTREMES]:
        return 1 if draw_below(environment.bits, 2) else MAX_PACKET_BLOCKS
    return probabilities[P_LEAST] + draw_below(environment.bits, probabilities[P_MOST] - probabilities[P_LEAST] + 1)


@inner
def set_head(environment: QueueEnvironment, lane: int, blocks: int) -> None:
    """Put a packet of ``blocks`` blocks at the head of an empty lane."""
    environment.since[lane] = environment.regs[T_NOW]
    environment.blocks[lane] = blocks
    environment.regs[T_REQUEST] |= 1 << lane


@inner
def _draw_arrivals(environment: QueueEnvironment, probabilities: NDArray[np.int64]) -> None:
    """Give empty lanes packets, and occasionally toggle the credit of one lane."""
    regs, data_vls = environment.regs, environment.data_vls
    every = (1 << data_vls) - 1
    empty = ~regs[T_REQUEST] & every
    for _ in range(probabilities[P_IDLE_BITS]):
        if empty == 0:
            break
        empty &= draw_bits(environment.bits)
    if empty != 0:
        for lane in range(data_vls):
            if (empty >> lane) & 1:
                set_head(environment, lane, draw_size(environment, probabilities))
    if (
        environment.lanes > data_vls
        and not (regs[T_REQUEST] >> data_vls) & 1
        and draw_below(environment.bits, CERTAIN) < probabilities[P_VL15]
    ):
        set_head(environment, data_vls, draw_size(environment, probabilities))
    if probabilities[P_STALL]:
        chance = draw_bits(environment.bits)
        if chance % CERTAIN < probabilities[P_STALL]:
            regs[T_FITS] ^= 1 << ((chance >> 8) % data_vls)
    else:
        regs[T_FITS] |= every


@kernel
def drive_cycle(
    environment: QueueEnvironment,
    probabilities: NDArray[np.int64],
    forbidden_inputs: bool,  # noqa: FBT001 - kernels take positional arguments only
    writes: NDArray[np.int64],
    field_bits: NDArray[np.int64],
    inputs: NDArray[np.int64],
) -> None:
    """Draw the inputs of a cycle into ``inputs``, and the sizes of the heads into ``environment.blocks``.

    ``writes`` contains the tables, (tables, writes, 4 fields); ``field_bits`` the widths of the fields.
    """
    regs = environment.regs
    chance = draw_bits(environment.bits)
    regs[T_CHANCE] = chance
    for port in range(ENABLE, INPUTS):
        inputs[port] = 0
    if forbidden_inputs:
        every = (1 << environment.lanes) - 1
        regs[T_REQUEST], regs[T_FITS] = draw_bits(environment.bits) & every, draw_bits(environment.bits) & every
        for lane in range(environment.lanes):
            environment.blocks[lane] = draw_below(environment.bits, 1 << _BLOCK_BITS)
        word = draw_bits(environment.bits)
        inputs[ENABLE] = word & 1
        inputs[SWAP] = (word >> 1) & 15 == 0
        inputs[RST] = (word >> 5) & 0xFF == 0
        inputs[READY], inputs[HOLD] = chance & 3 != 0, (chance >> 3) & 7 == 0
        for field in range(4):
            inputs[SELECT + field] = draw_bits(environment.bits) & ((1 << field_bits[field]) - 1)
    else:
        _draw_arrivals(environment, probabilities)
        at = regs[T_WRITE]
        if 0 <= at < writes.shape[1]:
            inputs[ENABLE] = (chance >> 40) & regs[T_LEFT_OUT] == 0
            for field in range(4):
                inputs[SELECT + field] = writes[regs[T_TABLE], at, field] & ((1 << field_bits[field]) - 1)
        inputs[SWAP] = at == writes.shape[1]
        inputs[RST] = (chance >> 24) & 0xFFFF < probabilities[P_RESET]
        inputs[HOLD] = (chance >> 8) & 0xFF < probabilities[P_HOLD]
        inputs[READY] = regs[T_BUSY] == 0 if probabilities[P_PACED] else chance & 0xFF < probabilities[P_READY]
    inputs[REQUEST], inputs[FITS] = regs[T_REQUEST], regs[T_FITS]


@kernel
def apply_grant(
    environment: QueueEnvironment,
    probabilities: NDArray[np.int64],
    tables: int,
    inputs: NDArray[np.int64],
    lane: int,
    source: int,
    stats: Statistics,
) -> None:
    """Remove the granted packet, update statistics, and advance time and programming by a cycle."""
    regs = environment.regs
    if regs[T_BUSY] > 0:
        regs[T_BUSY] -= 1
    if lane >= 0 and inputs[READY] != 0:
        vl = vl_of(environment.data_vls, environment.lanes, lane)
        stats.decisions[0] += 1
        stats.packets[vl, source] += 1
        stats.blocks[vl, source] += environment.blocks[lane]
        stats.longest_wait[vl, source] = max(stats.longest_wait[vl, source], regs[T_NOW] - environment.since[lane])
        regs[T_BUSY] = environment.blocks[lane] - 1
        regs[T_REQUEST] &= ~(1 << lane)
    regs[T_NOW] += 1
    if regs[T_WRITE] >= 0:
        regs[T_WRITE] = -1 if inputs[SWAP] != 0 else regs[T_WRITE] + 1
    elif (regs[T_CHANCE] >> 16) & 0xFF < probabilities[P_REWRITE]:
        regs[T_WRITE], regs[T_TABLE] = 0, draw_below(environment.bits, tables)
        _draw_skipped_writes(environment)
    if inputs[RST] != 0:
        regs[T_WRITE] = 0
        _draw_skipped_writes(environment)


@inner
def _draw_skipped_writes(environment: QueueEnvironment) -> None:
    """Draw the share of a table's writes to skip: none, a half, three quarters or seven eighths."""
    environment.regs[T_LEFT_OUT] = (1 << ((environment.regs[T_CHANCE] >> 43) & 3)) - 1


@kernel
def count_waiting(environment: QueueEnvironment, stats: Statistics) -> None:
    """Update ``longest_wait`` with the waits of heads that have not been granted."""
    for lane in range(environment.lanes):
        if (environment.regs[T_REQUEST] >> lane) & 1:
            vl = vl_of(environment.data_vls, environment.lanes, lane)
            stats.longest_wait[vl, 0] = max(
                stats.longest_wait[vl, 0], environment.regs[T_NOW] - environment.since[lane]
            )
