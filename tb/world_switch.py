"""What surrounds one of golden's switches in a bench, and the rules that a run counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden.far_room import FarRoom
from vlane.golden.links import Links
from vlane.golden.packets import Packets
from vlane.golden.room import Rooms
from vlane.golden.rule import Rule
from vlane.golden.switches import Switches

__all__ = [
    "GRANTED",
    "NO_ROOM",
    "NO_VL",
    "ONE_FLIT",
    "PORT_0",
    "RING",
    "RULES",
    "SEVERAL",
    "STALLED",
    "STARTED",
    "TOLD",
    "UNKNOWN",
    "WAITED",
    "WRITES_LFT",
    "WRITES_MAP",
    "WRITES_NOTHING",
    "WRITES_TOP",
    "WRITTEN",
    "W_FIVE",
    "W_FOUR",
    "W_KIND",
    "W_ONE",
    "W_THREE",
    "W_TWO",
    "Surroundings",
]

RING = 128
"""Cycles that are looked ahead."""

(W_KIND, W_ONE, W_TWO, W_THREE, W_FOUR, W_FIVE) = range(6)
(WRITES_NOTHING, WRITES_LFT, WRITES_TOP, WRITES_MAP) = range(4)
"""What a table write goes to: the forwarding table, its top, or the map from levels or channels to lanes."""

RULES = (
    Rule("granted", "S3, O3", "a packet was granted"),
    Rule("several_granted", "S3, O3", "several packets were granted in a cycle"),
    Rule("one_flit", "S5, O6", "a one-flit packet was granted as the last flit of another crossed from its input"),
    Rule("started", "S7", "a packet entered a link"),
    Rule("waited", "S6", "a head found no room at the far end"),
    Rule("stalled", "S7", "a link stalled while a packet waited for it"),
    Rule("unknown_lid", "S10, O8", "a packet dropped: its DLID has no port"),
    Rule("no_vl", "S10, O8", "a packet dropped: no VL"),
    Rule("port_0", "S10, O8", "a packet dropped: it was for port 0"),
    Rule("no_room", "Hardware", "a packet was discarded: its sender kept no count of room, or it is too large"),
    Rule("table_written", "Hardware", "a table was written while packets were there"),
    Rule("limit_told", "C4", "a flow-control packet took the link while packets waited"),
)
(GRANTED, SEVERAL, ONE_FLIT, STARTED, WAITED, STALLED, UNKNOWN, NO_VL, PORT_0, NO_ROOM, WRITTEN, TOLD) = range(
    len(RULES)
)


class Surroundings(NamedTuple):
    """Golden's switch and what is around it.

    Parameters
    ----------
    switches, links, far, packets : Switches, Links, Rooms or Limits, Packets
        Golden; ``far`` is that of ``links``.
    lft : array of uint8, (LIDs,)
        The forwarding table as it is programmed, ports from 1.
    top : array of int64, (1,)
        Last LID that is looked up.
    up, own : Rooms
        What senders know of the input buffers, and the input buffers themselves.
    sending : array of int64, (ports, 6)
        Of each sender: flits left, lane, packet's number, flit's place in it, header without its stamp, and the stamp:
        the VL or, in Omni-Path's form, the channel.
    header, number : array of int64, (packets,)
        Of each packet in golden's pool.
    tx : array of int64, (ports, ring, 6)
        By cycle, what each output shows: lane + 1 (0 for nothing), last, number, place, header, stamp.
    back : array of int64, (ports, ring, 2)
        By cycle: lane and number of the blocks told on ``returned``.
    dropped : array of int64, (ports, ring)
        By cycle: why a packet drops.
    owed : array of int64, (ports, lanes)
        Blocks that the receiver behind each output holds.
    heard : array of int64, (ports, 3)
        Within a cycle: the lane that ``heard`` names, how many blocks, and how many of them the sender gets; or whether
        there is a flow-control packet, and its limit.
    said : array of int64, (ports, ring, 2)
        By cycle: the flow-control packet that each port shows, lane + 1 (0 for none) and limit.
    freed, known : array of int64, (ports, lanes)
        Blocks freed since the start: behind each output; at each input, as its sender was told.
    stalled : array of int64, (ports,)
        First cycle in which a packet may start on each output's link.
    written : array of int64, (4, 6)
        Table writes of the last cycles: what, and up to five numbers.
    rows : array of uint64, (4,)
        The row of SL2VL in each.
    grants : array of int64, (2 * ports + 2, 3)
        Within a cycle.
    regs : array of int64, (3,)
        The cycle; packets sent; packets started.
    """

    switches: Switches
    links: Links
    far: FarRoom
    packets: Packets
    lft: NDArray[np.uint8]
    top: NDArray[np.int64]
    up: Rooms
    own: Rooms
    sending: NDArray[np.int64]
    header: NDArray[np.int64]
    number: NDArray[np.int64]
    tx: NDArray[np.int64]
    back: NDArray[np.int64]
    dropped: NDArray[np.int64]
    owed: NDArray[np.int64]
    heard: NDArray[np.int64]
    said: NDArray[np.int64]
    freed: NDArray[np.int64]
    known: NDArray[np.int64]
    stalled: NDArray[np.int64]
    written: NDArray[np.int64]
    rows: NDArray[np.uint64]
    grants: NDArray[np.int64]
    regs: NDArray[np.int64]
