"""Environment of a golden switch in a bench, and the rules that a run counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int64, Records
from vlane.golden.engine.rule import Rule
from vlane.golden.links.remote_credit import RemoteCredit
from vlane.golden.links.room import BufferOccupancy
from vlane.golden.switches.inputs import Grant
from vlane.golden.switches.kinds import Switches
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.switches.packets import Packets

RING = 128
"""Number of cycles for which outputs are recorded ahead."""

(CLOCK, SERIAL, STARTS) = range(3)
"""Indices of ``regs``."""

(W_KIND, W_ONE, W_TWO, W_THREE, W_FOUR, W_FIVE) = range(6)
(WRITES_NOTHING, WRITES_LFT, WRITES_TOP, WRITES_MAP, WRITES_MARKING, WRITES_STARVATION) = range(6)
"""Kinds of writes: none, forwarding table, its top, map to lanes, marking settings, starvation settings."""

RULES = (
    Rule("granted", "IBS-3, IBS-P2, OPAS-3", "a packet was granted"),
    Rule("several_granted", "IBS-3, IBS-P2, OPAS-3", "several packets were granted in a cycle"),
    Rule("one_flit", "IBS-5, IBS-P3, OPAS-6", "a one-flit packet was granted while another one's last flit crossed"),
    Rule("started", "IBS-7", "a packet entered a link"),
    Rule("waited", "IBS-6", "a head had no credit for the far end"),
    Rule("stalled", "IBS-7", "a link stalled while a packet waited for it"),
    Rule("unknown_lid", "IBS-10, OPAS-8", "a packet was dropped: its DLID has no port"),
    Rule("no_vl", "IBS-10, OPAS-8", "a packet was dropped: no VL"),
    Rule("port_0", "IBS-10, OPAS-8", "a packet was dropped: it was for port 0"),
    Rule("no_room", "IBS-H1", "a packet was discarded: its sender ignored credits, or it is too large"),
    Rule(
        "too_large", "IBS-H1", "a packet one block larger than the largest was discarded, though there was space for it"
    ),
    Rule("table_written", "IBS-H2", "a table was written while packets were in the switch"),
    Rule("limit_told", "IBS-C4", "a flow-control packet took the link while packets waited"),
    Rule("marked", "IBS-M1", "a packet was marked as it entered a link"),
    Rule("settings_written", "IBS-M3", "settings of marking were written while packets were in the switch"),
    Rule("withheld", "IBS-K2", "freed blocks were not returned at once"),
    Rule("starvation_written", "IBS-K6", "settings of credit starvation were written while packets were in the switch"),
    Rule("gap", "IBS-H3", "a link was idle for a cycle between two flits of a packet"),
)
(
    GRANTED,
    SEVERAL,
    ONE_FLIT,
    STARTED,
    WAITED,
    STALLED,
    UNKNOWN,
    NO_VL,
    PORT_0,
    NO_ROOM,
    TOO_LARGE,
    WRITTEN,
    TOLD,
    MARKED,
    SETTINGS,
    WITHHELD,
    STARVATION,
    GAPS,
) = range(len(RULES))


class Sender:
    """Packet that the sender at an input is sending.

    Parameters
    ----------
    left : int
        Number of flits still to be sent; 0 for no packet.
    lane : int
        Lane of the packet.
    number : int
        Number of the packet among all packets.
    place : int
        Index of the next flit.
    pauses : int
        Cycles for which the sender may still pause between flits.
    header : int
        Header of the packet without its stamp.
    stamp : int
        Stamp of the packet: the VL or, for Omni-Path, the channel.
    """

    left: Int64
    lane: Int64
    number: Int64
    place: Int64
    pauses: Int64
    header: Int64
    stamp: Int64


class OutgoingFlit:
    """Flit that an output shows in a cycle.

    Parameters
    ----------
    lane : int
        Lane of the flit plus 1; 0 for no flit.
    last : int
        Whether it is a packet's last flit.
    number, place, header, stamp : int
        See ``Sender``.
    fecn : int
        Whether the packet is marked.
    """

    lane: Int64
    last: Int64
    number: Int64
    place: Int64
    header: Int64
    stamp: Int64
    fecn: Int64


class SwitchEnvironment(NamedTuple):
    """Golden switch and its environment.

    Parameters
    ----------
    switches, out_ports, remote, packets : Switches, OutputPorts, Rooms or FCPLimits, Packets
        Golden's records; ``remote`` is that of ``out_ports``.
    lft : array of uint8, (LIDs,)
        Forwarding table as programmed, ports from 1.
    top : array of int64, (1,)
        Top of the forwarding table.
    up : BufferOccupancy
        Senders' credit counters of the input buffers.
    own : BufferOccupancy
        The input buffers.
    sending : Records of Sender, (ports,)
        Packet of each sender.
    header, number : array of int64, (packets,)
        Header and number of each packet in golden's pool.
    tx : Records of OutgoingFlit, (ports, ring)
        By cycle, the flit that each output shows.
    back : array of int64, (ports, ring, 2)
        By cycle, the lanes (as bits) whose blocks are returned on ``returned``, and the number of blocks of each.
    left : array of int64, (ports, 2)
        The same for blocks that left an input with credit starvation in the previous cycle.
    full : array of int64, (ports, 4)
        By cycle modulo 4, for late decisions: bit mask of the lanes of an input that hold their maximum.
    late_credit : array of int64, (ports, 4, 2)
        By cycle modulo 4, for late decisions: lane and blocks of the last counted returns.
    dropped : array of int64, (ports, ring)
        By cycle, the drop cause of a packet.
    owed : array of int64, (ports, lanes)
        Blocks held by the receiver at each output.
    received_credit : array of int64, (ports, 3)
        Received credits of the current cycle. Returns: lane, number of blocks, number that the sender counts. Several
        VLs at once: lanes as bits, whether there are any, lanes that the sender counts. Flow-control packets: lane,
        whether there is one, limit.
    said : array of int64, (ports, ring, 2)
        By cycle, the flow-control packet that each port sends: lane plus 1 (0 for none), and limit.
    freed : array of int64, (ports, lanes)
        Blocks freed since the start by the receiver at each output.
    known : array of int64, (ports, lanes)
        Blocks freed since the start at each input, as its sender knows.
    stalled : array of int64, (ports,)
        First cycle in which a packet may start on each output's link.
    written : array of int64, (4, 6)
        Table writes of the last cycles: kind, and up to five numbers.
    rows : array of uint64, (4,)
        Row of SL2VL, or Victim_Mask, of each write.
    grants : Records of Grant, (as many as a switch may grant in a cycle,)
        Grants of the current cycle.
    regs : array of int64, (3,)
        Cycle; packets sent; packets started.
    """

    switches: Switches
    out_ports: OutputPorts
    remote: RemoteCredit
    packets: Packets
    lft: NDArray[np.uint8]
    top: NDArray[np.int64]
    up: BufferOccupancy
    input_buffers: BufferOccupancy
    sending: Records[Sender]
    header: NDArray[np.int64]
    number: NDArray[np.int64]
    tx: Records[OutgoingFlit]
    back: NDArray[np.int64]
    left: NDArray[np.int64]
    full: NDArray[np.int64]
    late_credit: NDArray[np.int64]
    dropped: NDArray[np.int64]
    owed: NDArray[np.int64]
    received_credit: NDArray[np.int64]
    limit_sent: NDArray[np.int64]
    freed: NDArray[np.int64]
    known: NDArray[np.int64]
    stalled: NDArray[np.int64]
    written: NDArray[np.int64]
    rows: NDArray[np.uint64]
    grants: Records[Grant]
    regs: NDArray[np.int64]
