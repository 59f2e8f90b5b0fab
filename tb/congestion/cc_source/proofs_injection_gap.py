"""Proofs of the gap after a packet, with a reference model of one arbitrary CCT entry."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Cat, Const, Module, Signal, Value

from vlane.congestion.cc_source import CCSourceSelect
from vlane.hdl.congestion.injection_gap import GAP_STAGES, InjectionGap
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import constant, elaborated_module, written_last


class GapProperties(Properties):
    """Check the computed not-before of a flow against a reference model with one arbitrary CCT entry.

    Parameters
    ----------
    gap : InjectionGap
        The component. The proof adds a read port for the watched entry to its memory.
    """

    statements: ClassVar = {
        "entry": "A CCT entry holds the value written last, initially 0. Reset preserves it, and a write past the "
        "end of the table changes nothing.",
        "entry-used": "A packet's gap is computed with the entry of its CCTI, as it was at the start of the packet's "
        "cycle.",
        "gap": "The not-before is the packet's cycle plus its size plus the product of size and multiplier, with the "
        "shift applied before or after the multiplication as configured.",
        "stages": "The not-before of a packet appears five cycles later, with the entry of its flow.",
    }
    unfolds_memories = True

    def __init__(self, gap: InjectionGap) -> None:
        super().__init__()
        self.gap, self.m = gap, Module()
        self.index = constant(self.m, "watched_index", 10, 0, gap.cct_entries - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.gap), self.index]

    def elaborate(self, _platform: object) -> Module:
        m, g = self.m, self.gap
        m.submodules.gap = elaborated_module(g)
        self._stages(m)
        self._entry(m)
        self._gap(m)
        return m

    def _stages(self, m: Module) -> None:
        g = self.gap
        place, here = g.place, g.inject
        for age in range(1, GAP_STAGES + 1):
            then, was = Signal.like(g.place, name=f"its_place_{age}"), Signal(name=f"packet_{age}")
            m.d.sync += [then.eq(place), was.eq(here)]
            place, here = then, was
            self.claim(m, "stages", g.injected[age - 1] == here)
            self.claim(m, "stages", g.places[age - 1] == place)
        self.claim(m, "stages", g.gap_place == place)

    def _entry(self, m: Module) -> None:
        g, w = self.gap, self.gap.program
        written = w.enable & (Value.cast(w.select) == CCSourceSelect.TABLE) & (w.index == self.index)
        entry, late = (
            written_last(m, "entry", Const(0, 16), written, Cat(w.multiplier, w.shift)),
            Signal(16, reset_less=True),
        )
        m.d.sync += late.eq(entry)
        reader = g.table.read_port(domain="comb")
        m.d.comb += reader.addr.eq(self.index)
        self.claim(m, "entry", reader.data == (late if g.is_late else entry))
        used = [Signal(16, name=f"used_{age}", reset_less=True) for age in (1, 2)]
        watched = [Signal(name=f"is_watched_{age}", reset_less=True) for age in (1, 2)]
        m.d.sync += [
            used[0].eq(entry),
            used[1].eq(used[0]),
            watched[0].eq(g.ccti == self.index),
            watched[1].eq(watched[0]),
        ]
        self.claim(m, "entry-used", g.entry.as_value() == used[1], when=watched[1] & g.injected[1])

    def _gap(self, m: Module) -> None:
        """Claim the sums, from the block's own operands."""
        g = self.gap
        factor = (g.sizes[1] >> g.entry.shift) if g.shift_first else g.sizes[1]
        product, product_late = Signal(21, name="its_product"), g.product
        shift, shift_late = Signal(2, name="shift_1"), Signal(2, name="shift_2")
        # claim the partial products one by one: the solver is too slow on whole products
        for part, (first, last) in zip(g.parts, ((0, 2), (2, 4), (4, 7)), strict=True):
            its_part = Signal(17, name=f"its_part_{first}")
            m.d.sync += its_part.eq(factor[first:last] * g.entry.multiplier)
            self.claim(m, "gap", part == its_part)
        m.d.sync += product.eq(g.parts[0] + (g.parts[1] << 2) + (g.parts[2] << 4))
        m.d.sync += [shift.eq(g.entry.shift), shift_late.eq(shift)]
        self.claim(m, "gap", g.product == product)
        size, since = [g.blocks, *g.sizes], [g.cycle + g.blocks, *g.ends]
        for age in range(4):
            kept = Signal(24, name=f"end_before_{age}")
            m.d.sync += kept.eq(since[age])
            self.claim(m, "gap", g.ends[age] == kept)
            if age < 2:
                blocks = Signal(7, name=f"size_before_{age}")
                m.d.sync += blocks.eq(size[age])
                self.claim(m, "gap", g.sizes[age] == blocks)
        end = Signal(24, name="its_end")
        m.d.sync += end.eq(g.ends[3] + (product_late if g.shift_first else product_late >> shift_late))
        self.claim(m, "gap", g.not_before == end)
        self.claim(m, "gap", g.shifts[1] == shift_late)
        self.claim(m, "gap", g.shifts[0] == shift)
