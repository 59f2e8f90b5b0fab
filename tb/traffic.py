"""What traffic of an egress scheduler is made of: phases, and what a phase gave each lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.units import MAX_PACKET_BLOCKS

__all__ = ["CERTAIN", "LANES", "Phase", "Statistics", "new_statistics"]

CERTAIN = 256
"""Chances are out of this."""

LANES = 16
"""Lanes that statistics have room for; VL15 is the last."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of traffic. Chances are out of 256 per cycle.

    Parameters
    ----------
    cycles : int
        Length.
    table : int
        Index of the table programmed and swapped in at its start; -1 goes on with what is there.
    least_blocks, most_blocks : int
        Packet sizes are drawn from these, inclusive.
    extremes : int
        Chance that a packet is of 1 or 66 blocks instead.
    idle_bits : int
        An empty lane gets a packet with chance 2**-idle_bits per cycle; 0 keeps every lane full.
    paced : bool
        The link carries one block per cycle; otherwise it is ready with chance ``ready``.
    ready, hold, stall, vl15, reset, rewrite : int
        Chances: link ready (not paced), flow-control packet due, a lane's credit turning, VL15 getting a
        packet, reset, and a new live table after the last swap.
    wild : bool
        Every input at random, also what the contract forbids.
    name : str
        For reports.
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


class Statistics(NamedTuple):
    """What a phase gave each lane.

    Parameters
    ----------
    blocks, packets : array of int64, (16 lanes, 4 lists)
        Granted, by lane (VL15 is 15) and list.
    longest_wait : array of int64, (16,)
        Most cycles a head packet waited, with or without credit, until it started or the phase ended.
    decisions : array of int64, (1,)
        Packets started.
    """

    blocks: NDArray[np.int64]
    packets: NDArray[np.int64]
    longest_wait: NDArray[np.int64]
    decisions: NDArray[np.int64]


def new_statistics() -> Statistics:
    """Return zeros."""
    shape = (LANES, 4)
    return Statistics(
        np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(1, np.int64),
    )
