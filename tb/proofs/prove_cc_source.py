"""Proofs of the source: what questions, BECNs and visits do with the entries that they see, and the gaps."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from vlane.hdl.congestion.injection_gap import InjectionGap
from vlane.tb.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.proofs.prove_tables import constant, opened, remembered

from vlane.cc_source import WAYS, CCSourceSelect

__all__ = ["INSTANCES", "CCSourceProperties", "GapProperties"]


class CCSourceProperties(Properties):
    """What a question, a BECN and a visit do, with any entries in the sets that they read.

    Parameters
    ----------
    source : CCSource
        The component.
    """

    statements: ClassVar = {
        "answer": "A packet may be injected exactly if its flow is not known, has injected nothing, or its last packet "
        "is at least 3 cycles old and the cycle is at least its not-before; a flow that is not known reads CCTI 0.",
        "injects": "An injection of a known flow is passed on with its CCTI, size, entry and cycle; no other "
        "packet is.",
        "raised": "A BECN of a known flow sets its CCTI to the smaller of CCTI_Limit and CCTI + CCTI_Increase.",
        "taken": "A BECN of a flow that is not known takes the lowest free entry of its set, with the smaller of "
        "CCTI_Limit and CCTI_Min + CCTI_Increase; without a free one it is lost and changes nothing.",
        "timer": "A BECN that finds the CCTI at CCTI_Min or below lets the timer end CCTI_Timer ticks after the last "
        "tick; any other one leaves the timer as it is.",
        "log": "A BECN is logged exactly when it raises the CCTI of its flow from below Trigger_Threshold to it or "
        "above; the flow is named.",
        "lowered": "A visit lowers a CCTI by 1, and moves the end of the timer on by CCTI_Timer, exactly if it finds "
        "the CCTI above CCTI_Min and the timer ended.",
        "freed": "A visit frees an entry exactly if its CCTI is at CCTI_Min or below, and its flow could inject and "
        "does not.",
        "sweep": "In every cycle in which no BECN acts, the entry behind the one visited last is visited.",
        "silent": "Without a question there is no answer; without a BECN nothing is lost, logged or taken; with one "
        "nothing is freed.",
        "ticks": "A tick comes every `tick_cycles` cycles from reset on.",
        "limit": "CCTI_Limit is what was written last, at most the last entry of the CCT, and 0 after reset; so is "
        "Port_Control.",
        "presented": "What acts is what was presented in the cycle before, its DLID 0 while flows are SLs.",
    }

    def __init__(self, source: Any) -> None:
        super().__init__()
        self.source, self.m = source, Module()

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.source)

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.source
        m.submodules.source = s
        mode, limit = self._settings(m)
        asked, ask_flow = self._presented(m, "ask", s.ask, s.ask_dlid, s.ask_sl, mode)
        told, tell_flow = self._presented(m, "becn", s.becn, s.becn_dlid, s.becn_sl, mode)
        cycle, tick = self._time(m)
        blocks = Signal(7, name="its_blocks")
        m.d.sync += blocks.eq(s.ask_blocks)
        marks = self._question(m, asked, ask_flow, blocks, cycle)
        self._becn(m, told, tell_flow, limit, tick)
        self._visit(m, told, marks, cycle, tick)
        return m

    def _settings(self, m: Module) -> tuple[Value, Value]:
        w, most = self.source.program, self.source.parameters.cct_entries - 1
        select, mode, limit = Value.cast(w.select), Signal(name="kept_mode"), Signal(10, name="kept_limit")
        with m.If(w.enable & (select == CCSourceSelect.PORT_CONTROL)):
            m.d.sync += mode.eq(w.port_mode)
        with m.If(w.enable & (select == CCSourceSelect.LIMIT)):
            m.d.sync += limit.eq(Mux(w.limit < most, w.limit, most))
        settings = self.source.settings
        self.claim(m, "limit", (settings.limit == limit) & (settings.port_mode == mode) & (limit <= most))
        return mode, limit

    def _presented(
        self, m: Module, name: str, valid: Value, dlid: Value, sl: Value, mode: Value
    ) -> tuple[Value, Value]:
        """Return whether something was presented in the cycle before, and its flow, the SL on top."""
        acts, flow = Signal(name=f"{name}_acts"), Signal(20, name=f"{name}_flow")
        m.d.sync += [acts.eq(valid), flow.eq(Cat(Mux(mode, 0, dlid), sl))]
        return acts, flow

    def _time(self, m: Module) -> tuple[Value, Value]:
        """Keep the cycle modulo 2^24, and the tick modulo 2^17."""
        s = self.source
        cycle, tick, part = Signal(24, name="now"), Signal(17), Signal(range(s.parameters.tick_cycles + 1))
        m.d.sync += [cycle.eq(cycle + 1), part.eq(part + 1)]
        with m.If(part + 1 == s.parameters.tick_cycles):
            m.d.sync += [part.eq(0), tick.eq(tick + 1)]
        self.claim(m, "ticks", (s.tick == tick) & (s.cycle == cycle) & (s.part == part))
        self.claim(m, "ticks", part < s.parameters.tick_cycles)
        return cycle, tick

    def _held(self, entry: Any, way: int, number: Value, cycle: Value) -> Value:
        gaps = self.source.gaps
        mine = Cat(Const(way, 2), number[: self.source.set_bits])
        young = (gaps.early & (gaps.early_place == mine)) | (gaps.late & (gaps.late_place == mine))
        ahead = (entry.not_before - cycle)[:24]
        return entry.injects & (young | ((ahead != 0) & (ahead < 1 << 23)) | (ahead == 1 << 23))

    def _question(self, m: Module, asked: Value, flow: Value, blocks: Value, cycle: Value) -> Value:
        """Claim the answer; return the entries whose flow injects."""
        s, sets = self.source, self.source.flow_sets
        entries = [sets.asked[way] for way in range(WAYS)]
        hits = Cat(each.known & (each.key.as_value() == flow) for each in entries)
        held = Cat(self._held(each, way, sets.now_asked, cycle) for way, each in enumerate(entries))
        single = (hits & (hits - 1)) == 0
        self.claim(m, "answer", s.may == ~(hits & held).any(), when=asked)
        self.claim(m, "answer", s.known == hits.any(), when=asked)
        self.claim(m, "answer", s.ccti == 0, when=asked & ~hits.any())
        self.claim(m, "silent", ~s.may & ~s.known & (s.ccti == 0) & ~s.gaps.inject, when=~asked)
        for way, each in enumerate(entries):
            alone = asked & single & hits[way]
            self.claim(m, "injects", (s.ccti == each.ccti) & (s.gaps.inject == ~held[way]), when=alone)
            self.claim(m, "injects", s.gaps.place[:2] == way, when=alone & s.gaps.inject)
        self.claim(m, "injects", ~s.gaps.inject, when=asked & ~hits.any())
        passed = (s.gaps.blocks == blocks) & (s.gaps.ccti == s.ccti) & (s.gaps.cycle == cycle)
        self.claim(m, "injects", passed, when=s.gaps.inject)
        return Mux(asked, hits & ~held, 0)

    def _becn(self, m: Module, told: Value, flow: Value, limit: Value, tick: Value) -> None:
        s, sets = self.source, self.source.flow_sets
        level, entries = s.settings.level, [self.source.flow_sets.told[way] for way in range(WAYS)]
        hits = Cat(each.known & (each.key.as_value() == flow) for each in entries)
        free = Cat(~each.known for each in entries)
        self.claim(m, "presented", sets.key.as_value() == flow, when=told)
        self.claim(m, "presented", s.settings.sl == flow[16:], when=told)
        self.claim(m, "taken", s.lost == (~hits.any() & ~free.any()), when=told)
        self.claim(m, "silent", ~s.lost & ~s.log & ~sets.takes.any(), when=~told)
        self.claim(m, "silent", ~sets.frees.any() & ~sets.rests.any(), when=told)
        self.claim(m, "taken", (sets.takes == 0) & (sets.changes == 0), when=s.lost)
        for way, each in enumerate(entries):
            is_new = told & ~hits.any() & free[way] & ~free[:way].any()
            alone = told & (hits == 1 << way)
            self.claim(m, "taken", (sets.takes == 1 << way) & (sets.changes == 1 << way), when=is_new)
            self.claim(m, "raised", (sets.takes == 0) & (sets.changes == 1 << way), when=alone)
            for acts, before, name in ((is_new, level.minimum, "taken"), (alone, each.ccti, "raised")):
                total = before + level.increase
                after = Mux(total < limit, total, limit)
                self.claim(m, name, sets.ccti == after, when=acts)
                starts = before <= level.minimum
                self.claim(m, "timer", sets.ends == (tick + level.timer)[:17], when=acts & starts)
                if name == "raised":
                    self.claim(m, "timer", sets.ends == each.ends, when=acts & ~starts)
                logs = (before < level.trigger) & (after >= level.trigger)
                self.claim(m, "log", s.log == logs, when=acts)
        self.claim(m, "log", (s.log_dlid == flow[:16]) & (s.log_sl == flow[16:]), when=s.log)
        self.claim(m, "log", (s.log_dlid == 0) & (s.log_sl == 0), when=~s.log)

    def _visit(self, m: Module, told: Value, marks: Value, cycle: Value, tick: Value) -> None:
        s, sets = self.source, self.source.flow_sets
        place, entries = Signal(range(s.parameters.flows)), [self.source.flow_sets.told[way] for way in range(WAYS)]
        with m.If(~told):
            m.d.sync += place.eq(place + 1)
        self.claim(m, "sweep", s.place == Mux(told, place, place + 1)[: len(place)])
        self.claim(m, "sweep", (sets.now_told == place[2:]) & (s.visited == 1 << place[:2]), when=~told)
        for way, each in enumerate(entries):
            here = ~told & (place[:2] == way)
            level, above = s.settings.level, each.ccti > s.settings.level.minimum
            left = (each.ends - tick)[:17]
            over = (left == 0) | (left > 1 << 16)
            held = self._held(each, way, sets.now_told, cycle)
            injects = marks[way] & (sets.now_asked == sets.now_told)
            self.claim(m, "lowered", sets.changes == Mux(each.known & above & over, 1 << way, 0), when=here)
            moved = (sets.ccti == each.ccti - 1) & (sets.ends == (each.ends + level.timer)[:17])
            self.claim(m, "lowered", moved, when=here & sets.changes.any())
            goes = each.known & ~above & ~held & ~injects
            self.claim(m, "freed", sets.frees == Mux(goes, 1 << way, 0), when=here)


class GapProperties(Properties):
    """The way from a packet to its flow's not-before, beside one arbitrary entry of the CCT.

    Parameters
    ----------
    gap : InjectionGap
        The component; a port that reads the watched entry is added to its memory.
    """

    statements: ClassVar = {
        "entry": "An entry of the CCT is what was written last, 0 at first; a reset keeps it, and a write past the end "
        "of the table changes nothing.",
        "entry-used": "A packet's gap is computed with the entry of its CCTI as it was at the start of its cycle.",
        "gap": "The not-before is the packet's cycle, its size, and the product of size and multiplier, shifted where "
        "the parameter says.",
        "stages": "The not-before of a packet comes two cycles after it, with the place of its flow.",
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
        m, g, w = self.m, self.gap, self.gap.program
        m.submodules.gap = opened(g)
        place, blocks = [Signal.like(g.place, name=f"place_{age}") for age in (1, 2)], Signal(7, name="its_blocks")
        here, since = [Signal(name=f"packet_{age}") for age in (1, 2)], Signal(24, name="its_cycle")
        m.d.sync += [here[0].eq(g.inject), here[1].eq(here[0]), place[0].eq(g.place), place[1].eq(place[0])]
        m.d.sync += [blocks.eq(g.blocks), since.eq(g.cycle)]
        self.claim(m, "stages", (g.early == here[0]) & (g.late == here[1]))
        self.claim(m, "stages", g.early_place == place[0], when=here[0])
        self.claim(m, "stages", g.late_place == place[1], when=here[1])

        written = w.enable & (Value.cast(w.select) == CCSourceSelect.TABLE) & (w.index == self.index)
        entry = remembered(m, "entry", Const(0, 16), written, Cat(w.multiplier, w.shift))
        reader = g.table.read_port(domain="comb")
        m.d.comb += reader.addr.eq(self.index)
        self.claim(m, "entry", reader.data == entry)
        used, is_used = Signal(16, reset_less=True), Signal(name="is_watched", reset_less=True)
        m.d.sync += [used.eq(entry), is_used.eq(g.ccti == self.index)]
        self.claim(m, "entry-used", g.entry.as_value() == used, when=is_used & here[0])

        # operands are those of the block, so that the solver need not compare two products
        factor = (g.size >> g.entry.shift) if g.shift_first else g.size
        product, shift, end = Signal(21, name="its_product"), Signal(2, name="its_shift"), Signal(24, name="its_end")
        m.d.sync += [product.eq(factor * g.entry.multiplier), shift.eq(g.entry.shift), end.eq(since + blocks)]
        self.claim(m, "gap", g.size == blocks, when=here[0])
        gap = product if g.shift_first else product >> shift
        self.claim(m, "gap", g.not_before == (end + gap)[:24], when=here[1])
        self.claim(m, "gap", (g.product == product) & (g.shift == shift) & (g.sum_before == end), when=here[1])
        self.claim(m, "gap", g.end == (since + blocks)[:24], when=here[0])
        return m


_GAP = {"cct_entries": 128, "place_bits": 4}
INSTANCES = (
    Instance("small", CCSourceProperties, {"flows": 4, "tick_cycles": 64}),
    Instance("default", CCSourceProperties, {}),
    Instance("gap", GapProperties, {**_GAP, "shift_first": False}, InjectionGap),
    Instance("gap-shift-first", GapProperties, {**_GAP, "shift_first": True}, InjectionGap),
)
"""What is proven: what acts, and the gaps."""
