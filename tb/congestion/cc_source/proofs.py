"""Proofs of the source: decisions of requests, BECNs and visits, and the forwarding between pipeline stages."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from vlane.congestion.cc_source import SHORTEST_GAP, WAYS
from vlane.hdl.congestion.flow_sets import FlowSets
from vlane.hdl.congestion.injection_gap import InjectionGap
from vlane.hdl.congestion.source_settings import CCSourceSettings
from vlane.tb.congestion.cc_source.proofs_flow_sets import FlowSetsProperties
from vlane.tb.congestion.cc_source.proofs_injection_gap import GapProperties
from vlane.tb.congestion.cc_source.proofs_settings import SettingsProperties
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs

_LAST = 4
"""Stage that decides, reached four cycles after an input acts."""


def _history(m: Module, value: Value, cycles: int, name: str) -> list[Value]:
    """Return a value and its past values, up to ``cycles`` cycles ago."""
    kept: list[Value] = [value]
    for age in range(1, cycles + 1):
        later = Signal(len(value), name=f"{name}_before_{age}")
        m.d.sync += later.eq(kept[-1])
        kept.append(later)
    return kept


class CCSourceProperties(Properties):
    """Check the results of a request, a BECN and a visit, for arbitrary contents of the entries that they read.

    Parameters
    ----------
    source : CCSource
        The component.
    """

    statements: ClassVar = {
        "presented": "The inputs presented in one cycle act in the next one, with DLID 0 while flows are SLs, and "
        "reach the deciding stage unchanged.",
        "ticks": "A tick occurs every `tick_cycles` cycles from reset on.",
        "sweep": "In every cycle in which no BECN acts, the entry after the last visited one is visited.",
        "same": "A request, BECN or visit in the pipeline is flagged as sharing a flow with an earlier one exactly "
        "if it does.",
        "passed-on": "When a BECN or visit decides, every request or BECN of the same flow in the pipeline takes "
        "over the flow's new entry; a request also learns that the flow is new there, and a BECN takes "
        "over CCTI and timer.",
        "answer": "A packet may be injected exactly if its flow is unknown or not held; an unknown flow shows CCTI 0.",
        "held": "A flow is held exactly if it injected in one of the previous 7 cycles, or if it has injected since "
        "it became known and its not-before has not been reached.",
        "injects": "An injection of a known flow, and no other packet, is passed on with its CCTI, size, entry and "
        "cycle.",
        "taken": "A BECN of an unknown flow is allocated the lowest free entry of its set, with CCTI the smaller of "
        "CCTI_Limit and CCTI_Min + CCTI_Increase; without a free entry it is lost and changes nothing.",
        "raised": "A BECN of a known flow sets its CCTI to the smaller of CCTI_Limit and CCTI + CCTI_Increase.",
        "timer": "A BECN that finds the CCTI at or below CCTI_Min sets the timer to end CCTI_Timer ticks after the "
        "last tick; any other BECN leaves the timer unchanged.",
        "log": "A BECN is logged, with its flow, exactly when it raises the CCTI from below Trigger_Threshold to at "
        "least Trigger_Threshold.",
        "lowered": "A visit lowers a CCTI by 1, and extends the timer by CCTI_Timer, exactly if the CCTI is above "
        "CCTI_Min, the timer has ended, and no BECN of the flow arrived in the previous 4 cycles.",
        "freed": "A visit frees an entry exactly if its CCTI is at or below CCTI_Min, its flow could inject but does "
        "not, and no BECN of the flow arrived in the previous 4 cycles.",
        "settles": "A visit in the pipeline is cancelled by BECNs of its flow that decide meanwhile.",
        "silent": "Without a request there is no answer; without a BECN nothing is lost, logged or allocated; with a "
        "BECN nothing is freed.",
        "vacant": "A BECN or visit in the pipeline tracks all changes of its set.",
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
        cycle, tick = self._model_time(m)
        self._claim_stage_contents(m, s.asks, "ask", s.ask, Cat(Mux(s.settings.port_mode, 0, s.ask_dlid), s.ask_sl))
        self._claim_stage_contents(
            m, s.tells, "becn", s.becn, Cat(Mux(s.settings.port_mode, 0, s.becn_dlid), s.becn_sl)
        )
        self._sweep(m)
        self._claim_same_flow(m)
        self._claim_forwarding(m)
        self._claim_answer(m, cycle)
        self._becn(m, tick)
        self._visit(m, cycle, tick)
        return m

    def _model_time(self, m: Module) -> tuple[Value, Value]:
        """Return cycle and tick as the third stage sees them, three cycles late."""
        s, period = self.source, self.source.parameters.tick_cycles
        cycle, tick, part = Signal(24, name="now"), Signal(17, name="now_tick"), Signal(range(period + 1))
        m.d.sync += [cycle.eq(cycle + 1), part.eq(part + 1)]
        with m.If(part + 1 == period):
            m.d.sync += [part.eq(0), tick.eq(tick + 1)]
        third, third_tick = Signal(24, name="third_cycle"), Signal(17, name="third_tick")
        m.d.comb += [third.eq(cycle - 3), third_tick.eq(tick - (part < 3))]
        self.claim(m, "ticks", part < period)
        self.claim(m, "ticks", s.part == Mux(part < 3, part + period - 3, part - 3))
        self.claim(m, "ticks", (s.tick == third_tick) & (s.cycle == third))
        begun = _history(m, Const(1, 1), 1, "runs")[1]
        self.claim(m, "ticks", s.gaps.cycle == (third - 1)[:24], when=begun)
        return third, third_tick

    def _claim_stage_contents(self, m: Module, direction: Any, name: str, valid: Value, flow: Value) -> None:
        """Claim the contents of each stage."""
        acts = _history(m, valid, _LAST + 1, f"{name}_acts")
        flows = _history(m, flow, _LAST + 1, f"{name}_flow")
        blocks = _history(m, self.source.ask_blocks, _LAST + 1, "its_blocks") if name == "ask" else []
        for stage in range(_LAST + 1):
            present = (direction.asked if name == "ask" else direction.told)[stage]
            self.claim(m, "presented", present == acts[stage + 1])
            own = direction.keys[stage].as_value() == flows[stage + 1]
            self.claim(m, "presented", own, when=acts[stage + 1])
            if blocks:
                self.claim(m, "presented", direction.blocks[stage] == blocks[stage + 1])

    def _sweep(self, m: Module) -> None:
        """Claim which entry is visited, through all stages."""
        s, t = self.source, self.source.tells
        place = Signal(range(s.parameters.flows), name="its_turn")
        with m.If(~t.told[0]):
            m.d.sync += place.eq(place + 1)
        self.claim(m, "sweep", s.place == Mux(t.told[0], place, place + 1)[: len(place)])
        self.claim(m, "sweep", t.visited[0] == 1 << place[:2], when=~t.told[0])
        self.claim(m, "sweep", t.sets[0] == place[2:], when=~t.told[0])
        places, begun = _history(m, place, _LAST, "its_turn"), _history(m, Const(1, 1), _LAST, "begun")
        for stage in range(1, _LAST + 1):
            here = (t.visited[stage] == 1 << places[stage][:2]) & (t.sets[stage] == places[stage][2:])
            self.claim(m, "sweep", here, when=~t.told[stage] & begun[stage])

    def _claim_same_flow(self, m: Module) -> None:
        """Claim that equal flows in the pipeline are recognized."""
        a, t = self.source.asks, self.source.tells
        told_flows = _history(m, t.keys[_LAST].as_value(), 3, "told_flow")
        told = {
            **{stage: t.keys[stage].as_value() for stage in range(_LAST)},
            **{_LAST + k: told_flows[k] for k in range(4)},
        }
        asked = {stage: key.as_value() for stage, key in a.keys.items()}
        for valid, keys, marks in ((a.asked, a.keys, a.of_told), (t.told, t.keys, t.of_told)):
            for age, by_stage in marks.items():
                for stage, mark in by_stage.items():
                    equal = valid[stage] & (keys[stage].as_value() == told[stage + age])
                    self.claim(m, "same", mark == equal)
        oldest = max(asked)
        asked[oldest + 1], asked[oldest + 2] = _history(m, asked[oldest], 2, "oldest_flow")[1:]
        self._flows = asked
        self._asked = valid = _history(m, a.asked[_LAST], oldest + 1 - _LAST, "question")
        older = {**a.asked, **{_LAST + age: was for age, was in enumerate(valid)}}
        for keys, marks in ((asked, a.of_asked), ({k: t.keys[k].as_value() for k in t.keys}, t.of_asked)):
            for age, by_stage in marks.items():
                for stage, mark in by_stage.items():
                    equal = keys[stage] == asked[stage + age]
                    self.claim(m, "same", mark == equal, when=older[stage + age])

    def _claim_forwarding(self, m: Module) -> None:
        """Claim that a decision is forwarded to the next stage of every request or BECN of the same flow."""
        a, t, sets = self.source.asks, self.source.tells, self.source.flow_sets
        key, counts = t.keys[_LAST].as_value(), t.told[_LAST] | (t.ways[_LAST].any() & ~t.stale[_LAST])
        after = (t.ways[_LAST] | sets.takes) & ~t.frees
        self.claim(m, "passed-on", (t.valid == counts) & (t.after == after) & (t.stays == after.any()))
        self.claim(m, "passed-on", t.is_known == t.ways[_LAST].any())
        self.claim(m, "passed-on", a.is_known == a.ways[_LAST].any())
        was_after, was_taken = Signal(WAYS, name="it_was"), Signal(name="it_was_taken")
        m.d.sync += [was_after.eq(after), was_taken.eq(sets.takes.any())]
        self.claim(m, "passed-on", (t.was_after == was_after) & (t.had_taken == was_taken))
        for name, way, valid in (("ask", a, a.asked), ("tell", t, t.told)):
            for stage in range(1, _LAST):
                concerned = Signal(name=f"{name}_concerned_{stage}")
                m.d.sync += concerned.eq(valid[stage] & (way.keys[stage].as_value() == key) & counts)
                self.claim(m, "passed-on", way.ways[stage + 1] == was_after, when=concerned)
                if name == "ask" and stage + 1 < _LAST:
                    self.claim(m, "passed-on", a.fresh[stage + 1], when=concerned & was_taken)
                elif name == "ask":
                    self.claim(m, "passed-on", ~a.held, when=concerned & was_taken & ~self._injected_recently(m))
                elif stage + 1 == _LAST:
                    self.claim(m, "passed-on", t.follows == concerned)
        state = Signal(len(t.last.as_value()), name="it_became")
        m.d.sync += state.eq(t.becomes.as_value())
        self.claim(m, "passed-on", t.last.as_value() == state)
        concerned = Signal(name="second_concerned")
        m.d.sync += concerned.eq(t.told[2] & (t.keys[2].as_value() == key) & counts)
        self.claim(m, "passed-on", t.state[3].as_value() == state, when=concerned)

    def _injected_recently(self, m: Module) -> Value:
        """Return whether the request's flow injected within the shortest gap."""
        a, reach = self.source.asks, SHORTEST_GAP - 1
        if not hasattr(self, "_recently"):
            injected = _history(m, a.inject, reach, "flow_injected")
            self._recently = Cat(
                (self._flows[_LAST] == self._flows[_LAST + age]) & injected[age] for age in range(1, reach + 1)
            ).any()
            self._injected = injected
        return self._recently

    def _claim_answer(self, m: Module, cycle: Value) -> None:
        s, a, gaps = self.source, self.source.asks, self.source.gaps
        recent, injected = self._injected_recently(m), self._injected
        for stage in range(2, _LAST + 1):
            self.claim(m, "silent", a.asked[stage] | ~a.ways[stage].any())
        for age in range(1, 7):
            self.claim(m, "held", (gaps.injected[age - 1] == injected[age]) & (self._asked[age] | ~injected[age]))
        before = Cat((self._flows[3] == self._flows[3 + age]) & injected[age - 1] for age in range(2, SHORTEST_GAP))
        self.claim(m, "held", a.recent[3] == before.any())
        early = Signal(name="was_early")
        m.d.sync += early.eq(self._is_before(cycle, a.not_before[3]) & a.injects)
        self.claim(m, "held", a.held, when=recent & a.asked[_LAST])
        self.claim(m, "held", ~a.held | early, when=a.asked[_LAST] & ~recent)
        known, held, asked, ccti = Signal(), Signal(), Signal(), Signal(10)
        m.d.sync += [known.eq(a.ways[_LAST].any()), held.eq(a.held), asked.eq(a.asked[_LAST]), ccti.eq(a.ccti)]
        self.claim(m, "answer", s.may == ~(known & held), when=asked)
        self.claim(m, "answer", s.known == known)
        self.claim(m, "answer", s.ccti == Mux(known, ccti, 0))
        self.claim(m, "silent", ~s.may, when=~asked)
        self.claim(m, "injects", gaps.inject == (a.ways[_LAST].any() & ~a.held))
        passed = (gaps.blocks == a.blocks[_LAST]) & (gaps.ccti == a.ccti) & (gaps.cycle == (cycle - 1)[:24])
        self.claim(m, "injects", passed, when=gaps.inject)
        for way in range(WAYS):
            alone = gaps.inject & (a.ways[_LAST] == 1 << way)
            self.claim(m, "injects", gaps.place == Cat(Const(way, 2), a.sets[_LAST]), when=alone)
            marks = Signal(name=f"marked_{way}")
            m.d.sync += marks.eq(gaps.inject & a.ways[_LAST][way])
            self.claim(m, "injects", s.flow_sets.marks[way] == marks)

    @staticmethod
    def _is_before(cycle: Value, other: Value) -> Value:
        """Return whether a cycle is before another one, modulo 2^24. A distance of half the range counts as before."""
        ahead = (other - cycle)[:24]
        return (ahead != 0) & (ahead <= 1 << 23)

    def _becn(self, m: Module, tick: Value) -> None:
        t, sets = self.source.tells, self.source.flow_sets
        level, limit, told = t.level[_LAST], t.limit[_LAST], t.told[_LAST]
        ways, free = t.ways[_LAST], ~t.known[_LAST]
        ends, last_tick, old = Signal(17, name="its_end"), Signal(17, name="last_tick"), Signal(10, name="its_ccti")
        m.d.sync += [ends.eq(t.state[3].ends), last_tick.eq(tick), old.eq(t.state[3].ccti)]
        self.claim(m, "raised", t.before == Mux(t.follows, t.last.ccti, old), when=told & ways.any())
        for stage in (3, 4):
            self.claim(m, "raised", t.room[stage] == t.limit[stage] - t.level[stage].increase)
        self.claim(m, "taken", t.lost == (~ways.any() & ~free.any()), when=told)
        self.claim(m, "taken", (sets.takes == 0) & (t.after == 0), when=t.lost)
        self.claim(m, "taken", sets.takes == 0, when=told & ways.any())
        self.claim(m, "silent", ~t.lost & ~sets.takes.any(), when=~told)
        self.claim(m, "silent", ~t.frees.any(), when=told)
        for way in range(WAYS):
            is_new = told & ~ways.any() & free[way] & ~free[:way].any()
            self.claim(m, "taken", sets.takes == 1 << way, when=is_new)
        acts = told & ~t.lost
        for name, when in (("taken", acts & ~ways.any()), ("raised", acts & ways.any())):
            if name == "taken":
                self.claim(m, name, t.before == level.minimum, when=when)
            total = t.before + level.increase
            self.claim(m, name, t.becomes.ccti == Mux(total < limit, total, limit)[:10], when=when)
        starts = t.before <= level.minimum
        self.claim(m, "timer", t.becomes.ends == (last_tick + level.timer)[:17], when=acts & starts)
        self.claim(m, "timer", t.becomes.ends == Mux(t.follows, t.last.ends, ends), when=acts & ~starts)
        self._reported(m, acts)

    def _reported(self, m: Module, acts: Value) -> None:
        """Claim the outputs about a BECN, one cycle later."""
        s, t = self.source, self.source.tells
        trigger, flow = t.level[_LAST].trigger, Signal(20, name="logged_flow")
        logs, lost, changes = Signal(name="logs"), Signal(name="loses"), Signal(WAYS, name="raises")
        m.d.sync += [
            logs.eq(acts & (t.before < trigger) & (t.becomes.ccti >= trigger)),
            flow.eq(t.keys[_LAST].as_value()),
            lost.eq(t.lost),
            changes.eq(Mux(acts, t.after, 0)),
        ]
        told = Signal(name="was_told")
        m.d.sync += told.eq(t.told[_LAST])
        self.claim(m, "log", s.log == logs)
        self.claim(m, "log", Cat(s.log_dlid, s.log_sl) == Mux(logs, flow, 0))
        self.claim(m, "taken", s.lost == lost)
        self.claim(m, "raised", s.flow_sets.changes == changes, when=told)

    def _visit(self, m: Module, cycle: Value, tick: Value) -> None:
        s, t, sets = self.source, self.source.tells, self.source.flow_sets
        told, ways, state = t.told[_LAST], t.ways[_LAST], t.state[3]
        here, level = ~told, t.level[3]
        left = (state.ends - tick)[:17]
        over, above = (left == 0) | (left > 1 << 16), state.ccti > level.minimum
        lowers, least, moved = Signal(name="may_lower"), Signal(name="at_least"), Signal(27, name="moved")
        early = Signal(name="visit_is_early")
        m.d.sync += [
            lowers.eq(over & above),
            least.eq(~above),
            moved.eq(Mux(over & above, Cat((state.ccti - 1)[:10], (state.ends + level.timer)[:17]), state.as_value())),
            early.eq(t.injects[3] & self._is_before(cycle, t.not_before[3])),
        ]
        flow, flows = t.keys[_LAST].as_value(), self._flows
        recent = Cat((flow == flows[_LAST + age]) & self._injected[age] for age in range(1, SHORTEST_GAP)).any()
        self.claim(m, "freed", t.held, when=here & (early | recent))
        now = (flow == flows[_LAST]) & s.asks.inject
        goes = least & ~t.held & ~now & ~t.stale[_LAST]
        self.claim(m, "freed", t.frees == Mux(goes, ways, 0), when=here)
        self.claim(m, "lowered", t.becomes.as_value() == moved, when=here)
        changes, was_told = Signal(WAYS, name="lowered"), Signal(name="no_visit")
        m.d.sync += [changes.eq(Mux(lowers & ~t.stale[_LAST], ways, 0)), was_told.eq(told)]
        self.claim(m, "lowered", sets.changes == changes, when=~was_told)
        acts = Mux(told, t.after, 0)
        for stage in range(_LAST):
            same = t.sets[stage] == t.sets[_LAST]
            was = t.stale[stage] if stage else 0
            stale, known_then = Signal(name=f"has_acted_{stage}"), Signal(WAYS, name=f"known_then_{stage}")
            m.d.sync += stale.eq(was | (same & (acts & t.visited[stage]).any()))
            self.claim(m, "settles", t.stale[stage + 1] == stale)
            if stage:
                m.d.sync += known_then.eq(Mux(same, (t.known[stage] & ~t.frees) | sets.takes, t.known[stage]))
                self.claim(m, "vacant", t.known[stage + 1] == known_then)


_GAP = {"cct_entries": 128, "place_bits": 4}
INSTANCES = (
    Instance("small", CCSourceProperties, {"flows": 8, "tick_cycles": 64}),
    Instance("default", CCSourceProperties, {}),
    Instance("settings", SettingsProperties, {"last_entry": 127}, CCSourceSettings),
    Instance("entries", FlowSetsProperties, {"sets": 2}, FlowSets),
    Instance("gap", GapProperties, {**_GAP, "shift_first": False}, InjectionGap),
    Instance("gap-shift-first", GapProperties, {**_GAP, "shift_first": True}, InjectionGap),
    Instance("gap-block-ram", GapProperties, {"cct_entries": 256, "place_bits": 4, "shift_first": False}, InjectionGap),
)
"""Proven instances: the pipeline, the settings, the entries, and the gaps."""
