"""Gap after an injected packet, from the CCT look-up to the cycle until which the flow is held back.

CCT look-up, multiplication, and the cycle before which the flow is held back.

A packet that a flow injects passes six stages::

    0    a CCT in block RAM is read at the flow's CCTI
    1    a CCT in LUTs is read
    2    partial products of the multiplier with a few bits of the size
    3    sum of the partial products
    4    shift; sum with cycle and size
    5    the not-before is written
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from vlane.congestion.cc_source import CCTI_BITS, MULTIPLIER_BITS, SHIFT_BITS, CCSourceSelect
from vlane.hdl.common.select import equals
from vlane.hdl.congestion.source_settings import CCSourceProgramSignature
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

CYCLE_BITS = 24
"""Width of times in cycles."""
GAP_STAGES = 5
"""Cycles from an injection to its not-before."""

_LUT_ENTRIES = 128
"""Largest CCT that is kept in LUT memory, which is faster than block RAM."""
_PARTS = (0, 2), (2, 4), (4, 7)
"""Bit ranges of the packet size, each multiplied separately."""
_CCT_ENTRY = data.StructLayout({"multiplier": MULTIPLIER_BITS, "shift": SHIFT_BITS})


def _sum(values: Iterable[Value]) -> Value:
    return reduce(add, values)


class InjectionGap(wiring.Component):
    """Compute the not-before of a flow five cycles after an injection (CCS-2).

    Parameters
    ----------
    cct_entries : int
        Length of the CCT.
    shift_first : bool
        Whether the size is shifted before it is multiplied.
    place_bits : int
        Width of an entry's index.

    Members
    -------
    program : In(CCSourceProgramSignature())
        Write port for entries of the CCT.
    inject : In(1)
        A flow injects a packet.
    place : In(place_bits)
        Entry of that flow.
    ccti : In(10)
        CCT index of that flow.
    blocks : In(7)
        Size of the packet, in blocks.
    cycle : In(24)
        Cycle of the injection.
    injected : Out(6)
        Bit k: a flow injected k + 1 cycles ago.
    gap_place : Out(place_bits)
        Entry of the flow that injected five cycles ago.
    not_before : Out(24)
        First cycle in which that flow may inject again.
    """

    def __init__(self, *, cct_entries: int, shift_first: bool, place_bits: int) -> None:
        self.cct_entries, self.shift_first = cct_entries, shift_first
        self.is_late = cct_entries <= _LUT_ENTRIES
        style = {"ram_style": "distributed"} if self.is_late else {}
        self.table = Memory(shape=_CCT_ENTRY.size, depth=cct_entries, init=[], attrs=style)
        super().__init__(
            {
                "program": In(CCSourceProgramSignature()),
                "inject": In(1),
                "place": In(place_bits),
                "ccti": In(CCTI_BITS),
                "blocks": In(BLOCKS_SHAPE),
                "cycle": In(CYCLE_BITS),
                "injected": Out(GAP_STAGES + 1),
                "gap_place": Out(place_bits),
                "not_before": Out(CYCLE_BITS),
            }
        )
        stages = range(1, GAP_STAGES + 1)
        self.places = [Signal(place_bits, name=f"place_{stage}") for stage in stages]
        self.ends = [Signal(CYCLE_BITS, name=f"end_{stage}") for stage in stages[:4]]
        self.sizes = [Signal(BLOCKS_SHAPE, name=f"size_{stage}") for stage in stages[:2]]
        self.entry = Signal(_CCT_ENTRY)
        self.parts = [Signal(MULTIPLIER_BITS + last - first, name=f"part_{first}") for first, last in _PARTS]
        self.product = Signal(BLOCKS_SHAPE.width + MULTIPLIER_BITS)
        self.shifts = [Signal(SHIFT_BITS, name=f"shift_{stage}") for stage in stages[2:4]]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.table = self.table
        entry = self.entry
        factor = self.sizes[1] >> entry.shift if self.shift_first else self.sizes[1]
        m.d.sync += [
            self.injected.eq(Cat(self.inject, self.injected)),
            entry.eq(self._look_up(m)),
            *(
                part.eq(_sum(Mux(factor[bit], entry.multiplier << bit - first, 0) for bit in range(first, last)))
                for part, (first, last) in zip(self.parts, _PARTS, strict=True)
            ),
            self.product.eq(_sum(part << first for part, (first, _) in zip(self.parts, _PARTS, strict=True))),
        ]
        for first, chain in (
            (self.place, self.places),
            (self.cycle + self.blocks, self.ends),
            (self.blocks, self.sizes),
            (entry.shift, self.shifts),
        ):
            m.d.sync += [later.eq(earlier) for later, earlier in zip(chain, (first, *chain), strict=False)]
        gap: Value = self.product if self.shift_first else self.product >> self.shifts[-1]
        m.d.sync += self.not_before.eq(self.ends[-1] + gap)
        m.d.comb += self.gap_place.eq(self.places[-1])
        return m

    def _look_up(self, m: Module) -> Value:
        """Return the CCT entry for the packet of the previous cycle, with the table's contents at its injection."""
        is_late, program = self.is_late, self.program
        writer, reader = self.table.write_port(), self.table.read_port(domain="comb" if is_late else "sync")
        there = program.index < self.cct_entries if self.cct_entries < 1 << CCTI_BITS else 1
        wanted: list[Value] = [
            program.enable & equals(Value.cast(program.select), int(CCSourceSelect.TABLE)) & there,
            program.index,
            Cat(program.multiplier, program.shift),
            self.ccti,
        ]
        if is_late:
            later = [Signal(len(value), reset_less=True) for value in wanted]
            m.d.sync += [late.eq(value) for late, value in zip(later, wanted, strict=True)]
            wanted = list(later)
        ports = (writer.en, writer.addr, writer.data, reader.addr)
        m.d.comb += [port.eq(value) for port, value in zip(ports, wanted, strict=True)]
        if not is_late:
            m.d.comb += reader.en.eq(1)
        return data.View(_CCT_ENTRY, reader.data)
