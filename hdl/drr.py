"""Deficit round robin: a quantum and a deficit per requester."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from vlane.hdl.deficit import DEFICIT_BITS, DeficitTurns
from vlane.hdl.parameters import check_flag
from vlane.hdl.scheduler import Scheduler, ScheduleSignature

from vlane.units import MAX_PACKET_BLOCKS

__all__ = ["DRR"]


class DRR(Scheduler):
    """Deficit round robin over the requesters (Shreedhar and Varghese 1995; ``docs/drr.md``).

    Latency 0. Reset sets every quantum to 0: nobody is served.

    Parameters
    ----------
    data_vls : int
        Data lanes, 2 to 31; to 32 without VL15.
    requesters : int
        Requesters behind a programmable map from lanes, 2 to 32; 0: each data lane is one.
    vl15 : bool
        Whether there is one more lane, the last, for VL15.
    keep_on_stall : bool
        Whether a requester that has packets but room for none keeps its deficit.
    mtu_blocks : int
        Largest packet; such a requester keeps less than that of its turn.

    Members
    -------
    heads : In(HeadsSignature(lanes))
        Head packets of the lanes.
    ready : In(1)
        A new packet may start.
    hold_data : In(1)
        A flow-control packet is due: only VL15 may win.
    grant : Out(1)
        A packet may start; it starts if ``ready`` is asserted too.
    vl : Out(vl_bits)
        Its lane. 0 without a grant.
    list : Out(ListCode)
        ``VL15`` or ``NONE``.
    blocks : Out(7)
        Its size. 0 without a grant.
    program : In(ScheduleSignature(8))
        Writes a quantum, or the map; it holds from the next cycle on.
    unreachable : Out(requesters)
        Requesters with quantum 0: they are never served.
    deficit : Out(ArrayLayout(7, requesters))
        Deficit counters of the requesters whose turn it is not.
    accumulated : Out(9)
        Deficit of the requester whose turn it is.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    def __init__(
        self,
        *,
        data_vls: int = 8,
        requesters: int = 0,
        vl15: bool = True,
        keep_on_stall: bool = False,
        mtu_blocks: int = MAX_PACKET_BLOCKS,
    ) -> None:
        self.check_parameters(
            data_vls=data_vls, requesters=requesters, vl15=vl15, keep_on_stall=keep_on_stall, mtu_blocks=mtu_blocks
        )
        count = requesters or data_vls
        self.turns = DeficitTurns(
            entries=count,
            requesters=count,
            keep_on_stall=keep_on_stall,
            most_kept=mtu_blocks - 1,
        )
        members: dict[str, object] = {
            "program": In(ScheduleSignature(8)),
            "unreachable": Out(count),
            "deficit": Out(data.ArrayLayout(DEFICIT_BITS, count)),
            "accumulated": Out(9),
        }
        super().__init__(data_vls=data_vls, requesters=requesters, vl15=vl15, members=members)
        self.quanta = [Signal(8, name=f"quantum_{requester}") for requester in range(count)]

    @classmethod
    def check_parameters(
        cls, *, data_vls: int, requesters: int, vl15: bool, keep_on_stall: bool, mtu_blocks: int
    ) -> None:
        """Raise what the constructor would raise, without making anything."""
        cls.check_lanes(data_vls=data_vls, requesters=requesters, vl15=vl15)
        cls.check_mtu(mtu_blocks)
        check_flag("keep_on_stall", keep_on_stall)

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
