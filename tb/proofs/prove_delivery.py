"""Proofs of the way of a packet through a small switch: it leaves once, at its output and on its lane, or drops."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from amaranth.hdl import Array, Assume, Cat, Fragment, Module, Mux, Signal, Value, unsigned
from vlane.hdl.buffers.buffer_geometry import FLAGS
from vlane.tb.proofs.buffer_account import BufferAccount, accounted
from vlane.tb.proofs.inside import contents, emptied, inside
from vlane.tb.proofs.properties import Claims, Properties, free_inputs
from vlane.tb.proofs.prove_tables import at, constant

__all__ = ["DeliveryProperties", "Heads"]

_TAG_BITS = 16
TAG = (1 << _TAG_BITS) - 1
"""Source LID of the packet that is followed, and of no other."""
_BEHIND = TAG - 1
"""Source LID of packets that come behind it, on its link and its VL."""
_TOLD = 2
"""Cycles from a head's arrival to the report of a drop; the look-up is in the cycle between."""


class Heads:
    """A FIFO of heads inside a switch: how many are there, and its entries, oldest first.

    Parameters
    ----------
    m : Module
        In which is claimed that its pointers and its level correspond.
    claim : Claims
        Collector of the claims.
    statement : str
        Property under which that is claimed.
    fragment : Fragment
        The elaborated switch.
    path : sequence of str
        Names of the submodules on the way to the FIFO.
    depth : int
        Of the FIFO.
    """

    def __init__(
        self, m: Module, claim: Claims, statement: str, fragment: Fragment, path: Sequence[str], depth: int
    ) -> None:
        part = fragment
        for each in path:
            part = part.find_subfragment(each)
        self.level, self.depth = inside(part, "level"), depth
        entries = Array(contents(part, "storage"))
        if depth == 1:
            self.entries = list(entries)
            claim(m, statement, self.level <= depth)
            return
        consume, produce = inside(part, "consume"), inside(part, "produce")
        self.entries = [entries[self._around(consume + place)] for place in range(depth)]
        claim(m, statement, (self.level <= depth) & (consume < depth) & (produce == self._around(consume + self.level)))

    def _around(self, place: Value) -> Value:
        return Mux(place >= self.depth, place - self.depth, place)


class DeliveryProperties(Properties):
    """The switch beside any one packet that is followed, for all that may ever happen, by induction.

    Packets have one flit. The followed one, of any sender and cycle, has a source LID of its own, which passes through.
    In place of the buffers there are the accounts that they are proven to be. Tables, schedulers and the room at the
    far ends are taken out: tables may answer anything, a scheduler grants any lane that it is told can send.

    Parameters
    ----------
    switch : IBSwitch
        The component; its largest packet has one block.
    """

    statements: ClassVar = {
        "once": "An accepted packet that does not drop leaves once; until then its flit is held in the switch, and no"
        " other flit takes its place.",
        "where": "It leaves at the output and on the lane that the tables gave for it, and its header names that lane.",
        "dropped-never-leaves": "A packet that drops never leaves, and none leaves before it was let in.",
        "in-order": "A packet that came behind it, on its link and lane, does not leave before it at its output and on its"
        " outgoing lane.",
        "heads": "Whatever waits in an input has its head in the queue of its lane, in the same order, with what the"
        " tables said of it.",
        "reserved": "Room that an output has reserved belongs to a flit that is there or crosses to it.",
    }
    unfolds_memories = True
    depth = 2

    def __init__(self, switch: Any) -> None:
        super().__init__()
        self.switch = switch
        self.m = Module()
        self.port = constant(self.m, "followed_port", 6, 0, switch.ports - 1)
        self.begins = Signal()
        self.free = [each for part in (switch.table, switch.map) for each in emptied(part)]
        for output in switch.outputs:
            self.free += [each for part in (output.scheduler, output.remote) for each in emptied(part)]
        self.at_input = [accounted(port.storage) for port in switch.inputs]
        self.at_output = [accounted(output.storage) for output in switch.outputs]
        self.places: list[Value] = []
        """Where the followed flit may be, one bit each."""
        self.waits = Signal()
        """Whether it is in its input."""
        self.at_lane: list[list[Value]] = [[] for _ in range(switch.ports)]
        """Whether it is in the buffer of an output, by output and lane."""

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.switch), self.port, self.begins, *self.free]

    def elaborate(self, _platform: object) -> Module:
        m, switch = self.m, self.switch
        m.submodules.switch = self.fragment = Fragment.get(switch, None)
        self._arrive(m)
        self._look_up(m)
        for number in range(switch.ports):
            self._wait(m, number)
        m.d.comb += self.waits.eq(Cat(self.places).any())
        self._between(m)
        for number in range(switch.ports):
            self._send(m, number)
        for account in self._accounts():
            most = [used <= account.buffer.maximum for used in account.used]
            self.claim(m, "reserved", Cat(most).all() & (account.promised <= account.buffer.flits))
        self._leave(m)
        return m

    def _accounts(self) -> list[BufferAccount]:
        """Return the accounts of all buffers in which a flit may be."""
        return [*self.at_input, *self.at_output]

    def _arrive(self, m: Module) -> None:
        """Let packets of one flit come, one of them the followed one; say how long ago it came."""
        switch, sent, came_on = self.switch, Signal(), Signal.like(self.switch.rx[0].vl)
        self.now = now = [Signal(name=f"followed_{ago}") for ago in range(_TOLD + 1)]
        m.d.comb += now[0].eq(self.begins & ~sent)
        with m.If(now[0]):
            m.d.sync += sent.eq(1)
        m.d.sync += [after.eq(before) for before, after in itertools.pairwise(now)]
        self.stored, stores = Signal(), []
        for number, rx in enumerate(switch.rx):
            followed = now[0] & (self.port == number)
            m.d.comb += [
                Assume(~rx.valid | (rx.first & rx.last)),
                Assume(~followed | rx.valid),
                Assume((tag(rx.data) == TAG) == followed),
                Assume((tag(rx.data) != _BEHIND) | (sent & (self.port == number) & (rx.vl == came_on))),
            ]
            with m.If(followed):
                m.d.sync += came_on.eq(rx.vl)
            stores.append(followed & switch.inputs[number].storage.accepted)
        self.stores = Cat(stores).any()
        with m.If(self.stores):
            m.d.sync += self.stored.eq(1)
        self.sent, self.came_on = sent, came_on

    def _look_up(self, m: Module) -> None:
        """Keep what the tables say of the packet, and claim when it is told."""
        switch, now = self.switch, self.now
        for number in range(switch.ports):
            m.d.comb += [Assume(switch.table.port[number] <= switch.ports), Assume(self._is_lane(number))]
        self.to, self.lane, self.name = self._looked_up(m)
        self.drops = self._kept(m, "drops", [Value.cast(each.cause).any() for each in switch.inputs])
        self.let_in, self.dropped, out = Signal(), Signal(), Signal(unsigned(2))
        cause = Signal.like(Value.cast(switch.dropped[0]))
        m.d.comb += cause.eq(Array(Value.cast(each) for each in switch.dropped)[self.port])
        with m.If(now[_TOLD]):
            m.d.sync += [self.let_in.eq(cause == 0), self.dropped.eq(cause != 0)]
            self.claim(m, "dropped-never-leaves", cause.any() == (self.drops | ~self.stored))
        self.out = out
        phases = Cat(now[1], now[2], self.let_in, self.dropped)
        self.claim(m, "heads", sum(phases) == 1, when=self.sent)
        self.claim(m, "heads", ~phases.any() & ~self.stored, when=~self.sent)
        self.claim(m, "heads", self.stored & ~self.drops, when=self.let_in)
        self.claim(m, "heads", ~self.stored | self.drops, when=self.dropped)

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

    def _queue(self, m: Module, account: BufferAccount, lane: int) -> list[tuple[Value, Value]]:
        """Return where the followed flit is in a buffer's lane, and those behind it; claim that they are in order."""
        found = []
        for place, flit in enumerate(account.flits[lane]):
            here, behind = Signal(name=f"here_{place}"), Signal(name=f"behind_{place}")
            there = account.held[lane] > place
            m.d.comb += [here.eq(there & _is_tagged(flit, TAG)), behind.eq(there & _is_tagged(flit, _BEHIND))]
            self.claim(m, "once", flit[:FLAGS].all(), when=there)
            found.append((here, behind))
        for place, (_, behind) in enumerate(found):
            later = [here for here, _ in found[place + 1 :]]
            if later:
                self.claim(m, "in-order", ~Cat(later).any(), when=behind)
        self.places += [here for here, _ in found]
        return found

    def _wait(self, m: Module, number: int) -> None:
        """Claim that an input's flits and its heads correspond."""
        port, account, claim = self.switch.inputs[number], self.at_input[number], self.claim
        rx, (busy, crosses) = port.rx, self._crossing(number)
        arrived, vl = Signal(name=f"arrived_{number}"), Signal.like(rx.vl, name=f"vl_{number}")
        m.d.sync += [arrived.eq(rx.valid & port.storage.accepted), vl.eq(rx.vl)]
        claim(m, "heads", self._is_head(crosses) & (crosses.vl < self.switch.geometry.vls), when=busy)
        for lane in range(self.switch.geometry.vls):
            path = (f"input_{number}", f"heads_{lane}")
            heads = Heads(m, claim, "heads", self.fragment, path, self.switch.geometry.maximum)
            leaves, comes = busy & (crosses.vl == lane), arrived & (vl == lane)
            held = account.held[lane]
            claim(m, "heads", held == heads.level + leaves + comes)
            claim(m, "heads", account.used[lane] == held)
            for place, entry in enumerate(heads.entries):
                record = port._routed(entry)
                there = heads.level > place
                claim(m, "heads", self._is_head(record) & (record.vl == lane), when=there)
            for place, (here, behind) in enumerate(self._queue(m, account, lane)):
                claim(m, "once", (self.port == number) & self.stored, when=here)
                own_way = (self.port == number) & (self.came_on == lane)
                claim(m, "in-order", own_way & self.sent, when=behind)
                claim(m, "in-order", self.came_on == lane, when=here)
                if place == 0:
                    claim(m, "heads", self._is_as_told(crosses), when=here & leaves)
                for behind in range(min(place + 1, heads.depth)):
                    if place - behind > 1:
                        continue
                    record = port._routed(heads.entries[behind])
                    waits = here & (leaves == place - behind) & (heads.level > behind)
                    claim(m, "heads", self._is_as_told(record), when=waits)
                last = here & (held == place + 1) & comes
                claim(m, "heads", last == (here & self.now[1]))

    def _is_head(self, record: Any) -> Value:
        """Return whether a head is of one flit, and drops or has an output and a lane of the switch."""
        found: Value = (record.output < self.switch.ports) & (record.outgoing_vl < self.switch.geometry.vls)
        return (record.blocks == 1) & (record.drop | found)

    def _is_as_told(self, record: Any) -> Value:
        """Return whether the head of the followed packet carries what the tables said of it."""
        same: Value = (record.output == self.to) & (record.outgoing_vl == self.lane)
        return (record.drop == self.drops) & (self.drops | same)

    def _crossing(self, number: int) -> tuple[Value, Any]:
        """Return whether a packet crosses from an input, and what is known of it."""
        return inside(self.fragment, "busy", f"input_{number}"), self.switch.inputs[number]._crosses

    def _between(self, m: Module) -> None:
        """Claim what is between inputs and outputs."""

    def _coming(self, number: int) -> list[tuple[Value, Value]]:
        """Return the packets that may cross to an output: whether each does, and its lane."""
        found = []
        for each in range(self.switch.ports):
            busy, crosses = self._crossing(each)
            found.append((busy & ~crosses.drop & (crosses.output == number), crosses.outgoing_vl))
        return found

    def _send(self, m: Module, number: int) -> None:
        """Claim that an output has what crossed to it, and room for what will."""
        output, account, claim = self.switch.outputs[number], self.at_output[number], self.claim
        scheduler, comes = output.scheduler, self._coming(number)
        able = at(scheduler.heads.request & scheduler.heads.fits, scheduler.vl)
        m.d.comb += Assume(~scheduler.grant | able)
        claim(m, "reserved", ~inside(self.fragment, "sending", f"output_{number}"))
        claim(m, "reserved", Value.cast(output.free).all())
        claim(m, "reserved", sum(crosses for crosses, _ in comes) <= 1)
        for lane in range(self.switch.geometry.vls):
            held, mine = account.held[lane], [crosses & (vl == lane) for crosses, vl in comes]
            claim(m, "reserved", account.used[lane] == held + sum(mine))
            path = (f"output_{number}", f"sizes_{lane}")
            waiting = inside(self.fragment, "there", *path)
            if self.switch.geometry.maximum > 1:
                level = inside(self.fragment, "level", *path, "others")
                claim(m, "reserved", waiting | ~level.any())
                waiting = waiting + level
            claim(m, "reserved", waiting == held)
            found = self._queue(m, account, lane)
            for flit, (here, behind) in zip(account.flits[lane], found, strict=True):
                self._is_on_its_way(m, here, number, lane, flit[FLAGS:])
                self._is_behind(m, behind, number, lane)
            self.at_lane[number].append(Cat(here for here, _ in found).any())

    def _is_on_its_way(self, m: Module, here: Value, number: Value | int, lane: Value | int, flit: Value) -> None:
        """Claim that the packet is where it must be, if it is here."""
        self.claim(m, "where", (self.to == number) & (self.lane == lane) & (self._named(flit) == self.name), when=here)
        self.claim(m, "dropped-never-leaves", self.let_in, when=here)

    def _is_behind(self, m: Module, behind: Value, number: int, lane: Value | int) -> None:
        """Claim that the followed packet left its input, if one that came behind it is at an output."""
        self.claim(m, "in-order", self.sent & ~self.waits, when=behind)

    def _leave(self, m: Module) -> None:
        """Claim that the packet is in one place until it leaves, and leaves once."""
        claim, out = self.claim, self.out
        leaves = Signal(self.switch.ports)
        m.d.comb += leaves.eq(Cat(tx.valid & (tag(tx.data) == TAG) for tx in self.switch.tx))
        self.places += list(leaves)
        goes = self._discarded()
        is_there = Signal()
        with m.If(self.stores):
            m.d.sync += is_there.eq(1)
        with m.Elif(leaves.any() | goes):
            m.d.sync += is_there.eq(0)
        m.d.sync += out.eq(out + leaves.any())
        claim(m, "once", sum(self.places) == is_there)
        claim(m, "once", out == 0, when=is_there)
        claim(m, "once", out == 1, when=self.let_in & ~is_there)
        claim(m, "once", is_there == self.stored, when=self.now[1] | self.now[2])
        claim(m, "once", out <= 1)
        for number, tx in enumerate(self.switch.tx):
            self._is_on_its_way(m, leaves[number], number, tx.vl, tx.data)
            behind = tx.valid & (tag(tx.data) == _BEHIND)
            self._is_behind(m, behind, number, tx.vl)
            claim(m, "in-order", ~at(self.at_lane[number], tx.vl), when=behind)
            mine = self.let_in & (self.to == number) & (self.lane == tx.vl)
            claim(m, "in-order", out == 1, when=behind & mine)
        claim(m, "dropped-never-leaves", ~leaves.any() & ~out.any(), when=~self.let_in)

    def _discarded(self) -> Value:
        """Return whether the packet leaves its input to go nowhere."""
        found = []
        for number, port in enumerate(self.switch.inputs):
            busy, crosses = self._crossing(number)
            found.append(busy & crosses.drop & _is_tagged(port.storage.read_data[0], TAG))
        return Cat(found).any()


def tag(data: Value) -> Value:
    """Return the source LID that the local route header names, in its last bits (IBA 7.7)."""
    return data[len(data) - 64 :][:_TAG_BITS]


def _is_tagged(flit: Value, name: int) -> Value:
    """Return whether a flit with its flags has a source LID."""
    return tag(flit[FLAGS:]) == name
