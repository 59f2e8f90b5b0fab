"""Proofs of a source's entries: reads of one arbitrary set return the values written last."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Const, Module, Signal, Value

from vlane.congestion.cc_source import CCTI_BITS, WAYS
from vlane.hdl.congestion.flow_sets import FlowSets
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import constant, elaborated_module, written_last


class FlowSetsProperties(Properties):
    """Check the entries of one arbitrary set against a reference model of the writes.

    Parameters
    ----------
    flow_sets : FlowSets
        The component. The proof adds a read port for the watched set to each of its memories.
    """

    statements: ClassVar = {
        "entry-known": "An entry is known from the cycle in which a flow joins it to the cycle before it is freed; "
        "after reset none is known.",
        "entry-injects": "A flow has injected from the cycle after its mark until a flow joins the entry or its "
        "not-before expires; a mark in that cycle has priority.",
        "entry-flow": "The flow of an entry is the last one that was allocated it; reset preserves it.",
        "entry-state": "CCTI and timer of an entry are the values written last.",
        "entry-gap": "The not-before of an entry is the value written last.",
    }
    unfolds_memories = True

    def __init__(self, flow_sets: FlowSets) -> None:
        super().__init__()
        self.flow_sets, self.m = flow_sets, Module()
        self.index = constant(self.m, "watched_set", (flow_sets.sets - 1).bit_length(), 0, flow_sets.sets - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.flow_sets), self.index]

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.flow_sets
        m.submodules.flow_sets = elaborated_module(s)
        for way in range(WAYS):
            self._claim_flags(m, way)
            self._claim_flow(m, way)
            self._claim_state(m, way)
        return m

    def _claim_flags(self, m: Module, direction: int) -> None:
        """Claim the flags of an entry of the watched set at both read ports."""
        s = self.flow_sets
        known, injects = Signal(name=f"is_known_{direction}"), Signal(name=f"has_injected_{direction}")
        changed, marked = s.changed_set == self.index, (s.marked_set == self.index) & s.marks[direction]
        joins, frees, rests = (changed & each[direction] for each in (s.joins, s.frees, s.rests))
        known_now = joins | (known & ~frees)
        m.d.sync += [known.eq(known_now), injects.eq(marked | (injects & ~joins & ~rests))]
        self.claim(m, "entry-known", s.known[direction].bit_select(self.index, 1) == known)
        self.claim(m, "entry-injects", s.injects[direction].bit_select(self.index, 1) == injects)
        for reads, flags in ((s.ask_set, s.ask_flags), (s.tell_set, s.tell_flags)):
            self.claim(m, "entry-known", flags[direction].known == known_now, when=reads == self.index)
            self.claim(m, "entry-injects", flags[direction].injects == (injects & ~joins), when=reads == self.index)

    def _claim_flow(self, m: Module, direction: int) -> None:
        """Claim the flow of an entry."""
        s = self.flow_sets
        written = s.takes[direction] & (s.told_set == self.index)
        kept = self._claim_stored(m, "entry-flow", s.keys[direction], (f"flow_{direction}", written, s.key.as_value()))
        for reads, keys in ((s.ask_set, s.ask_keys), (s.tell_set, s.tell_keys)):
            self.claim(m, "entry-flow", keys[direction].as_value() == kept, when=reads == self.index)

    def _claim_state(self, m: Module, direction: int) -> None:
        """Claim CCTI, timer and not-before of an entry."""
        s = self.flow_sets
        written = s.changes[direction] & (s.changed_set == self.index)
        state = self._claim_stored(
            m, "entry-state", s.states[direction], (f"state_{direction}", written, s.state.as_value())
        )
        written = s.gap & s.gap_ways[direction] & (s.gap_set == self.index)
        gap = self._claim_stored(m, "entry-gap", s.gaps[direction], (f"gap_{direction}", written, s.not_before))
        ask = (s.ask_late_set == self.index) & (s.ask_ways == 1 << direction)
        tell = (s.tell_late_set == self.index) & (s.tell_ways == 1 << direction)
        self.claim(m, "entry-state", s.ask_ccti == state[:CCTI_BITS], when=ask)
        self.claim(m, "entry-state", s.tell_state.as_value() == state, when=tell)
        self.claim(m, "entry-gap", s.ask_not_before == gap, when=ask)
        self.claim(m, "entry-gap", s.tell_not_before == gap, when=tell)

    def _claim_stored(self, m: Module, name: str, memory: Any, written: tuple[str, Value, Value]) -> Value:
        """Claim that the watched set's word in a memory equals the model's, and return the model's word."""
        label, enable, value = written
        kept = written_last(m, label, Const(0, len(value)), enable, value)
        reader = memory.read_port(domain="comb")
        m.d.comb += reader.addr.eq(self.index)
        self.claim(m, name, reader.data == kept)
        return kept
