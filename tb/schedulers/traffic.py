"""Phases of an egress scheduler's traffic, and statistics of the service of each lane."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.units import MAX_PACKET_BLOCKS

CERTAIN = 256
"""Denominator of all probabilities."""

LANES = 32
"""Number of lanes in the statistics."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of traffic. Probabilities are in 1/256 per cycle.

    Parameters
    ----------
    cycles : int
        Length in cycles.
    table : int
        Index of the table programmed and swapped in at the start; -1 keeps the current one.
    least_blocks, most_blocks : int
        Smallest and largest packet, in blocks.
    extremes : int
        Probability that a packet has 1 or 66 blocks instead.
    idle_bits : int
        An empty lane gets a packet with probability 2**-idle_bits per cycle; 0 keeps every lane full.
    paced : bool
        Whether the link carries one block per cycle; otherwise it is ready with probability ``ready``.
    ready : int
        Probability that the link is ready, if the link is not paced.
    hold : int
        Probability that a flow-control packet is due.
    stall : int
        Probability that a lane's credit toggles.
    vl15 : int
        Probability of a new VL15 packet.
    reset : int
        Probability of a reset.
    rewrite : int
        Probability of a new table after the last swap.
    wild : bool
        Whether every input is random, including values that the contract forbids.
    name : str
        Name of the phase in reports.
    """

    cycles: int
    table: int = -1
    least_blocks: int = 1
    most_blocks: int = MAX_PACKET_BLOCKS
    extremes: int = 0
    idle_bits: int = 0
    paced: bool = False
    ready: int = CERTAIN
    hold: int = 0
    stall: int = 0
    vl15: int = 0
    reset: int = 0
    rewrite: int = 0
    wild: bool = False
    name: str = ""


def varied_phases(tables: Iterable[int], cycles_each: int) -> list[Phase]:
    """Return phases of every kind of traffic for each table, 8 * ``cycles_each`` cycles per table."""
    phases = []
    for table in tables:
        phases += [
            Phase(cycles_each, table, name="back to back", extremes=64),
            Phase(cycles_each, name="idle lanes", idle_bits=3 + table % 4, extremes=64, hold=8, vl15=2),
            Phase(
                cycles_each,
                name="stalls and resets",
                ready=160,
                idle_bits=2,
                hold=24,
                stall=48,
                vl15=6,
                reset=64,
                rewrite=4,
            ),
            Phase(cycles_each, table, name="small packets", most_blocks=3, idle_bits=table % 2, stall=8),
            Phase(cycles_each, name="few lanes", least_blocks=20, most_blocks=40, idle_bits=7, rewrite=2),
            Phase(2 * cycles_each, name="anything", wild=True),
            Phase(cycles_each, table, name="paced", most_blocks=4, paced=True, rewrite=16, stall=16, hold=8),
        ]
    return phases


class Statistics(NamedTuple):
    """Statistics of a phase.

    Parameters
    ----------
    blocks, packets : array of int64, (32 lanes, 4 lists)
        Blocks and packets granted, by VL and list.
    longest_wait : array of int64, (32 lanes, 4 lists)
        Longest wait of a head packet in cycles, with or without credit: until it started, by the list of its grant;
        list 0 also includes waits until the end of the phase.
    decisions : array of int64, (1,)
        Number of packets started.
    """

    blocks: NDArray[np.int64]
    packets: NDArray[np.int64]
    longest_wait: NDArray[np.int64]
    decisions: NDArray[np.int64]


def new_statistics() -> Statistics:
    """Return zeroed statistics."""
    shape = (LANES, 4)
    return Statistics(
        np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(1, np.int64)
    )
