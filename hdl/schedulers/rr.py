"""Round robin: the next requester that can send is served."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In

from vlane.hdl.common.round_robin import RoundRobin
from vlane.hdl.schedulers.base import Scheduler, ScheduleSignature
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE
from vlane.schedulers.rr import RRParameters

__all__ = ["COMPONENT", "RR"]


class RR(Scheduler):
    """Serve the requesters round robin, packet by packet, whatever the packet sizes (``docs/rr.md``).

    Latency 0. After reset, requester 0 is next.

    Parameters
    ----------
    parameters : RRParameters
        Shape of the component.

    Members
    -------
    heads : In(HeadsSignature(lanes))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may be granted.
    grant : Out(1)
        A packet may start. It starts if ``ready`` is asserted in the same cycle.
    vl : Out(vl_bits)
        Lane of the granted packet; 0 without a grant.
    from_list : Out(ListCode)
        ``VL15`` or ``NONE``.
    blocks : Out(7)
        Size of the granted packet in blocks; 0 without a grant.
    program : In(ScheduleSignature(1))
        With a map only: write port of the map.
    """

    def __init__(self, parameters: RRParameters) -> None:
        self.parameters = p = parameters
        members: dict[str, object] = {"program": In(ScheduleSignature(1))} if p.requesters else {}
        super().__init__(parameters, members)
        self.turns = RoundRobin(self.requesters, BLOCKS_SHAPE.width)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.turns = turns = self.turns
        self.frame(m)
        self.note_winner(m)
        m.d.comb += [
            turns.eligible.eq(self.active),
            turns.served.eq(self.ready & self.decides & turns.found),
            *(turns.values[requester].eq(self.sizes[requester]) for requester in range(self.requesters)),
            self.winner.eq(turns.chosen),
            self.sends.eq(turns.found),
        ]
        return m

    def winner_blocks(self, _lane_wins: Signal) -> Value:
        """Return the size of the chosen requester's packet, which passes the selection in parallel."""
        size: Value = self.turns.value
        return size


COMPONENT = RR
"""Component that ``by_name`` returns."""
