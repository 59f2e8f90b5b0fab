"""The flows of a source, in sets of four entries, with one port for each reader and writer."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from vlane.congestion.cc_source import CCTI_BITS, DLID_BITS, SL_BITS, TIMER_BITS, WAYS
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.congestion.injection_gap import CYCLE_BITS

TICK_BITS = TIMER_BITS + 1
"""Width of times in ticks."""

KEY_LAYOUT = data.StructLayout({"dlid": DLID_BITS, "sl": SL_BITS})
"""Key of a flow."""

FLAGS_LAYOUT = data.StructLayout({"known": 1, "injects": 1})
"""Flags of an entry: it belongs to a flow; the flow has injected since it became known or its not-before expired."""

STATE_LAYOUT = data.StructLayout({"ccti": CCTI_BITS, "ends": TICK_BITS})
"""State of an entry: its CCTI, and the tick at which its timer ends."""


def set_of(key: Any, set_bits: int) -> Value:
    """Return the set of a flow, as ``set_bits`` bits (CCS-6)."""
    return (key.dlid ^ (key.sl << max(set_bits - SL_BITS, 0)))[:set_bits]


def _bit(bits: Value, index: Value) -> Value:
    """Return the bit at an index, by a tree of two-way selectors."""
    half = len(bits) // 2
    return Mux(index[-1], _bit(bits[half:], index[:-1]), _bit(bits[:half], index[:-1])) if half else bits


def _connect(m: Module, memory: Memory, written: tuple[Value, Value, Value], reads: tuple[Value, Value]) -> list[Value]:
    """Connect a memory to its writer (enable, address, value) and its two read addresses. Return the read values."""
    enable, address, value = written
    writer = memory.write_port()
    m.d.comb += [writer.en.eq(enable), writer.addr.eq(address), writer.data.eq(value)]
    readers = [memory.read_port(domain="comb") for _ in reads]
    m.d.comb += [reader.addr.eq(read) for reader, read in zip(readers, reads, strict=True)]
    return [reader.data for reader in readers]


class FlowSets(wiring.Component):
    """Entries of all flows. Reads return the state at the start of the cycle.

    Parameters
    ----------
    sets : int
        Number of sets, a power of two.

    Members
    -------
    ask_set : In(range(sets))
        Set read for the request.
    tell_set : In(range(sets))
        Set read for the BECN or the visit.
    ask_keys : Out(ArrayLayout(KEY_LAYOUT, 4))
        Flows of ``ask_set``, in the same cycle.
    tell_keys : Out(ArrayLayout(KEY_LAYOUT, 4))
        Flows of ``tell_set``, in the same cycle.
    ask_flags : Out(ArrayLayout(FLAGS_LAYOUT, 4))
        Flags of ``ask_set``, in the same cycle; entries that join or are freed in this cycle are included.
    tell_flags : Out(ArrayLayout(FLAGS_LAYOUT, 4))
        Flags of ``tell_set``, likewise.
    ask_late_set : In(range(sets))
        Set from which the request reads the rest of an entry.
    tell_late_set : In(range(sets))
        Set from which the BECN or the visit reads the rest of an entry.
    ask_ways, tell_ways : In(4)
        Entry to read, one-hot.
    ask_ccti : Out(10)
        CCTI of that entry.
    tell_state : Out(STATE_LAYOUT)
        CCTI and timer of that entry.
    ask_not_before, tell_not_before : Out(24)
        Not-before of that entry.
    takes : In(4)
        Entry allocated to a flow, one-hot.
    told_set : In(range(sets))
        Set of the allocated entry.
    key : In(KEY_LAYOUT)
        Key of the flow that is allocated an entry.
    marks : In(4)
        Entry whose flow has injected, one-hot.
    marked_set : In(range(sets))
        Set of that entry.
    changed_set : In(range(sets))
        Set that a BECN or visit changes.
    joins : In(4)
        Entry of that set that becomes known, one-hot.
    frees : In(4)
        Entry of that set that is freed, one-hot.
    rests : In(4)
        Entry of that set whose not-before has expired, one-hot.
    changes : In(4)
        Entry of that set whose CCTI and timer change, one-hot.
    state : In(STATE_LAYOUT)
        New CCTI and timer.
    gap : In(1)
        A not-before is written.
    gap_set : In(range(sets))
        Set of the entry whose not-before is written.
    gap_ways : In(4)
        Entry whose not-before is written, one-hot.
    not_before : In(24)
        New not-before.
    """

    def __init__(self, sets: int) -> None:
        self.sets, number = sets, range(sets)
        keys, flags = data.ArrayLayout(KEY_LAYOUT, WAYS), data.ArrayLayout(FLAGS_LAYOUT, WAYS)
        super().__init__(
            {
                "ask_set": In(number),
                "tell_set": In(number),
                "ask_keys": Out(keys),
                "tell_keys": Out(keys),
                "ask_flags": Out(flags),
                "tell_flags": Out(flags),
                "ask_late_set": In(number),
                "tell_late_set": In(number),
                "ask_ways": In(WAYS),
                "tell_ways": In(WAYS),
                "ask_ccti": Out(CCTI_BITS),
                "tell_state": Out(STATE_LAYOUT),
                "ask_not_before": Out(CYCLE_BITS),
                "tell_not_before": Out(CYCLE_BITS),
                "marks": In(WAYS),
                "marked_set": In(number),
                "told_set": In(number),
                "takes": In(WAYS),
                "key": In(KEY_LAYOUT),
                "joins": In(WAYS),
                "frees": In(WAYS),
                "rests": In(WAYS),
                "changes": In(WAYS),
                "changed_set": In(number),
                "state": In(STATE_LAYOUT),
                "gap": In(1),
                "gap_set": In(number),
                "gap_ways": In(WAYS),
                "not_before": In(CYCLE_BITS),
            }
        )
        self.known = [Signal(sets, name=f"known_{way}") for way in range(WAYS)]
        self.injects = [Signal(sets, name=f"injects_{way}") for way in range(WAYS)]
        self.keys, self.states, self.gaps = (
            [Memory(shape=bits, depth=sets, init=[]) for _ in range(WAYS)]
            for bits in (KEY_LAYOUT.size, STATE_LAYOUT.size, CYCLE_BITS)
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        cctis: list[Value] = []
        states: list[Value] = []
        asks: list[Value] = []
        tells: list[Value] = []
        for way in range(WAYS):
            self._flags(m, way)
            for keys, key in zip((self.ask_keys, self.tell_keys), self._keys(m, way), strict=True):
                m.d.comb += keys[way].as_value().eq(key)
            for found, read in zip((cctis, states), self._states(m, way), strict=True):
                found.append(read)
            for found, read in zip((asks, tells), self._gaps(m, way), strict=True):
                found.append(read)
        m.d.comb += [
            self.ask_ccti.eq(one_of(self.ask_ways, cctis)),
            self.tell_state.as_value().eq(one_of(self.tell_ways, states)),
            self.ask_not_before.eq(one_of(self.ask_ways, asks)),
            self.tell_not_before.eq(one_of(self.tell_ways, tells)),
        ]
        return m

    def _flags(self, m: Module, way: int) -> None:
        """Keep the flags of an entry: it is known, and its flow has injected."""
        known, injects = self.known[way], self.injects[way]
        for index in range(self.sets):
            of_told, of_marked = equals(self.changed_set, index), equals(self.marked_set, index)
            with m.If(of_told & self.joins[way]):
                m.d.sync += known[index].eq(1)
            with m.Elif(of_told & self.frees[way]):
                m.d.sync += known[index].eq(0)
            with m.If(of_marked & self.marks[way]):
                m.d.sync += injects[index].eq(1)
            with m.Elif(of_told & (self.joins[way] | self.rests[way])):
                m.d.sync += injects[index].eq(0)
        for reads, flags in ((self.ask_set, self.ask_flags), (self.tell_set, self.tell_flags)):
            of_told = reads == self.changed_set
            m.d.comb += [
                flags[way].known.eq((_bit(known, reads) & ~(of_told & self.frees[way])) | (of_told & self.joins[way])),
                flags[way].injects.eq(_bit(injects, reads) & ~(of_told & self.joins[way])),
            ]

    def _keys(self, m: Module, way: int) -> list[Value]:
        """Keep an entry's flow, and return it for the request and for the BECN or visit."""
        m.submodules[f"key_{way}"] = memory = self.keys[way]
        written = self.takes[way], self.told_set, self.key.as_value()
        return _connect(m, memory, written, (self.ask_set, self.tell_set))

    def _states(self, m: Module, way: int) -> tuple[Value, Value]:
        """Keep an entry's CCTI and timer. Return the CCTI for the request, and both for the BECN or visit."""
        m.submodules[f"state_{way}"] = memory = self.states[way]
        written = self.changes[way], self.changed_set, self.state.as_value()
        asked, told = _connect(m, memory, written, (self.ask_late_set, self.tell_late_set))
        return asked[:CCTI_BITS], told

    def _gaps(self, m: Module, way: int) -> list[Value]:
        """Keep an entry's not-before, and return it for the request and for the visit."""
        m.submodules[f"gap_{way}"] = memory = self.gaps[way]
        written = self.gap & self.gap_ways[way], self.gap_set, self.not_before
        return _connect(m, memory, written, (self.ask_late_set, self.tell_late_set))
