"""What goes over a link between switches: flits one way, returned room the other."""

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
    """Return the shape of the number of one of so many lanes."""
    return range(max(2, vls))


class LinkSignature(Signature):
    """Flits of a link, seen from the sender.

    Parameters
    ----------
    data_bits : int
        Carried of a flit, 64 or more.
    vl_bits : int
        Of a lane's number.

    Members
    -------
    valid : Out(1)
        A flit.
    vl : Out(vl_bits)
        Its lane.
    first : Out(1)
        It is a packet's first flit.
    last : Out(1)
        It is a packet's last flit.
    data : Out(data_bits)
        First byte on top. A packet begins with its header.
    """

    def __init__(self, data_bits: int, vl_bits: int = 4) -> None:
        super().__init__({"valid": Out(1), "vl": Out(vl_bits), "first": Out(1), "last": Out(1), "data": Out(data_bits)})


class ReturnSignature(Signature):
    """Room that comes free, seen from the receiver of flits.

    Parameters
    ----------
    most : int
        Blocks that may come free in a cycle.
    vl_bits : int
        Of a lane's number.

    Members
    -------
    blocks : Out(range(most + 1))
        How many come free.
    vl : Out(vl_bits)
        Their lane; 0 if there are none.
    """

    def __init__(self, most: int = 1, vl_bits: int = 4) -> None:
        super().__init__({"blocks": Out(range(most + 1)), "vl": Out(vl_bits)})

    def of_lane(self, returned: Any, lane: int) -> Value:
        """Return the blocks of a lane that come free."""
        return Mux(equals(returned.vl, lane), returned.blocks, 0)


class LaneReturnSignature(Signature):
    """Room that comes free of several lanes in a cycle, seen from the receiver of flits.

    Parameters
    ----------
    vls : int
        Lanes.

    Members
    -------
    blocks : Out(vls)
        A bit per lane: a block of it comes free.
    """

    def __init__(self, vls: int) -> None:
        super().__init__({"blocks": Out(vls)})

    def of_lane(self, returned: Any, lane: int) -> Value:
        """Return the blocks of a lane that come free."""
        blocks: Value = returned.blocks[lane]
        return blocks


class LimitSignature(Signature):
    """A flow-control packet as a switch's ports send it, seen from the sender.

    Members
    -------
    valid : Out(1)
        One is there.
    vl : Out(4)
        The lane it tells of; 0 if there is none.
    limit : Out(12)
        Blocks that may be sent since the start, modulo 4096; 0 if there is none.
    """

    def __init__(self) -> None:
        super().__init__({"valid": Out(1), "vl": Out(4), "limit": Out(COUNTER_BITS)})


class CrossingSignature(Signature):
    """Flits of one packet on their way through a switch, seen from the buffer they leave.

    Parameters
    ----------
    flits : int
        Most in a cycle.
    data_bits : int
        Carried of a flit.
    vls, ports, largest : int
        Lanes and ports of the switch; blocks of the largest packet.

    Members
    -------
    count : Out(range(flits + 1))
        How many flits.
    flits : Out(ArrayLayout(data_bits + 2, flits))
        The flits, oldest first: last, first, data.
    first, last : Out(1), Out(1)
        The packet's first flit is the oldest of them; its last one is among them.
    vl : Out(lane_shape(vls))
        Its outgoing lane.
    to : Out(range(ports))
        Its output.
    blocks : Out(range(largest + 1))
        Its size.
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
    """Flits of one lane on their way through a crossbar with a port per lane, seen from the buffer they leave.

    Parameters
    ----------
    data_bits : int
        Carried of a flit.

    Members
    -------
    valid : Out(1)
        A flit crosses.
    flit : Out(data_bits + 2)
        The flit: last, first, data.
    """

    def __init__(self, data_bits: int) -> None:
        super().__init__({"valid": Out(1), "flit": Out(data_bits + 2)})


def take_crossing(m: Module, to: Any, comes: Sequence[tuple[Value, Any]]) -> None:
    """Let one of several crossings come in.

    Parameters
    ----------
    to : CrossingSignature, flipped
        Where it comes in.
    comes : sequence of (Value, CrossingSignature)
        Whether it is for that place, of those that have flits one at most; the crossing.
    """
    chosen = [is_for & crossing.count.any() for is_for, crossing in comes]
    for name in to.signature.members:
        found = one_of(chosen, (getattr(crossing, name) for _, crossing in comes))
        m.d.comb += Value.cast(getattr(to, name)).eq(found)


def field_of(data: Value, name: str) -> Value:
    """Return a field of the header that a first flit carries: ``vl``, ``sl``, ``channel_top``, ``dlid``, ``pktlen``."""
    low, bits = _FIELDS[name]
    start = len(data) - HEADER_BITS + low
    return data[start : start + bits]


def blocks_of(data: Value) -> Value:
    """Return the 64-byte blocks of the packet whose first flit this is, VCRC included, 8 bits."""
    return ((field_of(data, "pktlen") + 16) >> 4)[:8]


def with_vl(data: Value, vl: Value) -> Value:
    """Return a first flit with another VL in its header."""
    return _with(data, "vl", Value.cast(vl))


def with_channel(data: Value, channel: Value) -> Value:
    """Return a first flit with another channel in its header (``vlane/packets/lrh.py``)."""
    return _with(_with(data, "vl", channel[:4]), "channel_top", channel[4])


def _with(data: Value, name: str, value: Value) -> Value:
    low, bits = _FIELDS[name]
    start = len(data) - HEADER_BITS + low
    return Cat(data[:start], value, Const(0, bits - len(value)), data[start + bits :])
