"""Proof of the way of a packet through a small Omni-Path switch, within an MPort or through a central buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from vlane.hdl.buffers.buffer_geometry import FLAGS
from vlane.tb.proofs.buffer_account import BufferAccount, accounted
from vlane.tb.proofs.delivery_parts import Crossing, Heads
from vlane.tb.proofs.flit_chain import INDEX_BITS, ChainEnds, FlitChain
from vlane.tb.proofs.inside import inside
from vlane.tb.proofs.prove_delivery import DeliveryProperties
from vlane.tb.proofs.prove_tables import at

from vlane.mports import MPORT, READERS, ports_of

__all__ = ["OPADeliveryProperties"]

_MPORT_BITS = (MPORT - 1).bit_length()


class OPADeliveryProperties(DeliveryProperties):
    """The Omni-Path switch beside any flit of any packet, which is followed, for all that may ever happen.

    Parameters
    ----------
    switch : OPASwitch
        The component.
    """

    statements: ClassVar = {
        **DeliveryProperties.statements,
        "where": "A flit leaves only at the output and on the lane that the tables gave for its packet, whose header"
        " names the channel that they gave.",
        "through-a-centre": "A packet to another MPort crosses a central buffer, and one within its MPort does not.",
        "central-heads": "Every packet in a central buffer has its head in the queue of its lane until it crosses, in"
        " the same order, with its size and its output.",
    }

    def __init__(self, switch: Any) -> None:
        super().__init__(switch)
        self.at_centre = [accounted(centre.storage) for centre in switch.centres]
        self.in_centre: list[list[Value]] = [[] for _ in switch.centres]
        """Whether the followed flit is in a central buffer, by MPort and lane."""
        self.reads: list[list[tuple[Crossing, Value, Any]]] = []
        """Packets that are taken out of the central buffers, each with its lane as one bit, and its head."""
        self.passed = Signal()

    @property
    def accounts(self) -> list[BufferAccount]:
        return [*super().accounts, *self.at_centre]

    def _looked_up(self, m: Module) -> tuple[Value, Value, Value]:
        to, lane, _ = super()._looked_up(m)
        maps = self.switch.map
        return to, lane, self._kept(m, "channel", [maps.channel_out[number] for number in range(self.switch.ports)])

    def _named(self, data: Value) -> Value:
        """Return the channel that the header names (``vlane/lrh.py``)."""
        header = data[len(data) - 64 :]
        return Cat(header[60:64], header[51])

    def _name_bits(self, width: int) -> int:
        return (0xF << (width - 4)) | 1 << (width - 64 + 51)

    def _is_as_told(self, record: Any) -> Value:
        same: Value = super()._is_as_told(record) & (self.drops | (record.channel == self.name))
        return same

    @property
    def _is_central(self) -> Value:
        """Whether the tables send the packet to another MPort."""
        central: Value = (self.port >> _MPORT_BITS) != (self.to >> _MPORT_BITS)
        return central

    def _between(self, m: Module) -> None:
        """Claim what is in the central buffers."""
        for mport in range(len(self.switch.centres)):
            self.reads.append([self._reading(m, mport, reader) for reader in range(READERS)])
            self._store(m, mport, self._over_links(m, mport))
        with m.If(Cat(each for lanes in self.in_centre for each in lanes).any()):
            m.d.sync += self.passed.eq(1)
        self.each("through-a-centre", self._is_central & self.let_in, when=self.passed)

    def _reading(self, m: Module, mport: int, reader: int) -> tuple[Crossing, Value, Any]:
        """Return what a read port takes out, its lane as one bit, and its head."""
        path, centre = f"centre_{mport}", self.switch.centres[mport]
        names = ("reads", "lane", "read_head")
        busy, lanes, head = (inside(self.fragment, f"{name}_{reader}", path) for name in names)
        head, read = data.View(centre._head, head), centre.read[reader]
        lane, gone = Signal.like(read.vl), Signal(INDEX_BITS, name=f"gone_{mport}_{reader}")
        m.d.comb += lane.eq(at([Value.cast(each) for each in self.lanes], _place(lanes)))
        m.d.sync += gone.eq(Mux(centre.granted[reader], 0, gone + Mux(busy, read.count, 0)))
        self.each("central-heads", (sum(lanes) == 1) & (gone < head.blocks), when=busy)
        self.each("central-heads", self._is_far(head, mport), when=busy)
        return Crossing(busy, gone, head.blocks, lane, read.last), lanes, head

    def _is_far(self, head: Any, mport: int) -> Value:
        """Return whether a head has a size, and an output of another MPort."""
        far: Value = (head.output < self.switch.ports) & ((head.output >> _MPORT_BITS) != mport)
        return far & head.blocks.any() & (head.blocks <= self.switch.geometry.largest)

    def _over_links(self, m: Module, mport: int) -> list[list[Crossing]]:
        """Claim that what crosses to a central buffer is on one of its links; return it, by its links."""
        s, claim, path = self.switch, self.each, f"centre_{mport}"
        centre, mine = s.centres[mport], ports_of(mport, s.ports)
        sources = [inside(self.fragment, f"source_{link}", path) for link in range(len(centre.links))]
        comes = [
            self.crossings[number].to((s.inputs[number]._crosses.output >> _MPORT_BITS) != mport) for number in mine
        ]
        for place in range(MPORT):
            crosses = comes[place].busy if place < len(comes) else Value.cast(0)
            claim("room-used", sum(source[place] for source in sources) == crosses)
        found = [[packet.to(source[place]) for place, packet in enumerate(comes)] for source in sources]
        free = Cat(link.free for link in centre.links)
        self._taken_in(m, self.at_centre[mport], free, found)
        return found

    def _store(self, m: Module, mport: int, coming: Sequence[Sequence[Crossing]]) -> None:
        """Claim that flits and heads of a central buffer correspond."""
        claim, path = self.each, f"centre_{mport}"
        centre, account, reads = self.switch.centres[mport], self.at_centre[mport], self.reads[mport]
        for lane in self.lanes:
            heads = Heads(claim, "central-heads", self.fragment, (path, f"heads_{lane}"), centre.geometry.maximum)
            records = [data.View(centre._head, entry) for entry in heads.entries]
            leaving = [crossing.busy & lanes[lane] for crossing, lanes, _ in reads]
            taken, gone, blocks = Cat(leaving).any(), Value.cast(0), Value.cast(0)
            output = Value.cast(0)
            for leaves, (crossing, _, head) in zip(leaving, reads, strict=True):
                gone, blocks = Mux(leaves, crossing.gone, gone), Mux(leaves, head.blocks, blocks)
                output = Mux(leaves, head.output, output)
            comes, written = self._written(coming, lane)
            chain = FlitChain(m, claim, account, lane, ChainEnds(taken, gone, comes, written))
            self.places += chain.here
            arrivals = [inside(self.fragment, f"lanes_{link}", path)[lane] for link in range(len(centre.links))]
            heads_now = [inside(self.fragment, f"head_{link}", path) for link in range(len(arrivals))]
            came = [data.View(centre._head, each) for each in heads_now]
            arrived = Cat(arrivals).any()
            fresh = taken & ~gone.any()
            claim("central-heads", (sum(leaving) <= 1) & (sum(arrivals) <= 1))
            claim("central-heads", chain.begun == heads.level + fresh + arrived)
            new_output, new_blocks = (
                Mux(arrivals[0], getattr(came[0], name), getattr(came[1], name)) for name in ("output", "blocks")
            )
            for place, record in enumerate(records):
                claim("central-heads", self._is_far(record, mport), when=heads.level > place)
            for arrives, head in zip(arrivals, came, strict=True):
                claim("central-heads", self._is_far(head, mport), when=arrives)
            self._own_central(m, mport, chain, heads, records, (taken, fresh, output, blocks), (new_output, new_blocks))
            size, to = self._newest(heads, records, (output, blocks), arrived, (new_output, new_blocks))
            for packet, number in ((packet, number) for link in coming for number, packet in enumerate(link)):
                crosses = self.switch.inputs[ports_of(mport, self.switch.ports)[number]]._crosses
                begun = packet.busy & (packet.lane == lane) & packet.gone.any()
                claim("central-heads", (size == packet.size) & (to == crosses.output), when=begun, longer=True)
            self.in_centre[mport].append(Cat(chain.here).any())

    def _newest(
        self, heads: Heads, records: Sequence[Any], taken: tuple[Value, Value], arrived: Value, new: tuple[Value, Value]
    ) -> tuple[Value, Value]:
        """Return size and output of the packet of a lane that came last."""
        output, blocks = taken
        size = Mux(heads.level == 0, blocks, at([each.blocks for each in records], heads.level - 1))
        to = Mux(heads.level == 0, output, at([each.output for each in records], heads.level - 1))
        return Mux(arrived, new[1], size), Mux(arrived, new[0], to)

    def _own_central(
        self, m: Module, mport: int, chain: FlitChain, heads: Heads, records: Sequence[Any],
        taken: tuple[Value, Value, Value, Value], new: tuple[Value, Value],
    ) -> None:  # fmt: skip
        """Claim which head belongs to each flit of a lane, and that the followed packet's has its output."""
        claim, before = self.each, Value.cast(0)
        is_taken, fresh, output, blocks = taken
        for place in range(len(chain.first)):
            number_of = Signal(INDEX_BITS, name="central_number_of")
            before = before + chain.first[place]
            m.d.comb += number_of.eq(before - fresh)
            there, here = chain.held > place, chain.here[place]
            is_crossing = number_of == 0
            size, to = Mux(is_crossing, blocks, new[1]), Mux(is_crossing, output, new[0])
            for entry, record in enumerate(records):
                is_its = (number_of == entry + 1) & (heads.level > entry)
                size, to = Mux(is_its, record.blocks, size), Mux(is_its, record.output, to)
            whole = (chain.index[place] < size) & (chain.last[place] == (chain.index[place] + 1 == size))
            claim("central-heads", whole, when=there)
            claim("central-heads", is_taken, when=there & is_crossing)
            claim("central-heads", (to == self.to) & (size == self.size), when=here)
            claim("whole", chain.index[place] == self.which, when=here)
            flit = self.at_centre[mport].flits[chain.lane][place][FLAGS:]
            self._is_on_its_way(here, self.to, chain.lane, flit)
            super()._is_behind(chain.behind[place], mport, chain.lane)
            claim("through-a-centre", (self.port >> _MPORT_BITS) == mport, when=here | chain.behind[place])
            claim("through-a-centre", self._is_central, when=here)

    def _coming(self, number: int) -> list[list[Crossing]]:
        s, mine = self.switch, ports_of(number // MPORT, self.switch.ports)
        local = [self.crossings[each].to(s.inputs[each]._crosses.output == number) for each in mine]
        central = [crossing.to(head.output == number) for reads in self.reads for crossing, _, head in reads]
        return [local, central]

    def _is_on_its_way(self, here: Value, number: Value | int, lane: Value | int, flit: Value) -> None:
        super()._is_on_its_way(here, number, lane, flit)
        if isinstance(number, int):
            self.each("through-a-centre", self.passed == self._is_central, when=here)

    def _is_behind(self, behind: Value, number: int, lane: Value | int) -> None:
        super()._is_behind(behind, number, lane)
        for mport, lanes in enumerate(self.in_centre):
            if mport != number // MPORT:
                self.each("in-order", ~at(lanes, lane), when=behind)


def _place(bits: Value) -> Value:
    """Return the number of the only bit that is set."""
    found: Value = Value.cast(0)
    for place in range(len(bits)):
        found = found | Mux(bits[place], place, 0)
    return found
