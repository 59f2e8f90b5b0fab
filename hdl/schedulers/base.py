"""Common base of the single-list schedulers: lanes, requesters, VL15, hold, grant."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out, Signature

from vlane.egress import ListCode, SchedulerParameters
from vlane.hdl.common.list_search import ListSearch
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.common.stored import Stored
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE, egress_members, vl_bits_of
from vlane.schedulers.vlarb import VL15
from vlane.schedulers.writes import ScheduleSelect


class ScheduleSignature(Signature):
    """Program port of a scheduler, seen from its driver.

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
        ``TABLE``: entries, quanta or reciprocals; ``MAP``: the map from lanes to requesters.
    index : Out(7)
        Index of the entry, requester or lane. Writes to an absent index are ignored.
    requester : Out(requester_bits)
        Requester of the entry or of the lane. An absent requester is never active.
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
    """Base of the single-list schedulers. A subclass adds its members and selects the winner.

    Parameters
    ----------
    parameters : SchedulerParameters
        Shape of the scheduler.
    members : dict
        Members in addition to the shared ones.
    parity : bool
        Whether registers have parity bits; ``stored.upset`` reports a mismatch.
    """

    latency = 0

    def __init__(self, parameters: SchedulerParameters, members: dict[str, object], *, parity: bool = False) -> None:
        data_vls, vl15 = parameters.data_vls, parameters.vl15
        self.data_vls, self.vl15, self.mapped = data_vls, vl15, parameters.requesters > 0
        self.requesters, self.lanes = parameters.count, data_vls + vl15
        super().__init__({**egress_members(self.lanes, vl_bits=vl_bits_of(self.lanes)), **members})
        self.active = Signal(self.requesters)
        self.waiting = Signal(self.requesters)
        self.sizes = Signal(data.ArrayLayout(BLOCKS_SHAPE, self.requesters))
        self.decides = Signal()
        self.winner = Signal(self.requesters)
        self.held = Signal(self.requesters)
        self.lost = Signal(self.requesters)
        self.takes_lane = Signal(self.requesters)
        self.notes_lane = Signal(self.requesters)
        self.taken_lanes = [Signal(range(data_vls), name=f"taken_{r}") for r in range(self.requesters)]
        self.sends = Signal()
        self.stored = Stored(parity=parity)
        owner = range(self.requesters + 1)
        self.owners = [Signal(owner, name=f"owner_{lane}", init=lane % self.requesters) for lane in range(data_vls)]

    def frame(self, m: Module) -> None:
        """Derive requesters from lanes, and the grant from ``winner`` and ``sends``. Drive ``decides``.

        VL15 is granted before all data lanes. ``winner`` must be one-hot while ``sends`` is asserted; it is used in
        decision cycles only.

        With a map, a requester locks the lane that it offers in a cycle of ``takes_lane`` and offers only this lane
        while the requester is in ``held``. ``lost`` contains the requesters whose locked lane cannot send while another
        of their lanes can. A cycle of ``notes_lane`` moves the round-robin pointer of the requester's lanes behind the
        offered lane.
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
            m.d.comb += [self.grant.eq(1), self.vl.eq(VL15), self.from_list.eq(ListCode.VL15)]
            m.d.comb += self.blocks.eq(self.heads.blocks[self.lanes - 1])
        with m.Elif(self.decides & self.sends):
            numbers = (Const(lane + (self.vl15 and lane >= VL15), len(self.vl)) for lane in range(self.data_vls))
            m.d.comb += [
                self.grant.eq(1),
                self.vl.eq(one_of(lane_wins, numbers)),
                self.blocks.eq(self.winner_blocks(lane_wins)),
            ]

    def winner_blocks(self, lane_wins: Signal) -> Value:
        """Return the size of the granted data packet, given its lane as a one-hot value."""
        return one_of(lane_wins, (self.heads.blocks[lane] for lane in range(self.data_vls)))

    def _map(self, m: Module, able: Value, lane_wins: Signal) -> None:
        """Select the lane that each requester offers: one of its able lanes, round robin from the lane sent last."""
        with m.If(self.program.enable & self._writes(ScheduleSelect.MAP)):
            for lane, owner in enumerate(self.owners):
                with m.If(equals(self.program.index, lane)):
                    self.stored.write(m, owner, self.programmed_requester())
        offered = []
        for requester in range(self.requesters):
            owned = Signal(self.data_vls, name=f"owned_{requester}")
            last = Signal(range(self.data_vls), name=f"last_{requester}", init=self.data_vls - 1)
            taken = self.taken_lanes[requester]
            kept = Signal(self.data_vls, name=f"kept_{requester}")
            lane = Signal.like(last, name=f"lane_{requester}")
            chosen = Signal(self.data_vls, name=f"chosen_{requester}")
            m.submodules[f"turns_{requester}"] = turns = ListSearch(self.data_vls)
            m.d.comb += [
                owned.eq(Cat(equals(owner, requester) for owner in self.owners)),
                turns.eligible.eq(owned & able),
                turns.pointer.eq(last),
                turns.weight_left.eq(0),
                kept.eq(Mux(self.held[requester], owned & able & (1 << taken), 0)),
                chosen.eq(Mux(kept.any(), kept, turns.chosen)),
                lane.eq(Mux(kept.any(), taken, turns.entry)),
                self.lost[requester].eq(self.held[requester] & turns.found & ~kept.any()),
                self.active[requester].eq(turns.found),
                self.waiting[requester].eq((owned & self.heads.request).any() & ~turns.found),
                self.sizes[requester].eq(one_of(chosen, (self.heads.blocks[lane] for lane in range(self.data_vls)))),
            ]
            with m.If(self.takes_lane[requester]):
                self.stored.write(m, taken, lane)
            with m.If(self.notes_lane[requester]):
                self.stored.write(m, last, lane)
            offered.append(Mux(self.winner[requester], chosen, 0))
        m.d.comb += lane_wins.eq(reduce(or_, offered))

    def programmed_requester(self) -> Value:
        """Return the requester being written. The number ``requesters`` stands for every absent requester."""
        given = self.program.requester
        if self.requesters >= 1 << len(given):
            return given
        return Mux(given < self.requesters, given, self.requesters)

    def note_winner(self, m: Module) -> None:
        """Move the lane pointer of the granted requester behind the granted lane."""
        with m.If(self.ready & self.decides & self.sends):
            m.d.comb += self.notes_lane.eq(self.winner)

    def _writes(self, select: ScheduleSelect) -> Value:
        return equals(Value.cast(self.program.select), int(select))

    def table_write(self, index: int) -> Value:
        """Return whether entry ``index`` of the table is written in this cycle."""
        return self.program.enable & self._writes(ScheduleSelect.TABLE) & equals(self.program.index, index)
