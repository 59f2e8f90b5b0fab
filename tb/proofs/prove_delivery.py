"""Proofs of the way of a packet through a small switch: it leaves once, at its output and on its lane, or drops."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from amaranth.hdl import Array, Assume, Cat, Fragment, Module, Mux, Signal, Value, unsigned
from vlane.hdl.buffers.buffer_geometry import FLAGS
from vlane.hdl.links.link import blocks_of
from vlane.tb.proofs.buffer_account import BufferAccount, accounted
from vlane.tb.proofs.delivery_parts import Arriving, Crossing, Heads, one_of
from vlane.tb.proofs.flit_chain import BEHIND, CHAIN_STATEMENTS, INDEX_BITS, TAG, ChainEnds, FlitChain, tag
from vlane.tb.proofs.inside import emptied, inside
from vlane.tb.proofs.properties import Gathered, Properties, free_inputs
from vlane.tb.proofs.prove_tables import at, constant

__all__ = ["DeliveryProperties"]

_TOLD = 2
"""Cycles from a head's arrival to the report of a drop; the look-up is in the cycle between."""


class DeliveryProperties(Properties):
    """The switch beside any flit of any packet, which is followed, for all that may ever happen, by induction.

    Packets have as many flits as their header says, on one lane of their link, with gaps or without; larger ones than
    allowed come too. The followed flit has a mark of its own, which passes through. In place of the buffers there are
    the accounts that they are proven to be. Tables, schedulers and the room at the far ends are taken out: tables may
    answer anything of a head that drops, and name any output and lane of any other; a scheduler grants any lane that it
    is told can send. No other flit on any link has the mark.

    Parameters
    ----------
    switch : IBSwitch
        The component; its largest packet has at most 15 blocks.

    Raises
    ------
    ValueError
        If its packets are larger.
    """

    statements: ClassVar = {
        "once": "A flit of an accepted packet that does not drop is held in exactly one place until it leaves, and it"
        " never leaves again.",
        "where": "A flit leaves only at the output and on the lane that the tables gave for its packet, whose header"
        " names that lane.",
        "as-it-came": "A flit leaves as it came, but for the lane or channel that a header names.",
        "dropped-never-leaves": "A packet that drops never leaves, and none leaves before it was let in.",
        **CHAIN_STATEMENTS,
        "waiting-heads": "Every packet in an input has its head in the queue of its lane until it crosses, in the same"
        " order, with its size and what the tables said of it.",
        "room-used": "Room that a buffer has reserved belongs to a flit that is there, or of a packet that comes.",
    }
    unfolds_memories = True
    any_memory = True

    def __init__(self, switch: Any) -> None:
        super().__init__()
        if switch.geometry.largest >= 1 << INDEX_BITS:
            raise ValueError(f"packets have at most {(1 << INDEX_BITS) - 1} blocks here, not {switch.geometry.largest}")
        self.switch, self.lanes = switch, range(switch.geometry.vls)
        self.m = Module()
        self.port = constant(self.m, "followed_port", 6, 0, switch.ports - 1)
        self.which = constant(self.m, "followed_flit", INDEX_BITS, 0, switch.geometry.largest - 1)
        self.begins, self.each = Signal(), Gathered(self.claim, longer=switch.geometry.largest > 1)
        self.free = [each for part in (switch.table, switch.map) for each in emptied(part)]
        for output in switch.outputs:
            self.free += [each for part in self._taken_out(output) for each in emptied(part)]
        self.at_input = [accounted(port.storage) for port in switch.inputs]
        self.at_output = [accounted(output.storage) for output in switch.outputs]
        self.places: list[Value] = []
        """Where the followed flit may be, one bit each."""
        self.first_places: list[Value] = []
        """Those that are the first of a lane of an input."""
        self.waits = Signal()
        """Whether it is in its input, or still comes."""
        self.at_lane: list[list[Value]] = [[] for _ in range(switch.ports)]
        """Whether it is in the buffer of an output, by output and lane."""
        self.crossings: list[Crossing] = []
        """Packets that are taken out of the inputs."""

    def _taken_out(self, output: Any) -> tuple[Any, ...]:
        """Return what is taken out of an output."""
        return output.scheduler, output.remote

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.switch), self.port, self.which, self.begins, *self.free]

    def elaborate(self, _platform: object) -> Module:
        m, switch = self.m, self.switch
        m.submodules.switch = self.fragment = Fragment.get(switch, None)
        self._arrive(m)
        self._look_up(m)
        for number in range(switch.ports):
            self._wait(m, number)
        m.d.comb += self.waits.eq(Cat(self.places).any() | self.pending)
        self._between(m)
        for number in range(switch.ports):
            self._send(m, number)
        for account in self.accounts:
            most = [used <= account.buffer.maximum for used in account.used]
            self.each("room-used", Cat(most).all() & (account.promised <= account.buffer.flits))
        self._leave(m)
        self.each.tell(m)
        return m

    @property
    def accounts(self) -> list[BufferAccount]:
        """Return the accounts of all buffers in which a flit may be."""
        return [*self.at_input, *self.at_output]

    def _arrive(self, m: Module) -> None:
        """Let whole packets come, one of them with the followed flit; keep account of what comes."""
        switch = self.switch
        sent, came_on, size = Signal(), Signal.like(switch.rx[0].vl), Signal(8)
        self.now = now = [Signal(name=f"followed_{ago}") for ago in range(_TOLD + 1)]
        m.d.comb += now[0].eq(self.begins & ~sent)
        with m.If(now[0]):
            m.d.sync += sent.eq(1)
        m.d.sync += [after.eq(before) for before, after in itertools.pairwise(now)]
        self.stored = Signal(name="stored")
        stores, mine = Signal(name="stores"), Signal(name="mine")
        self.data = Signal.like(switch.rx[0].data, name="followed_data")
        self.arriving, comes = [], []
        for number, rx in enumerate(switch.rx):
            is_its = self.port == number
            followed = now[0] & is_its
            packet = Arriving(m, number, rx, switch.inputs[number], inside(self.fragment, "kept", f"input_{number}"))
            self.arriving.append(packet)
            index = Mux(rx.first, 0, packet.written)
            flit = rx.valid & (followed | (mine & is_its & ~rx.first)) & (index == self.which)
            behind = sent & is_its & (rx.vl == came_on) & ~flit & ~(mine & (index < self.which))
            m.d.comb += [
                Assume(~followed | (rx.valid & rx.first & (blocks_of(rx.data) > self.which))),
                Assume((tag(rx.data) == TAG) == flit),
                Assume((tag(rx.data) != BEHIND) | behind),
            ]
            comes.append(flit & packet.keeps)
            with m.If(flit & packet.keeps):
                m.d.sync += self.data.eq(rx.data)
            with m.If(followed):
                m.d.comb += stores.eq(packet.keeps)
                m.d.sync += [came_on.eq(rx.vl), size.eq(blocks_of(rx.data))]
            with m.If(rx.valid & is_its):
                m.d.sync += mine.eq((followed | (mine & ~rx.first)) & ~rx.last)
        with m.If(stores):
            m.d.sync += self.stored.eq(1)
        self.stores, self.flit_comes = stores, Cat(comes).any()
        self.sent, self.came_on, self.size, self.mine = sent, came_on, size, mine
        self._still_comes(m)

    def _still_comes(self, m: Module) -> None:
        """Say whether the followed flit of a packet that was let in still comes."""
        self.came, self.pending = Signal(name="came"), Signal(name="pending")
        open_ = Signal()
        with m.If(self.flit_comes):
            m.d.sync += self.came.eq(1)
        m.d.comb += self.pending.eq(self.stored & ~self.came)
        packets = Array(Cat(each.opened, each.kept, each.written) for each in self.arriving)
        opened, written, kept = Signal(), Signal(8), Signal()
        m.d.comb += [Cat(opened, kept, written).eq(packets[self.port]), open_.eq(opened & self.mine)]
        lane = Array(each.lane for each in self.arriving)[self.port]
        size = Array(each.size for each in self.arriving)[self.port]
        claim = self.each
        claim("waiting-heads", opened & (lane == self.came_on) & (size == self.size), when=self.mine)
        claim("waiting-heads", self.sent & (kept == self.stored), when=self.mine)
        claim("waiting-heads", open_ & (written <= self.which), when=self.pending, longer=True)
        claim("waiting-heads", written > self.which, when=self.mine & self.came, longer=True)
        claim("waiting-heads", self.stored & self.sent, when=self.came)
        claim("waiting-heads", self.came_on < len(self.lanes), when=self.stored)
        claim("waiting-heads", (self.size > self.which) & (self.size <= self.switch.geometry.largest), when=self.stored)

    def _look_up(self, m: Module) -> None:
        """Keep what the tables say of the packet, and claim when it is told."""
        switch, now = self.switch, self.now
        for number, port in enumerate(switch.inputs):
            found = (switch.table.port[number] <= switch.ports) & self._is_lane(number)
            m.d.comb += Assume(Value.cast(port.cause).any() | found)
        self.to, self.lane, self.name = self._looked_up(m)
        self.drops = self._kept(m, "drops", [Value.cast(each.cause).any() for each in switch.inputs])
        self.let_in, self.dropped = Signal(name="let_in"), Signal(name="dropped")
        self.out = Signal(unsigned(2), name="out")
        cause = Signal.like(Value.cast(switch.dropped[0]))
        m.d.comb += cause.eq(Array(Value.cast(each) for each in switch.dropped)[self.port])
        with m.If(now[_TOLD]):
            m.d.sync += [self.let_in.eq(cause == 0), self.dropped.eq(cause != 0)]
        self.each("dropped-never-leaves", cause.any() == (self.drops | ~self.stored), when=now[_TOLD])
        phases = Cat(now[1], now[2], self.let_in, self.dropped)
        self.each("waiting-heads", sum(phases) == 1, when=self.sent)
        self.each("waiting-heads", ~phases.any() & ~self.stored & ~self.mine, when=~self.sent)
        self.each("waiting-heads", self.stored & ~self.drops, when=self.let_in)
        self.each("waiting-heads", ~self.stored | self.drops, when=self.dropped)

    def _is_lane(self, number: int) -> Value:
        """Return whether the maps name a lane of the switch for an input's head."""
        lane: Value = self.switch.map.vl[number] < self.switch.geometry.vls
        return lane

    def _looked_up(self, m: Module) -> tuple[Value, Value, Value]:
        """Return where the tables send the packet, on which lane, and what its header is to name.

        They hold from the cycle after its look-up on.
        """
        to = self._kept(m, "to", [each.output for each in self.switch.inputs])
        lane = self._kept(m, "lane", [each.outgoing_vl for each in self.switch.inputs])
        return to, lane, lane

    def _kept(self, m: Module, name: str, told: Iterable[Value]) -> Signal:
        """Return what was told of the packet in the cycle of its look-up, by input of the switch."""
        by_input = [Value.cast(each) for each in told]
        kept = Signal(max(len(each) for each in by_input), name=f"kept_{name}")
        with m.If(self.now[1]):
            m.d.sync += kept.eq(Array(by_input)[self.port])
        return kept

    def _named(self, data: Value) -> Value:
        """Return the lane that the local route header names, in its first bits (IBA 7.7)."""
        return data[len(data) - 4 :]

    def _name_bits(self, width: int) -> int:
        """Return the bits of a header of that width that name its lane."""
        return 0xF << (width - 4)

    def _wait(self, m: Module, number: int) -> None:
        """Claim that an input's flits and its heads correspond."""
        port, account, claim = self.switch.inputs[number], self.at_input[number], self.each
        packet = self.arriving[number]
        busy, crosses = self._crossing(number)
        gone = Signal(INDEX_BITS, name=f"gone_{number}")
        m.d.sync += gone.eq(Mux(port.granted, 0, gone + account.leaving_of(crosses.vl)))
        ends = port.crossing.last
        self.crossings.append(Crossing(busy & ~crosses.drop, gone, crosses.blocks, crosses.outgoing_vl, ends))
        claim("whole", packet.left < packet.size, when=packet.opened)
        claim("waiting-heads", packet.lane < len(self.lanes), when=packet.opened & packet.kept, longer=True)
        claim("waiting-heads", self._is_head(crosses) & (gone < crosses.blocks), when=busy)
        claim("waiting-heads", crosses.vl < len(self.lanes), when=busy)
        for lane in self.lanes:
            taken, comes = busy & (crosses.vl == lane), packet.kept & packet.opened & (packet.lane == lane)
            chain = FlitChain(m, claim, account, lane, ChainEnds(taken, gone, comes, packet.written))
            self.places += chain.here
            self.first_places.append(chain.here[0])
            path = (f"input_{number}", f"heads_{lane}")
            heads = Heads(claim, "waiting-heads", self.fragment, path, self.switch.geometry.maximum)
            arrived = packet.arrived & (packet.lane == lane)
            fresh = taken & ~gone.any()
            claim("waiting-heads", chain.begun == heads.level + fresh + arrived)
            claim("room-used", account.used[lane] == chain.held + Mux(comes, packet.left, 0))
            records = [port._routed(entry) for entry in heads.entries]
            for place, record in enumerate(records):
                claim("waiting-heads", self._is_head(record) & (record.vl == lane), when=heads.level > place)
            self._own_heads(m, number, chain, heads, records, crosses, taken, fresh)

    def _own_heads(
        self, m: Module, number: int, chain: FlitChain, heads: Heads, records: Sequence[Any], crosses: Any,
        taken: Value, fresh: Value,
    ) -> None:  # fmt: skip
        """Claim which head belongs to each flit of a lane, and that of the followed packet is as the tables said."""
        claim, packet, before = self.each, self.arriving[number], Value.cast(0)
        is_told = [self._is_as_told(record) for record in records]
        for place in range(len(chain.first)):
            number_of = Signal(INDEX_BITS, name="number_of")
            before = before + chain.first[place]
            m.d.comb += number_of.eq(before - fresh)
            there, here = chain.held > place, chain.here[place]
            is_crossing = number_of == 0
            size = Mux(is_crossing, crosses.blocks, packet.size)
            told = Mux(is_crossing, self._is_as_told(crosses), self.now[1])
            for entry, record in enumerate(records):
                is_its = (number_of == entry + 1) & (heads.level > entry)
                size, told = Mux(is_its, record.blocks, size), Mux(is_its, is_told[entry] & ~self.now[1], told)
            is_last = chain.index[place] + 1 == size
            claim("waiting-heads", (chain.index[place] < size) & (chain.last[place] == is_last), when=there)
            claim("waiting-heads", taken, when=there & is_crossing)
            claim("waiting-heads", told & ((self.now[1] == 0) | ~is_crossing), when=here)
            claim("whole", (chain.index[place] == self.which) & (size == self.size), when=here)
            own_way = (self.port == number) & (self.came_on == chain.lane)
            claim("once", own_way & self.stored, when=here)
            claim("as-it-came", self.at_input[number].flits[chain.lane][place][FLAGS:] == self.data, when=here)
            claim("in-order", own_way & self.sent & ~self.pending, when=chain.behind[place])
        waits = self.pending & (self.port == number) & (self.came_on == chain.lane)
        newest = Mux(heads.level == 0, self._is_as_told(crosses) & taken, at(is_told, heads.level - 1))
        claim("waiting-heads", newest, when=waits & ~self.now[1], longer=True)
        sizes = [each.blocks for each in records]
        size = Mux(heads.level == 0, Mux(taken, crosses.blocks, 0), at(sizes, heads.level - 1))
        comes = packet.kept & packet.opened & (packet.lane == chain.lane) & ~packet.arrived
        claim("waiting-heads", size == packet.size, when=comes, longer=True)

    def _is_head(self, record: Any) -> Value:
        """Return whether a head has a size, and drops or has an output and a lane of the switch."""
        found: Value = (record.output < self.switch.ports) & (record.outgoing_vl < len(self.lanes))
        return record.blocks.any() & (record.blocks <= self.switch.geometry.largest) & (record.drop | found)

    def _is_as_told(self, record: Any) -> Value:
        """Return whether the head of the followed packet carries what the tables said of it."""
        same: Value = (record.output == self.to) & (record.outgoing_vl == self.lane)
        return (record.blocks == self.size) & (record.drop == self.drops) & (self.drops | same)

    def _crossing(self, number: int) -> tuple[Value, Any]:
        """Return whether a packet crosses from an input, and what is known of it."""
        return inside(self.fragment, "busy", f"input_{number}"), self.switch.inputs[number]._crosses

    def _between(self, m: Module) -> None:
        """Claim what is between inputs and outputs."""

    def _coming(self, number: int) -> list[list[Crossing]]:
        """Return the packets that may cross to an output, by its write ports."""
        return [[
            crossing.to(port._crosses.output == number)
            for crossing, port in zip(self.crossings, self.switch.inputs, strict=True)
        ]]  # fmt: skip

    def _taken_in(self, m: Module, account: BufferAccount, free: Value, coming: Sequence[Sequence[Crossing]]) -> None:
        """Claim that at most one packet comes through each write port, of several lanes, and when another one may."""
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

    def _written(self, coming: Sequence[Sequence[Crossing]], lane: int) -> tuple[Value, Value]:
        """Return whether a packet is being written to a lane, and how many of its flits were."""
        comes, written = Value.cast(0), Value.cast(0)
        for packet in itertools.chain(*coming):
            mine = packet.busy & (packet.lane == lane) & packet.gone.any()
            comes, written = comes | mine, Mux(mine, packet.gone, written)
        return comes, written

    def _send(self, m: Module, number: int) -> None:
        """Claim that an output has what crossed to it, and room for what will."""
        output, account, claim = self.switch.outputs[number], self.at_output[number], self.each
        scheduler, coming, path = output.scheduler, self._coming(number), f"output_{number}"
        self._decides(m, scheduler, at(scheduler.heads.request & scheduler.heads.fits, scheduler.vl))
        self._taken_in(m, account, Value.cast(output.free), coming)
        sending, vl, now = (inside(self.fragment, name, path) for name in ("sending", "link_vl", "now"))
        sent, starts = Signal(INDEX_BITS), scheduler.grant & scheduler.ready
        m.d.sync += sent.eq(Mux(starts, 0, sent) + Mux(starts | sending, account.leaving_of(now), 0))
        most = self.switch.geometry.largest
        claim("whole", sent.any() & (sent < most) & (vl < len(self.lanes)), when=sending, longer=True)
        for lane in self.lanes:
            chain = FlitChain(
                m, claim, account, lane, ChainEnds(sending & (vl == lane), sent, *self._written(coming, lane))
            )
            self.places += chain.here
            inner = (path, f"sizes_{lane}")
            waiting = inside(self.fragment, "there", *inner)
            if self.switch.geometry.maximum > 1:
                level = inside(self.fragment, "level", *inner, "others")
                claim("whole", waiting | ~level.any())
                waiting = waiting + level
            claim("whole", waiting == chain.begun)
            for flit, place in zip(account.flits[lane], range(account.buffer.maximum), strict=True):
                here, is_last = chain.here[place], chain.last[place]
                self._is_on_its_way(here, number, lane, flit[FLAGS:])
                claim("whole", self._is_its_place(chain.index[place], is_last), when=here)
                self._is_behind(chain.behind[place], number, lane)
            self.at_lane[number].append(Cat(chain.here).any())
        self._on_the_link(number, sending, vl, sent)

    def _decides(self, m: Module, scheduler: Any, able: Value) -> None:
        """Assume of a scheduler that is taken out that it grants only a lane that can send."""
        m.d.comb += Assume(~scheduler.grant | able)

    def _is_its_place(self, index: Value, is_last: Value) -> Value:
        """Return whether a flit has the followed one's number, and is the last one of its packet if that is."""
        return (index == self.which) & (is_last == (self.which + 1 == self.size))

    def _on_the_link(self, number: int, sending: Value, vl: Value, sent: Value) -> None:
        """Claim what leaves."""
        tx, claim, out = self.switch.tx[number], self.each, self.out
        leaves, behind = tx.valid & (tag(tx.data) == TAG), tx.valid & (tag(tx.data) == BEHIND)
        claim("whole", (sent == 1) == tx.first, when=tx.valid)
        claim("whole", (sending == ~tx.last) & sent.any(), when=tx.valid)
        claim("whole", tx.vl == vl, when=tx.valid & sending, longer=True)
        claim("whole", self._is_its_place((sent - 1)[:INDEX_BITS], tx.last), when=leaves)
        self._is_on_its_way(leaves, number, tx.vl, tx.data)
        self._is_behind(behind, number, tx.vl)
        claim("in-order", ~at(self.at_lane[number], tx.vl), when=behind)
        its_way = self.let_in & (self.to == number) & (self.lane == tx.vl)
        claim("in-order", out == 1, when=behind & its_way & self.came)

    def _is_on_its_way(self, here: Value, number: Value | int, lane: Value | int, flit: Value) -> None:
        """Claim that the flit is where it must be, if it is here, and that a header names the lane."""
        self.each("where", (self.to == number) & (self.lane == lane), when=here)
        self.each("where", self._named(flit) == self.name, when=here & (self.which == 0))
        changed = (flit ^ self.data) & ~Mux(self.which == 0, self._name_bits(len(flit)), 0)
        self.each("as-it-came", ~changed[: len(flit)].any(), when=here)
        self.each("dropped-never-leaves", self.let_in, when=here)

    def _is_behind(self, behind: Value, _number: int, _lane: Value | int) -> None:
        """Claim that the followed flit left its input, if one that came behind it is on its way to the link there."""
        self.each("in-order", self.sent & ~self.waits, when=behind)

    def _leave(self, m: Module) -> None:
        """Claim that the flit is in one place until it leaves, and leaves once."""
        claim, out = self.each, self.out
        leaves, is_there = Signal(self.switch.ports), Signal()
        m.d.comb += leaves.eq(Cat(tx.valid & (tag(tx.data) == TAG) for tx in self.switch.tx))
        self.places += list(leaves)
        with m.If(self.flit_comes):
            m.d.sync += is_there.eq(1)
        with m.Elif(leaves.any() | self._discarded()):
            m.d.sync += is_there.eq(0)
        m.d.sync += out.eq(out + leaves.any())
        claim("once", sum(self.places) == is_there)
        claim("once", self.came & ~out.any(), when=is_there)
        claim("once", out == 1, when=self.let_in & self.came & ~is_there)
        claim("once", is_there == self.came, when=self.now[1] | self.now[2])
        claim("once", ~out.any(), when=self.pending, longer=True)
        claim("once", out <= 1)
        claim("dropped-never-leaves", ~leaves.any() & ~out.any(), when=~self.let_in)

    def _discarded(self) -> Value:
        """Return whether the flit leaves its input to go nowhere."""
        found = []
        for number, port in enumerate(self.switch.inputs):
            busy, crosses = self._crossing(number)
            leaving = self.at_input[number].leaving_of(crosses.vl)
            marked = [tag(flit[FLAGS:]) == TAG for flit in port.storage.read_data]
            goes = [(leaving > place) & mark for place, mark in enumerate(marked)]
            found.append(busy & crosses.drop & Cat(goes).any())
        return Cat(found).any()
