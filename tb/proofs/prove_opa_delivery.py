"""Bounded proof of a small Omni-Path switch: the way of a packet, within an MPort or through a central buffer."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Signal, Value
from vlane.hdl.buffers.buffer_geometry import FLAGS
from vlane.hdl.buffers.vlbuffer import VLBuffer
from vlane.tb.proofs.inside import emptied
from vlane.tb.proofs.prove_delivery import TAG, DeliveryProperties, tag

from vlane.mports import MPORT

__all__ = ["OPA_DEPTH", "OPADeliveryProperties"]

OPA_DEPTH = 10
"""Cycles from reset that are looked at; through an empty switch a packet takes five, through a central buffer eight."""
_MPORT_BITS = (MPORT - 1).bit_length()


class OPADeliveryProperties(DeliveryProperties):
    """The Omni-Path switch beside any one packet that is followed, for all that may happen to a depth.

    Packets come at the first port and at those of the second MPort, to any port: packets of the first go within their
    MPort and through its centre. The tables are taken out and may answer anything.

    Parameters
    ----------
    switch : OPASwitch
        The component; its largest packet has one block.
    """

    bounded = OPA_DEPTH
    statements: ClassVar = {
        "once": "An accepted packet that does not drop leaves once; until then a flit is held in the switch.",
        "where": "It leaves at the output and on the lane that the tables gave for it, and its header names the channel"
        " that they gave.",
        "dropped-never-leaves": "A packet that drops never leaves, and none leaves before it was let in.",
        "through-a-centre": "A packet to another MPort crosses a central buffer, and one within its MPort does not.",
    }

    def __init__(self, switch: Any) -> None:
        super().__init__(switch)
        self.quiet = [number for number in range(1, switch.ports) if number < MPORT]
        self.free = [each for part in (switch.table, switch.map) for each in emptied(part)]

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        driven = {id(self.switch.rx[number].valid) for number in self.quiet}
        return [*(each for each in super().ports() if id(each) not in driven), *self.free]

    def elaborate(self, platform: object) -> Module:
        m, s = super().elaborate(platform), self.switch
        for number in self.quiet:
            m.d.comb += s.rx[number].valid.eq(0)
        m.d.comb += Assume(~Cat(self.port == number for number in self.quiet).any())
        for number in range(s.ports):
            found = s.table.port[number]
            m.d.comb += Assume(found <= s.ports)
            m.d.comb += Assume(s.map.vl[number] < s.geometry.vls)
        through = Signal()
        with m.If(Cat(self._enters(each.storage) for each in s.centres).any()):
            m.d.sync += through.eq(1)
        for number, tx in enumerate(s.tx):
            leaves = tx.valid & (tag(tx.data) == TAG)
            goes_on = (self.port >> _MPORT_BITS) != number // MPORT
            self.claim(m, "through-a-centre", through, when=leaves & goes_on)
            self.claim(m, "through-a-centre", ~through, when=leaves & ~goes_on)
        return m

    def _enters(self, storage: VLBuffer) -> Value:
        """Return whether the packet enters a central buffer in this cycle."""
        places = range(storage.writers * storage.write_flits)
        comes = [storage.write_count[place // storage.write_flits] > place % storage.write_flits for place in places]
        return Cat(
            each & (tag(storage.write_data[place][FLAGS:]) == TAG) for place, each in zip(places, comes, strict=True)
        ).any()

    def _looked_up(self, m: Module, now: Signal) -> tuple[Value, Value, Value]:
        """Return where the tables send the packet, on which lane, and on which channel."""
        ports, table, maps = range(self.switch.ports), self.switch.table, self.switch.map
        to = self._kept(m, now, "to", [(table.port[number] - 1)[: len(table.port[number])] for number in ports])
        lane = self._kept(m, now, "lane", [maps.vl[number] for number in ports])
        return to, lane, self._kept(m, now, "channel", [maps.channel_out[number] for number in ports])

    def _named(self, data: Value) -> Value:
        """Return the channel that the header names (``vlane/lrh.py``)."""
        header = data[len(data) - 64 :]
        return Cat(header[60:64], header[51])

    def _buffers(self) -> list[VLBuffer]:
        """Return the buffers in which a flit may be."""
        return [*super()._buffers(), *(centre.storage for centre in self.switch.centres)]
