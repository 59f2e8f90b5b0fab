"""Signals of a link between switches: flits in one direction, credit returns in the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import data
from amaranth.lib.wiring import Out, Signature

from vlane.hdl.common.select import equals, one_of
from vlane.packets.fcp import COUNTER_BITS
from vlane.units import HEADER_BITS

_FIELDS = {"vl": (60, 4), "sl": (52, 4), "channel_top": (51, 1), "dlid": (32, 16), "pktlen": (16, 11)}


def lane_shape(vls: int) -> range:
    """Return the shape of a lane number for ``vls`` lanes, at least 1 bit."""
    return range(max(2, vls))


class LinkSignature(Signature):
    """Flits of a link, seen from the sender.

    Parameters
    ----------
    data_bits : int
        Data bits of a flit, at least 64.
    vl_bits : int
        Width of a lane number.

    Members
    -------
    valid : Out(1)
        A flit is sent.
    vl : Out(vl_bits)
        Lane of the flit.
    first : Out(1)
        The flit is a packet's first.
    last : Out(1)
        The flit is a packet's last.
    data : Out(data_bits)
        Data, first byte in the most significant bits. A packet begins with its header. A flit is one block of 64 bytes
        for buffers and credits, whatever ``data_bits`` is.
    """

    def __init__(self, data_bits: int, vl_bits: int = 4) -> None:
        super().__init__({"valid": Out(1), "vl": Out(vl_bits), "first": Out(1), "last": Out(1), "data": Out(data_bits)})


class ReturnSignature(Signature):
    """Freed buffer space, seen from the receiver of the flits.

    Parameters
    ----------
    most : int
        Most blocks that may be freed in a cycle.
    vl_bits : int
        Width of a lane number.

    Members
    -------
    blocks : Out(range(most + 1))
        Number of blocks freed.
    vl : Out(vl_bits)
        Lane of those blocks; 0 if no block is freed.
    """

    def __init__(self, most: int = 1, vl_bits: int = 4) -> None:
        super().__init__({"blocks": Out(range(most + 1)), "vl": Out(vl_bits)})

    def of_lane(self, returned: Any, lane: int) -> Value:
        """Return the number of freed blocks that belong to a lane."""
        return Mux(equals(returned.vl, lane), returned.blocks, 0)


class LaneReturnSignature(Signature):
    """Freed buffer space of several lanes in one cycle, seen from the receiver of the flits.

    Parameters
    ----------
    vls : int
        Lanes.

    Members
    -------
    blocks : Out(vls)
        Lanes of which one block is freed, as bits.
    """

    def __init__(self, vls: int) -> None:
        super().__init__({"blocks": Out(vls)})

    def of_lane(self, returned: Any, lane: int) -> Value:
        """Return the number of freed blocks that belong to a lane."""
        blocks: Value = returned.blocks[lane]
        return blocks


class LimitSignature(Signature):
    """Flow-control packet between switch ports, seen from the sender.

    Members
    -------
    valid : Out(1)
        A flow-control packet is sent.
    vl : Out(4)
        Lane of the limit; 0 without a packet.
    limit : Out(12)
        Total number of blocks that may be sent since the start, modulo 4096; 0 without a packet.
    """

    def __init__(self) -> None:
        super().__init__({"valid": Out(1), "vl": Out(4), "limit": Out(COUNTER_BITS)})


class CrossingSignature(Signature):
    """Flits of one packet that cross a switch, seen from the buffer they leave.

    Parameters
    ----------
    flits : int
        Most flits in a cycle.
    data_bits : int
        Data bits of a flit.
    vls, ports, largest : int
        Lanes and ports of the switch; size of the largest packet, in blocks.

    Members
    -------
    count : Out(range(flits + 1))
        Number of flits in this cycle.
    flits : Out(ArrayLayout(data_bits + 2, flits))
        The flits, oldest first: last, first, data.
    first : Out(1)
        The oldest of the flits is the packet's first.
    last : Out(1)
        The packet's last flit is among them.
    vl : Out(lane_shape(vls))
        Outgoing lane of the packet.
    to : Out(range(ports))
        Output of the packet.
    blocks : Out(range(largest + 1))
        Size of the packet, in blocks.
    """

    def __init__(self, *, flits: int, data_bits: int, vls: int, ports: int, largest: int) -> None:
        super().__init__(
            {
                "count": Out(range(flits + 1)),
                "flits": Out(data.ArrayLayout(data_bits + 2, flits)),
                "first": Out(1),
                "last": Out(1),
                "vl": Out(lane_shape(vls)),
                "to": Out(range(ports)),
                "blocks": Out(range(largest + 1)),
            }
        )


class LaneCrossingSignature(Signature):
    """Flits of one lane that traverse a crossbar with a port per lane, seen from the buffer they leave.

    Parameters
    ----------
    data_bits : int
        Data bits of a flit.

    Members
    -------
    valid : Out(1)
        A flit traverses the crossbar.
    flit : Out(data_bits + 2)
        The flit: last, first, data.
    """

    def __init__(self, data_bits: int) -> None:
        super().__init__({"valid": Out(1), "flit": Out(data_bits + 2)})


def take_crossing(m: Module, to: Any, comes: Sequence[tuple[Value, Any]]) -> None:
    """Connect one destination to several crossings, of which at most one has flits for that destination.

    Parameters
    ----------
    to : CrossingSignature, flipped
        Destination.
    comes : sequence of (Value, CrossingSignature)
        Pairs: whether the crossing goes to this destination, and the crossing.
    """
    chosen = [is_for & crossing.count.any() for is_for, crossing in comes]
    for name in to.signature.members:
        found = one_of(chosen, (getattr(crossing, name) for _, crossing in comes))
        m.d.comb += Value.cast(getattr(to, name)).eq(found)


def field_of(data: Value, name: str) -> Value:
    """Return a header field of a first flit: ``vl``, ``sl``, ``channel_top``, ``dlid`` or ``pktlen``."""
    low, bits = _FIELDS[name]
    start = len(data) - HEADER_BITS + low
    return data[start : start + bits]


def blocks_of(data: Value) -> Value:
    """Return the size of a packet from its first flit, in 64-byte blocks, VCRC included (8 bits)."""
    return ((field_of(data, "pktlen") + 16) >> 4)[:8]


def with_vl(data: Value, vl: Value) -> Value:
    """Return a first flit with the VL in its header replaced."""
    return _with(data, "vl", Value.cast(vl))


def with_channel(data: Value, channel: Value) -> Value:
    """Return a first flit with the channel in its header replaced (``vlane/packets/lrh.py``)."""
    return _with(_with(data, "vl", channel[:4]), "channel_top", channel[4])


def _with(data: Value, name: str, value: Value) -> Value:
    low, bits = _FIELDS[name]
    start = len(data) - HEADER_BITS + low
    return Cat(data[:start], value, Const(0, bits - len(value)), data[start + bits :])
