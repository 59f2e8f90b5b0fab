"""The port list that every egress scheduler shares, so that a switch takes any of them."""

from __future__ import annotations

from amaranth.hdl import unsigned
from amaranth.lib.data import ArrayLayout
from amaranth.lib.wiring import In, Out, Signature

from vlane.egress import ListCode

__all__ = ["BLOCKS_SHAPE", "HeadsSignature", "egress_members"]

BLOCKS_SHAPE = unsigned(7)
"""A packet's 64-byte blocks, 1 to 66."""


class HeadsSignature(Signature):
    """The head packets of the lanes, seen from where they queue.

    Parameters
    ----------
    lanes : int
        How many queues; bit ``i`` of every member is lane ``i``.

    Members
    -------
    request : Out(lanes)
        A head packet is there.
    fits : Out(lanes)
        The next node has room for all of it.
    blocks : Out(ArrayLayout(unsigned(7), lanes))
        Its size, 1 to 66 blocks of 64 bytes. Meaningless without a request.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__(
            {
                "request": Out(lanes),
                "fits": Out(lanes),
                "blocks": Out(ArrayLayout(BLOCKS_SHAPE, lanes)),
            }
        )


def egress_members(lanes: int, *, vl_bits: int = 4) -> dict[str, object]:
    """Return the shared members of an egress scheduler.

    ``heads`` in: the lanes' head packets. ``ready`` in: a new packet may start. ``hold_data`` in: a
    flow-control packet is due, only VL15 may win. ``grant`` out: a packet may start, whatever ``ready`` says;
    it starts if both are asserted. A scheduler's state changes in ready cycles only. ``vl``, ``list`` and
    ``blocks`` out: its lane, the list it came from and its size; all 0 without a grant.
    """
    return {
        "heads": In(HeadsSignature(lanes)),
        "ready": In(1),
        "hold_data": In(1),
        "grant": Out(1),
        "vl": Out(vl_bits),
        "list": Out(ListCode),
        "blocks": Out(BLOCKS_SHAPE),
    }
