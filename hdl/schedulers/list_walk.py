"""Pipelined walk along a list of (VL, weight) in memory that offers the able entries in order, one per cycle.

Stages, each a register; an arrow is a clock edge::

    able before -> rows awake -> row chosen -> row fetched -> row current,  -> entry picked -> entry offered
                                 (a number)    (memory read)  entries left          |              ^
                                                                                    +-> entry -----+
                                                                                        waiting

``pulls`` moves a row from one stage to the next; ``advances`` moves entries out of the current row. While an entry
waits, both are inactive. A worked trace is in ``docs/vlarb_line_rate.md``.

``list_memory`` stores entries without a weight under the lane "nobody", so they are never able. Entries of absent lanes
have an odd weight, by which they are counted as bad.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import bit_of, equals
from vlane.hdl.schedulers.list_memory import ROW_ENTRIES, ListMemory

_WEIGHT_BITS = 8
_TOGETHER = 5


class ListWalk(wiring.Component):
    """Two banks of a list in memory. The walk reads the active bank ahead of decisions.

    Parameters
    ----------
    data_vls : int
        Data lanes, 1 to 31.
    entries : int
        Length of the list, 1 to 128.
    lane_bits : int
        Width of a lane number, 4 or 5. The number of all ones, "nobody", names no lane.
    ample_from : int
        Smallest weight that counts as ample, at least 1. From 256 on no weight is ample.

    Members
    -------
    able_before : In(data_vls)
        Lanes that were able to send in the previous cycle.
    write : In(1)
        Write an entry of the shadow bank.
    index : In(7)
        Index of the written entry. Writes past the end are ignored.
    vl, weight : In(lane_bits), In(8)
        Lane and weight to write.
    exchange : In(1)
        The banks are exchanged at the end of this cycle. The new active bank is then read and walked from row 0.
    reading : Out(1)
        The list is being read: no entry is offered.
    next_able : Out(1)
        An entry is offered in the next cycle, and is predicted to be able to send then.
    lane : Out(data_vls)
        Lane of the offered entry, one-hot.
    offered_vl : Out(lane_bits)
        Number of that lane.
    offered_weight : Out(8)
        Weight of the offered entry.
    single : Out(1)
        The weight of the offered entry is 1.
    double : Out(1)
        The weight of the offered entry is 2.
    ample : Out(1)
        The weight of the offered entry is ample.
    loads : Out(1)
        The offered entry is replaced at the end of this cycle, by the waiting entry or else by the picked entry.
    waits : Out(1)
        An entry waits.
    waiting_vl : Out(lane_bits)
        Lane of the waiting entry.
    picked_vl : Out(lane_bits)
        Lane of the picked entry.
    leaves : In(1)
        The offered entry is taken or dropped in this cycle.
    served : Out(data_vls)
        Lanes named by the entries with a weight that were read so far.
    bad : Out(range(entries + 1))
        Number of entries read so far that name "nobody" or an absent lane.
    """

    def __init__(self, *, data_vls: int, entries: int, lane_bits: int, ample_from: int = 256) -> None:
        self.data_vls, self.entries, self.rows = data_vls, entries, -(-entries // ROW_ENTRIES)
        self.nobody, self.ample_from = (1 << lane_bits) - 1, ample_from
        super().__init__(
            {
                "able_before": In(data_vls),
                "write": In(1),
                "index": In(7),
                "vl": In(lane_bits),
                "weight": In(_WEIGHT_BITS),
                "exchange": In(1),
                "reading": Out(1),
                "next_able": Out(1),
                "lane": Out(data_vls),
                "offered_vl": Out(lane_bits),
                "offered_weight": Out(_WEIGHT_BITS),
                "single": Out(1),
                "double": Out(1),
                "ample": Out(1),
                "loads": Out(1),
                "waits": Out(1),
                "waiting_vl": Out(lane_bits),
                "picked_vl": Out(lane_bits),
                "leaves": In(1),
                "served": Out(data_vls),
                "bad": Out(range(entries + 1)),
            }
        )
        self.named = [Signal(data_vls, name=f"named_{row}") for row in range(self.rows)]
        self.offered = Signal()
        self.memory = ListMemory(data_vls=data_vls, entries=entries, lane_bits=lane_bits)
        self.entry, self.next_row = self.memory.entry, self.memory.row
        self.waiting = Signal(self.entry)
        self.waiting_lane = Signal(data_vls)
        self.waiting_single = Signal()
        self.waiting_double = Signal()
        self.waiting_ample = Signal()
        self.advances = Signal()
        self.pulls = Signal()
        self.wakes = Signal(self.rows)
        self.beyond = Signal(self.rows)
        self.chosen = Signal()
        self.fetched = Signal()
        self.number = Signal(range(max(2, self.rows)))
        self.lanes = Signal(ROW_ENTRIES)
        self.current_row = Signal(self.next_row.shape())
        self.next_written = Signal()
        self.current_written = Signal()
        self.picked = Signal()
        self.picked_entry = Signal(self.entry, init=self.memory.no_weight)
        self.place = Signal(range(ROW_ENTRIES * self.rows))
        self.in_row = Signal(data_vls)
        self.ends = Signal()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        chosen, fetched, lanes, next_row = self.chosen, self.fetched, self.lanes, self.next_row
        current_row = self.current_row
        current_written = self.current_written
        rest = Signal(ROW_ENTRIES)
        offered, waits, waiting, waiting_lane = self.offered, self.waits, self.waiting, self.waiting_lane
        advances = self.advances
        pulls = self.pulls
        comes = Signal()
        m.submodules.memory = memory = self.memory
        m.d.comb += [
            memory.write.eq(self.write),
            memory.index.eq(self.index),
            memory.vl.eq(self.vl),
            memory.weight.eq(self.weight),
            memory.exchange.eq(self.exchange),
            memory.number.eq(self.number),
            memory.fetch.eq(pulls),
            rest.eq(lanes & ~_lowest(lanes)),  # the picked entry leaves the current row
            advances.eq(self.reading | ~waits),
            pulls.eq(advances & ~rest.any()),  # the last entry is picked, so the next row becomes current
        ]
        with m.If(advances):
            m.d.sync += lanes.eq(rest)
        with m.If(pulls):
            can_send = (bit_of(self.able_before, entry.vl) for entry in _each(next_row))
            m.d.sync += [
                # rows not written since reset are empty: skip them, except to count entries while reading
                fetched.eq(chosen & (self.reading | memory.written)),
                current_row.eq(next_row),
                current_written.eq(self.next_written),
                self.next_written.eq(memory.written),
                lanes.eq(
                    Cat(fetched & (self.reading | can) for can in can_send)
                ),  # "nobody" has no bit, so it is never able
            ]
        self._choose(m)
        picked = self.picked
        entry = self.picked_entry
        lane = Signal(self.data_vls)
        with m.If(advances):
            m.d.sync += picked.eq(lanes.any())
            with m.If(current_written):  # the memory contents of other rows are undefined
                m.d.sync += entry.eq(_by_priority(lanes, _each(current_row)))
            with m.Else():
                m.d.sync += entry.eq(self.entry.const(memory.no_weight))
        m.d.comb += lane.eq(Cat(equals(entry.vl, index) for index in range(self.data_vls)))
        single = Signal()
        double = Signal()
        ample = Signal()
        m.d.comb += [single.eq(entry.weight == 1), double.eq(entry.weight == 2)]
        m.d.comb += ample.eq(entry.weight >= self.ample_from if self.ample_from >> _WEIGHT_BITS == 0 else 0)
        with m.If(~waits):  # the waiting register follows the picked entry until an entry has to wait
            m.d.sync += [
                waiting.eq(entry),
                waiting_lane.eq(lane),
                self.waiting_single.eq(single),
                self.waiting_double.eq(double),
                self.waiting_ample.eq(ample),
            ]
        loads = self.loads
        m.d.comb += [
            loads.eq(self.leaves | ~offered),
            comes.eq(picked & ~self.reading),  # while the list is read, entries are counted, not offered
            self.waiting_vl.eq(waiting.vl),
            self.picked_vl.eq(entry.vl),
        ]
        with m.If(loads):
            m.d.sync += [
                offered.eq(waits | comes),
                self.lane.eq(Mux(waits, waiting_lane, lane)),
                self.offered_vl.eq(Mux(waits, waiting.vl, entry.vl)),
                self.offered_weight.eq(Mux(waits, waiting.weight, entry.weight)),
                self.single.eq(Mux(waits, self.waiting_single, single)),
                self.double.eq(Mux(waits, self.waiting_double, double)),
                self.ample.eq(Mux(waits, self.waiting_ample, ample)),
            ]
        m.d.sync += waits.eq((waits | comes) & ~loads)
        # the three candidates for the next cycle are evaluated in parallel: `loads` is known late
        m.d.comb += self.next_able.eq(
            any_able(self.lane, self.able_before, ~loads)
            | any_able(waiting_lane, self.able_before, loads & waits)
            | (loads & ~waits & comes)
        )
        self._read(m, picked, entry, lane)
        with m.If(self.exchange):
            m.d.sync += [chosen.eq(0), fetched.eq(0), lanes.eq(0), picked.eq(0), waits.eq(0), offered.eq(0)]
        return m

    def _choose(self, m: Module) -> None:
        """Choose the next awake row, round robin. While the list is read, choose every row once."""
        wakes = self.wakes
        beyond = self.beyond
        after = Signal(self.rows)
        m.d.sync += wakes.eq(Cat(self.reading | (named & self.able_before).any() for named in self.named))
        m.d.comb += after.eq(wakes & beyond)
        with m.If(self.pulls):
            m.d.sync += [
                self.chosen.eq(after.any() | (wakes.any() & ~self.reading)),
                self.number.eq(Mux(after.any(), _lowest_index(after), _lowest_index(wakes))),
                beyond.eq(Mux(after.any(), _above(after), Mux(self.reading, 0, _above(wakes)))),
            ]
        with m.If(self.exchange):  # reading begins at row 0
            m.d.sync += [wakes.eq(~0), beyond.eq(~0)]

    def _read(self, m: Module, picked: Signal, entry: data.View, lane: Signal) -> None:
        """Collect the lanes that each row names, one entry a cycle, while the list is read."""
        comes = Signal()
        with_this = Signal(self.data_vls)
        place, in_row, ends = self.place, self.in_row, self.ends
        m.d.comb += [comes.eq(self.reading & picked), with_this.eq(in_row | lane)]
        m.d.sync += ends.eq(comes & (place == ROW_ENTRIES * self.rows - 1) & ~self.exchange)
        with m.If(comes):
            m.d.sync += [
                place.eq(place + 1),
                self.served.eq(self.served | with_this),
                self.bad.eq(self.bad + (~lane.any() & entry.weight[0])),
                in_row.eq(Mux(place[:3].all(), 0, with_this)),
            ]
            with m.If(place[:3].all()):
                # rows are read in order, so a shift moves each row's lanes to their place
                m.d.sync += [kept.eq(new) for kept, new in zip(self.named, [*self.named[1:], with_this], strict=True)]
        with m.If(ends):
            m.d.sync += self.reading.eq(0)
        with m.If(self.exchange):
            m.d.sync += [self.reading.eq(1), place.eq(0), in_row.eq(0), self.served.eq(0), self.bad.eq(0)]
            m.d.sync += [named.eq(0) for named in self.named]


def any_able(lane: Value, able: Value, when: Value) -> Value:
    """Return whether any lane of ``lane`` is set in ``able``, gated by ``when``.

    ``when`` is ANDed in per group of 5 lanes, so a late ``when`` costs one gate level.
    """
    looked = lane & able
    return Cat(looked[at : at + _TOGETHER].any() & when for at in range(0, len(looked), _TOGETHER)).any()


def _each(row: data.View) -> list[data.View]:
    return [row[place] for place in range(ROW_ENTRIES)]


def _lowest(bits: Value) -> Value:
    """Return only the lowest set bit."""
    return Cat(bits[i] & ~bits[:i].any() for i in range(len(bits)))


def _above(bits: Value) -> Value:
    """Return a mask of the positions above the lowest set bit."""
    return Cat(bits[:i].any() for i in range(len(bits)))


def _lowest_index(bits: Value) -> Value:
    """Return the index of the lowest set bit."""
    return _by_priority(bits, [Const(place, max(1, (len(bits) - 1).bit_length())) for place in range(len(bits))])


def _by_priority(bits: Value, values: list[Any]) -> Value:
    """Return the value at the lowest set bit, or the last value if no bit is set, by a tree of multiplexers."""
    if len(values) == 1:
        return Value.cast(values[0])
    half = len(values) // 2
    return Mux(bits[:half].any(), _by_priority(bits[:half], values[:half]), _by_priority(bits[half:], values[half:]))
