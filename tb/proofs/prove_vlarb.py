"""Proofs of the VL arbiter, for every table and every input, by induction over its state.

Each property concerns one cycle or one step, and holds for all cycles.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal, Value
from vlane.tb.proofs.properties import Instance, Properties
from vlane.tb.proofs.prove_vlarb_line_rate import LineRateProperties

from vlane.egress import ListCode
from vlane.vlarb import LIMIT_UNBOUNDED, VL15

__all__ = ["INSTANCES", "VLArbProperties"]

_SUMMED_ENTRIES = 8


class VLArbProperties(Properties):
    """The arbiter with the properties to prove.

    Parameters
    ----------
    arbiter : VLArb
        The component. Its submodules are observed; nothing in it is changed.
    """

    def __init__(self, arbiter: Any) -> None:
        super().__init__()
        self.arbiter = arbiter
        self.watched_entry = Signal(range(arbiter.entries))

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        a = self.arbiter
        given = [a.heads.request, a.heads.fits, a.heads.blocks, a.ready, a.hold_data, a.swap]
        given += [a.program.enable, a.program.select, a.program.index, a.program.vl, a.program.weight]
        return [Value.cast(signal) for signal in given] + [self.watched_entry]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = self.arbiter
        able = self.arbiter.heads.request & self.arbiter.heads.fits
        m.d.comb += Assume(self.watched_entry < self.arbiter.entries)
        self._grants(m, able)
        self._work_conservation(m, able)
        self._state(m)
        self._bounded_wait(m, able)
        return m

    def _grants(self, m: Module, able: Value) -> None:
        """Assert that a grant goes to an eligible lane, VL15 first, never on an entry of weight 0, one at a time."""
        a = self.arbiter
        from_high, from_low, from_vl15 = (_is(a.list, code) for code in (ListCode.HIGH, ListCode.LOW, ListCode.VL15))
        granted_able = Signal()
        m.d.comb += granted_able.eq(able.bit_select(a.vl, 1))
        m.d.comb += Assert(a.grant == ~_is(a.list, ListCode.NONE))
        with m.If(~a.grant):
            m.d.comb += Assert(Cat(a.vl, a.blocks) == 0)
        with m.If(from_high | from_low):
            m.d.comb += [
                Assert(granted_able & (a.vl < a.data_vls)),
                Assert(~a.hold_data),
                Assert(a.blocks == a.heads.blocks[a.vl]),
                Assert(~a.unreachable.bit_select(a.vl, 1)),
            ]
        for source, side, entries in ((from_high, ListCode.HIGH, a.banks.high), (from_low, ListCode.LOW, a.banks.low)):
            search = a.searches[side]
            with m.If(source):
                m.d.comb += [
                    Assert(search.entry < a.entries),
                    Assert(entries[search.entry].weight != 0),
                    Assert(entries[search.entry].vl == a.vl),
                ]
        m.d.comb += Assert(from_vl15 == (a.grant & (a.vl == VL15)))
        if a.vl15:
            m.d.comb += Assert(from_vl15 == able[a.data_vls])
        else:
            m.d.comb += Assert(~from_vl15)

    def _work_conservation(self, m: Module, able: Value) -> None:
        """Assert that a packet is granted whenever a lane with a weighted entry can send."""
        a = self.arbiter
        for entries in (a.banks.high, a.banks.low):
            entry = entries[self.watched_entry]
            names_one = Signal()
            m.d.comb += names_one.eq((entry.weight != 0) & (entry.vl < a.data_vls))
            with m.If(names_one):
                m.d.comb += Assert(~a.unreachable.bit_select(entry.vl, 1))
                with m.If(able.bit_select(entry.vl, 1) & ~a.hold_data):
                    m.d.comb += Assert(a.grant)

    def _state(self, m: Module) -> None:
        """Assert that lists change one at a time, only with a grant that starts; pointers stay in the list."""
        a = self.arbiter
        starts = Signal()
        list_before = Signal.like(Value.cast(a.list))
        quiet, quiet_now = Signal(), Signal()
        m.d.comb += quiet_now.eq(~(a.ready & (a.swap | a.swap_pending)))
        m.d.sync += [
            starts.eq(a.grant & a.ready),
            list_before.eq(a.list),
            quiet.eq(quiet_now),
        ]
        for side in a.searches:
            state = Cat(a.pointers[side], a.remaining[side])
            before = Signal.like(state)
            m.d.sync += before.eq(state)
            m.d.comb += Assert(a.pointers[side] < a.entries)
            with m.If(quiet & (state != before)):
                m.d.comb += Assert(starts & (list_before == int(side)))
            entries = a.banks.high if side is ListCode.HIGH else a.banks.low
            m.d.comb += Assert(a.remaining[side] <= entries[a.pointers[side]].weight)
        load = Signal(15)
        m.d.comb += load.eq(Mux(a.banks.limit == 0, 1, a.banks.limit << 6))
        m.d.comb += Assert(a.counter <= load)
        counter_before, frozen = Signal.like(a.counter), Signal()
        m.d.sync += [counter_before.eq(a.counter), frozen.eq(quiet_now & ~self._decides())]
        with m.If(frozen):
            m.d.comb += Assert(a.counter == counter_before)

    def _decides(self) -> Value:
        """Return whether this is a decision cycle: the lists rule (VLA-15)."""
        a = self.arbiter
        vl15_able = (a.heads.request & a.heads.fits)[a.data_vls] if a.vl15 else 0
        return a.ready & ~a.hold_data & ~vl15_able

    def _bounded_wait(self, m: Module, able: Value) -> None:
        """Assert a rank that falls at every decision which serves another lane than a waiting low one.

        The rank is (what stands before the watched entry's turn, blocks left of the limit), in that order.
        What stands before is the weight still to be used, in lists of up to 8 entries, where the solver can
        add them up: every packet uses a block at least, so the rank falls at most (sum of the low weights + 1)
        times (limit load + 1) times. In longer lists it is (entries to go, weight left in the current one),
        which falls at most 256 (entries + 1) (limit load + 1) times. No part is ever above what the table gives.
        """
        a = self.arbiter
        pointer, remaining = a.pointers[ListCode.LOW], a.remaining[ListCode.LOW]
        entry = a.banks.low[self.watched_entry]
        stands_before = self._weight_before() if a.entries <= _SUMMED_ENTRIES else self._entries_before()
        before = Signal(stands_before.shape())
        with m.If((pointer != self.watched_entry) | (remaining <= 0)):
            m.d.comb += before.eq(stands_before)
        rank = Signal(len(before) + 14)
        m.d.comb += rank.eq(Cat(_positive(a.counter, 14), before))

        sized = Cat((a.heads.blocks[i] != 0) | ~able[i] for i in range(a.data_vls)).all()
        waits, decides, kept = Signal(), Signal(), Signal()
        m.d.comb += [
            waits.eq((entry.weight != 0) & (entry.vl < a.data_vls) & able.bit_select(entry.vl, 1) & sized),
            decides.eq(self._decides() & (a.banks.limit != LIMIT_UNBOUNDED)),
            kept.eq(~(a.ready & (a.swap | a.swap_pending))),
        ]
        rank_before, falls, stays, entry_before = (
            Signal.like(rank),
            Signal(),
            Signal(),
            Signal.like(self.watched_entry),
        )
        m.d.sync += [
            rank_before.eq(rank),
            entry_before.eq(self.watched_entry),
            falls.eq(waits & decides & kept & (a.vl != entry.vl)),
            stays.eq(waits & ~self._decides() & kept),
        ]
        with m.If(entry_before == self.watched_entry):
            with m.If(falls):
                m.d.comb += Assert(rank < rank_before)
            with m.If(stays):
                m.d.comb += Assert(rank == rank_before)

    def _weight_before(self) -> Value:
        """Return the weight left in the current low entry and in those between it and the watched one."""
        a = self.arbiter
        pointer, watched = a.pointers[ListCode.LOW], self.watched_entry
        total = _positive(a.remaining[ListCode.LOW], 8)
        for index in range(a.entries):
            between = Mux(
                watched > pointer, (pointer < index) & (watched > index), (pointer < index) | (watched > index)
            )
            total = total + Mux(between, a.banks.low[index].weight, 0)
        return total

    def _entries_before(self) -> Value:
        """Return (entries to go to the watched one, weight left in the current one), the first on top."""
        a = self.arbiter
        pointer, watched = a.pointers[ListCode.LOW], self.watched_entry
        to_go = Mux(watched > pointer, watched - pointer, a.entries + watched - pointer)[: a.entries.bit_length()]
        return Cat(_positive(a.remaining[ListCode.LOW], 8), to_go)


def _is(signal: Value, code: ListCode) -> Value:
    return Value.cast(signal) == int(code)


def _positive(value: Signal, width: int) -> Value:
    return Mux(value > 0, value, 0)[:width]


INSTANCES = (
    Instance("small", VLArbProperties, {"data_vls": 2, "entries": 4, "vl15": True}),
    Instance("odd", VLArbProperties, {"data_vls": 3, "entries": 5, "vl15": False}),
    Instance("full", VLArbProperties, {"data_vls": 15, "entries": 64, "vl15": True}),
    Instance("line-rate-small", LineRateProperties, {"data_vls": 2, "entries": 4, "vl15": True, "form": "line_rate"}),
    Instance("line-rate-odd", LineRateProperties, {"data_vls": 3, "entries": 20, "vl15": False, "form": "line_rate"}),
    Instance("line-rate-full", LineRateProperties, {"data_vls": 15, "entries": 64, "vl15": True, "form": "line_rate"}),
)
"""What is proven: small, not a power of two, full size; then the line-rate form."""
