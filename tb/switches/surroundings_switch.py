"""What surrounds one of golden's switches in a bench, and the rules that a run counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int64, Records
from vlane.golden.engine.rule import Rule
from vlane.golden.links.remote_credit import RemoteCredit
from vlane.golden.links.room import Rooms
from vlane.golden.switches.inputs import Grant
from vlane.golden.switches.kinds import Switches
from vlane.golden.switches.output_ports import OutputPorts
from vlane.golden.switches.packets import Packets

RING = 128
"""Cycles that are looked ahead."""

(CLOCK, SERIAL, STARTS) = range(3)
"""Elements of ``regs``."""

(W_KIND, W_ONE, W_TWO, W_THREE, W_FOUR, W_FIVE) = range(6)
(WRITES_NOTHING, WRITES_LFT, WRITES_TOP, WRITES_MAP, WRITES_MARKING, WRITES_STARVATION) = range(6)
"""What is written: the forwarding table, its top, the map from levels or channels to lanes, settings of marking, or of
credit starvation."""

RULES = (
    Rule("granted", "IBS-3, IBS-P2, OPAS-3", "a packet was granted"),
    Rule("several_granted", "IBS-3, IBS-P2, OPAS-3", "several packets were granted in a cycle"),
    Rule("one_flit", "IBS-5, IBS-P3, OPAS-6", "a one-flit packet was granted while another one's last flit crossed"),
    Rule("started", "IBS-7", "a packet entered a link"),
    Rule("waited", "IBS-6", "a head found no room at the far end"),
    Rule("stalled", "IBS-7", "a link stalled while a packet waited for it"),
    Rule("unknown_lid", "IBS-10, OPAS-8", "a packet dropped: its DLID has no port"),
    Rule("no_vl", "IBS-10, OPAS-8", "a packet dropped: no VL"),
    Rule("port_0", "IBS-10, OPAS-8", "a packet dropped: it was for port 0"),
    Rule("no_room", "IBS-H1", "a packet was discarded: its sender kept no count of room, or it is too large"),
    Rule("too_large", "IBS-H1", "a packet one block larger than the largest was discarded, though it had room"),
    Rule("table_written", "IBS-H2", "a table was written while packets were there"),
    Rule("limit_told", "IBS-C4", "a flow-control packet took the link while packets waited"),
    Rule("marked", "IBS-M1", "a packet was marked as it entered a link"),
    Rule("settings_written", "IBS-M3", "settings of marking were written while packets were there"),
    Rule("withheld", "IBS-K2", "room that came free was not returned at once"),
    Rule("starvation_written", "IBS-K6", "settings of credit starvation were written while packets were there"),
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
    """The packet that a sender before an input sends.

    Parameters
    ----------
    left : int
        Flits still to be sent, 0 if there is no packet.
    lane, number : int
        Its lane, and its number among all packets.
    place : int
        Which of its flits is next.
    pauses : int
        Cycles that it may still pause between flits.
    header, stamp : int
        Its header without its stamp, and the stamp: the VL or, in Omni-Path's form, the channel.
    """

    left: Int64
    lane: Int64
    number: Int64
    place: Int64
    pauses: Int64
    header: Int64
    stamp: Int64


class Shown:
    """What an output shows in a cycle.

    Parameters
    ----------
    lane : int
        The flit's lane + 1, 0 for nothing.
    last : int
        Whether it is a packet's last flit.
    number, place, header, stamp : int
        As of ``Sender``.
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


class SwitchSurroundings(NamedTuple):
    """Golden's switch and what is around it.

    Parameters
    ----------
    switches, out_ports, remote, packets : Switches, OutputPorts, Rooms or FCPLimits, Packets
        Golden; ``remote`` is that of ``out_ports``.
    lft : array of uint8, (LIDs,)
        The forwarding table as it is programmed, ports from 1.
    top : array of int64, (1,)
        Last LID that is looked up.
    up, own : Rooms
        What senders know of the input buffers, and the input buffers themselves.
    sending : Records of Sender, (ports,)
        What each sender sends.
    header, number : array of int64, (packets,)
        Of each packet in golden's pool.
    tx : Records of Shown, (ports, ring)
        By cycle, what each output shows.
    back : array of int64, (ports, ring, 2)
        By cycle: lanes, as bits, of the blocks told on ``returned``, and how many of each.
    left : array of int64, (ports, 2)
        Of the cycle before: the same of the blocks that left an input that may hold room back.
    dropped : array of int64, (ports, ring)
        By cycle: why a packet drops.
    owed : array of int64, (ports, lanes)
        Blocks that the receiver behind each output holds.
    heard : array of int64, (ports, 3)
        Within a cycle: the lane that ``heard`` names, how many blocks, and how many of them the sender gets; or, where
        VLs cross apart, the lanes, as bits, whether there are any, and of which the sender gets a block; or the lane of
        a flow-control packet, whether there is one, and its limit.
    said : array of int64, (ports, ring, 2)
        By cycle: the flow-control packet that each port shows, lane + 1 (0 for none) and limit.
    freed, known : array of int64, (ports, lanes)
        Blocks freed since the start: behind each output; at each input, as its sender was told.
    stalled : array of int64, (ports,)
        First cycle in which a packet may start on each output's link.
    written : array of int64, (4, 6)
        Table writes of the last cycles: what, and up to five numbers.
    rows : array of uint64, (4,)
        The row of SL2VL, or Victim_Mask, in each.
    grants : Records of Grant, (as many as a switch may grant in a cycle,)
        Within a cycle.
    regs : array of int64, (3,)
        The cycle; packets sent; packets started.
    """

    switches: Switches
    out_ports: OutputPorts
    remote: RemoteCredit
    packets: Packets
    lft: NDArray[np.uint8]
    top: NDArray[np.int64]
    up: Rooms
    own: Rooms
    sending: Records[Sender]
    header: NDArray[np.int64]
    number: NDArray[np.int64]
    tx: Records[Shown]
    back: NDArray[np.int64]
    left: NDArray[np.int64]
    dropped: NDArray[np.int64]
    owed: NDArray[np.int64]
    heard: NDArray[np.int64]
    said: NDArray[np.int64]
    freed: NDArray[np.int64]
    known: NDArray[np.int64]
    stalled: NDArray[np.int64]
    written: NDArray[np.int64]
    rows: NDArray[np.uint64]
    grants: Records[Grant]
    regs: NDArray[np.int64]
