"""Proofs of the SL to VL mapping: every look-up returns the lane written last, for any history."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Signal, Value

from vlane.tables.sl2vl import SL_COUNT, VL_DROP
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant, elaborated_module, written_last


class SL2VLProperties(Properties):
    """Check the mapping against a reference model of the row of one input and output.

    Parameters
    ----------
    mapping : SL2VL
        The component. The proof adds a read port for the watched row to each of its memories.
    """

    statements: ClassVar = {
        "entry": "The row of an input and an output is the one written last for both, or for the output and every "
        "input; initially it maps to SL modulo the data lanes. Nothing else changes it, not even a reset.",
        "while-written": "A look-up in the cycle in which its row is written returns the lane of the old row.",
        "look-up": "A packet gets the lane for its service level in the row of its input and output, in the same "
        "cycle, if the port has that lane.",
        "row-drops": "A packet whose row names lane 15 is dropped and is not reported invalid.",
        "absent-lane": "A packet whose row names an absent lane other than 15 is dropped and invalid.",
        "absent-output": "A packet to an absent output is dropped and invalid.",
        "dropped": "A packet is dropped exactly when its lane is shown as 15, and is invalid only if it is dropped.",
    }

    def __init__(self, mapping: Any) -> None:
        super().__init__()
        self.mapping = mapping
        self.m = Module()
        self.input = constant(self.m, "watched_input", 6, 0, mapping.inputs - 1)
        self.output = constant(self.m, "watched_output", 6, 0, mapping.outputs - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.mapping), self.input, self.output]

    def elaborate(self, _platform: object) -> Module:
        m, s, claim = self.m, self.mapping, self.claim
        m.submodules.mapping = elaborated_module(s)
        program = s.program
        initial = Value.cast(sum((sl % s.data_vls) << 4 * sl for sl in range(SL_COUNT)))
        written = Signal()
        m.d.comb += written.eq(
            program.enable & (program.every_input | (program.input == self.input)) & (program.output == self.output)
        )
        row, kept = Signal(4 * SL_COUNT), []
        m.d.comb += row.eq(written_last(m, "row", initial, written, program.row))
        for memory in s.tables:
            reader = memory.read_port(domain="comb")
            m.d.comb += reader.addr.eq(self.output)
            kept.append(reader.data)
        claim(m, "entry", at(kept, self.input) == row)

        output, sl, vl = (at(list(each), self.input) for each in (s.out_port, s.sl, s.vl))
        drop, invalid = (at(list(each), self.input) for each in (s.drop, s.invalid))
        mapped, here, there = Signal(4), Signal(), Signal()
        m.d.comb += [mapped.eq(row.word_select(sl, 4)), here.eq(output == self.output), there.eq(mapped < s.data_vls)]
        claim(m, "look-up", (vl == mapped) & ~drop & ~invalid, when=here & there)
        claim(m, "while-written", (vl == mapped) & ~drop, when=here & there & written & (program.row != row))
        claim(m, "row-drops", drop & ~invalid, when=here & (mapped == VL_DROP))
        if s.data_vls < VL_DROP:
            claim(m, "absent-lane", drop & invalid, when=here & ~there & (mapped != VL_DROP))
        claim(m, "absent-output", drop & invalid, when=output >= s.outputs)
        claim(m, "dropped", (drop == (vl == VL_DROP)) & (drop | ~invalid))
        return m


INSTANCES = (
    Instance("small", SL2VLProperties, {"inputs": 2, "outputs": 3, "data_vls": 4}),
    Instance("square", SL2VLProperties, {"inputs": 8, "outputs": 8, "data_vls": 8}),
    Instance("full", SL2VLProperties, {"inputs": 3, "outputs": 36, "data_vls": 15}),
)
"""Proven instances."""
