"""Proofs of InfiniBand credits: two ports joined by a link that delays and loses never overflow a buffer.

One lane; the first port sends to the second. In each direction one packet or FCP is on the way at a time, for as
long as it likes, and may be lost. All numbers that counters stand for are compared as differences modulo 4096.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth.hdl import Assert, Assume, Module, Mux, Signal, Value
from vlane.tb.proofs.properties import Instance, Properties

from vlane.fcp import CREDIT_CAP

__all__ = ["INSTANCES", "CreditIBProperties"]

_TIMES = {"fcp_blocks": 0, "fcp_period": 16, "watchdog_cycles": 32}


class CreditIBProperties(Properties):
    """Two ports and a link, with the properties to prove.

    Parameters
    ----------
    port : CreditIB
        The component; the far end is another of its parameters.
    """

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.near = port
        self.far = type(port)(replace(port.parameters, data_vls=1))
        self.size = Signal(7)
        self.wants, self.frees = Signal(), Signal()
        self.ends = Signal()
        self.takes = Signal(2)
        self.moves, self.loses = Signal(2), Signal(2)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [self.size, self.wants, self.frees, self.ends, self.takes, self.moves, self.loses]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        near, far = self.near, self.far
        m.submodules.near, m.submodules.far = near, far
        out_packet, out_fcp, in_fcp = Signal(), Signal(), Signal()
        out_blocks, out_bits, in_bits = Signal(7), Signal(48), Signal(48)
        out_free, in_free = ~out_packet & ~out_fcp, ~in_fcp
        delivers, answers = self.moves[0] & ~self.loses[0], self.moves[1] & ~self.loses[1]
        grant = Signal()
        m.d.comb += [
            Assume((self.size >= 1) & (self.size <= 66)),
            near.blocks[0].eq(self.size),
            grant.eq(self.wants & near.fits[0] & out_free & ~near.busy),
            near.grant.eq(grant),
            near.grant_blocks.eq(self.size),
            near.tail.eq(self.ends),
            near.fcp_taken.eq(self.takes[0] & out_free & ~grant),
            near.fcp_arrived.eq(in_fcp & answers),
            near.fcp_in.eq(in_bits),
            far.fcp_taken.eq(self.takes[1] & in_free),
            far.arrived.eq(out_packet & delivers),
            far.arrived_blocks.eq(out_blocks),
            far.fcp_arrived.eq(out_fcp & delivers),
            far.fcp_in.eq(out_bits),
            far.freed.eq(self.frees),
        ]
        with m.If(self.moves[0]):
            m.d.sync += [out_packet.eq(0), out_fcp.eq(0)]
        with m.If(grant):
            m.d.sync += [out_packet.eq(1), out_blocks.eq(self.size)]
        with m.If(near.fcp_valid & near.fcp_taken):
            m.d.sync += [out_fcp.eq(1), out_bits.eq(near.fcp)]
        with m.If(self.moves[1]):
            m.d.sync += in_fcp.eq(0)
        with m.If(far.fcp_valid & far.fcp_taken):
            m.d.sync += [in_fcp.eq(1), in_bits.eq(far.fcp)]
        self._promises(m, Mux(out_packet, out_blocks, 0), (out_fcp, out_bits), (in_fcp, in_bits))
        return m

    def _promises(
        self, m: Module, flying: Value, outward: tuple[Signal, Signal], inward: tuple[Signal, Signal]
    ) -> None:
        """Assert that no limit, sent or received, exceeds the room of the buffer."""
        near, far = self.near, self.far
        most = min(near.buffer_blocks, CREDIT_CAP)
        out_fcp, out_bits = outward
        in_fcp, in_bits = inward
        names = ("credit", "lost", "said", "newer", "ahead")
        credit, lost, said, newer, ahead = (Signal(12, name=name) for name in names)
        m.d.comb += [
            credit.eq(near.fccl[0] - near.fctbs[0]),  # what the sender believes it may send
            lost.eq(near.fctbs[0] - flying - far.abr[0]),  # what the receiver does not know of yet
            said.eq(in_bits[16:28] - near.fctbs[0]),  # what the FCP on its way will let it send
            newer.eq(in_bits[16:28] - near.fccl[0]),
            ahead.eq(far.receiver.limit[0] - in_bits[16:28]),
        ]
        m.d.comb += [
            Assert(far.room[0] <= near.buffer_blocks),
            Assert(credit <= most),
            Assert(credit + flying <= far.room[0]),
            Assert(credit + flying + lost <= most),
            Assert((flying == 0) | (flying <= 66)),
        ]
        with m.If(far.arrived):
            m.d.comb += Assert(far.accepted)
        with m.If(in_fcp):
            m.d.comb += [
                Assert(said + flying <= far.room[0]),
                Assert(said + flying + lost <= most),
                Assert(newer <= most),
                Assert(ahead <= most),
                Assert(credit <= said),
                Assert(in_bits[28:32] == 0),
            ]
        with m.If(out_fcp):
            m.d.comb += [Assert(out_bits[32:44] == near.fctbs[0]), Assert(flying == 0)]
        limit_ahead = Signal(12)
        m.d.comb += [limit_ahead.eq(far.receiver.limit[0] - near.fccl[0]), Assert(limit_ahead <= most)]


INSTANCES = (Instance("pair", CreditIBProperties, {"data_vls": 1, "buffer_blocks": 16, **_TIMES}),)
"""What is proven."""
