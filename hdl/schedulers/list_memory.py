"""Two banks of a list of (VL, weight) in memory, both empty after reset whatever the memory contains."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import equals

ROW_ENTRIES = 8
"""Entries per row, which are read and filtered together."""

_WEIGHT_BITS = 8


def entry_layout(lane_bits: int) -> data.StructLayout:
    """Return the layout of a stored entry.

    Two kinds of entries are rewritten when they are stored. An entry without a weight names "nobody", the lane number
    of all ones, so it is never able. An entry of an absent lane gets an odd weight, which marks the entry as bad.
    """
    return data.StructLayout({"vl": unsigned(lane_bits), "weight": unsigned(_WEIGHT_BITS)})


class ListMemory(wiring.Component):
    """Rows of entries in two banks: one bank is written, the other is read (``docs/vlarb_line_rate.md``, VLALR-1).

    Only rows written since reset are valid. The first write to a row also clears its other entries.

    Parameters
    ----------
    data_vls : int
        Data lanes, 1 to 31.
    entries : int
        Length of the list, 1 to 128.
    lane_bits : int
        Width of a lane number, 4 or 5. The number of all ones, "nobody", names no lane.

    Members
    -------
    write : In(1)
        Write an entry of the shadow bank. A write in the cycle of an exchange is ignored.
    index : In(7)
        Index of the written entry. Writes past the end are ignored.
    vl, weight : In(lane_bits), In(8)
        Lane and weight to write.
    exchange : In(1)
        The banks are exchanged at the end of this cycle.
    number : In(range(max(2, rows)))
        Row of the active bank to read.
    written : Out(1)
        Row ``number`` was written since reset. Otherwise ``fetch`` reads undefined contents.
    fetch : In(1)
        Read row ``number``; ``row`` shows it from the next cycle on.
    row : Out(ArrayLayout(entry, 8))
        Row that was read last. An entry that names no lane is bad if its weight is odd, otherwise empty.
    """

    def __init__(self, *, data_vls: int, entries: int, lane_bits: int) -> None:
        self.data_vls, self.entries, self.rows = data_vls, entries, -(-entries // ROW_ENTRIES)
        self.entry, self.nobody = entry_layout(lane_bits), (1 << lane_bits) - 1
        self.no_weight = {"vl": self.nobody, "weight": 0}
        row = data.ArrayLayout(self.entry, ROW_ENTRIES)
        super().__init__(
            {
                "write": In(1),
                "index": In(7),
                "vl": In(lane_bits),
                "weight": In(_WEIGHT_BITS),
                "exchange": In(1),
                "number": In(range(max(2, self.rows))),
                "fetch": In(1),
                "row": Out(row),
                "written": Out(1),
            }
        )
        self.active = Signal()
        self.is_first = Signal()
        self.rows_written = Signal(self.rows)
        self.shadow_written = Signal(self.rows)
        self.memory = Memory(shape=unsigned(Value.cast(self.row).shape().width), depth=2 << len(self.number), init=[])
        self.writer = self.memory.write_port(granularity=self.entry.size)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.memory = self.memory
        active, reader = self.active, self.memory.read_port()
        written, shadow_written = self.rows_written, self.shadow_written
        m.d.comb += [reader.addr.eq(Cat(self.number, active)), reader.en.eq(self.fetch), self.row.eq(reader.data)]
        m.d.comb += self.written.eq((written >> self.number)[0])
        row = self.index[3 : 3 + len(self.number)]
        writes = Signal()
        m.d.comb += [
            writes.eq(self.write & ~self.exchange & (self.index < self.entries)),
            self.is_first.eq(~(shadow_written >> row)[0]),
        ]
        m.d.sync += active.eq(active ^ self.exchange)
        with m.If(self.exchange):
            m.d.sync += [written.eq(shadow_written), shadow_written.eq(written)]
        with m.Elif(writes):
            m.d.sync += shadow_written.eq(shadow_written | (1 << row))
        self._store(m, row, writes)
        return m

    def _store(self, m: Module, row: Value, writes: Signal) -> None:
        """Write an entry one cycle later. The first write to a row also clears the row's other entries."""
        writer = self.writer
        at = Signal.like(row)
        entry = Signal(self.entry)
        m.d.comb += [
            entry.vl.eq(Mux(self.weight.any(), self.vl, self.nobody)),
            entry.weight.eq(self.weight | (self.vl >= self.data_vls)),
            writer.addr.eq(Cat(at, ~self.active)),
        ]
        m.d.sync += at.eq(row)  # an exchange in the next cycle changes `active` only after the write
        for place in range(ROW_ENTRIES):
            is_here = equals(self.index[:3], place)
            stored = Signal(self.entry, name=f"stored_{place}", init=self.no_weight, reset_less=True)
            m.d.comb += writer.data.word_select(place, self.entry.size).eq(stored)
            m.d.sync += [
                writer.en[place].eq(writes & (is_here | self.is_first)),
                stored.eq(Mux(is_here, entry, self.entry.const(self.no_weight))),
            ]
