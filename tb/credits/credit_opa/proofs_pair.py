"""Proofs of two Omni-Path credit ports: no unit is lost or duplicated between the sender and the far buffer."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from vlane.credits.credit_opa import COUNTER_BITS, LTPS_PER_RETURN
from vlane.tb.credits.credit_opa.proofs_port import units_of
from vlane.tb.credits.credit_opa.proofs_receiver import Returns
from vlane.tb.machinery.proofs.properties import Properties

_BUFFER = 15  # units of each lane: with 2176 the solver took more than two minutes


class CreditOPAPairProperties(Properties):
    """Check a sending and a receiving port with a lossless link against a reference model of every lane's far buffer.

    Packets may stay in flight for any time; an LTP arrives in the cycle in which it leaves.

    Parameters
    ----------
    port : CreditOPA
        The component. The far end is a second instance with the same parameters.
    """

    statements: ClassVar = {
        "conserved": "The units that a sender counts as outstanding are those in flight, in the far buffer, owed by "
        "the receiver, and in the return on the link: each unit is counted once, and comes back exactly "
        "once.",
        "no-false-error": "A return of a correct receiver is never reported as an error.",
        "in-step": "Both ends agree on which of the four LTPs of a return is next.",
    }

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.near, self.far, self.m = port, type(port)(port.parameters), Module()
        self.grant, self.ltp, self.frees = Signal(), Signal(), Signal()
        self.grant_vl, self.freed_vl = Signal(5), Signal(5)
        self.size, self.freed, self.lands = Signal(7), Signal(2), Signal(COUNTER_BITS)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [self.grant, self.ltp, self.frees, self.grant_vl, self.freed_vl, self.size, self.freed, self.lands]

    def elaborate(self, _platform: object) -> Module:
        m, near, far, vls = self.m, self.near, self.far, self.near.parameters.vls
        m.submodules.near, m.submodules.far = near, far
        m.d.comb += [
            near.grant.eq(self.grant),
            near.grant_vl.eq(self.grant_vl),
            near.grant_blocks.eq(self.size),
            near.ltp_arrived.eq(self.ltp),
            near.credit_in.eq(far.credit_out),
            far.ltp_sent.eq(self.ltp),
            far.freed.eq(self.frees),
            far.freed_vl.eq(self.freed_vl),
            far.freed_blocks.eq(self.freed),
        ]
        sent, freed, landed = Signal(7), Signal(2), Signal(COUNTER_BITS)
        flying = [Signal(COUNTER_BITS, name=f"flying_{vl}") for vl in range(vls)]
        held = [Signal(COUNTER_BITS, name=f"held_{vl}") for vl in range(vls)]
        every = [far.owed[vl] for vl in range(vls)]
        returns = Returns(m, every, self.ltp, near.parameters.vcu)
        m.d.comb += [sent.eq(self.size), freed.eq(self.freed), landed.eq(self.lands)]
        in_return = Signal(COUNTER_BITS + 1)
        m.d.comb += in_return.eq(units_of(returns.saying[:3], near.parameters.vcu))
        for vl in range(vls):
            takes = Mux(self.grant & (self.grant_vl == vl), sent, 0)
            gives = Mux(self.frees & (self.freed_vl == vl), freed, 0)
            moved = Mux(landed < flying[vl], landed, flying[vl])
            m.d.comb += [Assume(near.used[vl] + takes <= _BUFFER), Assume(gives <= held[vl])]
            m.d.sync += [flying[vl].eq(flying[vl] + takes - moved), held[vl].eq(held[vl] + moved - gives)]
            back = Mux(returns.saying[3:] == vl, in_return, 0)
            for count in (near.used[vl], flying[vl], held[vl], far.owed[vl], back):
                self.claim(m, "conserved", count <= _BUFFER)
            self.claim(m, "conserved", near.used[vl] == flying[vl] + held[vl] + far.owed[vl] + back)
        self.claim(m, "no-false-error", ~near.return_error)
        receiver = far.receiver
        self.claim(m, "in-step", (near.count == receiver.said) & (near.count == returns.ltps))
        self.claim(m, "in-step", (receiver.last == returns.last) & (returns.last < vls))
        for place in range(LTPS_PER_RETURN):
            on_the_way = Cat(near.heard[6 - 2 * place :], receiver.saying[: 8 - 2 * place])
            self.claim(m, "in-step", on_the_way == returns.saying, when=returns.ltps == place)
        self.claim(m, "in-step", (returns.saying[:3] != 0) & (returns.saying[3:] < vls), when=returns.saying != 0)
        return m
