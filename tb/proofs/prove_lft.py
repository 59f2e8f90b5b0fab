"""Proofs of the LFT look-up: every LID gives the port that was written last, or the cause of its drop."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Fragment, Module, Value
from vlane.tb.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.proofs.prove_tables import constant, remembered

from vlane.lft import FIRST_MULTICAST, PERMISSIVE, UNASSIGNED, LFTCause

__all__ = ["INSTANCES", "LFTProperties"]


class LFTProperties(Properties):
    """The look-up with the properties to prove; look-up 0 always reads the observed LID.

    Parameters
    ----------
    lft : LFT
        The component.
    """

    def __init__(self, lft: Any) -> None:
        super().__init__()
        self.lft = lft
        self.m = Module()
        self.lid = constant(self.m, "watched_lid", 16, 0, lft.entries - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.lft), self.lid]

    def elaborate(self, _platform: object) -> Module:
        m, t = self.m, self.lft
        m.submodules.lft = Fragment.get(t, None)
        program = t.program
        written = program.enable & ~program.top & (program.lid == self.lid)
        port = remembered(m, "port", Value.cast(UNASSIGNED), written, program.port)
        m.d.comb += Assume(t.dlid[0] == self.lid)
        cause = [Value.cast(t.cause[index]) for index in range(t.lookups)]
        looked_up = (self.lid != 0) & (self.lid <= t.top)
        m.d.comb += [
            Assert(t.read[0] == port),
            Assert((cause[0] == LFTCause.RESERVED) == (self.lid == 0)),
            Assert((cause[0] == LFTCause.ABOVE_TOP) == ((self.lid != 0) & (self.lid > t.top))),
            Assert((cause[0] == LFTCause.UNASSIGNED) == (looked_up & (port == UNASSIGNED))),
            Assert((cause[0] == LFTCause.NO_SUCH_PORT) == (looked_up & (port > t.ports) & (port != UNASSIGNED))),
        ]
        with m.If(cause[0] == LFTCause.ROUTED):
            m.d.comb += Assert((t.port[0] == port) & (port <= t.ports))
        for index in range(t.lookups):
            multicast = (t.dlid[index] >= FIRST_MULTICAST) & (t.dlid[index] != PERMISSIVE)
            m.d.comb += [
                Assert(t.drop[index] == (cause[index] != LFTCause.ROUTED)),
                Assert(~t.drop[index] | (t.port[index] == UNASSIGNED)),
                Assert(t.drop[index] | (t.port[index] <= t.ports)),
                Assert((cause[index] == LFTCause.MULTICAST) == multicast),
                Assert((t.dlid[index] != PERMISSIVE) | (~t.drop[index] & (t.port[index] == 0))),
            ]
        return m


INSTANCES = (
    Instance("small", LFTProperties, {"lookups": 2, "ports": 4, "entries": 16}),
    Instance("odd", LFTProperties, {"lookups": 2, "ports": 36, "entries": 100}),
    Instance("full", LFTProperties, {"lookups": 8, "ports": 8, "entries": 1024}),
)
"""What is proven."""
