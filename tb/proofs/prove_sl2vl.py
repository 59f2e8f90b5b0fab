"""Proofs of the SL to VL mapping: every look-up gives what was written last, for any history."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Fragment, Module, Mux, Signal, Value
from vlane.tb.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.proofs.prove_tables import constant, remembered

from vlane.sl2vl import SL_COUNT, VL_DROP

__all__ = ["INSTANCES", "SL2VLProperties"]


class SL2VLProperties(Properties):
    """The mapping with the properties to prove; input 0 always looks up the observed row.

    Parameters
    ----------
    mapping : SL2VL
        The component.
    """

    def __init__(self, mapping: Any) -> None:
        super().__init__()
        self.mapping = mapping
        self.m = Module()
        self.row = constant(self.m, "watched_output", 6, 0, mapping.outputs - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.mapping), self.row]

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.mapping
        m.submodules.mapping = Fragment.get(s, None)
        program = s.program
        initial = Value.cast(sum((sl % s.data_vls) << 4 * sl for sl in range(SL_COUNT)))
        written = program.enable & (program.every_input | (program.input == 0)) & (program.output == self.row)
        row = remembered(m, "row", initial, written, program.row)
        m.d.comb += Assume(s.output[0] == self.row)
        mapped = Signal(4)
        m.d.comb += mapped.eq(row >> (s.sl[0] << 2))
        there = mapped < s.data_vls
        m.d.comb += [
            Assert(s.read[0] == row),
            Assert(s.drop[0] == ~there),
            Assert(s.vl[0] == Mux(there, mapped, VL_DROP)),
            Assert(s.invalid[0] == (~there & (mapped != VL_DROP))),
        ]
        for port in range(s.inputs):
            missing = s.output[port] >= s.outputs
            m.d.comb += [
                Assert(s.drop[port] == (s.vl[port] == VL_DROP)),
                Assert(~missing | (s.drop[port] & s.invalid[port])),
                Assert(s.drop[port] | (s.vl[port] < s.data_vls)),
            ]
        return m


INSTANCES = (
    Instance("small", SL2VLProperties, {"inputs": 2, "outputs": 3, "data_vls": 4}),
    Instance("square", SL2VLProperties, {"inputs": 8, "outputs": 8, "data_vls": 8}),
    Instance("full", SL2VLProperties, {"inputs": 3, "outputs": 36, "data_vls": 15}),
)
"""What is proven."""
