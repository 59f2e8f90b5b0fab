"""State of a switch oracle, and the rules that it counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Int64, Records
from vlane.golden.engine.rule import Rule
from vlane.golden.links.room import BufferOccupancy
from vlane.golden.switches.inputs import Grant
from vlane.golden.switches.kinds import Switches
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.switches.packets import Packets

RING = 128
"""Length of the output schedule in cycles, more than the flits of the largest packet."""

RULES = (
    Rule("granted", "IBS-3, IBS-P2, OPAS-3", "a packet was granted"),
    Rule("started", "IBS-7", "a packet entered a link"),
    Rule("dropped", "IBS-10, OPAS-8", "a packet was dropped: no output or no VL"),
    Rule("refused", "IBS-H1", "a packet was discarded: no buffer space, or too large"),
    Rule("broken", "IBS-5, IBS-P3, OPAS-6", "a flit was missing, or a packet began or ended too early or too late"),
)
(GRANTED, STARTED, DROPPED, REFUSED, BROKEN) = range(len(RULES))

(CLOCK, FREE_SLOT, SLOTS_LEFT, TOP) = range(4)


class ArrivingPacket:
    """The packet that arrives at an input.

    Parameters
    ----------
    flits_left : int
        Number of flits still to arrive; 0 for no packet.
    slot : int
        Slot for the next flit; -1 if the packet was refused or dropped.
    packet : int
        Packet number; -1 if the packet was refused.
    """

    flits_left: Int32
    slot: Int32
    packet: Int32


class OutgoingFlit:
    """Flit that an output sends in a cycle.

    Parameters
    ----------
    lane : int
        Lane + 1 of the flit; 0 for no flit.
    first, last : int
        Whether the flit is the first or last of its packet.
    slot : int
        Slot of the flit's data.
    stamp : int
        For a first flit: VL or, for Omni-Path, channel to write into the header.
    """

    lane: Int64
    first: Int64
    last: Int64
    slot: Int64
    stamp: Int64


class SwitchState(NamedTuple):
    """State that a reset clears.

    Parameters
    ----------
    packets : Packets
        Packets inside the switch.
    input_buffers : BufferOccupancy
        Input buffers.
    arriving : Records of ArrivingPacket, (ports,)
        Packet that arrives at each input.
    tx : Records of OutgoingFlit, (ports, RING)
        Flit that each output sends, by cycle.
    freed_lanes : array of int64, (ports, RING, 2)
        By cycle: bit mask of VLs whose blocks left an input, and blocks of each.
    limit_sent : array of int64, (ports, RING, 2)
        By cycle: VL + 1 and limit of a flow-control packet.
    dropped : array of int64, (ports, RING)
        Drop cause, by cycle.
    first_slot : array of int64, (packets,)
        Slot of each packet's first flit.
    next_slot : array of int64, (slots,)
        Next slot of the same packet or of the free list; -1 for none.
    regs : array of int64, (4,)
        Cycles since reset; first free slot; number of free slots; LinearFDBTop.
    """

    packets: Packets
    input_buffers: BufferOccupancy
    arriving: Records[ArrivingPacket]
    tx: Records[OutgoingFlit]
    freed_lanes: NDArray[np.int64]
    limit_sent: NDArray[np.int64]
    dropped: NDArray[np.int64]
    first_slot: NDArray[np.int64]
    next_slot: NDArray[np.int64]
    regs: NDArray[np.int64]


class SwitchMachine(NamedTuple):
    """A switch behind its ports.

    Parameters
    ----------
    switches, reset_switches : Switches
        Golden's input ports and allocation, now and after power-on; the SL2VL or channel map is memory.
    out_ports, reset_ports : OutputPorts
        Golden's output ports, now and after power-on; schedulers have their own reset function.
    state, reset_state : SwitchState
        Other state, now and after power-on.
    lft : array of uint8, (LIDs,)
        Forwarding table as programmed, ports from 1; memory.
    written : array of int64, (4, 10)
        Program-port inputs of the forwarding table and of the map, by cycle modulo 4.
    flits : array of uint64, (slots, words)
        Data of the flits inside the switch.
    received_credit : array of int64, (ports, 2)
        Scratch of a cycle: credits received by each output. Bit mask of VLs and blocks of each; or VL (-1 for none) and
        limit of a flow-control packet.
    grants : Records of Grant
        Scratch of a cycle: grants.
    schedule_places, lft_places, map_places : array of int64, (elements, 6)
        Bit positions of the program ports; width 0 for absent ports.
    rx, credit_in_places, ready, tx, credit_out_places, dropped_places : array of int64, (elements, 6)
        Bit positions of the other ports, port by port.
    data_bits : int
        Width of a flit.
    rules : array of int64
        Rule counters.
    """

    switches: Switches
    reset_switches: Switches
    out_ports: OutputPorts
    reset_ports: OutputPorts
    state: SwitchState
    reset_state: SwitchState
    lft: NDArray[np.uint8]
    written: NDArray[np.int64]
    flits: NDArray[np.uint64]
    received_credit: NDArray[np.int64]
    grants: Records[Grant]
    schedule_places: NDArray[np.int64]
    lft_places: NDArray[np.int64]
    map_places: NDArray[np.int64]
    rx: NDArray[np.int64]
    credit_in_places: NDArray[np.int64]
    ready: NDArray[np.int64]
    tx: NDArray[np.int64]
    credit_out_places: NDArray[np.int64]
    dropped_places: NDArray[np.int64]
    data_bits: int
    rules: NDArray[np.int64]
