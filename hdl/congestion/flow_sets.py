"""The flows of a source in sets of four: a set is read a cycle before it acts, by two readers."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from vlane.hdl.common.select import equals
from vlane.hdl.congestion.injection_gap import CYCLE_BITS

from vlane.cc_source import CCTI_BITS, DLID_BITS, SL_BITS, TIMER_BITS, WAYS

__all__ = ["ENTRY_LAYOUT", "KEY_LAYOUT", "TICK_BITS", "FlowSets", "set_of"]

TICK_BITS = TIMER_BITS + 1
"""Width of times in ticks."""

KEY_LAYOUT = data.StructLayout({"dlid": DLID_BITS, "sl": SL_BITS})
"""A flow."""

_STATE = data.StructLayout({"ccti": CCTI_BITS, "ends": TICK_BITS})

ENTRY_LAYOUT = data.StructLayout(
    {"known": 1, "injects": 1, "key": KEY_LAYOUT, "ccti": CCTI_BITS, "ends": TICK_BITS, "not_before": CYCLE_BITS}
)
"""An entry as a reader sees it."""


def set_of(key: Any, set_bits: int) -> Value:
    """Return the set of a flow (CCS-6), of so many bits."""
    return (key.dlid ^ (key.sl << max(set_bits - SL_BITS, 0)))[:set_bits]


class FlowSets(wiring.Component):
    """Entries of all flows, as they are at the start of the cycle after a read.

    A reader gives a set and sees its four entries in the next cycle, with all that was written until then.

    Parameters
    ----------
    sets : int
        A power of two.

    Members
    -------
    ask_set, tell_set : In(range(sets))
        Set that the question, and the BECN or visit, reads.
    asked, told : Out(ArrayLayout(ENTRY_LAYOUT, 4))
        Entries of the sets that were read in the cycle before.
    marks : In(4)
        Entries of the asked set whose flow injects.
    takes : In(4)
        Entry of the told set that a flow takes, one bit.
    key : In(KEY_LAYOUT)
        That flow.
    frees : In(4)
        Entry of the told set that is freed, one bit.
    rests : In(4)
        Entry of the told set whose not-before is over, one bit.
    changes : In(4)
        Entry of the told set whose CCTI and timer change, one bit.
    ccti : In(10)
        Its CCTI.
    ends : In(17)
        End of its timer, in ticks.
    gap : In(1)
        A not-before is written.
    gap_set, gap_way : In(range(sets)), In(range(4))
        Of which entry.
    not_before : In(24)
        Which.
    """

    def __init__(self, sets: int) -> None:
        self.sets, number = sets, range(sets)
        entries = data.ArrayLayout(ENTRY_LAYOUT, WAYS)
        super().__init__(
            {
                "ask_set": In(number),
                "tell_set": In(number),
                "asked": Out(entries),
                "told": Out(entries),
                "marks": In(WAYS),
                "takes": In(WAYS),
                "key": In(KEY_LAYOUT),
                "frees": In(WAYS),
                "rests": In(WAYS),
                "changes": In(WAYS),
                "ccti": In(CCTI_BITS),
                "ends": In(TICK_BITS),
                "gap": In(1),
                "gap_set": In(number),
                "gap_way": In(range(WAYS)),
                "not_before": In(CYCLE_BITS),
            }
        )
        self.now_asked, self.now_told = Signal(number), Signal(number)
        self.known = [Signal(sets, name=f"known_{way}") for way in range(WAYS)]
        self.injects = [Signal(sets, name=f"injects_{way}") for way in range(WAYS)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.sync += [self.now_asked.eq(self.ask_set), self.now_told.eq(self.tell_set)]
        for way in range(WAYS):
            self._flags(m, way)
            self._contents(m, way)
        return m

    def _flags(self, m: Module, way: int) -> None:
        """Keep whether an entry is known, and whether its flow has injected; readers see what changes as they read."""
        known, injects = self.known[way], self.injects[way]
        clears = self.rests[way] | self.takes[way]
        for index in range(self.sets):
            of_told, of_asked = equals(self.now_told, index), equals(self.now_asked, index)
            with m.If(of_told & self.takes[way]):
                m.d.sync += known[index].eq(1)
            with m.Elif(of_told & self.frees[way]):
                m.d.sync += known[index].eq(0)
            with m.If(of_asked & self.marks[way]):
                m.d.sync += injects[index].eq(1)
            with m.Elif(of_told & clears):
                m.d.sync += injects[index].eq(0)
        for reads, seen in ((self.ask_set, self.asked[way]), (self.tell_set, self.told[way])):
            as_told, as_asked = reads == self.now_told, reads == self.now_asked
            is_known, has_injected = known.bit_select(reads, 1), injects.bit_select(reads, 1)
            is_known = (is_known & ~(as_told & self.frees[way])) | (as_told & self.takes[way])
            has_injected = (has_injected & ~(as_told & clears)) | (as_asked & self.marks[way])
            m.d.sync += [seen.known.eq(is_known), seen.injects.eq(has_injected)]

    def _contents(self, m: Module, way: int) -> None:
        """Keep flow, CCTI with timer, and not-before of an entry in memories of their own, as each is written alone."""
        is_gap = self.gap & equals(self.gap_way, way)
        written = {
            "key": (KEY_LAYOUT.size, self.takes[way], self.now_told, self.key.as_value()),
            "state": (_STATE.size, self.changes[way], self.now_told, Cat(self.ccti, self.ends)),
            "gap": (CYCLE_BITS, is_gap, self.gap_set, self.not_before),
        }
        for name, (bits, enable, address, value) in written.items():
            memory = Memory(shape=bits, depth=self.sets, init=[])
            m.submodules[f"{name}_{way}"] = memory
            writer = memory.write_port()
            m.d.comb += [writer.en.eq(enable), writer.addr.eq(address), writer.data.eq(value)]
            for reads, seen in ((self.ask_set, self.asked[way]), (self.tell_set, self.told[way])):
                reader = memory.read_port(domain="sync", transparent_for=(writer,))
                m.d.comb += [reader.addr.eq(reads), reader.en.eq(1)]
                if name == "key":
                    m.d.comb += seen.key.as_value().eq(reader.data)
                elif name == "state":
                    state = data.View(_STATE, reader.data)
                    m.d.comb += [seen.ccti.eq(state.ccti), seen.ends.eq(state.ends)]
                else:
                    m.d.comb += seen.not_before.eq(reader.data)
