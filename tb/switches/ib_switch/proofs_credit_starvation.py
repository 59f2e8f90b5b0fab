"""Proofs of credit starvation and of its settings, with a reference model of one arbitrary lane."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Assume, Cat, Fragment, Module, Mux, Signal, Value

from vlane.credits.credit_starvation import StarvationSelect, starvation_limit
from vlane.hdl.congestion.starvation_settings import StarvationSettings
from vlane.hdl.switches.credit_starvation import CreditStarvation
from vlane.tb.machinery.proofs.inside import inner_signal
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import constant

LONGEST_GAP = 2
"""Largest gap in the proof, in cycles."""


class StarvationProperties(Properties):
    """Check the credits withheld from one arbitrary lane, for arbitrary frees, queue lengths and settings.

    Parameters
    ----------
    starvation : CreditStarvation
        The component. Assumptions: no more blocks of its lanes are freed than the buffer has, and gaps are short.
    """

    statements: ClassVar = {
        "none-invented": "A lane never returns more blocks than were freed.",
        "none-lost": "With V lanes and gaps of up to G cycles a lane with withheld blocks returns one within G + V "
        "cycles, whatever is freed, waits or is written: h withheld blocks are returned within h (G + "
        "V) cycles.",
        "at-once": "As long as Credit_Mask has never included the port, all blocks are returned in the cycle in "
        "which they are freed.",
        "gap": "A lane that returned a block while over its threshold returns nothing for as many cycles as the gap "
        "was then, while it stays over; and it returns one block at a time.",
    }
    bounded = 14

    def __init__(self, starvation: CreditStarvation) -> None:
        super().__init__()
        self.starvation, self.m = starvation, Module()
        self.lane = constant(self.m, "watched_lane", 2, 0, starvation.vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.starvation), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, s, claim = self.m, self.starvation, self.claim
        m.submodules.starvation = s
        came, total, before = (Signal(4, name=name) for name in ("came", "total", "before"))
        returned, over, was_over, gap = Signal(2), Signal(), Signal(), Signal(2)
        held = before - returned
        waited = Signal(range(s.maximum + 1))
        m.d.comb += [
            came.eq(Mux(s.vl == self.lane, s.freed, 0)),
            returned.eq(Mux(s.returned.vl == self.lane, s.returned.blocks, 0)),
            total.eq(held + came),
            waited.eq(sum(Mux(self.lane == lane, s.waiting[lane], 0) for lane in range(s.vls))),
            over.eq(s.masked & self._reaches_limit(waited)),
            Assume(total <= s.maximum),
            Assume(s.gap <= LONGEST_GAP),
            Assume(s.freed <= s.flits),
            Assume(s.vl < s.vls),
        ]
        m.d.sync += [before.eq(total), was_over.eq(over), gap.eq(s.gap)]
        claim(m, "none-invented", returned <= before)
        for_nothing = Signal(4)
        m.d.sync += for_nothing.eq(Mux(total.any(), Mux(returned.any(), 1, for_nothing + 1), 0))
        claim(m, "none-lost", for_nothing < LONGEST_GAP + s.vls + 1)
        self._claim_immediate_return(m)
        left = Signal(2)
        m.d.sync += left.eq(Mux(returned.any() & was_over, gap, Mux(left.any(), left - 1, 0)))
        claim(m, "gap", ~returned.any(), when=was_over & left.any())
        claim(m, "gap", returned <= 1, when=was_over)
        return m

    def _reaches_limit(self, waited: Value) -> Value:
        s = self.starvation
        limits = ((s.threshold == each) & (waited >= starvation_limit(each, s.maximum)) for each in range(1, 16))
        return sum(limits).any()

    def _claim_immediate_return(self, m: Module) -> None:
        """Claim that a port that was never in the mask returns the freed blocks."""
        s = self.starvation
        ever, freed = Signal(), Signal.like(s.freed)
        m.d.sync += [ever.eq(ever | s.masked), freed.eq(s.freed)]
        self.claim(m, "at-once", s.returned.blocks == freed, when=~ever)


class StarvationSettingsProperties(Properties):
    """Check that the settings in force equal the values written last.

    Parameters
    ----------
    settings : StarvationSettings
        The component.
    """

    statements: ClassVar = {
        "starvation-settings": "Credit_Mask, CS_Threshold and CS_ReturnDelay in force are the values written last: "
        "the element's while it is valid and of control type 1, otherwise the switch's; reset "
        "clears them all."
    }

    def __init__(self, settings: StarvationSettings) -> None:
        super().__init__()
        self.settings = settings

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.settings)

    def elaborate(self, _platform: object) -> Module:
        m, s, w = Module(), self.settings, self.settings.program
        m.submodules.settings = fragment = Fragment.get(s, None)
        select = Value.cast(w.select)
        mask, rules = Signal(), Signal()
        switch, port = ((Signal(4, name=f"{whose}_t"), Signal(14, name=f"{whose}_g")) for whose in ("switch", "port"))
        with m.If(w.enable & (select == StarvationSelect.CREDIT_MASK)):
            m.d.sync += mask.eq(w.credit_mask)
        with m.If(w.enable & (select == StarvationSelect.RETURN)):
            m.d.sync += [switch[0].eq(w.threshold), switch[1].eq(w.multiplier >> w.shift)]
        with m.If(s.element):
            m.d.sync += [
                rules.eq(s.rules),
                port[0].eq(s.element_threshold),
                port[1].eq(s.element_delay[:14] >> s.element_delay[14:]),
            ]
        # Settings not in force now have no output, but may be in force later.
        for kept, whose in ((switch, "switch"), (port, "port")):
            registers = [inner_signal(fragment, f"{whose}_{name}") for name in ("threshold", "gap")]
            self.claim(m, "starvation-settings", Cat(registers) == Cat(kept))
        self.claim(m, "starvation-settings", inner_signal(fragment, "port_rules") == rules)
        self.claim(m, "starvation-settings", s.masked == mask)
        for kept, value in zip(zip(switch, port, strict=True), (s.threshold, s.gap), strict=True):
            self.claim(m, "starvation-settings", value == kept[0], when=~rules)
            self.claim(m, "starvation-settings", value == kept[1], when=rules)
        return m
