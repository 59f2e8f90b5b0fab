"""Proofs of delivery through a small switch: a packet leaves once, at the right output and lane, or is dropped."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Fragment, Module, Mux, Signal, Value

from vlane.hdl.buffers.buffer_geometry import FLAGS
from vlane.tb.buffers.vlbuffer.proofs_account import BufferModel, with_model_inside
from vlane.tb.machinery.proofs.inside import cut_out, inner_signal
from vlane.tb.machinery.proofs.properties import MergedClaims, Properties, free_inputs
from vlane.tb.switches.proofs_delivery_parts import ArrivingPackets, CrossingPacket, HeadPackets, PacketSets, one_of
from vlane.tb.switches.proofs_flit_chain import BEHIND, CHAIN_STATEMENTS, INDEX_BITS, TAG, ChainEnds, FlitChain, tag
from vlane.tb.switches.proofs_followed_packet import FollowedPacket
from vlane.tb.tables.proofs_tables import at


class DeliveryProperties(Properties):
    """Follow any flit of any packet through the switch, for any number of cycles, by induction.

    Assumptions: packets have as many flits as their header states, on one lane of their link, with or without gaps;
    packets may be larger than allowed. The followed flit carries a unique mark, which passes through.

    Buffers are replaced by the reference models that they are proven to equal. Tables, schedulers and the credits of
    the far ends are cut out: tables may return anything for a head that is dropped, and any output and lane for any
    other head; a scheduler may grant any lane that is reported able.

    Parameters
    ----------
    switch : IBSwitch
        The component. Its largest packet has at most 15 blocks.

    Raises
    ------
    ValueError
        If the component's packets are larger.
    """

    statements: ClassVar = {
        "once": "A flit of an accepted packet that is not dropped is in exactly one place until it leaves, and it "
        "never leaves again.",
        "where": "A flit leaves only at the output and on the lane given by the tables for its packet, and its "
        "header carries that lane.",
        "as-it-came": "A flit leaves unchanged, except for the lane or channel in a header.",
        "dropped-never-leaves": "A packet that is dropped never leaves, and no packet leaves before it is accepted.",
        **CHAIN_STATEMENTS,
        "waiting-heads": "Every packet in an input has its head in the queue of its lane until it crosses, in the "
        "same order, with its size and the result of its look-up.",
        "room-used": "Reserved space of a buffer belongs to a stored flit, or to a flit of an arriving packet.",
    }
    unfolds_memories = True
    any_memory = True

    def __init__(self, switch: Any) -> None:
        super().__init__()
        if switch.geometry.largest >= 1 << INDEX_BITS:
            raise ValueError(
                f"the delivery proof handles packets of at most {(1 << INDEX_BITS) - 1} blocks, not "
                f"{switch.geometry.largest}"
            )
        self.switch, self.lanes = switch, range(switch.geometry.vls)
        self.m = Module()
        self.followed = FollowedPacket(self.m, switch)
        self.each = MergedClaims(self.claim, longer=switch.geometry.largest > 1)
        self.free = [each for part in (switch.table, switch.map) for each in cut_out(part)]
        for output in switch.outputs:
            self.free += [each for part in self._cut_out_parts(output) for each in cut_out(part)]
        self.at_input = [with_model_inside(port.storage) for port in switch.inputs]
        self.at_output = [with_model_inside(output.storage) for output in switch.outputs]
        self.places: list[Value] = []
        """Whether the followed flit is in a place, one bit per place."""
        self.first_places: list[Value] = []
        """Those of the places that are first in a lane of an input."""
        self.out = Signal(2)
        """Number of times that the flit left."""
        self.waits = Signal()
        """Whether the flit is in its input, still arriving there, or not sent yet."""
        self.at_lane: list[list[Value]] = [[] for _ in range(switch.ports)]
        """Whether the flit is in the buffer of an output, by output and lane."""
        self.arriving: list[ArrivingPackets] = []
        """Packets that arrive on the links."""
        self.crossings: list[CrossingPacket] = []
        """Packets that cross from the inputs."""

    def _cut_out_parts(self, output: Any) -> tuple[Any, ...]:
        """Return the parts of an output that are cut out."""
        return output.scheduler, output.remote

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.switch), *self.followed.inputs, *self.free]

    def elaborate(self, _platform: object) -> Module:
        m, switch = self.m, self.switch
        m.submodules.switch = self.fragment = Fragment.get(switch, None)
        self._model_look_up(m)
        for number in range(switch.ports):
            self._wait(m, number)
        m.d.comb += self.waits.eq(Cat(self.places).any() | self.followed.pending | ~self.followed.sent)
        self._claim_between_ports(m)
        for number in range(switch.ports):
            self._claim_output(m, number)
        for account in self.accounts:
            most = [used <= account.buffer.maximum for used in account.used]
            self.each("room-used", Cat(most).all() & (account.promised <= account.buffer.flits))
        self._claim_leaves_once(m)
        self.each.tell(m)
        return m

    @property
    def accounts(self) -> list[BufferModel]:
        """Return the models of all buffers in which a flit may be."""
        return [*self.at_input, *self.at_output]

    def _model_look_up(self, m: Module) -> None:
        """Model arriving packets and assume that every head not dropped gets an existing output and lane."""
        switch = self.switch
        for number, port in enumerate(switch.inputs):
            kept = inner_signal(self.fragment, "kept", f"input_{number}")
            self.arriving.append(ArrivingPackets(m, number, switch.rx[number], port, kept))
            found = (switch.table.out_port[number] <= switch.ports) & (switch.map.vl[number] < len(self.lanes))
            m.d.comb += Assume(Value.cast(port.cause).any() | found)
        self.followed.arrives(self.arriving, self.each)
        self.followed.is_looked_up(self._outgoing_channels(), self.each)

    def _outgoing_channels(self) -> list[Value] | None:
        """Return the channel that each input's outgoing header must carry, or ``None`` if that is the outgoing lane."""
        return None

    def _lane_or_channel(self, data: Value) -> Value:
        """Return the lane in the local route header, its first bits (IBA 7.7)."""
        return data[len(data) - 4 :]

    def _lane_or_channel_mask(self, width: int) -> int:
        """Return a mask of the header bits that contain the lane."""
        return 0xF << (width - 4)

    def _wait(self, m: Module, port_number: int) -> None:
        """Claim that an input's flits and heads correspond."""
        port, account, claim = self.switch.inputs[port_number], self.at_input[port_number], self.each
        packet, followed = self.arriving[port_number], self.followed
        busy, crosses = self._crossing(port_number)
        gone = Signal(INDEX_BITS, name=f"gone_{port_number}")
        m.d.sync += gone.eq(Mux(port.granted, 0, gone + account.leaving_of(crosses.vl)))
        self.crossings.append(
            CrossingPacket(
                busy & ~crosses.drop, gone, crosses.blocks, crosses.outgoing_vl, crosses.output, port.crossing.last
            )
        )
        claim("whole", packet.left < packet.size, when=packet.opened)
        claim("waiting-heads", packet.lane < len(self.lanes), when=packet.opened & packet.kept, longer=True)
        claim("waiting-heads", self._is_head(crosses) & (gone < crosses.blocks), when=busy)
        claim("waiting-heads", crosses.vl < len(self.lanes), when=busy)
        looked_up = followed.now[1]
        told = PacketSets((crosses.blocks, self._matches_look_up(crosses) & ~looked_up), (packet.size, looked_up))
        for lane in self.lanes:
            taken, comes = busy & (crosses.vl == lane), packet.kept & packet.opened & (packet.lane == lane)
            chain = FlitChain(m, claim, account, lane, ChainEnds(taken, gone, comes, packet.written))
            self.places += chain.here
            self.first_places.append(chain.here[0])
            claim("room-used", account.used[lane] == chain.held + Mux(comes, packet.left, 0))
            path = (f"input_{port_number}", f"heads_{lane}")
            heads = HeadPackets(claim, "waiting-heads", self.fragment, path, self.switch.geometry.maximum)
            records = [port._routed(entry) for entry in heads.entries]
            for place, record in enumerate(records):
                claim("waiting-heads", self._is_head(record) & (record.vl == lane), when=heads.level > place)
            queued = [(record.blocks, self._matches_look_up(record) & ~looked_up) for record in records]
            arrives = packet.arrived & (packet.lane == lane)
            own = heads.correspond(m, chain, taken, gone, arrives, told, queued)
            own_way = (followed.port == port_number) & (followed.came_on == lane)
            for place, (size, is_told) in enumerate(own):
                here = chain.here[place]
                claim("waiting-heads", is_told, when=here)
                claim("whole", (chain.index[place] == followed.which) & (size == followed.size), when=here)
                claim("once", own_way & followed.stored, when=here)
                claim("as-it-came", account.flits[lane][place][FLAGS:] == followed.data, when=here)
                claim("in-order", own_way & followed.sent & ~followed.pending, when=chain.behind[place])
            size, is_told = heads.newest(arrives, told, queued)
            still_comes = followed.pending & own_way
            claim("waiting-heads", heads.any_there & is_told, when=still_comes, longer=True)
            claim("waiting-heads", heads.any_there & (size == packet.size), when=comes, longer=True)

    def _is_head(self, record: Any) -> Value:
        """Return whether a head has a size, and is dropped or has an existing output and lane."""
        found: Value = (record.output < self.switch.ports) & (record.outgoing_vl < len(self.lanes))
        return record.blocks.any() & (record.blocks <= self.switch.geometry.largest) & (record.drop | found)

    def _matches_look_up(self, record: Any) -> Value:
        """Return whether the followed packet's head carries the result of its look-up."""
        f = self.followed
        same: Value = (record.output == f.to) & (record.outgoing_vl == f.lane)
        return (record.blocks == f.size) & (record.drop == f.drops) & (f.drops | same)

    def _crossing(self, port_number: int) -> tuple[Value, Any]:
        """Return whether a packet crosses from an input, and its record."""
        return inner_signal(self.fragment, "busy", f"input_{port_number}"), self.switch.inputs[port_number]._crosses

    def _claim_between_ports(self, m: Module) -> None:
        """Claim the state between inputs and outputs. The base class has none."""

    def _crossing_to(self, port_number: int) -> list[list[CrossingPacket]]:
        """Return the packets that may cross to an output, by write port."""
        return [[crossing.to(crossing.output == port_number) for crossing in self.crossings]]

    def _claim_entry(
        self, m: Module, account: BufferModel, free: Value, coming: Sequence[Sequence[CrossingPacket]]
    ) -> None:
        """Claim that at most one packet enters each write port, on different lanes, and when a port is free."""
        claim = self.each
        ports = [one_of(m, each) for each in coming]
        for number, (port, packets) in enumerate(zip(ports, coming, strict=True)):
            claim("room-used", sum(packet.busy for packet in packets) <= 1)
            claim("room-used", free[number] == (~port.busy | port.ends))
        for one, other in itertools.combinations(ports, 2):
            claim("room-used", one.lane != other.lane, when=one.busy & other.busy, longer=True)
        for lane in self.lanes:
            more = sum(Mux(port.busy & (port.lane == lane), port.size - port.gone, 0) for port in ports)
            claim("room-used", account.used[lane] == account.held[lane] + more)

    def _being_written(self, coming: Sequence[Sequence[CrossingPacket]], lane: int) -> tuple[Value, Value]:
        """Return whether a packet is being written to a lane, and how many of its flits have been."""
        comes, written = Value.cast(0), Value.cast(0)
        for packet in itertools.chain(*coming):
            mine = packet.busy & (packet.lane == lane) & packet.gone.any()
            comes, written = comes | mine, Mux(mine, packet.gone, written)
        return comes, written

    def _claim_output(self, m: Module, port_number: int) -> None:
        """Claim that an output contains the flits received, and space for the rest of their packets."""
        output, account, claim = self.switch.outputs[port_number], self.at_output[port_number], self.each
        scheduler, coming, path = output.scheduler, self._crossing_to(port_number), f"output_{port_number}"
        self._assume_scheduler(m, scheduler, at(scheduler.heads.request & scheduler.heads.fits, scheduler.vl))
        self._claim_entry(m, account, Value.cast(output.free), coming)
        sending, vl, now = (inner_signal(self.fragment, name, path) for name in ("sending", "link_vl", "now"))
        sent, starts = Signal(INDEX_BITS), scheduler.grant & scheduler.ready
        m.d.sync += sent.eq(Mux(starts, 0, sent) + Mux(starts | sending, account.leaving_of(now), 0))
        most = self.switch.geometry.largest
        claim("whole", sent.any() & (sent < most) & (vl < len(self.lanes)), when=sending, longer=True)
        for lane in self.lanes:
            chain = FlitChain(
                m, claim, account, lane, ChainEnds(sending & (vl == lane), sent, *self._being_written(coming, lane))
            )
            self.places += chain.here
            inner = (path, f"sizes_{lane}")
            waiting = inner_signal(self.fragment, "there", *inner)
            if self.switch.geometry.maximum > 1:
                level = inner_signal(self.fragment, "level", *inner, "others")
                claim("whole", waiting | ~level.any())
                waiting = waiting + level
            claim("whole", waiting == chain.begun)
            for flit, place in zip(account.flits[lane], range(account.buffer.maximum), strict=True):
                here, is_last = chain.here[place], chain.last[place]
                self._is_at_output(here, port_number, lane, flit[FLAGS:])
                claim("whole", self._is_followed_index(chain.index[place], is_last), when=here)
                claim("in-order", ~self._is_before(port_number, lane), when=chain.behind[place])
            self.at_lane[port_number].append(Cat(chain.here).any())
        self._claim_link(port_number, sending, vl, sent)

    def _assume_scheduler(self, m: Module, scheduler: Any, able: Value) -> None:
        """Assume that a cut-out scheduler grants only a lane that can send."""
        m.d.comb += Assume(~scheduler.grant | able)

    def _is_followed_index(self, index: Value, is_last: Value) -> Value:
        """Return whether a flit is at the followed flit's index, and is a last flit exactly if the followed flit is."""
        return (index == self.followed.which) & (is_last == (self.followed.which + 1 == self.followed.size))

    def _claim_link(self, port_number: int, sending: Value, vl: Value, sent: Value) -> None:
        """Claim the properties of leaving flits."""
        tx, claim, out = self.switch.tx[port_number], self.each, self.out
        leaves, behind = tx.valid & (tag(tx.data) == TAG), tx.valid & (tag(tx.data) == BEHIND)
        claim("whole", (sent == 1) == tx.first, when=tx.valid)
        claim("whole", (sending == ~tx.last) & sent.any(), when=tx.valid)
        claim("whole", tx.vl == vl, when=tx.valid & sending, longer=True)
        claim("whole", self._is_followed_index((sent - 1)[:INDEX_BITS], tx.last), when=leaves)
        self._is_at_output(leaves, port_number, tx.vl, tx.data)
        claim("in-order", ~(self._is_before(port_number, tx.vl) | at(self.at_lane[port_number], tx.vl)), when=behind)
        f = self.followed
        its_way = f.let_in & (f.to == port_number) & (f.lane == tx.vl)
        claim("in-order", out == 1, when=behind & its_way & f.came)

    def _is_at_output(self, here: Value, port_number: int, lane: Value | int, flit: Value) -> None:
        """Claim that the flit, if here, is at the right output and lane."""
        self.each("where", self.followed.to == port_number, when=here)
        self._is_on_its_way(here, lane, flit)

    def _is_on_its_way(self, here: Value, lane: Value | int, flit: Value) -> None:
        """Claim that the flit, if here, is unchanged, on the outgoing lane, with the right lane in the header."""
        f = self.followed
        self.each("where", f.lane == lane, when=here)
        self.each("where", self._lane_or_channel(flit) == f.name, when=here & (f.which == 0))
        changed = (flit ^ f.data) & ~Mux(f.which == 0, self._lane_or_channel_mask(len(flit)), 0)
        self.each("as-it-came", ~changed[: len(flit)].any(), when=here)
        self.each("dropped-never-leaves", f.let_in, when=here)

    def _is_before(self, _number: int, _lane: Value | int) -> Value:
        """Return whether the flit may be between inputs and an output's lane: in this class, only while it waits."""
        return self.waits

    def _claim_leaves_once(self, m: Module) -> None:
        """Claim that the flit is in a single place until leaving, and leaves once."""
        claim, out = self.each, self.out
        leaves, is_there = Signal(self.switch.ports), Signal()
        m.d.comb += leaves.eq(Cat(tx.valid & (tag(tx.data) == TAG) for tx in self.switch.tx))
        self.places += list(leaves)
        with m.If(self.followed.flit_comes):
            m.d.sync += is_there.eq(1)
        with m.Elif(leaves.any() | self._is_discarded()):
            m.d.sync += is_there.eq(0)
        m.d.sync += out.eq(out + leaves.any())
        claim("once", sum(self.places) == is_there)
        claim("once", self.followed.came & ~out.any(), when=is_there)
        claim("once", out == 1, when=self.followed.let_in & self.followed.came & ~is_there)
        claim("once", is_there == self.followed.came, when=self.followed.now[1] | self.followed.now[2])
        claim("once", ~out.any(), when=self.followed.pending, longer=True)
        claim("once", out <= 1)
        claim("dropped-never-leaves", ~leaves.any() & ~out.any(), when=~self.followed.let_in)

    def _is_discarded(self) -> Value:
        """Return whether the flit leaves its input to be dropped."""
        found = []
        for number, port in enumerate(self.switch.inputs):
            busy, crosses = self._crossing(number)
            leaving = self.at_input[number].leaving_of(crosses.vl)
            marked = [tag(flit[FLAGS:]) == TAG for flit in port.storage.read_data]
            goes = [(leaving > place) & mark for place, mark in enumerate(marked)]
            found.append(busy & crosses.drop & Cat(goes).any())
        return Cat(found).any()
