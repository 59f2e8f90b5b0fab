"""Copies of a block's tables, for reads over the bus."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from vlane.hdl.common.select import bit_of, equals, one_of
from vlane.registers.register_map import WORD_BYTES, Window


class TableCopy(wiring.Component):
    """Entries as last written over the bus (``docs/register_port.md``, REG-8).

    A read takes two cycles. Drive ``read_next`` in the first cycle and ``read_at`` in the second cycle with the number
    of the entry. ``value`` is valid in the second cycle and includes writes of the first cycle.

    Parameters
    ----------
    window : Window
        Table.
    is_part : bool
        Whether the copy ignores the highest part of the entry number, because each number of the part has a copy.

    Members
    -------
    write : In(1)
        Write an entry in this cycle.
    write_at : In(bits)
        Number of the entry that is written.
    read_next : In(bits)
        Number of the entry that is read in the next cycle.
    read_at : In(bits)
        Number of the entry that is read in this cycle.
    data : In(width)
        Value of the written entry; its unused bits are ignored.
    value : Out(width)
        Value of the read entry; bits outside its fields are 0.
    """

    def __init__(self, window: Window, *, is_part: bool = False) -> None:
        self.window = window
        self.index = [part for part in window.index[: len(window.index) - is_part] if part.count > 1]
        bits, width = window.bits, WORD_BYTES * 8 * window.entry_words
        super().__init__(
            {
                "write": In(1),
                "write_at": In(bits),
                "read_next": In(bits),
                "read_at": In(bits),
                "data": In(width),
                "value": Out(width),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        fields = self.window.fields
        packed = Cat(self.data[part.low : part.low + part.bits] for part in fields)
        stored = self._stored(m, packed)
        low = 0
        for part in fields:
            m.d.comb += self.value[part.low : part.low + part.bits].eq(stored[low : low + part.bits])
            low += part.bits
        return m

    def _stored(self, m: Module, packed: Value) -> Value:
        """Return the fields of the read entry, packed."""
        contents = [self._unwritten(row) for row in range(self._row_count())]
        if not self.index:
            only = Signal(len(packed), name="only", init=contents[0])
            with m.If(self.write):
                m.d.sync += only.eq(packed)
            return only
        init = contents if self.window.kept else []
        m.submodules.memory = memory = Memory(shape=unsigned(len(packed)), depth=len(contents), init=init)
        writer = memory.write_port()
        reader = memory.read_port(transparent_for=(writer,))
        m.d.comb += [
            writer.en.eq(self.write),
            writer.addr.eq(self._row(self.write_at)),
            writer.data.eq(packed),
            reader.addr.eq(self._row(self.read_next)),
        ]
        if self.window.kept:
            return reader.data
        written, row = Signal(len(contents)), self._row(self.read_at)
        with m.If(self.write):
            m.d.sync += written.eq(written | 1 << self._row(self.write_at))
        unwritten: Value = Const(contents[0], len(packed))
        if len(set(contents)) > 1:
            places = (equals(row, number) for number in range(len(contents)))
            unwritten = one_of(places, (Const(each, len(packed)) for each in contents))
        return Mux(bit_of(written, row), reader.data, unwritten)

    def _row(self, entry: Value) -> Value:
        """Return the row of an entry in the memory: the used bits of the entry number."""
        return Cat(entry[part.low : part.low + bits_for(part.count - 1)] for part in self.index)

    def _row_count(self) -> int:
        """Return the number of rows up to the last entry."""
        row, low = 0, 0
        for part in self.index:
            row, low = row | part.count - 1 << low, low + bits_for(part.count - 1)
        return row + 1

    def _unwritten(self, row: int) -> int:
        """Return the fields of an unwritten entry, packed."""
        entry, packed, low = 0, 0, 0
        for part in self.index:
            bits = bits_for(part.count - 1)
            entry, row = entry | (row & (1 << bits) - 1) << part.low, row >> bits
        value = self.window.unwritten(entry)
        for field in self.window.fields:
            mask = (1 << field.bits) - 1
            packed, low = packed | (value >> field.low & mask) << low, low + field.bits
        return packed
