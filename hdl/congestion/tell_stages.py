"""Pipeline of a BECN, or of the visit of an entry in a cycle without a BECN.

A BECN or visit that acts in cycle c passes five stages; the last one decides::

    0    the flows of the set are read and compared with the BECN's flow, two bits at a time
    1    the entry of the flow is found
    2    CCTI, timer and not-before of the entry are read, and the settings of its SL
    3    the results of a BECN and of a visit are prepared
    4    the new state is decided

Decisions about the same flow that are made while a BECN is in the pipeline are forwarded to the BECN. A visit to which
such a decision applies does nothing.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed

from vlane.congestion.cc_source import CCTI_BITS, WAYS
from vlane.hdl.common.select import exceeds, one_of
from vlane.hdl.congestion.ask_stages import (
    DECIDES,
    KEY_PARTS,
    AskStages,
    advance,
    alike_parts,
    compare_told,
    stages,
    told_before,
)
from vlane.hdl.congestion.flow_sets import FLAGS_LAYOUT, KEY_LAYOUT, STATE_LAYOUT, TICK_BITS, FlowSets
from vlane.hdl.congestion.injection_gap import CYCLE_BITS, GAP_STAGES, InjectionGap
from vlane.hdl.congestion.source_settings import LEVEL_LAYOUT, CCSourceSettings

_RESULTS = ("after_last", "prepared", "becomes")


class TellStages:
    """Stage registers of BECNs and visits.

    Parameters
    ----------
    sets : int
        Number of sets of flows.

    Attributes
    ----------
    told : dict of Signal
        By stage: whether a BECN is present; otherwise the stage has a visit.
    keys : dict of Signal
        By stage: flow of the BECN, or, from stage 1 on, of the visited entry.
    sets : dict of Signal
        By stage: set of the flow.
    visited : dict of Signal
        By stage: entry of the set that is visited if there is no BECN, one-hot.
    known : dict of Signal
        By stage: mask of the set's entries in use.
    ways : dict of Signal
        By stage: entry of the flow, one-hot; 0 if the flow has no entry.
    stale : dict of Signal
        By stage: a BECN has changed the visited entry since stage 0, so the visit has no effect.
    is_known : Signal
        In the last stage: the flow has an entry.
    valid : Signal
        In the last stage: the BECN or visit has an effect.
    after : Signal
        In the last stage: entry of the flow after the decision, one-hot.
    stays : Signal
        In the last stage: the flow has an entry after the decision.
    took : Signal
        In the last stage: the decision allocates the entry to the flow.
    was_valid : Signal
        ``valid`` of the previous cycle.
    was_after : Signal
        ``after`` of the previous cycle.
    had_taken : Signal
        ``took`` of the previous cycle.
    becomes : Signal
        In the last stage: new CCTI and timer of the flow.
    last : Signal
        ``becomes``, one cycle later.
    lost : Signal
        In the last stage: the BECN finds no free entry.
    """

    def __init__(self, sets: int) -> None:
        self.told, self.sets = stages(1, "told", 0), stages(range(sets), "tell_set", 0)
        self.keys, self.visited = stages(KEY_LAYOUT, "tell_key", 0), stages(WAYS, "visited", 0)
        self.visited[0] = Signal(WAYS, name="visited_0", init=1)
        self.flags = [Signal(FLAGS_LAYOUT, name=f"tell_flags_{way}") for way in range(WAYS)]
        self.alike = [Signal(KEY_PARTS, name=f"tell_alike_{way}") for way in range(WAYS)]
        self.turn = Signal(WAYS)
        self.is_known = Signal()
        self.known, self.ways, self.stale = (
            stages(WAYS, "known", 1),
            stages(WAYS, "tell_ways", 2),
            stages(1, "stale", 1),
        )
        self.injects, self.not_before = stages(1, "tell_injects", 2, 3), stages(CYCLE_BITS, "tell_not_before", 3, 3)
        self.state, self.level = stages(STATE_LAYOUT, "tell_state", 3), stages(LEVEL_LAYOUT, "level", 3)
        self.first = Signal(CCTI_BITS)
        self.started = Signal(TICK_BITS)
        self.old = Signal(CCTI_BITS)
        self.limit = stages(CCTI_BITS, "limit", 3)
        self.room = stages(signed(CCTI_BITS + 1), "room", 3)
        self.lowers = Signal()
        self.is_least = Signal()
        self.held = Signal()
        self.of_told = told_before("tell")
        self.of_asked = {age: stages(1, f"tell_is_asked_{age}", 3, 3 if age else 4) for age in range(GAP_STAGES + 3)}
        self.follows = Signal()
        self.valid = Signal()
        self.after = Signal(WAYS)
        self.stays = Signal()
        self.took = Signal()
        self.was_valid = Signal()
        self.was_after = Signal(WAYS)
        self.had_taken = Signal()
        self.before = Signal(CCTI_BITS)
        self.uses_last = Signal()
        self.after_last, self.prepared, self.becomes = (Signal(STATE_LAYOUT, name=name) for name in _RESULTS)
        self.frees = Signal(WAYS)
        self.lost = Signal()
        self.last = Signal(STATE_LAYOUT)
        self.changes = Signal(WAYS)
        self.changed_set = Signal(range(sets))

    def add(
        self,
        m: Module,
        asks: AskStages,
        flow_sets: FlowSets,
        settings: CCSourceSettings,
        gaps: InjectionGap,
        now: tuple[Value, Value],
    ) -> None:
        """Add the stages. ``now`` is the pair of cycle and tick in the third stage."""
        advance(m, self.told, self.sets, self.visited, self.injects, self.level, self.limit, self.room)
        advance(m, *self.of_told.values(), *self.of_asked.values())
        self._compare(m, asks)
        self._find(m, flow_sets)
        self._read(m, flow_sets, settings)
        self._prepare(m, asks, gaps, now)
        self._choose_entry(m, asks, flow_sets)
        self._change(m, flow_sets)

    def _compare(self, m: Module, asks: AskStages) -> None:
        """Compare the flow with the flows of requests, and of older BECNs and visits."""
        compare_told(m, self.of_told, self.told, self.keys, self.keys)
        m.d.sync += [chain[3].eq(self.keys[2] == asks.keys[2 + age]) for age, chain in self.of_asked.items()]

    def _find(self, m: Module, flow_sets: FlowSets) -> None:
        """Find the flow's entry, or take the visited one, and track the known entries of the set."""
        acts = Signal(WAYS)
        m.d.comb += [flow_sets.tell_set.eq(self.sets[0]), acts.eq(Mux(self.told[4], self.after, 0))]
        found = [flow_sets.tell_keys[way] for way in range(WAYS)]
        m.d.sync += [alike.eq(alike_parts(key, self.keys[0])) for alike, key in zip(self.alike, found, strict=True)]
        m.d.sync += [flag.eq(flow_sets.tell_flags[way]) for way, flag in enumerate(self.flags)]
        seen = Cat(flow_sets.tell_flags[way].known for way in range(WAYS))
        known = {0: seen, **self.known}
        for stage in range(DECIDES):
            same = self.sets[stage] == self.sets[4]
            stale = self.stale[stage] if stage else 0
            m.d.sync += self.stale[stage + 1].eq(stale | (same & (acts & self.visited[stage]).any()))
            then = (known[stage] | flow_sets.takes) & ~self.frees
            m.d.sync += self.known[stage + 1].eq(Mux(same, then, known[stage]))
        hits = Cat(each.known for each in self.flags) & (
            self.turn | Cat(self.told[1] & alike.all() for alike in self.alike)
        )
        by_third, by_fourth = self.of_told[3][1] & self.valid, self.of_told[4][1] & self.was_valid
        visited = one_of(self.visited[0], (key.as_value() for key in found))
        m.d.sync += [
            self.ways[2].eq(Mux(by_third, self.after, Mux(by_fourth, self.was_after, hits))),
            self.turn.eq(Mux(self.told[0], 0, self.visited[0])),
            self.keys[1].as_value().eq(Mux(self.told[0], self.keys[0].as_value(), visited)),
            *(self.keys[stage].eq(self.keys[stage - 1]) for stage in (2, 3, 4)),
            self.injects[2].eq(one_of(self.visited[1], (each.injects for each in self.flags))),
        ]

    def _read(self, m: Module, flow_sets: FlowSets, settings: CCSourceSettings) -> None:
        """Read the rest of the entry and the settings of its SL."""
        by_second, by_third = self.of_told[2][2] & self.valid, self.of_told[3][2] & self.was_valid
        read = Mux(by_third, self.last.as_value(), flow_sets.tell_state.as_value())
        prepared = Mux(by_second, self.prepared.as_value(), read)
        m.d.comb += [
            flow_sets.tell_late_set.eq(self.sets[2]),
            flow_sets.tell_ways.eq(self.ways[2]),
            settings.sl.eq(self.keys[2].sl),
        ]
        m.d.sync += [
            self.ways[3].eq(Mux(by_second, self.after, self.ways[2])),
            self.state[3].eq(Mux(by_second & self.uses_last, self.after_last.as_value(), prepared)),
            self.not_before[3].eq(flow_sets.tell_not_before),
            self.level[3].eq(settings.level),
            self.limit[3].eq(settings.limit),
            self.room[3].eq(settings.limit - settings.level.increase),
        ]

    def _prepare(self, m: Module, asks: AskStages, gaps: InjectionGap, now: tuple[Value, Value]) -> None:
        """Prepare the results of a BECN and of a visit, without the decision of this cycle."""
        (cycle, tick), level, state = now, self.level[3], self.state[3]
        above = exceeds(state.ccti, level.minimum)
        over = ~(tick - state.ends)[TICK_BITS - 1]
        started = Signal(TICK_BITS)
        early, same = (cycle - self.not_before[3])[CYCLE_BITS - 1], self.of_asked
        recent = (same[1][3] & asks.inject) | Cat(
            same[2 + k][3] & gaps.injected[k] for k in range(GAP_STAGES + 1)
        ).any()
        by_first = self.of_told[1][3] & self.valid
        m.d.comb += started.eq(tick + level.timer)
        m.d.sync += [
            self.ways[4].eq(Mux(by_first, self.after, self.ways[3])),
            self.is_known.eq(Mux(by_first, self.stays, self.ways[3].any())),
            self.follows.eq(by_first),
            self.old.eq(state.ccti),
            self.first.eq(self._raised(3, level.minimum)),
            self.started.eq(started),
            self.lowers.eq(~self.told[3] & above & over),
            self.is_least.eq(~self.told[3] & ~above),
            self.held.eq((self.injects[3] & early) | recent),
        ]
        with m.If(self.told[3]):
            m.d.sync += [
                self.state[4].ccti.eq(self._raised(3, state.ccti)),
                self.state[4].ends.eq(Mux(above, state.ends, started)),
            ]
        with m.Else():
            m.d.sync += [
                self.state[4].ccti.eq(Mux(above & over, state.ccti - 1, state.ccti)),
                self.state[4].ends.eq(Mux(above & over, state.ends + level.timer, state.ends)),
            ]

    def _raised(self, stage: int, before: Value) -> Value:
        """Return the CCTI after the BECN in a stage (CCS-4)."""
        total = before + self.level[stage].increase
        return Mux(exceeds(before, self.room[stage]), self.limit[stage], total)[:CCTI_BITS]

    def _choose_entry(self, m: Module, asks: AskStages, flow_sets: FlowSets) -> None:
        """Decide which entry a BECN allocates, and which entry a visit frees (CCS-5, CCS-10)."""
        ways, told, known = self.ways[4], self.told[4], self.known[4]
        vacant = Signal(WAYS)
        may_free = Signal()
        misses = told & ~self.is_known
        m.d.comb += [
            vacant.eq(~known & (known + 1)),
            flow_sets.takes.eq(Mux(misses, vacant, 0)),
            self.took.eq(misses & ~known.all()),
            self.lost.eq(misses & known.all()),
            may_free.eq(~told & ~self.stale[4] & ~self.held & ~(self.of_asked[0][4] & asks.inject)),
            self.frees.eq(Mux(may_free & self.is_least, ways, 0)),
            self.valid.eq(told | (self.is_known & ~self.stale[4])),
            self.after.eq((ways | flow_sets.takes) & ~self.frees),
            self.stays.eq(Mux(told, self.is_known | ~known.all(), self.is_known & ~(may_free & self.is_least))),
            flow_sets.told_set.eq(self.sets[4]),
            flow_sets.key.eq(self.keys[4]),
        ]
        m.d.sync += [
            flow_sets.joins.eq(flow_sets.takes),
            flow_sets.frees.eq(self.frees),
            flow_sets.rests.eq(Mux(may_free, ways, 0)),
        ]
        m.d.sync += [self.was_valid.eq(self.valid), self.was_after.eq(self.after), self.had_taken.eq(self.took)]

    def _change(self, m: Module, flow_sets: FlowSets) -> None:
        """Decide the flow's new CCTI and timer (CCS-4, CCS-7, CCS-9)."""
        level, last, misses = self.level[4], self.last, self.told[4] & ~self.is_known
        m.d.comb += [
            self.before.eq(Mux(misses, level.minimum, Mux(self.follows, last.ccti, self.old))),
            self.uses_last.eq(self.follows & ~misses),
            self.after_last.ccti.eq(self._raised(4, last.ccti)),
            self.after_last.ends.eq(Mux(exceeds(last.ccti, level.minimum), last.ends, self.started)),
            self.prepared.ccti.eq(Mux(misses, self.first, self.state[4].ccti)),
            self.prepared.ends.eq(Mux(misses, self.started, self.state[4].ends)),
            self.becomes.eq(Mux(self.uses_last, self.after_last.as_value(), self.prepared.as_value())),
        ]
        lowers = self.lowers & ~self.stale[4]
        m.d.comb += [
            flow_sets.state.eq(last),
            flow_sets.changed_set.eq(self.changed_set),
            flow_sets.changes.eq(self.changes),
        ]
        m.d.sync += [
            last.eq(self.becomes),
            self.changed_set.eq(self.sets[4]),
            self.changes.eq(Mux(self.told[4], self.after, Mux(lowers, self.ways[4], 0))),
        ]
