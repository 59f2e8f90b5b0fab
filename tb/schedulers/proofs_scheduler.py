"""Proofs of all single-list schedulers, for every input, by induction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.egress import ListCode
from vlane.schedulers.vlarb import VL15
from vlane.schedulers.writes import ScheduleSelect
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant, elaborated_module

STATEMENTS = {
    "vl15-first": "VL15 is granted exactly when its head can be sent, so no data lane is granted then.",
    "list": "The output `from_list` is VL15 exactly when VL15 is granted, and none otherwise.",
    "no-grant-no-packet": "Without a grant the outputs `vl` and `blocks` are 0.",
    "hold": "While data lanes are held, no data lane is granted.",
    "able": "A granted data lane has a packet that fits.",
    "size": "The output `blocks` is the size of the granted lane's head packet.",
    "winner": "The granted lane belongs to the requester that the scheduler selected.",
    "requesters": "A requester is active exactly when one of its lanes has a packet that fits. It waits when some "
    "lanes have packets and none fits. Each lane belongs to the requester of the last map write, or, after reset, to "
    "requester lane modulo number of requesters.",
    "frozen": "In a cycle without a decision (not ready, held, or taken by VL15) the scheduler's state does not "
    "change.",
}
"""Properties of every single-list scheduler."""

LANE_TURNS = {
    "next-lane": "With a map, a requester sends from its first able lane after the lane it sent from last.",
    "lane-wait": "With a map, an able lane is served after at most as many packets of its requester as there are "
    "other lanes.",
}
"""Additional properties of schedulers in which a requester may change its offered lane until it sends."""


def claim_grants(claim: Callable[..., None], m: Module, ports: Any, scheduler: Any) -> tuple[Value, Value]:
    """Claim the properties of grants that inputs and outputs show.

    Return the lanes that can send, and the granted data lane, one-hot.

    Parameters
    ----------
    claim : callable
        Collector of the claims.
    ports : object
        Ports of the scheduler, by name.
    scheduler : Scheduler
        The component, for its lanes.
    """
    lanes = range(scheduler.data_vls)
    able, granted = Signal(len(ports.heads.request), name="able"), Signal(scheduler.data_vls, name="granted")
    vl15_able = able[scheduler.data_vls] if scheduler.vl15 else Value.cast(0)
    from_vl15, from_data = Signal(name="from_vl15"), Signal(name="from_data")
    m.d.comb += [
        able.eq(ports.heads.request & ports.heads.fits),
        from_vl15.eq(Value.cast(ports.from_list) == int(ListCode.VL15)),
        from_data.eq(ports.grant & ~from_vl15),
        granted.eq(Cat((ports.vl == lane + (scheduler.vl15 and lane >= VL15)) & from_data for lane in lanes)),
    ]
    claim(m, "vl15-first", from_vl15 == vl15_able)
    if scheduler.vl15:
        size = ports.heads.blocks[scheduler.data_vls]
        claim(m, "vl15-first", ports.grant & (ports.vl == VL15) & (ports.blocks == size), when=from_vl15)
    claim(m, "no-grant-no-packet", Cat(ports.vl, ports.blocks) == 0, when=~ports.grant)
    claim(m, "hold", ~from_data, when=ports.hold_data)
    claim(m, "able", (granted & able[: scheduler.data_vls]).any(), when=from_data)
    for lane in lanes:
        claim(m, "size", ports.blocks == ports.heads.blocks[lane], when=granted[lane])
    return able, granted


def model_sizes(scheduler: Any) -> Value:
    """Return whether every head that can be sent has a size of 1 to 66 blocks."""
    able = scheduler.heads.request & scheduler.heads.fits
    blocks = scheduler.heads.blocks
    return Cat(~able[i] | ((blocks[i] > 0) & (blocks[i] <= 66)) for i in range(scheduler.data_vls)).all()


def _places_after(last: Value, index: Value | int, count: int) -> Value:
    """Return the cyclic distance from ``last`` to an index, 1 to ``count``."""
    return Mux(last < index, index - last, count + index - last)


class SchedulerProperties(Properties):
    """Check the properties common to all single-list schedulers. A subclass adds its own.

    Parameters
    ----------
    scheduler : Scheduler
        The component. Its internal signals are observed; nothing in it is changed.

    Attributes
    ----------
    watched : Signal
        Arbitrary requester, the same in all cycles.
    watched_lane : Signal
        Arbitrary data lane, the same in all cycles.
    owners : list of Signal
        Reference model of each data lane's requester; the number of requesters stands for none.
    granted : Signal
        Granted data lane, one-hot.
    """

    statements: ClassVar = STATEMENTS

    def __init__(self, scheduler: Any) -> None:
        super().__init__()
        self.scheduler, self.m = scheduler, Module()
        self.watched = constant(self.m, "watched", 5, 0, scheduler.requesters - 1)
        self.watched_lane = constant(self.m, "watched_lane", 5, 0, scheduler.data_vls - 1)
        self.owners = [
            Signal(range(scheduler.requesters + 1), name=f"account_owner_{lane}", init=lane % scheduler.requesters)
            for lane in range(scheduler.data_vls)
        ]
        self.granted = Signal(scheduler.data_vls)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.scheduler), self.watched, self.watched_lane]

    def elaborate(self, _platform: object) -> Module:
        m, claim = self.m, self.claim
        s = self.scheduler
        m.submodules.scheduler = self.module = elaborated_module(s)
        able, granted = claim_grants(claim, m, s, s)
        claim(m, "list", Cat(Value.cast(s.from_list) == int(each) for each in (ListCode.VL15, ListCode.NONE)).any())
        m.d.comb += self.granted.eq(granted)
        for lane in range(s.data_vls):
            claim(m, "winner", s.winner == (1 << self.owners[lane]), when=self.granted[lane])
        self._requesters(m, able)
        self._claim_frozen(m)
        self._claim_own_properties(m)
        return m

    def _requesters(self, m: Module, able: Value) -> None:
        """Model the map, and claim which requesters can send and which wait."""
        s = self.scheduler
        program = s.program if s.mapped else None
        can, wants = Signal(), Signal()
        for lane, owner in enumerate(self.owners):
            if program is not None:
                with m.If(
                    program.enable & (Value.cast(program.select) == ScheduleSelect.MAP) & (program.index == lane)
                ):
                    absent = program.requester >= s.requesters
                    m.d.sync += owner.eq(Mux(absent, s.requesters, program.requester))
                self.claim(m, "requesters", s.owners[lane] == owner)
            with m.If(owner == self.watched):
                with m.If(able[lane]):
                    m.d.comb += can.eq(1)
                with m.If(s.heads.request[lane]):
                    m.d.comb += wants.eq(1)
        self.claim(m, "requesters", at(list(s.active), self.watched) == can)
        self.claim(m, "requesters", at(list(s.waiting), self.watched) == (wants & ~can))

    def lane_turns(self, m: Module) -> None:
        """Claim round robin among the lanes of the watched requester, for schedulers that do not lock lanes."""
        s = self.scheduler
        if not s.mapped:
            return
        started, last = Signal(), Signal(range(s.data_vls), init=s.data_vls - 1, name="sent_from_last")
        owned = Signal(s.data_vls)
        m.d.comb += [
            owned.eq(Cat(owner == self.watched for owner in self.owners)),
            started.eq(s.ready & (self.granted & owned).any()),
        ]
        lane = self.watched_lane
        place, granted_place = (Signal(range(s.data_vls + 1), name=f"lane_{n}") for n in ("place", "place_granted"))
        able, passed = Signal(), Signal(range(s.data_vls + 1), name="lane_passed")
        m.d.comb += place.eq(_places_after(last, lane, s.data_vls))
        for each in range(s.data_vls):
            with m.If(self.granted[each]):
                m.d.comb += granted_place.eq(_places_after(last, each, s.data_vls))
                with m.If(started):
                    m.d.sync += last.eq(each)
        fits = list((s.heads.request & s.heads.fits)[: s.data_vls] & owned)
        m.d.comb += able.eq(at(fits, lane))
        of_it = at(list(self.granted), lane)
        self.claim(m, "next-lane", granted_place <= place, when=able & (self.granted & owned).any())
        with m.If(~able | (started & of_it)):
            m.d.sync += passed.eq(0)
        with m.Elif(started):
            m.d.sync += passed.eq(passed + 1)
        self.claim(m, "lane-wait", passed + place <= s.data_vls, when=passed != 0)
        kept = [self.module.submodules[f"turns_{requester}"].pointer for requester in range(s.requesters)]
        self.claim(m, "next-lane", (at(kept, self.watched) == last) & (last < s.data_vls))

    def _claim_frozen(self, m: Module) -> None:
        """Claim that the state does not change in cycles without a decision."""
        s = self.scheduler
        state = self.state()
        before, still = Signal.like(state), Signal()
        m.d.sync += [before.eq(state), still.eq(~(s.ready & s.decides) & ~self.disturbed())]
        self.claim(m, "frozen", state == before, when=still)

    def state(self) -> Value:
        """Return the registers that only a decision may change."""
        raise NotImplementedError

    def disturbed(self) -> Value:
        """Return whether something other than a decision may change these registers in this cycle."""
        return Value.cast(0)

    def _claim_own_properties(self, m: Module) -> None:
        """Claim the scheduler's own properties."""
        raise NotImplementedError
