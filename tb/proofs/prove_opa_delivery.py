"""Proof of the way of a packet through a small Omni-Path switch, within an MPort or through a central buffer."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data
from vlane.hdl.buffers.buffer_geometry import FLAGS
from vlane.tb.proofs.buffer_account import BufferAccount, accounted
from vlane.tb.proofs.inside import inside
from vlane.tb.proofs.prove_delivery import DeliveryProperties, Heads
from vlane.tb.proofs.prove_tables import at

from vlane.mports import MPORT, READERS, ports_of

__all__ = ["OPADeliveryProperties"]

_MPORT_BITS = (MPORT - 1).bit_length()


class OPADeliveryProperties(DeliveryProperties):
    """The Omni-Path switch beside any one packet that is followed, for all that may ever happen.

    Parameters
    ----------
    switch : OPASwitch
        The component; its largest packet has one block.
    """

    statements: ClassVar = {
        **DeliveryProperties.statements,
        "where": "It leaves at the output and on the lane that the tables gave for it, and its header names the channel"
        " that they gave.",
        "through-a-centre": "A packet to another MPort crosses a central buffer, and one within its MPort does not.",
        "central-heads": "Whatever waits in a central buffer has its head in the queue of its lane, in the same order,"
        " with its output.",
    }

    def __init__(self, switch: Any) -> None:
        super().__init__(switch)
        self.at_centre = [accounted(centre.storage) for centre in switch.centres]
        self.in_centre: list[list[Value]] = [[] for _ in switch.centres]
        """Whether the followed packet is in a central buffer, by MPort and lane."""
        self.passed = Signal()

    def _accounts(self) -> list[BufferAccount]:
        return [*super()._accounts(), *self.at_centre]

    def _looked_up(self, m: Module) -> tuple[Value, Value, Value]:
        to, lane, _ = super()._looked_up(m)
        maps = self.switch.map
        return to, lane, self._kept(m, "channel", [maps.channel_out[number] for number in range(self.switch.ports)])

    def _named(self, data: Value) -> Value:
        """Return the channel that the header names (``vlane/lrh.py``)."""
        header = data[len(data) - 64 :]
        return Cat(header[60:64], header[51])

    def _is_as_told(self, record: Any) -> Value:
        same: Value = super()._is_as_told(record) & (self.drops | (record.channel == self.name))
        return same

    def _between(self, m: Module) -> None:
        """Claim what is in the central buffers."""
        for mport in range(len(self.switch.centres)):
            self._links(m, mport)
            self._store(m, mport)
        with m.If(Cat(each for lanes in self.in_centre for each in lanes).any()):
            m.d.sync += self.passed.eq(1)
        self.claim(m, "through-a-centre", self._is_central & self.let_in, when=self.passed)

    @property
    def _is_central(self) -> Value:
        """Whether the tables send the packet to another MPort."""
        central: Value = (self.port >> _MPORT_BITS) != (self.to >> _MPORT_BITS)
        return central

    def _crosses_to_centre(self, mport: int) -> list[tuple[Value, Value]]:
        """Return, by port of an MPort, whether its packet crosses to the centre, and its lane."""
        found = []
        for number in ports_of(mport, self.switch.ports):
            busy, crosses = self._crossing(number)
            found.append((busy & ~crosses.drop & ((crosses.output >> _MPORT_BITS) != mport), crosses.outgoing_vl))
        return found

    def _links(self, m: Module, mport: int) -> None:
        """Claim that what crosses to a central buffer is on one of its links, and has room there."""
        s, claim, path = self.switch, self.claim, f"centre_{mport}"
        centre, account = s.centres[mport], self.at_centre[mport]
        comes = self._crosses_to_centre(mport)
        sources = [inside(self.fragment, f"source_{link}", path) for link in range(len(centre.links))]
        for place in range(MPORT):
            crosses = comes[place][0] if place < len(comes) else Value.cast(0)
            claim(m, "reserved", sum(source[place] for source in sources) == crosses)
        claim(m, "reserved", sum(crosses for crosses, _ in comes) <= 1)
        claim(m, "reserved", Cat(link.free for link in centre.links).all())
        for lane in range(s.geometry.vls):
            mine = [crosses & (vl == lane) for crosses, vl in comes]
            claim(m, "reserved", account.used[lane] == account.held[lane] + sum(mine))

    def _store(self, m: Module, mport: int) -> None:
        """Claim that flits and heads of a central buffer correspond."""
        s, claim, path = self.switch, self.claim, f"centre_{mport}"
        centre, account = s.centres[mport], self.at_centre[mport]
        layout = centre._head
        for lane in range(s.geometry.vls):
            heads = Heads(m, claim, "central-heads", self.fragment, (path, f"heads_{lane}"), centre.geometry.maximum)
            arrivals = [inside(self.fragment, f"lanes_{link}", path)[lane] for link in range(len(centre.links))]
            came = [data.View(layout, inside(self.fragment, f"head_{link}", path)) for link in range(len(arrivals))]
            reads = [self._reading(mport, reader) for reader in range(READERS)]
            leaves = [busy & lanes[lane] for busy, lanes, _ in reads]
            claim(m, "central-heads", account.held[lane] == heads.level + sum(leaves) + sum(arrivals))
            claim(m, "central-heads", (sum(leaves) <= 1) & (sum(arrivals) <= 1))
            for place, entry in enumerate(heads.entries):
                record = data.View(layout, entry)
                far = self._is_far(record.output, mport)
                claim(m, "central-heads", far & (record.blocks == 1), when=heads.level > place)
            for arrives, head in zip(arrivals, came, strict=True):
                claim(m, "central-heads", self._is_far(head.output, mport) & (head.blocks == 1), when=arrives)
            found = self._queue(m, account, lane)
            for place, (here, behind) in enumerate(found):
                self._is_on_its_way(m, here, self.to, lane, account.flits[lane][place][FLAGS:])
                self._is_behind(m, behind, None, lane)
                claim(m, "through-a-centre", (self.port >> _MPORT_BITS) == mport, when=here | behind)
                claim(m, "through-a-centre", self._is_central, when=here)
                if place == 0:
                    for (_, _, head), leaving in zip(reads, leaves, strict=True):
                        claim(m, "central-heads", head.output == self.to, when=here & leaving)
                for ahead in range(min(place + 1, 2)):
                    record = data.View(layout, heads.entries[place - ahead]) if place - ahead < heads.depth else None
                    if record is not None:
                        waits = here & (sum(leaves) == ahead) & (heads.level > place - ahead)
                        claim(m, "central-heads", record.output == self.to, when=waits)
                for arrives, head in zip(arrivals, came, strict=True):
                    is_last = here & (account.held[lane] == place + 1) & arrives
                    claim(m, "central-heads", head.output == self.to, when=is_last)
            self.in_centre[mport].append(Cat(here for here, _ in found).any())

    def _is_far(self, output: Value, mport: int) -> Value:
        """Return whether an output is there, and of another MPort."""
        far: Value = (output < self.switch.ports) & ((output >> _MPORT_BITS) != mport)
        return far

    def _reading(self, mport: int, reader: int) -> tuple[Value, Value, Any]:
        """Return whether a read port has a packet, its lane as one bit, and its head."""
        path = f"centre_{mport}"
        names = ("reads", "lane", "read_head")
        busy, lanes, head = (inside(self.fragment, f"{name}_{reader}", path) for name in names)
        return busy, lanes, data.View(self.switch.centres[mport]._head, head)

    def _coming(self, number: int) -> list[tuple[Value, Value]]:
        s, mport = self.switch, number // MPORT
        found = []
        for each in ports_of(mport, s.ports):
            busy, crosses = self._crossing(each)
            found.append((busy & ~crosses.drop & (crosses.output == number), crosses.outgoing_vl))
        for other in range(len(s.centres)):
            for reader in range(READERS):
                busy, lanes, head = self._reading(other, reader)
                lane = at([Value.cast(each) for each in range(s.geometry.vls)], _place(lanes))
                self.claim(self.m, "central-heads", sum(lanes) == 1, when=busy)
                found.append((busy & (head.output == number), lane))
        return found

    def _is_on_its_way(self, m: Module, here: Value, number: Value | int, lane: Value | int, flit: Value) -> None:
        super()._is_on_its_way(m, here, number, lane, flit)
        if isinstance(number, int):
            self.claim(m, "through-a-centre", self.passed == self._is_central, when=here)

    def _is_behind(self, m: Module, behind: Value, number: int | None, lane: Value | int) -> None:
        super()._is_behind(m, behind, number, lane)
        if number is not None:
            for mport, lanes in enumerate(self.in_centre):
                if mport != number // MPORT:
                    self.claim(m, "in-order", ~at(lanes, lane), when=behind)


def _place(bits: Value) -> Value:
    """Return the number of the only bit that is set."""
    found: Value = Value.cast(0)
    for place in range(len(bits)):
        found = found | (bits[place] * place)
    return found
