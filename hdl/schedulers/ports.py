"""Ports common to all egress schedulers, so that a switch accepts any scheduler."""

from __future__ import annotations

from amaranth.hdl import unsigned
from amaranth.lib.data import ArrayLayout
from amaranth.lib.wiring import In, Out, Signature

from vlane.egress import ListCode

BLOCKS_SHAPE = unsigned(7)
"""Size of a packet in blocks of 64 bytes, 1 to 66."""


class HeadsSignature(Signature):
    """The head packets of the lanes, seen from the queues that drive them.

    Parameters
    ----------
    lanes : int
        Number of queues; bit ``i`` of every member belongs to lane ``i``.

    Members
    -------
    request : Out(lanes)
        The lane has a head packet.
    fits : Out(lanes)
        The next node has credit for the whole head packet.
    blocks : Out(ArrayLayout(unsigned(7), lanes))
        Size of the head packet, 1 to 66 blocks of 64 bytes. Meaningless without a request.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__({"request": Out(lanes), "fits": Out(lanes), "blocks": Out(ArrayLayout(BLOCKS_SHAPE, lanes))})


def egress_members(lanes: int, *, vl_bits: int = 4) -> dict[str, object]:
    """Return the members that all egress schedulers share.

    Inputs: ``heads``, the head packets of the lanes; ``ready``, a new packet may start; ``hold_data``, a flow-control
    packet is due and only VL15 may win. Outputs: ``grant``, a packet may start, and does start if ``ready`` is asserted
    in the same cycle; ``vl``, ``from_list`` and ``blocks``, the granted lane, its list and the packet's size, all 0
    without a grant. The state of a scheduler changes in ready cycles only.
    """
    return {
        "heads": In(HeadsSignature(lanes)),
        "ready": In(1),
        "hold_data": In(1),
        "grant": Out(1),
        "vl": Out(vl_bits),
        "from_list": Out(ListCode),
        "blocks": Out(BLOCKS_SHAPE),
    }


def vl_bits_of(lanes: int) -> int:
    """Return the width of ``vl`` of a single-list scheduler with ``lanes`` lanes, VL15 included."""
    return 4 if lanes <= 16 else 5
