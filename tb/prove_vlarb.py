"""What is proven of the VL arbiter, for every table and every input, by induction over its own state.

Each property looks at one cycle, or at one step; no property bounds the time it holds for.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Elaboratable, Module, Mux, Signal, Value

from vlane.egress import ListCode
from vlane.vlarb import LIMIT_UNBOUNDED, VL15

__all__ = ["INSTANCES", "VLArbProperties"]

INSTANCES = (
    {"data_vls": 2, "entries": 4, "vl15": True},
    {"data_vls": 3, "entries": 5, "vl15": False},
    {"data_vls": 15, "entries": 64, "vl15": True},
)
"""Parameters of the instances that are proven: small, not a power of two, full size."""


class VLArbProperties(Elaboratable):
    """The arbiter beside its properties.

    Parameters
    ----------
    arbiter : VLArb
        The component; its submodules are watched, nothing in it is changed.
    """

    def __init__(self, arbiter: Any) -> None:
        self.arbiter = arbiter
        self.reset = Signal()
        self.watched_vl = Signal(4)
        self.watched_entry = Signal(range(arbiter.entries))

    def ports(self) -> list[Value]:
        """Return the free inputs."""
        a = self.arbiter
        given = [a.heads.request, a.heads.fits, a.heads.blocks, a.ready, a.hold_data, a.swap]
        given += [a.program.enable, a.program.select, a.program.index, a.program.vl, a.program.weight]
        return [Value.cast(signal) for signal in given] + [self.watched_vl, self.watched_entry]

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
        """Whatever lane can send and has an entry with a weight, something is granted."""
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
        quiet = Signal()
        m.d.sync += [
            starts.eq(a.grant & a.ready),
            list_before.eq(a.list),
            quiet.eq(~(a.ready & (a.swap | a.swap_pending))),
        ]
        for side in a.searches:
            state = Cat(a.pointers[side], a.remaining[side])
            before = Signal.like(state)
            m.d.sync += before.eq(state)
            m.d.comb += Assert(a.pointers[side] < a.entries)
            with m.If(quiet & (state != before)):
                m.d.comb += Assert(starts & (list_before == int(side)))
        counter_before, ready_before = Signal.like(a.counter), Signal(init=1)
        m.d.sync += [counter_before.eq(a.counter), ready_before.eq(a.ready)]
        with m.If(~ready_before):
            m.d.comb += Assert(a.counter == counter_before)

    def _bounded_wait(self, m: Module, able: Value) -> None:
        """While a low entry's lane can send, a rank falls at every decision that serves another lane.

        The rank is (entries to go, weight left in the current one, blocks left of the limit), in that
        order, so it can fall only finitely often: the lane is served.
        """
        a = self.arbiter
        low_side = ListCode.LOW
        pointer, remaining = a.pointers[low_side], a.remaining[low_side]
        entry = a.banks.low[self.watched_entry]
        to_go = Signal(range(a.entries + 1))
        with m.If((pointer == self.watched_entry) & (remaining > 0)):
            m.d.comb += to_go.eq(0)
        with m.Else():
            m.d.comb += to_go.eq(
                Mux(
                    self.watched_entry > pointer,
                    self.watched_entry - pointer,
                    a.entries + self.watched_entry - pointer,
                )
            )
        rank = Signal(len(to_go) + 8 + 14)
        m.d.comb += rank.eq(Cat(_positive(a.counter, 14), _positive(remaining, 8), to_go))

        sized = Cat(a.heads.blocks[i] != 0 for i in range(a.data_vls)).all()
        waits, decides, kept = Signal(), Signal(), Signal()
        vl15_able = able[a.data_vls] if a.vl15 else 0
        m.d.comb += [
            waits.eq((entry.weight != 0) & (entry.vl < a.data_vls) & able.bit_select(entry.vl, 1) & sized),
            decides.eq(a.ready & ~a.hold_data & ~vl15_able & (a.banks.limit != LIMIT_UNBOUNDED)),
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
            stays.eq(waits & ~a.ready & kept),
        ]
        with m.If(entry_before == self.watched_entry):
            with m.If(falls):
                m.d.comb += Assert(rank < rank_before)
            with m.If(stays):
                m.d.comb += Assert(rank == rank_before)


def _is(signal: Value, code: ListCode) -> Value:
    return Value.cast(signal) == int(code)


def _positive(value: Signal, width: int) -> Value:
    return Mux(value > 0, value, 0)[:width]
