"""Deficit round robin: a quantum and a deficit per requester."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from vlane.hdl.schedulers.base import Scheduler, ScheduleSignature
from vlane.hdl.schedulers.deficit import DEFICIT_BITS, DeficitTurns
from vlane.schedulers.drr import DRRParameters

__all__ = ["COMPONENT", "DRR"]


class DRR(Scheduler):
    """Deficit round robin over the requesters (Shreedhar and Varghese 1995, ``docs/drr.md``).

    Latency 0. Reset sets every quantum to 0: no requester is served.

    Parameters
    ----------
    parameters : DRRParameters
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
    program : In(ScheduleSignature(8))
        Write port of the quanta and of the map; a new value is in force from the next cycle on.
    unreachable : Out(requesters)
        Requesters with quantum 0. They are never served.
    deficit : Out(ArrayLayout(7, requesters))
        Deficit counters of the requesters; 0 for the requester whose turn it is.
    accumulated : Out(9)
        Blocks that the requester whose turn it is may still send.
    """

    def __init__(self, parameters: DRRParameters) -> None:
        self.parameters = p = parameters
        count = p.count
        self.turns = DeficitTurns(
            entries=count, requesters=count, keep_on_stall=p.keep_on_stall, most_kept=p.mtu_blocks - 1
        )
        members: dict[str, object] = {
            "program": In(ScheduleSignature(8)),
            "unreachable": Out(count),
            "deficit": Out(data.ArrayLayout(DEFICIT_BITS, count)),
            "accumulated": Out(9),
        }
        super().__init__(parameters, members)
        self.quanta = [Signal(8, name=f"quantum_{requester}") for requester in range(count)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.turns = turns = self.turns
        self.frame(m)
        self.note_winner(m)
        for requester, quantum in enumerate(self.quanta):
            with m.If(self.table_write(requester)):
                m.d.sync += quantum.eq(self.program.weight)
            m.d.comb += [turns.owners[requester].eq(requester), turns.weights[requester].eq(quantum)]
        m.d.comb += [
            turns.active.eq(self.active),
            turns.waiting.eq(self.waiting),
            turns.sizes.eq(self.sizes),
            turns.commit.eq(self.ready & self.decides),
            turns.clear.eq(0),
            self.winner.eq(turns.winner),
            self.sends.eq(turns.sends),
            self.deficit.eq(turns.deficit),
            self.accumulated.eq(turns.accumulated),
            self.unreachable.eq(~Cat(quantum.any() for quantum in self.quanta)),
        ]
        return m


COMPONENT = DRR
"""Component that ``by_name`` returns."""
