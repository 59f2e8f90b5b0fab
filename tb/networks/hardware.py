"""Switches in hardware within a golden network: their rows, and the packets at their ports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.network.state import Network
from vlane.golden.switches.packets import NOBODY
from vlane.switches.switch_programs import TableWrite
from vlane.tb.machinery.native.packing import put_writes
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Layout
from vlane.tb.switches.row_layout import RowLayout
from vlane.tb.switches.rows_credit import credit_fields

WORDS, WORDS_WITH_BTH = 2, 3
"""Words of a flit: the header and an identifier; switches that mark also carry the base transport header."""

(BAD_FLITS, DROPPED, MARKS) = range(3)
HEADS = 8
"""Cycles for which heads that entered are remembered."""

_COUNTS = 3


class EnteringPacket:
    """Packet entering a hardware switch at a port, or the last packet that entered.

    Parameters
    ----------
    packet : int
        Index of the packet in the pool.
    flits : int
        Size of the packet in flits, or 0 if there is no packet.
    place : int
        Number of flits that have entered.
    lane : int
        Lane of the packet.
    header : int
        Header without stamp.
    stamp : int
        Stamp.
    bth : int
        ``bth`` of the packet.
    psn : int
        Sequence number.
    """

    packet: Int64
    place: Int64
    flits: Int64
    lane: Int64
    header: Int64
    stamp: Int64
    bth: Int64
    psn: Int64


class LeavingPacket:
    """Packet leaving a hardware switch at a port, or the last packet that left.

    Parameters
    ----------
    packet : int
        Index of the packet in the pool.
    flits : int
        Size of the packet in flits.
    place : int
        Number of flits that have left.
    """

    packet: Int64
    place: Int64
    flits: Int64


class Hardware(NamedTuple):
    """Hardware switches of a network: device addresses, port positions, rows, and packets at the ports.

    Parameters
    ----------
    step : int
        Address of the function that runs a cycle of a device.
    device : array of int64, (switches,)
        Addresses of the devices.
    first : array of int64, (switches,)
        Number of each switch's first sending end.
    peer : array of int64, (switches * ports,)
        Sending end at the other end of each port's cable; ``NOWHERE`` if there is none.
    ports : int
        Number of ports of a switch.
    words : int
        Number of words in a flit.
    input_fields, output_fields : array of int64, (elements, 3)
        Positions of inputs and outputs in their rows.
    given, shown : array of uint64, (switches, words)
        Rows of the current cycle.
    rx : Records of EnteringPacket, (switches * ports,)
        Packet that is entering at each port.
    heads : array of int64, (switches * ports, 4)
        Packet whose head entered in each of the last four cycles.
    tx : Records of LeavingPacket, (switches * ports,)
        Packet that is leaving at each port.
    writes : array of uint64, (switches, words)
        Rows that write tables in the next cycle; zeros for no write.
    place : array of int64, (ends,)
        Index of each sending end among the ``switches * ports``; -1 for ends of other switches.
    back : array of int64, (switches * ports, lanes)
        Temporary values within a cycle: blocks that are freed in the next cycle, and before that the blocks in use.
    counts : array of int64, (3,)
        Counts of wrong outputs (flits, returns, drops), of dropped packets, and of marked packets.
    """

    step: int
    device: NDArray[np.int64]
    first: NDArray[np.int64]
    peer: NDArray[np.int64]
    ports: int
    words: int
    input_fields: NDArray[np.int64]
    output_fields: NDArray[np.int64]
    given: NDArray[np.uint64]
    shown: NDArray[np.uint64]
    rx: Records[EnteringPacket]
    heads: NDArray[np.int64]
    tx: Records[LeavingPacket]
    writes: NDArray[np.uint64]
    place: NDArray[np.int64]
    back: NDArray[np.int64]
    counts: NDArray[np.int64]


def new_hardware(
    *,
    step: int,
    device: Sequence[int],
    first: Sequence[int],
    peer: NDArray[np.int64],
    ports: int,
    words: int,
    lanes: int,
    ends: int,
    input_fields: NDArray[np.int64],
    output_fields: NDArray[np.int64],
    row_words: tuple[int, int],
) -> Hardware:
    """Return idle hardware switches. ``row_words`` is the (input, output) length of a row in 64-bit words."""
    switches, places = len(device), len(device) * ports
    place = np.full(ends, -1, np.int64)
    for number, begin in enumerate(first):
        place[begin : begin + ports] = np.arange(number * ports, (number + 1) * ports)
    return Hardware(
        step=step,
        device=np.array(device, np.int64),
        first=np.array(first, np.int64),
        peer=peer,
        ports=ports,
        words=words,
        input_fields=input_fields,
        output_fields=output_fields,
        given=np.zeros((switches, row_words[0]), np.uint64),
        shown=np.zeros((switches, row_words[1]), np.uint64),
        rx=new_records(EnteringPacket, places),
        heads=np.full((places, HEADS), NOBODY, np.int64),
        tx=new_records(LeavingPacket, places),
        writes=np.zeros((switches, row_words[0]), np.uint64),
        place=place,
        back=np.zeros((places, lanes), np.int64),
        counts=np.zeros(_COUNTS, np.int64),
    )


@inner
def layout_of(network: Network, hardware: Hardware) -> RowLayout:
    """Return the layout of a switch's input and output rows."""
    return RowLayout(hardware.ports, hardware.words, credit_fields(network.out_ports.remote_credit, network.switches))


def store_table_write(inputs: Layout, write: TableWrite, writes: Words, write_index: int, _: Network) -> None:
    """Encode a table write into row ``write_index`` of ``writes``, which takes effect in the next cycle."""
    row = writes[write_index : write_index + 1]
    row[:] = 0
    put_writes(inputs, [write], row)
