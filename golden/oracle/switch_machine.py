"""A golden switch behind its ports: what it holds, and the rules that it counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records
from vlane.golden.engine.rule import Rule
from vlane.golden.links.room import Rooms
from vlane.golden.switches.inputs import Grant
from vlane.golden.switches.kinds import Switches
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.switches.packets import Packets

RING = 128
"""Cycles that are looked ahead: more than the largest packet has flits."""

RULES = (
    Rule("granted", "IBS-3, IBS-P2, OPAS-3", "a packet was granted"),
    Rule("started", "IBS-7", "a packet entered a link"),
    Rule("dropped", "IBS-10, OPAS-8", "a packet dropped: it has no output or no VL"),
    Rule("refused", "IBS-H1", "a packet was discarded: there is no room, or it is too large"),
    Rule("broken", "IBS-5, IBS-P3, OPAS-6", "a flit was missing, or a packet began or ended too early or too late"),
)
(GRANTED, STARTED, DROPPED, REFUSED, BROKEN) = range(len(RULES))

(CLOCK, FREE_SLOT, SLOTS_LEFT, TOP) = range(4)


class Arriving:
    """The packet that arrives at an input.

    Parameters
    ----------
    left : int
        Flits that are still to come, 0 if there is no packet.
    slot : int
        Where the next of them is kept; -1 if the packet was refused or dropped.
    packet : int
        Its number; -1 if it was refused.
    """

    left: Int32
    slot: Int32
    packet: Int32


class Shown:
    """What an output shows in a cycle.

    Parameters
    ----------
    lane : int
        The flit's lane + 1, 0 for nothing.
    first, last : int
        Whether it is a packet's first, or last, flit.
    slot : int
        Where it is kept.
    stamp : int
        Of a first flit: the VL or, in Omni-Path's form, the channel that its header gets.
    """

    lane: Int64
    first: Int64
    last: Int64
    slot: Int64
    stamp: Int64


class SwitchState(NamedTuple):
    """What a reset clears.

    Parameters
    ----------
    packets : Packets
        All packets inside.
    own : Rooms
        The input buffers.
    arriving : Records of Arriving, (ports,)
        What arrives at each input.
    tx : Records of Shown, (ports, RING)
        By cycle, what each output shows.
    back, said : array of int64, (ports, RING, 2)
        By cycle: VLs, as bits, of which blocks left an input, and how many of each; VL + 1 and limit of a flow-control
        packet.
    dropped : array of int64, (ports, RING)
        By cycle: why a packet drops.
    first_slot : array of int64, (packets,)
        Slot of each packet's first flit.
    next_slot : array of int64, (slots,)
        The slot behind each, of a packet or of the free ones; -1 for none.
    regs : array of int64, (4,)
        The cycle since reset; first free slot, free slots; LinearFDBTop.
    """

    packets: Packets
    own: Rooms
    arriving: Records[Arriving]
    tx: Records[Shown]
    back: NDArray[np.int64]
    said: NDArray[np.int64]
    dropped: NDArray[np.int64]
    first_slot: NDArray[np.int64]
    next_slot: NDArray[np.int64]
    regs: NDArray[np.int64]


class SwitchMachine(NamedTuple):
    """A switch behind its ports.

    Parameters
    ----------
    switches, fresh_switches : Switches
        Golden's input sides and allocation, and the same after power-on; the map to lanes is memory.
    out_ports, fresh_ports : OutputPorts
        Golden's output sides, and the same after power-on; a scheduler is reset by its own function.
    state, fresh : SwitchState
        The rest, and the same after power-on.
    lft : array of uint8, (LIDs,)
        The forwarding table as it is programmed, ports from 1: memory.
    written : array of int64, (4, 10)
        Inputs of the program ports of the forwarding table, then of the map, by cycle modulo 4.
    flits : array of uint64, (slots, words)
        Data of the flits inside.
    heard : array of int64, (ports, 2)
        Within a cycle: what an output hears of, as it counts: VLs, as bits, and blocks of each; or VL and limit of a
        flow-control packet, VL -1 for none.
    grants : Records of Grant
        Within a cycle.
    schedule_places, lft_places, map_places : array of int64, (elements, 2)
        Places of the program ports; elements of no bits if there is none.
    rx, heard_places, ready, tx, told_places, dropped_places : array of int64, (elements, 2)
        Places of the other ports, port by port.
    data_bits : int
        Of a flit.
    rules : array of int64
        How often each rule happened.
    """

    switches: Switches
    fresh_switches: Switches
    out_ports: OutputPorts
    fresh_ports: OutputPorts
    state: SwitchState
    fresh: SwitchState
    lft: NDArray[np.uint8]
    written: NDArray[np.int64]
    flits: NDArray[np.uint64]
    heard: NDArray[np.int64]
    grants: Records[Grant]
    schedule_places: NDArray[np.int64]
    lft_places: NDArray[np.int64]
    map_places: NDArray[np.int64]
    rx: NDArray[np.int64]
    heard_places: NDArray[np.int64]
    ready: NDArray[np.int64]
    tx: NDArray[np.int64]
    told_places: NDArray[np.int64]
    dropped_places: NDArray[np.int64]
    data_bits: int
    rules: NDArray[np.int64]
