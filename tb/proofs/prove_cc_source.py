"""Proofs of the source: one arbitrary flow beside an account that is kept from the inputs, from reset on."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from vlane.hdl.congestion.injection_gap import InjectionGap
from vlane.tb.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.proofs.prove_tables import constant, opened, remembered

from vlane.cc_source import WAYS, CCSourceSelect

__all__ = ["INSTANCES", "AnyGap", "CCSourceProperties", "GapProperties"]

_WIDE = 28


class AnyGap(InjectionGap):
    """Stages of the gap, with any not-before instead of that of the CCT: what the gaps are is proven apart.

    Attributes
    ----------
    chosen : Signal
        The not-before of a flow that injected two cycles before; an input of the proof.
    """

    def __init__(self, *, cct_entries: int, shift_first: bool, place_bits: int) -> None:
        super().__init__(cct_entries=cct_entries, shift_first=shift_first, place_bits=place_bits)
        self.chosen = Signal(22)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.d.sync += [self.early.eq(self.inject), self.early_place.eq(self.place)]
        m.d.sync += [self.late.eq(self.early), self.late_place.eq(self.early_place)]
        m.d.comb += self.not_before.eq(self.chosen)
        return m


class CCSourceProperties(Properties):
    """A source, with any gaps, beside the account of one arbitrary flow.

    Parameters
    ----------
    source : CCSource
        The component.
    """

    statements: ClassVar = {
        "unknown": "A packet of a flow that is not known may always be injected, and nothing becomes known by it.",
        "known": "A flow is known exactly from the cycle after a BECN of it that is not lost until the cycle after the "
        "visit that frees it.",
        "ccti": "The CCTI of a known flow is raised by CCTI_Increase at each BECN, from CCTI_Min at the first one, at "
        "most to CCTI_Limit, and lowered by 1 at each visit that finds it above CCTI_Min after the end of its timer.",
        "held": "A known flow may inject exactly if it has injected nothing since it is known, or its last packet is "
        "at least 3 cycles old and the cycle is at least the not-before of that packet.",
        "lost": "A BECN is lost only if its flow is not known and the entries of its set are in use by other flows; "
        "with a single set exactly then, if all entries are in use.",
        "log": "A BECN is logged exactly when it raises the CCTI of its flow from below Trigger_Threshold, which is "
        "not 0, to it or above; the flow is named.",
        "silent": "Without a question there is no answer; without a BECN nothing is lost and nothing logged.",
        "once": "No flow is known twice: a question, and a BECN, finds at most one entry.",
        "in-use": "The entries in use are counted: as many as are known, never more than there are.",
        "within-table": "The CCTI of a known flow is always an entry of the CCT.",
    }
    bounded = 8
    unfolds_memories = True

    def __init__(self, source: Any) -> None:
        super().__init__()
        self.source, self.m = source, Module()
        shape = source.parameters
        source.gaps = AnyGap(
            cct_entries=shape.cct_entries, shift_first=shape.shift_first, place_bits=source.set_bits + 2
        )
        self.dlid = constant(self.m, "watched_dlid", 16, 0, 0xFFFF)
        self.sl = constant(self.m, "watched_sl", 4, 0, 15)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.source), self.dlid, self.sl, self.source.gaps.chosen]

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.source
        m.submodules.source = s
        mode, limit, level = self._settings(m)
        asked = self._presented(m, "ask", s.ask, s.ask_dlid, s.ask_sl, mode)
        told = self._presented(m, "becn", s.becn, s.becn_dlid, s.becn_sl, mode)
        any_asked, any_told = Signal(name="any_asked"), Signal(name="any_told")
        m.d.sync += [any_asked.eq(s.ask), any_told.eq(s.becn)]
        known, ccti, cycle = Signal(name="is_known"), Signal(_WIDE, name="its_ccti"), Signal(_WIDE)
        m.d.sync += cycle.eq(cycle + 1)

        injected, not_before = Signal(name="has_injected"), Signal(_WIDE)
        age = Signal(2, init=3)  # cycles since its last packet, up to 3
        held = injected & ((age < 3) | (cycle < not_before))
        self.claim(m, "unknown", s.may & ~s.known & (s.ccti == 0), when=asked & ~known)
        self.claim(m, "known", s.known == known, when=asked)
        self.claim(m, "ccti", s.ccti == ccti, when=asked & known)
        self.claim(m, "held", s.may == ~held, when=asked & known)
        self.claim(m, "silent", ~s.may & ~s.known & (s.ccti == 0), when=~any_asked)
        self.claim(m, "silent", ~s.lost & ~s.log & (s.log_dlid == 0) & (s.log_sl == 0), when=~any_told)
        self.claim(m, "within-table", ccti < s.parameters.cct_entries, when=known)
        starts = asked & known & s.may
        with m.If(starts):
            m.d.sync += [injected.eq(1), age.eq(1)]
        with m.Elif(age < 3):
            m.d.sync += age.eq(age + 1)
        with m.If(age == 2):
            m.d.sync += not_before.eq(s.gaps.not_before)
        now_held = held | starts

        self._timer(m, known, ccti, told, limit, level, now_held, injected)
        self._sets(m)
        return m

    def _settings(self, m: Module) -> tuple[Value, Value, dict[str, Signal]]:
        """Keep the mode, the limit and the values of the watched SL."""
        w, most = self.source.program, self.source.parameters.cct_entries - 1
        select = Value.cast(w.select)
        mode, limit = Signal(name="kept_mode"), Signal(10, name="kept_limit")
        names = ("timer", "increase", "trigger", "minimum")
        # memory: reset keeps it
        level = {each: Signal(len(getattr(w, each)), name=f"kept_{each}", reset_less=True) for each in names}
        with m.If(w.enable):
            with m.If(select == CCSourceSelect.PORT_CONTROL):
                m.d.sync += mode.eq(w.port_mode)
            with m.If(select == CCSourceSelect.LIMIT):
                m.d.sync += limit.eq(Mux(w.limit < most, w.limit, most))
            with m.If((select == CCSourceSelect.LEVEL) & (w.index[:4] == self.sl)):
                m.d.sync += [register.eq(getattr(w, name)) for name, register in level.items()]
        return mode, limit, level

    def _presented(self, m: Module, name: str, valid: Value, dlid: Value, sl: Value, mode: Value) -> Value:
        """Return whether the watched flow was presented in the cycle before."""
        acts = Signal(name=f"{name}_acts")
        m.d.sync += acts.eq(valid & (Mux(mode, 0, dlid) == self.dlid) & (sl == self.sl))
        return acts

    def _timer(
        self, m: Module, known: Signal, ccti: Signal, told: Value, limit: Value, level: dict[str, Signal],
        now_held: Value, injected: Signal,
    ) -> None:  # fmt: skip
        """Keep CCTI and timer of the flow, and whether it is known; claim what is lost and logged."""
        s = self.source
        place, mine, tick = Signal(range(s.parameters.flows)), Signal(range(s.parameters.flows)), Signal(_WIDE)
        part, ends, acts = Signal(range(s.parameters.tick_cycles)), Signal(_WIDE), Signal(name="a_becn_acts")
        m.d.sync += [part.eq(part + 1), acts.eq(s.becn)]
        with m.If(part == s.parameters.tick_cycles - 1):
            m.d.sync += [part.eq(0), tick.eq(tick + 1)]
        with m.If(~acts):
            m.d.sync += place.eq(place + 1)
        before, after, total = Signal(_WIDE), Signal(_WIDE), Signal(_WIDE)
        m.d.comb += [
            before.eq(Mux(known, ccti, level["minimum"])),
            total.eq(before + level["increase"]),
            after.eq(Mux(total < limit, total, limit)),
        ]
        logs = (before < level["trigger"]) & (after >= level["trigger"])
        self.claim(m, "log", s.log == logs, when=told & ~s.lost)
        self.claim(m, "log", (s.log_dlid == self.dlid) & (s.log_sl == self.sl), when=told & s.log)
        self.claim(m, "log", ~s.log, when=s.lost)
        self.claim(m, "lost", ~s.lost, when=told & known)
        self.claim(m, "lost", s.taken >= WAYS, when=s.lost)
        if s.sets == 1:
            self.claim(m, "lost", s.lost == (s.taken == WAYS), when=told & ~known)
        visited = known & ~acts & (place == mine)
        with m.If(told & ~s.lost):
            m.d.sync += [known.eq(1), ccti.eq(after)]
            with m.If(~known):
                m.d.sync += injected.eq(0)
                m.d.sync += mine.eq(Cat(*self._number(s.flow_sets.takes), s.flow_sets.now_told[: s.set_bits]))
            with m.If(before <= level["minimum"]):
                m.d.sync += ends.eq(tick + level["timer"])
        with m.Elif(visited & (ccti > level["minimum"])), m.If(ends <= tick):
            m.d.sync += [ccti.eq(ccti - 1), ends.eq(ends + level["timer"])]
        with m.Elif(visited & ~now_held):
            m.d.sync += known.eq(0)

    @staticmethod
    def _number(chosen: Value) -> tuple[Value, Value]:
        return chosen[1] | chosen[3], chosen[2] | chosen[3]

    def _sets(self, m: Module) -> None:
        """Claim that entries are found once, and counted."""
        s = self.source
        every = Cat(s.flow_sets.known[way] for way in range(WAYS))
        count = Signal(range(s.parameters.flows + 1))
        m.d.comb += count.eq(sum(every))
        self.claim(m, "in-use", s.taken == count)
        self.claim(m, "once", s.flow_sets.marks & (s.flow_sets.marks - 1) == 0)
        self.claim(m, "once", s.flow_sets.changes & (s.flow_sets.changes - 1) == 0)


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


def _source(words: dict[str, Any]) -> dict[str, Any]:
    return {"tick_cycles": 64, **words}


INSTANCES = (
    Instance("small", CCSourceProperties, _source({"flows": 4})),
    Instance("sets", CCSourceProperties, _source({"flows": 8})),
    Instance("gap", GapProperties, {"cct_entries": 128, "shift_first": False, "place_bits": 4}, InjectionGap),
    Instance(
        "gap-shift-first", GapProperties, {"cct_entries": 128, "shift_first": True, "place_bits": 4}, InjectionGap
    ),
)
"""What is proven: a flow's life, and its gaps."""
