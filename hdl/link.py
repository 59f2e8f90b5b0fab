"""What goes over a link between switches: flits one way, returned room the other."""

from __future__ import annotations

from amaranth.hdl import Cat, Signal, Value
from amaranth.lib.wiring import Out, Signature

__all__ = ["HEADER_BITS", "LinkSignature", "ReturnSignature", "blocks_of", "field_of", "with_vl"]

HEADER_BITS = 64
"""Of the local route header, which comes first (IBA 7.7)."""

_FIELDS = {"sl": (52, 4), "dlid": (32, 16), "pktlen": (16, 11)}
_VL_LOW, _VL_BITS = 60, 4


class LinkSignature(Signature):
    """Flits of a link, seen from the sender.

    Parameters
    ----------
    data_bits : int
        Carried of a flit, 64 or more.

    Members
    -------
    valid : Out(1)
        A flit.
    vl : Out(4)
        Its lane.
    first : Out(1)
        It is a packet's first flit.
    last : Out(1)
        It is a packet's last flit.
    data : Out(data_bits)
        First byte on top. A packet begins with its header.
    """

    def __init__(self, data_bits: int) -> None:
        super().__init__({"valid": Out(1), "vl": Out(4), "first": Out(1), "last": Out(1), "data": Out(data_bits)})


class ReturnSignature(Signature):
    """Room that comes free, seen from the receiver of flits.

    Members
    -------
    valid : Out(1)
        A block.
    vl : Out(4)
        Its lane.
    """

    def __init__(self) -> None:
        super().__init__({"valid": Out(1), "vl": Out(4)})


def field_of(data: Signal, name: str) -> Value:
    """Return a field of the header that a first flit carries: ``sl``, ``dlid`` or ``pktlen``."""
    low, bits = _FIELDS[name]
    start = len(data) - HEADER_BITS + low
    return data[start : start + bits]


def blocks_of(data: Signal) -> Value:
    """Return the 64-byte blocks of the packet whose first flit this is, VCRC included, 7 bits."""
    return ((field_of(data, "pktlen") + 16) >> 4)[:7]


def with_vl(data: Value, vl: Value) -> Value:
    """Return a first flit with another VL in its header."""
    start = len(data) - HEADER_BITS + _VL_LOW
    return Cat(data[:start], vl, data[start + _VL_BITS :])
