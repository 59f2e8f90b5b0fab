"""Pacing of a source: which flow may inject, what a BECN changes, what the timers take back.

What is presented in cycle t reads its set of flows and acts in cycle t + 1, with the state as that cycle starts.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.common.select import equals, number_of, one_of
from vlane.hdl.congestion.flow_sets import KEY_LAYOUT, TICK_BITS, FlowSets, set_of
from vlane.hdl.congestion.injection_gap import CYCLE_BITS, InjectionGap
from vlane.hdl.congestion.source_settings import CCSourceProgramSignature, CCSourceSettings
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

from vlane.cc_source import (
    CCTI_BITS,
    DLID_BITS,
    LOST_BITS,
    LOST_MOST,
    SL_BITS,
    WAYS,
    CCSourceParameters,
)

__all__ = ["CCSource"]


class CCSource(wiring.Component):
    """Says which flow may inject a packet, one question and one BECN a cycle (``docs/cc_source.md``).

    Latency 1: answers belong to the cycle after the question or the BECN. Settings may be written at any time.

    Parameters
    ----------
    parameters : CCSourceParameters
        Shape of the component.

    Members
    -------
    ask : In(1)
        A packet shall be injected.
    ask_dlid : In(16)
        Its destination.
    ask_sl : In(4)
        Its service level.
    ask_blocks : In(7)
        Its size.
    may : Out(1)
        The packet asked about in the cycle before may be injected, and counts as injected in this cycle.
    known : Out(1)
        Its flow is known.
    ccti : Out(10)
        The CCTI of its flow; 0 if it is not known.
    becn : In(1)
        A BECN arrives.
    becn_dlid : In(16)
        Destination of its flow.
    becn_sl : In(4)
        Service level of its flow.
    lost : Out(1)
        The BECN of the cycle before found no entry and is ignored.
    lost_becns : Out(16)
        How many were lost; it stays at its highest value.
    log : Out(1)
        The BECN of the cycle before raised a CCTI to Trigger_Threshold or above.
    log_dlid : Out(16)
        Destination of the flow that is logged.
    log_sl : Out(4)
        Service level of the flow that is logged.
    taken : Out(range(flows + 1))
        Entries in use.
    program : In(CCSourceProgramSignature())
        Writes settings and the CCT.
    """

    latency = 1

    def __init__(self, parameters: CCSourceParameters) -> None:
        self.parameters = p = parameters
        super().__init__(
            {
                "ask": In(1),
                "ask_dlid": In(DLID_BITS),
                "ask_sl": In(SL_BITS),
                "ask_blocks": In(BLOCKS_SHAPE),
                "may": Out(1),
                "known": Out(1),
                "ccti": Out(CCTI_BITS),
                "becn": In(1),
                "becn_dlid": In(DLID_BITS),
                "becn_sl": In(SL_BITS),
                "lost": Out(1),
                "lost_becns": Out(LOST_BITS),
                "log": Out(1),
                "log_dlid": Out(DLID_BITS),
                "log_sl": Out(SL_BITS),
                "taken": Out(range(p.flows + 1)),
                "program": In(CCSourceProgramSignature()),
            }
        )
        self.sets = p.flows // WAYS
        self.set_bits = (self.sets - 1).bit_length()
        self.flow_sets, self.settings = FlowSets(self.sets), CCSourceSettings(p.cct_entries - 1)
        self.gaps = InjectionGap(cct_entries=p.cct_entries, shift_first=p.shift_first, place_bits=self.set_bits + 2)
        self.cycle, self.tick = Signal(CYCLE_BITS), Signal(TICK_BITS)
        self.part = Signal(range(p.tick_cycles))
        self.place = Signal(range(p.flows), init=1)  # entry 0 is visited in the first cycle
        self.visited = Signal(WAYS, init=1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.flow_sets, m.submodules.settings, m.submodules.gaps = self.flow_sets, self.settings, self.gaps
        for part in (self.settings, self.gaps):
            m.d.comb += [
                Value.cast(getattr(part.program, name)).eq(Value.cast(getattr(self.program, name)))
                for name in self.program.signature.members
            ]
        self._count_time(m)
        marks = self._answer(m)
        self._act(m, marks)
        return m

    def _count_time(self, m: Module) -> None:
        """Count cycles, and ticks of 1.024 us (CCS-7)."""
        part, last = self.part, self.parameters.tick_cycles - 1
        m.d.sync += [self.cycle.eq(self.cycle + 1), part.eq(part + 1)]
        with m.If(part == last):
            m.d.sync += [part.eq(0), self.tick.eq(self.tick + 1)]

    def _key(self, m: Module, name: str, dlid: Value, sl: Value) -> tuple[Any, Value]:
        """Return the flow that is presented, and its set (CCS-6)."""
        key = Signal(KEY_LAYOUT, name=f"{name}_key")
        m.d.comb += [key.dlid.eq(Mux(self.settings.port_mode, 0, dlid)), key.sl.eq(sl)]
        return key, set_of(key, self.set_bits)

    def _held(self, entries: Any, index: Value) -> Value:
        """Return, by entry of a set, whether its flow is held in this cycle (CCS-3)."""
        gaps = self.gaps
        under_way = Cat(
            (gaps.early & (gaps.early_place == Cat(way_bits, index)))
            | (gaps.late & (gaps.late_place == Cat(way_bits, index)))
            for way_bits in self._ways()
        )
        late = Cat((self.cycle - entry.not_before)[CYCLE_BITS - 1] for entry in entries)
        return Cat(entry.injects for entry in entries) & (under_way | late)

    @staticmethod
    def _ways() -> list[Value]:
        """Return the numbers of a set's entries as constants."""
        return [Value.cast(Cat(bool(way & 1), bool(way & 2))) for way in range(WAYS)]

    def _answer(self, m: Module) -> Value:
        """Answer the question of the cycle before; return the entries whose flow injects (CCS-1 to CCS-3)."""
        key, index = self._key(m, "ask", self.ask_dlid, self.ask_sl)
        asked, flow, blocks = Signal(), Signal(KEY_LAYOUT, name="asked_flow"), Signal(BLOCKS_SHAPE)
        entries, hits, marks = [self.flow_sets.asked[way] for way in range(WAYS)], Signal(WAYS), Signal(WAYS)
        held = Signal(WAYS)
        m.d.sync += [asked.eq(self.ask), flow.eq(key), blocks.eq(self.ask_blocks)]
        m.d.comb += [
            self.flow_sets.ask_set.eq(index),
            hits.eq(Cat(asked & each.known & (each.key.as_value() == flow.as_value()) for each in entries)),
            held.eq(self._held(entries, self.flow_sets.now_asked[: self.set_bits])),
            marks.eq(hits & ~held),
            self.may.eq(asked & ~(hits & held).any()),
            self.known.eq(hits.any()),
            self.ccti.eq(one_of(hits, (each.ccti for each in entries))),
            self.flow_sets.marks.eq(marks),
            self.gaps.inject.eq(marks.any()),
            self.gaps.place.eq(Cat(number_of(hits), self.flow_sets.now_asked[: self.set_bits])),
            self.gaps.ccti.eq(self.ccti),
            self.gaps.blocks.eq(blocks),
            self.gaps.cycle.eq(self.cycle),
            self.flow_sets.gap.eq(self.gaps.late),
            self.flow_sets.gap_way.eq(self.gaps.late_place[:2]),
            self.flow_sets.gap_set.eq(self.gaps.late_place[2:]),
            self.flow_sets.not_before.eq(self.gaps.not_before),
        ]
        return marks

    def _act(self, m: Module, marks: Value) -> None:
        """Let the BECN of the cycle before act, or the visit that comes instead of one (CCS-4 to CCS-12)."""
        key, index = self._key(m, "becn", self.becn_dlid, self.becn_sl)
        place, visited, told, flow = self.place, self.visited, Signal(), Signal(KEY_LAYOUT, name="told_flow")
        sets = self.flow_sets
        m.d.sync += [told.eq(self.becn), flow.eq(key)]
        m.d.sync += visited.eq(Cat(equals(place[:2], way) for way in range(WAYS)))
        with m.If(~self.becn):
            m.d.sync += place.eq(place + 1)
        m.d.comb += sets.tell_set.eq(Mux(self.becn, index, place[2:]))
        entries = [sets.told[way] for way in range(WAYS)]
        known = Cat(each.known for each in entries)
        hits, vacant = Signal(WAYS), Signal(WAYS)
        m.d.comb += [
            hits.eq(Cat(each.known & (each.key.as_value() == flow.as_value()) for each in entries)),
            vacant.eq(~known & (known + 1)),
            self.settings.sl.eq(Mux(told, flow.sl, one_of(visited, (each.key.sl for each in entries)))),
            sets.key.eq(flow),
        ]
        raised, ends = self._tell(m, told, flow, entries, hits, vacant)
        self._visit(m, told, entries, visited & known, marks)
        with m.If(told):
            m.d.comb += [
                sets.changes.eq(hits | sets.takes),
                sets.ccti.eq(raised),
                sets.ends.eq(ends),
            ]
        with m.If(sets.takes.any()):
            m.d.sync += self.taken.eq(self.taken + 1)
        with m.Elif(sets.frees.any()):
            m.d.sync += self.taken.eq(self.taken - 1)
        with m.If(self.lost & (self.lost_becns != LOST_MOST)):
            m.d.sync += self.lost_becns.eq(self.lost_becns + 1)

    def _tell(
        self, m: Module, told: Value, flow: Any, entries: list[Any], hits: Value, vacant: Value
    ) -> tuple[Value, Value]:
        """Raise a flow's CCTI, or take an entry for it; return its CCTI and the end of its timer."""
        level, limit = self.settings.level, self.settings.limit
        is_known, before, total = hits.any(), Signal(CCTI_BITS), Signal(CCTI_BITS + 1)
        raised, ends = Signal(CCTI_BITS), Signal(TICK_BITS)
        m.d.comb += [
            before.eq(Mux(is_known, one_of(hits, (each.ccti for each in entries)), level.minimum)),
            total.eq(before + level.increase),
            raised.eq(Mux(total > limit, limit, total)),
            ends.eq(one_of(hits, (each.ends for each in entries))),
            self.flow_sets.takes.eq(Mux(told & ~is_known, vacant, 0)),
            self.lost.eq(told & ~is_known & ~vacant.any()),
        ]
        with m.If(before <= level.minimum):
            m.d.comb += ends.eq(self.tick + level.timer)
        with m.If(told & ~self.lost & (before < level.trigger) & (raised >= level.trigger)):
            m.d.comb += [self.log.eq(1), self.log_dlid.eq(flow.dlid), self.log_sl.eq(flow.sl)]
        return raised, ends

    def _visit(self, m: Module, told: Value, entries: list[Any], visited: Value, marks: Value) -> None:
        """Lower the CCTI of the entry that is visited when its timer has ended, or free it."""
        sets, level = self.flow_sets, self.settings.level
        ccti, ends, over = Signal(CCTI_BITS), Signal(TICK_BITS), Signal()
        free_to_go, injects_now = Signal(WAYS), Signal(WAYS)
        same_set = sets.now_asked == sets.now_told
        m.d.comb += [
            ccti.eq(one_of(visited, (each.ccti for each in entries))),
            ends.eq(one_of(visited, (each.ends for each in entries))),
            over.eq(~(self.tick - ends)[TICK_BITS - 1]),
            injects_now.eq(Mux(same_set, marks, 0)),
            free_to_go.eq(visited & ~self._held(entries, sets.now_told[: self.set_bits]) & ~injects_now),
        ]
        with m.If(~told):
            m.d.comb += [
                sets.changes.eq(Mux((ccti > level.minimum) & over, visited, 0)),
                sets.ccti.eq(ccti - 1),
                sets.ends.eq(ends + level.timer),
                sets.frees.eq(Mux(ccti > level.minimum, 0, free_to_go)),
                sets.rests.eq(free_to_go),
            ]
