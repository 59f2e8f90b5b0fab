"""Packet followed through a switch in the delivery proofs: arrival, and the result of the look-up."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Array, Assume, Cat, Module, Mux, Signal, Value

from vlane.hdl.links.link import blocks_of
from vlane.tb.machinery.proofs.properties import MergedClaims
from vlane.tb.switches.proofs_delivery_parts import ArrivingPackets
from vlane.tb.switches.proofs_flit_chain import BEHIND, INDEX_BITS, TAG, tag
from vlane.tb.tables.proofs_tables import constant

_TOLD = 2
"""Cycles from a head's arrival to the report of a drop; the look-up is in the cycle between."""


class FollowedPacket:
    """One packet of any input, cycle and size, with one marked flit.

    Assumptions: no other flit on any link has this mark, and only later flits of the link and lane have the second
    mark.

    Parameters
    ----------
    m : Module
        Module to which the model is added.
    switch : Switch
        Switch through which the packet goes.

    Attributes
    ----------
    port : Signal
        Input at which the packet arrives. A free input of the proof, constant.
    which : Signal
        Index of the marked flit in the packet. A free input of the proof, constant.
    begins : Signal
        The first flit of the packet may arrive now. A free input.
    now : list of Signal
        Element k: the first flit arrived k cycles ago.
    sent : Signal
        The packet has begun to arrive.
    came_on : Signal
        Lane on the link on which the packet arrives.
    size : Signal
        Size of the packet in flits.
    mine : Signal
        More flits of the packet are to arrive.
    stored : Signal
        The input accepted the packet.
    flit_comes : Signal
        The marked flit is accepted in this cycle.
    came : Signal
        The marked flit has been accepted.
    pending : Signal
        The packet has been accepted, and the marked flit has not arrived yet.
    data : Signal
        The marked flit as it arrived.
    to : Signal
        Looked-up output, valid from the next cycle on.
    lane : Signal
        Looked-up outgoing lane.
    name : Signal
        Lane or channel of the outgoing header.
    drops : Signal
        The look-up drops the packet.
    let_in : Signal
        The switch accepted the packet.
    dropped : Signal
        The switch dropped the packet.
    """

    def __init__(self, m: Module, switch: Any) -> None:
        self._m, self._switch = m, switch
        self.port = constant(m, "followed_port", 6, 0, switch.ports - 1)
        self.which = constant(m, "followed_flit", INDEX_BITS, 0, switch.geometry.largest - 1)
        self.begins = Signal()
        self.now = [Signal(name=f"followed_{ago}") for ago in range(_TOLD + 1)]
        one_bit = ("sent", "mine", "stored", "flit_comes", "came", "pending", "let_in", "dropped")
        self.sent, self.mine, self.stored, self.flit_comes, self.came, self.pending, self.let_in, self.dropped = (
            Signal(name=name) for name in one_bit
        )
        rx = switch.rx[0]
        self.came_on, self.size = Signal.like(rx.vl, name="came_on"), Signal(8, name="followed_size")
        self.data = Signal.like(rx.data, name="followed_data")

    @property
    def inputs(self) -> list[Signal]:
        """Free inputs of the proof."""
        return [self.port, self.which, self.begins]

    def arrives(self, packets: list[ArrivingPackets], claim: MergedClaims) -> None:
        """Model the arrival of the followed packet on a link, and claim the state of its input meanwhile."""
        m, now, sent, mine = self._m, self.now, self.sent, self.mine
        m.d.comb += now[0].eq(self.begins & ~sent)
        with m.If(now[0]):
            m.d.sync += sent.eq(1)
        m.d.sync += [after.eq(before) for before, after in itertools.pairwise(now)]
        for number, (rx, packet) in enumerate(zip(self._switch.rx, packets, strict=True)):
            is_its = self.port == number
            followed = now[0] & is_its
            index = Mux(rx.first, 0, packet.written)
            flit = rx.valid & (followed | (mine & is_its & ~rx.first)) & (index == self.which)
            behind = sent & is_its & (rx.vl == self.came_on) & ~flit & ~(mine & (index < self.which))
            m.d.comb += [
                Assume(~followed | (rx.valid & rx.first & (blocks_of(rx.data) > self.which))),
                Assume((tag(rx.data) == TAG) == flit),
                Assume((tag(rx.data) != BEHIND) | behind),
            ]
            with m.If(flit & packet.keeps):
                m.d.comb += self.flit_comes.eq(1)
                m.d.sync += [self.came.eq(1), self.data.eq(rx.data)]
            with m.If(followed):
                m.d.sync += [self.stored.eq(packet.keeps), self.came_on.eq(rx.vl), self.size.eq(blocks_of(rx.data))]
            with m.If(rx.valid & is_its):
                m.d.sync += mine.eq((followed | (mine & ~rx.first)) & ~rx.last)
        m.d.comb += self.pending.eq(self.stored & ~self.came)
        self._claim_what_came(packets, claim)

    def _claim_what_came(self, packets: list[ArrivingPackets], claim: MergedClaims) -> None:
        known = Array(Cat(each.opened, each.kept, each.lane, each.size, each.written) for each in packets)[self.port]
        opened, kept = known[0], known[1]
        lane, size, written = known[2 : len(self.came_on) + 2], known[-16:-8], known[-8:]
        claim("waiting-heads", opened & (lane == self.came_on) & (size == self.size), when=self.mine)
        claim("waiting-heads", self.sent & (kept == self.stored), when=self.mine)
        claim("waiting-heads", opened & self.mine & (written <= self.which), when=self.pending, longer=True)
        claim("waiting-heads", written > self.which, when=self.mine & self.came, longer=True)
        claim("waiting-heads", self.stored & self.sent, when=self.came)
        geometry = self._switch.geometry
        claim("waiting-heads", self.came_on < geometry.vls, when=self.stored)
        claim("waiting-heads", (self.size > self.which) & (self.size <= geometry.largest), when=self.stored)

    def is_looked_up(self, names: Iterable[Value] | None, claim: MergedClaims) -> None:
        """Store the packet's look-up result, and claim the cycle in which the switch reports it.

        Parameters
        ----------
        names : iterable of Value or None
            By input, the channel of the outgoing header; ``None`` if the header carries the outgoing lane.
        """
        m, switch, now = self._m, self._switch, self.now
        self.to = self._at_look_up("to", (each.output for each in switch.inputs))
        self.lane = self._at_look_up("lane", (each.outgoing_vl for each in switch.inputs))
        self.name = self.lane if names is None else self._at_look_up("name", names)
        self.drops = self._at_look_up("drops", (Value.cast(each.cause).any() for each in switch.inputs))
        cause = Array(Value.cast(each) for each in switch.dropped)[self.port]
        with m.If(now[_TOLD]):
            m.d.sync += [self.let_in.eq(cause == 0), self.dropped.eq(cause != 0)]
        claim("dropped-never-leaves", cause.any() == (self.drops | ~self.stored), when=now[_TOLD])
        phases = Cat(now[1], now[2], self.let_in, self.dropped)
        claim("waiting-heads", sum(phases) == 1, when=self.sent)
        claim("waiting-heads", ~phases.any() & ~self.stored & ~self.mine, when=~self.sent)
        claim("waiting-heads", self.stored & ~self.drops, when=self.let_in)
        claim("waiting-heads", ~self.stored | self.drops, when=self.dropped)

    def _at_look_up(self, name: str, recorded: Iterable[Value]) -> Signal:
        """Return the value at the packet's input in the cycle of its look-up, stored."""
        by_input = [Value.cast(each) for each in recorded]
        kept = Signal(max(len(each) for each in by_input), name=f"kept_{name}")
        with self._m.If(self.now[1]):
            self._m.d.sync += kept.eq(Array(by_input)[self.port])
        return kept
