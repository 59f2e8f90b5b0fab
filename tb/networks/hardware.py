"""Switches in hardware within a golden network: their rows, and what is under way at their ports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int64, Records, new_records
from vlane.golden.engine.kernel import inner
from vlane.golden.network.network import Network
from vlane.golden.switches.packets import NOBODY
from vlane.switches.switch_programs import TableWrite
from vlane.tb.machinery.native.packing import put_writes
from vlane.tb.machinery.native.rows import Words
from vlane.tb.machinery.native.stimulus import Layout
from vlane.tb.switches.row_layout import RowLayout
from vlane.tb.switches.rows_credit import fields

WORDS, WORDS_WITH_BTH = 2, 3
"""Words of a flit: the header and one that names the flit; of switches that mark, all of the base transport header."""

(BAD_FLITS, DROPPED, MARKS) = range(3)
HEADS = 4
"""Cycles for which the heads that went in are kept."""

_COUNTS = 3


class Entering:
    """The packet that goes into a switch in hardware at a port, or went in last.

    Parameters
    ----------
    packet, flits : int
        Its number in the pool and its size; 0 flits if there is none.
    place : int
        Flits that are in.
    lane, header, stamp, bth, psn : int
        Its lane, its header without its stamp, the stamp, its ``bth`` and sequence number.
    """

    packet: Int64
    place: Int64
    flits: Int64
    lane: Int64
    header: Int64
    stamp: Int64
    bth: Int64
    psn: Int64


class Leaving:
    """The packet that comes out of a switch in hardware at a port, or came out last.

    Parameters
    ----------
    packet, flits : int
        Its number in the pool and its size.
    place : int
        Flits that are out.
    """

    packet: Int64
    place: Int64
    flits: Int64


class Hardware(NamedTuple):
    """Switches in hardware.

    Parameters
    ----------
    step : int
        Address of the function that runs a cycle.
    device : array of int64, (switches,)
        Addresses of the devices.
    first : array of int64, (switches,)
        Number of each one's first sending end.
    peer : array of int64, (switches * ports,)
        Sending end at the other end of each port's cable, ``NOWHERE`` if there is none.
    ports : int
        Of a switch.
    words : int
        Of a flit.
    ins, outs : array of int64, (elements, 3)
        Where inputs and outputs are in their rows.
    given, shown : array of uint64, (switches, words)
        Rows of a cycle.
    rx : Records of Entering, (switches * ports,)
        The packet that goes in at each port.
    heads : array of int64, (switches * ports, 4)
        By cycle, the packet whose head went in.
    tx : Records of Leaving, (switches * ports,)
        The packet that comes out at each port.
    writes : array of uint64, (switches, words)
        Rows in which tables are written in the next cycle; zeros if none is.
    place : array of int64, (ends,)
        Which of the ``switches * ports`` each sending end is, -1 for none.
    back : array of int64, (switches * ports, lanes)
        Within a cycle: blocks that come free in the next one, and before that what is taken.
    counts : array of int64, (3,)
        Flits and returns that were not what went in, or where, on what lane or channel or when they should not; packets
        dropped; packets marked.
    """

    step: int
    device: NDArray[np.int64]
    first: NDArray[np.int64]
    peer: NDArray[np.int64]
    ports: int
    words: int
    ins: NDArray[np.int64]
    outs: NDArray[np.int64]
    given: NDArray[np.uint64]
    shown: NDArray[np.uint64]
    rx: Records[Entering]
    heads: NDArray[np.int64]
    tx: Records[Leaving]
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
    ins: NDArray[np.int64],
    outs: NDArray[np.int64],
    row_words: tuple[int, int],
) -> Hardware:
    """Return switches into which nothing goes yet; ``row_words`` are those of their inputs and outputs."""
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
        ins=ins,
        outs=outs,
        given=np.zeros((switches, row_words[0]), np.uint64),
        shown=np.zeros((switches, row_words[1]), np.uint64),
        rx=new_records(Entering, places),
        heads=np.full((places, HEADS), NOBODY, np.int64),
        tx=new_records(Leaving, places),
        writes=np.zeros((switches, row_words[0]), np.uint64),
        place=place,
        back=np.zeros((places, lanes), np.int64),
        counts=np.zeros(_COUNTS, np.int64),
    )


@inner
def layout_of(net: Network, hardware: Hardware) -> RowLayout:
    """Return where ports are in the rows of a switch."""
    return RowLayout(hardware.ports, hardware.words, fields(net.out_ports.remote, net.switches))


def show_write(inputs: Layout, write: TableWrite, writes: Words, number: int, _: Network) -> None:
    """Let a switch's row in ``writes`` hold one write of its tables, or none, from the next cycle on."""
    row = writes[number : number + 1]
    row[:] = 0
    put_writes(inputs, [write], row)
