"""What the schedulers of one list have in common: lanes, requesters, VL15, the hold, the grant."""

from __future__ import annotations

from enum import IntEnum
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out, Signature
from vlane.hdl.egress import BLOCKS_SHAPE, egress_members
from vlane.hdl.list_search import ListSearch
from vlane.hdl.parameters import check_flag, check_range
from vlane.hdl.select import equals, one_of

from vlane.egress import MAX_REQUESTERS, MAX_SCHEDULER_VLS, ListCode
from vlane.errors import InputError
from vlane.units import MAX_PACKET_BLOCKS
from vlane.vlarb import VL15

__all__ = ["ScheduleSelect", "ScheduleSignature", "Scheduler"]


class ScheduleSelect(IntEnum):
    """What a write goes to."""

    TABLE = 0
    MAP = 1


class ScheduleSignature(Signature):
    """Write port of a scheduler, seen from whoever programs it.

    Parameters
    ----------
    weight_bits : int
        Width of a weight, quantum or reciprocal.
    requester_bits : int
        Width of a requester's number.

    Members
    -------
    enable : Out(1)
        Write in this cycle.
    select : Out(ScheduleSelect)
        The table of entries, quanta or reciprocals; or the map from lanes to requesters.
    index : Out(7)
        The entry, requester or lane; one that is not there writes nothing.
    requester : Out(requester_bits)
        Requester of the entry or of the lane; one that is not there is never active.
    weight : Out(weight_bits)
        Weight, quantum or reciprocal.
    """

    def __init__(self, weight_bits: int, requester_bits: int = 5) -> None:
        super().__init__(
            {
                "enable": Out(1),
                "select": Out(ScheduleSelect),
                "index": Out(7),
                "requester": Out(requester_bits),
                "weight": Out(weight_bits),
            }
        )


class Scheduler(wiring.Component):
    """Base of the schedulers of one list. A subclass adds its members and says who sends.

    Parameters
    ----------
    data_vls : int
        Data lanes.
    requesters : int
        Requesters behind a programmable map; 0 makes each data lane a requester, without a map.
    vl15 : bool
        Whether there is one more lane, the last, for VL15.
    members : dict
        Members beside the shared ones.
    """

    latency = 0

    def __init__(self, *, data_vls: int, requesters: int, vl15: bool, members: dict[str, object]) -> None:
        self.data_vls, self.vl15, self.mapped = data_vls, vl15, requesters > 0
        self.requesters = requesters or data_vls
        self.lanes = data_vls + vl15
        vl_bits = 4 if data_vls + vl15 <= 16 else 5
        super().__init__({**egress_members(self.lanes, vl_bits=vl_bits), **members})
        self.active = Signal(self.requesters)
        self.waiting = Signal(self.requesters)
        self.sizes = Signal(data.ArrayLayout(BLOCKS_SHAPE, self.requesters))
        self.decides = Signal()
        self.winner = Signal(self.requesters)
        self.held, self.lost = Signal(self.requesters), Signal(self.requesters)
        self.notes_lane = Signal(self.requesters)
        self.sends = Signal()
        owner = range(self.requesters + 1)
        self.owners = [Signal(owner, name=f"owner_{lane}", init=lane % self.requesters) for lane in range(data_vls)]

    @staticmethod
    def check_lanes(*, data_vls: int, requesters: int, vl15: bool) -> None:
        """Raise what a constructor would raise for the shared parameters."""
        check_flag("vl15", vl15)
        check_range("data_vls", data_vls, 2, MAX_SCHEDULER_VLS + (not vl15))
        check_range("requesters", requesters, 0, MAX_REQUESTERS)
        if requesters == 1:
            raise InputError("requesters", "0 or 2 to 32", "1")

    @staticmethod
    def check_mtu(mtu_blocks: int) -> None:
        """Raise what a constructor would raise for the largest packet."""
        check_range("mtu_blocks", mtu_blocks, 1, MAX_PACKET_BLOCKS)

    def frame(self, m: Module) -> None:
        """Make requesters of lanes, VL15 first, and a grant of ``winner`` and ``sends``; set ``decides``.

        ``winner`` must have one bit set if ``sends`` is; it is looked at in decision cycles only. A requester in
        ``held`` offers the lane noted last; in ``lost`` are those whose lane cannot send while another one can. A
        lane is noted in cycles of ``notes_lane``.
        """
        able = self.heads.request & self.heads.fits
        vl15_wins = Signal()
        if self.vl15:
            m.d.comb += vl15_wins.eq(able[self.data_vls])
        lane_wins = Signal(self.data_vls)
        m.d.comb += self.decides.eq(~vl15_wins & ~self.hold_data)
        if self.mapped:
            self._map(m, able, lane_wins)
        else:
            m.d.comb += [
                self.active.eq(able),
                self.waiting.eq(self.heads.request & ~self.heads.fits),
                lane_wins.eq(self.winner),
                *(self.sizes[lane].eq(self.heads.blocks[lane]) for lane in range(self.data_vls)),
            ]
        with m.If(vl15_wins):
            m.d.comb += [self.grant.eq(1), self.vl.eq(VL15), self.list.eq(ListCode.VL15)]
            m.d.comb += self.blocks.eq(self.heads.blocks[self.lanes - 1])
        with m.Elif(self.decides & self.sends):
            numbers = (Const(lane + (self.vl15 and lane >= VL15), len(self.vl)) for lane in range(self.data_vls))
            m.d.comb += [
                self.grant.eq(1),
                self.vl.eq(one_of(lane_wins, numbers)),
                self.blocks.eq(one_of(lane_wins, (self.heads.blocks[lane] for lane in range(self.data_vls)))),
            ]

    def _map(self, m: Module, able: Value, lane_wins: Signal) -> None:
        """Let each requester offer the next able lane of its own after the one it sent from last."""
        with m.If(self.program.enable & self._writes(ScheduleSelect.MAP)):
            for lane, owner in enumerate(self.owners):
                with m.If(equals(self.program.index, lane)):
                    m.d.sync += owner.eq(self.programmed_requester())
        offered = []
        for requester in range(self.requesters):
            owned = Signal(self.data_vls, name=f"owned_{requester}")
            last = Signal(range(self.data_vls), name=f"last_{requester}", init=self.data_vls - 1)
            m.submodules[f"turns_{requester}"] = turns = ListSearch(self.data_vls)
            m.d.comb += [
                owned.eq(Cat(equals(owner, requester) for owner in self.owners)),
                turns.eligible.eq(owned & able),
                turns.pointer.eq(last),
                turns.weight_left.eq(self.held[requester]),
                self.lost[requester].eq(self.held[requester] & turns.arrives),
                self.active[requester].eq(turns.found),
                self.waiting[requester].eq((owned & self.heads.request).any() & ~turns.found),
                self.sizes[requester].eq(
                    one_of(turns.chosen, (self.heads.blocks[lane] for lane in range(self.data_vls)))
                ),
            ]
            with m.If(self.notes_lane[requester]):
                m.d.sync += last.eq(turns.entry)
            offered.append(Mux(self.winner[requester], turns.chosen, 0))
        m.d.comb += lane_wins.eq(reduce(or_, offered))

    def programmed_requester(self) -> Value:
        """Return the requester that is written; ``requesters`` stands for all that are not there."""
        given = self.program.requester
        if self.requesters >= 1 << len(given):
            return given
        return Mux(given < self.requesters, given, self.requesters)

    def note_winner(self, m: Module) -> None:
        """Note the lane of whoever sends: then its requester's next lane is the one after it."""
        with m.If(self.ready & self.decides & self.sends):
            m.d.comb += self.notes_lane.eq(self.winner)

    def _writes(self, select: ScheduleSelect) -> Value:
        return equals(Value.cast(self.program.select), int(select))

    def table_write(self, index: int) -> Value:
        """Return whether this cycle writes entry ``index`` of the table."""
        return self.program.enable & self._writes(ScheduleSelect.TABLE) & equals(self.program.index, index)
