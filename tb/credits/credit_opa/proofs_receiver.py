"""Proofs of the receiving end of Omni-Path credits: owed units, and the returns on the wire."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.credits.credit_opa import COUNTER_BITS, LTPS_PER_RETURN, returned_units
from vlane.tb.credits.credit_opa.proofs_port import units_of
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant

_WIDE = 20


class Returns:
    """Reference model of a port's credit returns: the next lane to return units for, and the largest possible code.

    Parameters
    ----------
    m : Module
        Module of the proof.
    owed : sequence of Value
        Owed units, by lane.
    sent : Value
        An LTP leaves.
    vcu : int
        Exponent of the credit unit.

    Attributes
    ----------
    ltps : Signal
        LTPs of the current return that have left.
    saying : Signal
        Current return: code and lane.
    last : Signal
        Lane of the previous return.
    begins : Signal
        The last LTP of a return leaves, and the next return is chosen.
    found : Signal
        At least one lane is owed units.
    lane, code, units : Signal
        Lane, code and units of the next return.
    """

    def __init__(self, m: Module, owed: list[Value], sent: Value, vcu: int) -> None:
        vls = len(owed)
        self.ltps, self.saying = Signal(2, name="ltps_left"), Signal(8, name="return_left")
        self.last, self.lane = (
            Signal(range(max(2, vls)), init=vls - 1, name=f"{name}_lane") for name in ("last", "next")
        )
        self.begins, self.found = Signal(name="begins"), Signal(name="found")
        self.code, self.units = Signal(3, name="next_code"), Signal(COUNTER_BITS + 1, name="next_units")
        most = at(owed, self.lane)
        m.d.comb += [
            self.begins.eq(sent & (self.ltps == LTPS_PER_RETURN - 1)),
            self.found.eq(Cat(each != 0 for each in owed).any()),
        ]
        for last in range(vls):
            with m.If(self.last == last):
                for place in range(vls, 0, -1):
                    vl = (last + place) % vls
                    with m.If(owed[vl] != 0):
                        m.d.comb += self.lane.eq(vl)
        for code in range(8):
            with m.If(self.found & (most >= returned_units(code, vcu))):
                m.d.comb += self.code.eq(code)
        m.d.comb += self.units.eq(units_of(self.code, vcu))
        with m.If(sent):
            m.d.sync += self.ltps.eq(self.ltps + 1)
        with m.If(self.begins):
            m.d.sync += self.saying.eq(Mux(self.found, Cat(self.code, self.lane), 0))
            with m.If(self.found):
                m.d.sync += self.last.eq(self.lane)


class CreditOPAReceiverProperties(Properties):
    """Check a port against a reference model of one arbitrary lane: units freed, and units returned.

    Parameters
    ----------
    port : CreditOPA
        The component.
    """

    statements: ClassVar = {
        "owed": "The owed units are those freed minus those of the returns that have begun, also when units are "
        "freed in the cycle in which a return begins.",
        "largest-code": "A return carries the largest code that does not exceed the owed units of its lane, and 0 if "
        "no lane is owed any.",
        "wire": "The four LTPs of a return carry its code and its lane, lowest bits first, whatever is freed "
        "meanwhile.",
        "turn": "The lane of a return is the next one, after the previous return's lane, that is owed units.",
        "wait": "A lane that is owed units is served after at most as many returns of other lanes as there are other "
        "lanes.",
    }
    within = 24

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.port, self.m = port, Module()
        self.lane = constant(self.m, "watched_lane", 5, 0, port.parameters.vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.port), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, p, r, vls = self.m, self.port, self.port.receiver, self.port.parameters.vls
        m.submodules.port = p
        every = [p.owed[vl] for vl in range(vls)]
        returns = Returns(m, every, p.ltp_sent, p.parameters.vcu)
        freed, said, owed, here = Signal(_WIDE), Signal(_WIDE), Signal(COUNTER_BITS), Signal()
        m.d.comb += [owed.eq(freed - said), here.eq(returns.begins & returns.found & (returns.lane == self.lane))]
        with m.If(p.freed & (p.freed_vl == self.lane)):
            m.d.sync += freed.eq(freed + p.freed_blocks)
        with m.If(here):
            m.d.sync += said.eq(said + returns.units)
        self.claim(m, "owed", at(every, self.lane) == owed)
        self.claim(m, "largest-code", (returns.code != 0) & (returns.units <= owed), when=here)
        larger = units_of((returns.code + 1)[:3], p.parameters.vcu)
        self.claim(m, "largest-code", larger > owed, when=here & (returns.code != 7))
        for place in range(LTPS_PER_RETURN):
            at_place = returns.ltps == place
            self.claim(m, "wire", p.credit_out == returns.saying[2 * place : 2 * place + 2], when=at_place)
            self.claim(m, "wire", r.saying == returns.saying >> 2 * place, when=at_place)
        self.claim(m, "wire", r.said == returns.ltps)
        self.claim(m, "turn", (r.last == returns.last) & (returns.last < vls))
        place, passed = Signal(range(vls + 1)), Signal(range(vls + 1))
        m.d.comb += place.eq(Mux(returns.last < self.lane, self.lane - returns.last, vls + self.lane - returns.last))
        with m.If((owed == 0) | here):
            m.d.sync += passed.eq(0)
        with m.Elif(returns.begins):
            m.d.sync += passed.eq(passed + 1)
        if vls > 1:
            self.claim(m, "wait", passed + place <= vls, when=passed != 0)
        return m
