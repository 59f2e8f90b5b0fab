"""Proofs of two InfiniBand credit ports joined by a link that delays and loses: no buffer ever overflows.

One lane; the first port sends to the second. Each direction carries at most one packet or FCP at a time. All values of
counters are compared as differences modulo 4096.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.packets.fcp import COUNTER_BITS, CREDIT_CAP
from vlane.tb.credits.credit_ib.proofs_port import check_sum_of
from vlane.tb.machinery.proofs.properties import Properties

_MOST_BLOCKS = 66


class Wire:
    """One direction of the link, with the packet or FCP in flight.

    Parameters
    ----------
    name : str
        Name of the direction.

    Attributes
    ----------
    packet : Signal
        A packet's head is in flight.
    fcp : Signal
        An FCP is in flight.
    blocks : Signal
        Size of the packet, in blocks.
    body : Signal
        First 32 bits of the FCP.
    leaves : Signal
        The packet or FCP leaves the wire in this cycle.
    arrives : Signal
        The packet or FCP arrives in this cycle, because it is not lost.
    """

    def __init__(self, name: str) -> None:
        self.packet, self.fcp = Signal(name=f"{name}_packet"), Signal(name=f"{name}_fcp")
        self.blocks, self.body = Signal(7, name=f"{name}_blocks"), Signal(32, name=f"{name}_body")
        self.leaves, self.arrives = Signal(name=f"{name}_leaves"), Signal(name=f"{name}_arrives")

    @property
    def free(self) -> Value:
        """Whether nothing is in flight on the wire."""
        return ~self.packet & ~self.fcp

    @property
    def bits(self) -> Value:
        """All bits of the FCP in flight, with its checksum."""
        return Cat(check_sum_of(self.body), self.body)

    @property
    def fccl(self) -> Value:
        """Credit limit (FCCL) in the FCP in flight."""
        return self.body[:12]

    def carry(self, m: Module, *, grant: Value, blocks: Value, taken: Value, fcp: Value) -> None:
        """Put the packet or FCP that is sent in this cycle on the wire, where it is from the next cycle on."""
        with m.If(self.leaves):
            m.d.sync += [self.packet.eq(0), self.fcp.eq(0)]
        with m.If(grant):
            m.d.sync += [self.packet.eq(1), self.blocks.eq(blocks)]
        with m.If(taken):
            m.d.sync += [self.fcp.eq(1), self.body.eq(fcp[16:])]


class CreditIBPairProperties(Properties):
    """Check a sending and a receiving credit port that are joined by a lossy link.

    Parameters
    ----------
    port : CreditIB
        The component. The far end is a second instance with the same parameters.
    """

    statements: ClassVar = {
        "no-overflow": "Every packet that arrives finds space in the receiver's buffer, whatever was lost before.",
        "credit": "The credit seen by a sender plus the blocks in flight never exceed the receiver's free blocks.",
        "conserved": "The credit seen by a sender, the blocks in flight, and the blocks lost without the receiver's "
        "knowledge together never exceed the buffer.",
        "told": "The limit in an FCP in flight is between the sender's and the receiver's, and never promises more "
        "than the receiver's free blocks.",
    }

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.near = port
        self.far = type(port)(replace(port.parameters, data_vls=1))
        self.size = Signal(7)
        self.wants, self.frees, self.ends = Signal(), Signal(), Signal()
        self.takes, self.moves, self.loses = Signal(2), Signal(2), Signal(2)
        self.out, self.back = Wire("out"), Wire("back")
        self.grant, self.flying = Signal(), Signal(7)
        names = ("credit", "lost")
        self.credit, self.lost = (Signal(COUNTER_BITS, name=name) for name in names)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [self.size, self.wants, self.frees, self.ends, self.takes, self.moves, self.loses]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        near, far, out, back = self.near, self.far, self.out, self.back
        m.submodules.near, m.submodules.far = near, far
        m.d.comb += [
            Assume((self.size >= 1) & (self.size <= _MOST_BLOCKS)),
            near.blocks[0].eq(self.size),
            self.grant.eq(self.wants & near.fits[0] & out.free & ~near.busy & self.may_grant()),
            near.grant.eq(self.grant),
            near.grant_blocks.eq(self.size),
            near.tail.eq(self.ends | self.must_end()),
            near.fcp_taken.eq((self.takes[0] | self.must_take()) & out.free & ~self.grant),
            near.fcp_arrived.eq(back.fcp & back.arrives),
            near.fcp_in.eq(back.bits),
            far.fcp_taken.eq((self.takes[1] | self.must_take()) & back.free),
            far.arrived.eq(out.packet & out.arrives),
            far.arrived_blocks.eq(out.blocks),
            far.fcp_arrived.eq(out.fcp & out.arrives),
            far.fcp_in.eq(out.bits),
            far.freed.eq(self.frees),
            self.flying.eq(Mux(out.packet, out.blocks, 0)),
            self.credit.eq(near.fccl[0] - near.fctbs[0]),
            self.lost.eq(near.fctbs[0] - self.flying - far.abr[0]),
        ]
        for index, wire in enumerate((out, back)):
            m.d.comb += [
                wire.leaves.eq(~wire.free & (self.moves[index] | self.must_leave(wire))),
                wire.arrives.eq(wire.leaves & ~(self.loses[index] & self.may_lose())),
            ]
        out.carry(
            m, grant=self.grant, blocks=self.size, taken=near.fcp_valid & near.fcp_taken, fcp=Value.cast(near.fcp)
        )
        none = Value.cast(0)
        back.carry(m, grant=none, blocks=none, taken=far.fcp_valid & far.fcp_taken, fcp=Value.cast(far.fcp))
        self._claim_limits(m)
        self._claim_further(m)
        return m

    def may_grant(self) -> Value:
        """Return an additional condition for the start of a packet."""
        return Value.cast(1)

    def must_end(self) -> Value:
        """Return whether the packet being sent must end in this cycle."""
        return Value.cast(0)

    def must_take(self) -> Value:
        """Return whether the link must accept an offered FCP in this cycle."""
        return Value.cast(0)

    def must_leave(self, _wire: Wire) -> Value:
        """Return whether the item in flight must leave the wire in this cycle, delivered or lost."""
        return Value.cast(0)

    def may_lose(self) -> Value:
        """Return whether the link may lose an item that leaves the wire in this cycle."""
        return Value.cast(1)

    def _claim_limits(self, m: Module) -> None:
        """Claim that no limit, sent or received, exceeds the free blocks of the buffer."""
        near, far, out, back, flying = self.near, self.far, self.out, self.back, self.flying
        whole = near.parameters.buffer_blocks
        most = min(whole, CREDIT_CAP)
        names = ("said", "newer", "ahead", "limit_ahead")
        said, newer, ahead, limit_ahead = (Signal(COUNTER_BITS, name=name) for name in names)
        m.d.comb += [
            said.eq(back.fccl - near.fctbs[0]),
            newer.eq(back.fccl - near.fccl[0]),
            ahead.eq(far.receiver.limit[0] - back.fccl),
            limit_ahead.eq(far.receiver.limit[0] - near.fccl[0]),
        ]
        self.claim(m, "credit", (far.room[0] <= whole) & (self.credit <= most))
        self.claim(m, "credit", self.credit + flying <= far.room[0])
        self.claim(m, "credit", (flying >= 1) & (flying <= _MOST_BLOCKS), when=out.packet)
        self.claim(m, "conserved", self.credit + flying + self.lost <= most)
        self.claim(m, "no-overflow", far.accepted, when=far.arrived)
        self.claim(m, "told", limit_ahead <= most)
        with m.If(back.fcp):
            self.claim(m, "told", said + flying <= far.room[0])
            self.claim(m, "told", said + flying + self.lost <= most)
            self.claim(m, "told", (newer <= most) & (ahead <= most) & (self.credit <= said))
        for wire in (out, back):
            self.claim(m, "told", (wire.body[12:16] == 0) & (wire.body[28:32] == 0), when=wire.fcp)
        self.claim(m, "told", (out.body[16:28] == near.fctbs[0]) & ~out.packet, when=out.fcp)

    def _claim_further(self, m: Module) -> None:
        """Claim the additional properties of a subclass."""
