"""Proof of the path of a packet through a small Omni-Path switch, within an MPort or via a central buffer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from vlane.hdl.buffers.buffer_geometry import FLAGS
from vlane.switches.mports import MPORT, READERS, ports_of
from vlane.tb.buffers.vlbuffer.proofs_account import BufferModel, with_model_inside
from vlane.tb.machinery.proofs.inside import inner_signal
from vlane.tb.switches.proofs_delivery import DeliveryProperties
from vlane.tb.switches.proofs_delivery_parts import CrossingPacket, HeadPackets, PacketSets, one_of
from vlane.tb.switches.proofs_flit_chain import INDEX_BITS, ChainEnds, FlitChain
from vlane.tb.tables.proofs_tables import at

_MPORT_BITS = (MPORT - 1).bit_length()


class OPADeliveryProperties(DeliveryProperties):
    """Follow any flit of any packet through the Omni-Path switch, for any number of cycles.

    Parameters
    ----------
    switch : OPASwitch
        The component.
    """

    statements: ClassVar = {
        **DeliveryProperties.statements,
        "where": "A flit leaves only at the output and on the lane given by the tables for its packet, and its "
        "header carries the channel given by them.",
        "through-a-centre": "A packet to another MPort passes through a central buffer, and one within its MPort "
        "does not.",
        "central-heads": "Every packet in a central buffer has its head in the queue of its lane until it crosses, "
        "in the same order, with its size and its output.",
    }

    def __init__(self, switch: Any) -> None:
        super().__init__(switch)
        self.at_centre = [with_model_inside(centre.storage) for centre in switch.centres]
        self.in_centre: list[list[Value]] = [[] for _ in switch.centres]
        """Whether the followed flit is in a central buffer, by MPort and lane."""
        self.reads: list[list[CrossingPacket]] = []
        """Packets being read from the central buffers, by MPort."""
        self.passed = Signal()

    @property
    def accounts(self) -> list[BufferModel]:
        return [*super().accounts, *self.at_centre]

    def _outgoing_channels(self) -> list[Value]:
        return [self.switch.map.channel_out[number] for number in range(self.switch.ports)]

    def _lane_or_channel(self, data: Value) -> Value:
        """Return the channel in the header (``vlane/packets/lrh.py``)."""
        header = data[len(data) - 64 :]
        return Cat(header[60:64], header[51])

    def _lane_or_channel_mask(self, width: int) -> int:
        return (0xF << (width - 4)) | 1 << (width - 64 + 51)

    def _matches_look_up(self, record: Any) -> Value:
        same: Value = super()._matches_look_up(record) & (self.followed.drops | (record.channel == self.followed.name))
        return same

    @property
    def _is_central(self) -> Value:
        """Whether the tables send the packet to another MPort."""
        central: Value = (self.followed.port >> _MPORT_BITS) != (self.followed.to >> _MPORT_BITS)
        return central

    def _claim_between_ports(self, m: Module) -> None:
        """Claim the contents of the central buffers."""
        for mport in range(len(self.switch.centres)):
            self.reads.append([self._reading(m, mport, reader) for reader in range(READERS)])
            self._claim_central_buffer(m, mport, self._over_links(m, mport))
        with m.If(Cat(each for lanes in self.in_centre for each in lanes).any()):
            m.d.sync += self.passed.eq(1)
        self.each("through-a-centre", self._is_central & self.followed.let_in, when=self.passed)

    def _reading(self, m: Module, mport: int, reader: int) -> CrossingPacket:
        """Return the packet that a read port reads. Claim that it has a single lane and goes to another MPort."""
        path, centre = f"centre_{mport}", self.switch.centres[mport]
        busy, lanes, head = (
            inner_signal(self.fragment, f"{name}_{reader}", path) for name in ("reads", "lane", "read_head")
        )
        head, read = data.View(centre._head, head), centre.read[reader]
        gone = Signal(INDEX_BITS, name=f"gone_{mport}_{reader}")
        m.d.sync += gone.eq(Mux(centre.granted[reader], 0, gone + Mux(busy, read.count, 0)))
        self.each("central-heads", (sum(lanes) == 1) & (gone < head.blocks), when=busy)
        self.each("central-heads", self._is_for_other_mport(head, mport), when=busy)
        return CrossingPacket(busy, gone, head.blocks, read.vl, head.output, read.last)

    def _is_for_other_mport(self, head: Any, mport: int) -> Value:
        """Return whether a head has a size, and an output in another MPort."""
        far: Value = (head.output < self.switch.ports) & ((head.output >> _MPORT_BITS) != mport)
        return far & head.blocks.any() & (head.blocks <= self.switch.geometry.largest)

    def _over_links(self, m: Module, mport: int) -> list[list[CrossingPacket]]:
        """Claim that every packet crossing to a central buffer uses one of its links. Return the packets by link."""
        s, claim, path = self.switch, self.each, f"centre_{mport}"
        centre, mine = s.centres[mport], ports_of(mport, s.ports)
        sources = [inner_signal(self.fragment, f"source_{link}", path) for link in range(len(centre.links))]
        crossings = [self.crossings[number] for number in mine]
        comes = [each.to((each.output >> _MPORT_BITS) != mport) for each in crossings]
        for place in range(MPORT):
            crosses = comes[place].busy if place < len(comes) else Value.cast(0)
            claim("room-used", sum(source[place] for source in sources) == crosses)
        found = [[packet.to(source[place]) for place, packet in enumerate(comes)] for source in sources]
        free = Cat(link.free for link in centre.links)
        self._claim_entry(m, self.at_centre[mport], free, found)
        return found

    def _claim_central_buffer(self, m: Module, mport: int, coming: Sequence[Sequence[CrossingPacket]]) -> None:
        """Claim that flits and heads in a central buffer correspond."""
        claim, path = self.each, f"centre_{mport}"
        centre, account, followed = self.switch.centres[mport], self.at_centre[mport], self.followed
        links = range(len(centre.links))
        came = [data.View(centre._head, inner_signal(self.fragment, f"head_{link}", path)) for link in links]
        for lane in self.lanes:
            leaving = [crossing.to(crossing.lane == lane) for crossing in self.reads[mport]]
            reads = one_of(m, leaving)
            chain = FlitChain(
                m, claim, account, lane, ChainEnds(reads.busy, reads.gone, *self._being_written(coming, lane))
            )
            self.places += chain.here
            heads = HeadPackets(claim, "central-heads", self.fragment, (path, f"heads_{lane}"), centre.geometry.maximum)
            records = [data.View(centre._head, entry) for entry in heads.entries]
            arrivals = [inner_signal(self.fragment, f"lanes_{link}", path)[lane] for link in links]
            claim("central-heads", (sum(each.busy for each in leaving) <= 1) & (sum(arrivals) <= 1))
            for place, record in enumerate(records):
                claim("central-heads", self._is_for_other_mport(record, mport), when=heads.level > place)
            for arrives, head in zip(arrivals, came, strict=True):
                claim("central-heads", self._is_for_other_mport(head, mport), when=arrives)
            new = [Mux(arrivals[0], getattr(came[0], name), getattr(came[1], name)) for name in ("blocks", "output")]
            queued = [(each.blocks, each.output) for each in records]
            told, arrived = PacketSets((reads.size, reads.output), new), Cat(arrivals).any()
            own = heads.correspond(m, chain, reads.busy, reads.gone, arrived, told, queued)
            for place, (size, to) in enumerate(own):
                here, behind = chain.here[place], chain.behind[place]
                claim("central-heads", (to == followed.to) & (size == followed.size), when=here)
                claim("whole", chain.index[place] == followed.which, when=here)
                self._is_on_its_way(here, lane, account.flits[lane][place][FLAGS:])
                claim("in-order", ~self.waits, when=behind)
                claim("through-a-centre", (followed.port >> _MPORT_BITS) == mport, when=here | behind)
                claim("through-a-centre", self._is_central, when=here)
            size, to = heads.newest(arrived, told, queued)
            for packet in itertools.chain(*coming):
                begun = packet.busy & (packet.lane == lane) & packet.gone.any()
                its_own = heads.any_there & (size == packet.size) & (to == packet.output)
                claim("central-heads", its_own, when=begun, longer=True)
            self.in_centre[mport].append(Cat(chain.here).any())

    def _crossing_to(self, port_number: int) -> list[list[CrossingPacket]]:
        local = [self.crossings[each] for each in ports_of(port_number // MPORT, self.switch.ports)]
        central = [crossing for reads in self.reads for crossing in reads]
        return [[crossing.to(crossing.output == port_number) for crossing in group] for group in (local, central)]

    def _is_at_output(self, here: Value, port_number: int, lane: Value | int, flit: Value) -> None:
        super()._is_at_output(here, port_number, lane, flit)
        self.each("through-a-centre", self.passed == self._is_central, when=here)

    def _is_before(self, port_number: int, lane: Value | int) -> Value:
        others = [at(lanes, lane) for mport, lanes in enumerate(self.in_centre) if mport != port_number // MPORT]
        return Cat(super()._is_before(port_number, lane), *others).any()
