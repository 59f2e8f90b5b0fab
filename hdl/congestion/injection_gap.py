"""The gap after a packet: the CCT, the multiplication, and the cycle before which its flow is held.

A packet that is injected in cycle c is in three stages::

    c        the CCT is read with the flow's CCTI
    c + 1    the product of size and multiplier              early: the flow is held
    c + 2    the shift and the sum; the not-before is written  late: the flow is held
    c + 3    the first cycle in which the flow may inject again
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from vlane.hdl.common.select import equals
from vlane.hdl.congestion.source_settings import CCSourceProgramSignature
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

from vlane.cc_source import CCTI_BITS, MULTIPLIER_BITS, SHIFT_BITS, CCSourceSelect

__all__ = ["CYCLE_BITS", "InjectionGap"]

CYCLE_BITS = 24
"""Width of times in cycles."""

_CCT_ENTRY = data.StructLayout({"multiplier": MULTIPLIER_BITS, "shift": SHIFT_BITS})


class InjectionGap(wiring.Component):
    """From a packet that a flow injects to the flow's not-before, two cycles later (CCS-2).

    Parameters
    ----------
    cct_entries : int
        Length of the CCT.
    shift_first : bool
        The size is shifted before it is multiplied.
    place_bits : int
        Of the number of a flow's entry.

    Members
    -------
    program : In(CCSourceProgramSignature())
        Writes entries of the CCT.
    inject : In(1)
        A flow injects a packet.
    place : In(place_bits)
        Its entry.
    ccti : In(10)
        Its index of the CCT.
    blocks : In(7)
        Size of the packet.
    cycle : In(24)
        The cycle in which it is injected.
    early, early_place : Out(1), Out(place_bits)
        A flow injected a cycle before; its entry.
    late, late_place : Out(1), Out(place_bits)
        A flow injected two cycles before; its entry.
    not_before : Out(24)
        Cycle from which this flow may inject again.
    """

    def __init__(self, *, cct_entries: int, shift_first: bool, place_bits: int) -> None:
        self.cct_entries, self.shift_first = cct_entries, shift_first
        self.table = Memory(shape=_CCT_ENTRY.size, depth=cct_entries, init=[])
        super().__init__(
            {
                "program": In(CCSourceProgramSignature()),
                "inject": In(1),
                "place": In(place_bits),
                "ccti": In(CCTI_BITS),
                "blocks": In(BLOCKS_SHAPE),
                "cycle": In(CYCLE_BITS),
                "early": Out(1),
                "early_place": Out(place_bits),
                "late": Out(1),
                "late_place": Out(place_bits),
                "not_before": Out(CYCLE_BITS),
            }
        )
        self.entry, self.size, self.end = Signal(_CCT_ENTRY), Signal(BLOCKS_SHAPE), Signal(CYCLE_BITS)
        self.product, self.shift = Signal(BLOCKS_SHAPE.width + MULTIPLIER_BITS), Signal(SHIFT_BITS)
        self.sum_before = Signal(CYCLE_BITS)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.table = self.table
        entry = self.entry
        m.d.comb += entry.eq(self._look_up(m))
        factor = self.size >> entry.shift if self.shift_first else self.size
        m.d.sync += [
            self.early.eq(self.inject),
            self.early_place.eq(self.place),
            self.size.eq(self.blocks),
            self.end.eq(self.cycle + self.blocks),
            self.late.eq(self.early),
            self.late_place.eq(self.early_place),
            self.product.eq(factor * entry.multiplier),
            self.shift.eq(entry.shift),
            self.sum_before.eq(self.end),
        ]
        gap: Value = self.product if self.shift_first else self.product >> self.shift
        m.d.comb += self.not_before.eq(self.sum_before + gap)
        return m

    def _look_up(self, m: Module) -> data.View[data.StructLayout]:
        """Read the CCT; an entry that is written in the same cycle is read as it was."""
        writer, reader = self.table.write_port(), self.table.read_port(domain="sync")
        program = self.program
        there = program.index < self.cct_entries if self.cct_entries < 1 << CCTI_BITS else 1
        written = data.View(_CCT_ENTRY, writer.data)
        m.d.comb += [
            writer.en.eq(program.enable & equals(Value.cast(program.select), int(CCSourceSelect.TABLE)) & there),
            writer.addr.eq(program.index),
            written.shift.eq(program.shift),
            written.multiplier.eq(program.multiplier),
            reader.addr.eq(self.ccti),
            reader.en.eq(1),
        ]
        return data.View(_CCT_ENTRY, reader.data)
