"""Pipeline of an injection request: find the flow's entry, then decide whether the flow may inject.

A request that acts in cycle c passes five stages; the last one decides::

    0    the flows of the set are read and compared with the request's flow, two bits at a time
    1    the entry of the flow is found
    2    CCTI and not-before of that entry are read
    3    the not-before is compared with the current cycle
    4    the injection is permitted or refused

BECNs, visits and earlier requests decide in the same stage. Decisions about the same flow that are made while a request
is in the pipeline are forwarded to the request.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.congestion.cc_source import CCTI_BITS, WAYS
from vlane.hdl.common.select import number_of
from vlane.hdl.congestion.flow_sets import FLAGS_LAYOUT, KEY_LAYOUT, FlowSets
from vlane.hdl.congestion.injection_gap import CYCLE_BITS, GAP_STAGES, InjectionGap
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE

DECIDES = 4
"""Stage in which a request, BECN or visit is decided."""
KEY_PARTS = KEY_LAYOUT.size // 2
"""Number of two-bit groups of a flow's key."""


def stages(shape: Any, name: str, first: int, last: int = DECIDES) -> dict[int, Any]:
    """Return one register for each stage from ``first`` to ``last``."""
    return {stage: Signal(shape, name=f"{name}_{stage}") for stage in range(first, last + 1)}


def advance(m: Module, *chains: dict[int, Any]) -> None:
    """Advance each chain of registers by one stage per cycle."""
    for chain in chains:
        m.d.sync += [Value.cast(chain[each]).eq(Value.cast(chain[each - 1])) for each in chain if each - 1 in chain]


def alike_parts(key: Any, other: Any) -> Value:
    """Return one bit for each two-bit group of the keys: 1 if both keys have equal groups."""
    differ = key.as_value() ^ other.as_value()
    return Cat(~differ[bit : bit + 2].any() for bit in range(0, KEY_LAYOUT.size, 2))


def told_before(name: str) -> dict[int, dict[int, Any]]:
    """Return registers for the flag "the BECN or visit ``age`` cycles earlier has the same flow", by age and stage.

    Each age has registers only in the stages that use its flag.
    """
    reach = {1: (2, 4), 2: (2, 3), 3: (1, 2), 4: (1, 1)}
    return {age: stages(1, f"{name}_is_told_{age}", *between) for age, between in reach.items()}


def compare_told(m: Module, of_told: dict[int, dict[int, Any]], valid: Any, keys: Any, told_keys: Any) -> None:
    """Compare an item's flow with the flows of earlier BECNs and visits, and drive the first register of each age."""
    for age, chain in of_told.items():
        stage = min(chain) - 1
        m.d.sync += chain[stage + 1].eq(valid[stage] & (keys[stage] == told_keys[stage + age]))


class AskStages:
    """Stage registers of an injection request.

    Parameters
    ----------
    sets : int
        Number of sets of flows.

    Attributes
    ----------
    asked : dict of Signal
        By stage: whether a request is present.
    keys : dict of Signal
        By stage: flow of the request, for ``GAP_STAGES`` stages more than the other registers.
    sets : dict of Signal
        By stage: set of the flow.
    blocks : dict of Signal
        By stage: size of the packet in blocks.
    ways : dict of Signal
        By stage: entry of the flow in its set, one-hot; 0 if the flow has no entry.
    is_known : Signal
        In the last stage: the flow has an entry.
    held : Signal
        In the last stage: the flow must not inject yet, if it has an entry.
    inject : Signal
        In the last stage: the flow has an entry and may inject.
    ccti : Signal
        In the last stage: CCTI of the flow.
    """

    def __init__(self, sets: int) -> None:
        self.asked, self.sets = stages(1, "asked", 0), stages(range(sets), "ask_set", 0)
        self.keys = stages(KEY_LAYOUT, "ask_key", 0, DECIDES + GAP_STAGES)
        self.blocks, self.ways = stages(BLOCKS_SHAPE, "ask_blocks", 0), stages(WAYS, "ask_ways", 2)
        self.flags = [Signal(FLAGS_LAYOUT, name=f"ask_flags_{way}") for way in range(WAYS)]
        self.alike = [Signal(KEY_PARTS, name=f"ask_alike_{way}") for way in range(WAYS)]
        self.read, self.fresh = stages(CCTI_BITS, "ask_read", 3), stages(1, "ask_fresh", 2, 3)
        self.have_injected = Signal(WAYS)
        self.injects = Signal()
        self.recent, self.not_before = stages(1, "ask_recent", 3, 3), stages(CYCLE_BITS, "ask_not_before", 3, 3)
        self.of_told = told_before("ask")
        self.of_asked = {
            age: stages(1, f"ask_is_asked_{age}", 2, 3 if age == 1 else 2) for age in range(1, GAP_STAGES + 3)
        }
        self.is_known = Signal()
        self.held = Signal()
        self.inject = Signal()
        self.ccti = Signal(CCTI_BITS)

    def add(self, m: Module, tells: Any, flow_sets: FlowSets, gaps: InjectionGap, cycle: Value) -> None:
        """Add the logic of all stages.

        Parameters
        ----------
        m : Module
            Module to which the logic is added.
        tells : TellStages
            Stages of BECNs and visits.
        flow_sets : FlowSets
            Memory of the flows' entries.
        gaps : InjectionGap
            Pipeline that computes the not-before of an injecting flow.
        cycle : Value
            Number of the cycle, for comparison with the not-before in stage 3.
        """
        advance(m, self.asked, self.sets, self.keys, self.blocks, *self.of_told.values())
        advance(m, *self.of_asked.values())
        self._compare(m, tells)
        self._find(m, tells, flow_sets)
        self._read(m, tells, flow_sets, gaps)
        self._judge(m, tells, gaps, cycle)

    def _compare(self, m: Module, tells: Any) -> None:
        """Compare the request's flow with the flows of older requests and BECNs."""
        compare_told(m, self.of_told, self.asked, self.keys, tells.keys)
        m.d.sync += [chain[2].eq(self.keys[1] == self.keys[1 + age]) for age, chain in self.of_asked.items()]

    def _find(self, m: Module, tells: Any, flow_sets: FlowSets) -> None:
        """Find the flow's entry (CCS-1)."""
        m.d.comb += flow_sets.ask_set.eq(self.sets[0])
        m.d.sync += [flag.eq(flow_sets.ask_flags[way]) for way, flag in enumerate(self.flags)]
        m.d.sync += [
            alike.eq(alike_parts(flow_sets.ask_keys[way], self.keys[0])) for way, alike in enumerate(self.alike)
        ]
        hits = Cat(self.asked[1] & flag.known & alike.all() for flag, alike in zip(self.flags, self.alike, strict=True))
        by_third, by_fourth = self.of_told[3][1] & tells.valid, self.of_told[4][1] & tells.was_valid
        m.d.sync += [
            self.ways[2].eq(Mux(by_third, tells.after, Mux(by_fourth, tells.was_after, hits))),
            self.fresh[2].eq((by_third & tells.took) | (by_fourth & tells.had_taken)),
            self.have_injected.eq(Cat(each.injects for each in self.flags)),
        ]

    def _read(self, m: Module, tells: Any, flow_sets: FlowSets, gaps: InjectionGap) -> None:
        """Read CCTI and not-before of the entry, and check whether the flow has just injected."""
        by_second, by_third, same = (
            self.of_told[2][2] & tells.valid,
            self.of_told[3][2] & tells.was_valid,
            self.of_asked,
        )
        m.d.comb += [flow_sets.ask_late_set.eq(self.sets[2]), flow_sets.ask_ways.eq(self.ways[2])]
        m.d.sync += [
            self.ways[3].eq(Mux(by_second, tells.after, self.ways[2])),
            self.read[3].eq(Mux(by_third, tells.last.ccti, flow_sets.ask_ccti)),
            self.fresh[3].eq(self.fresh[2] | (by_second & tells.took)),
            self.injects.eq((self.have_injected & self.ways[2]).any()),
            self.not_before[3].eq(flow_sets.ask_not_before),
            self.recent[3].eq(
                (same[2][2] & self.inject) | Cat(same[3 + k][2] & gaps.injected[k] for k in range(GAP_STAGES)).any()
            ),
        ]

    def _judge(self, m: Module, tells: Any, gaps: InjectionGap, cycle: Value) -> None:
        """Decide whether the flow may inject (CCS-2, CCS-3)."""
        by_first = self.of_told[1][3] & tells.valid
        early = (cycle - self.not_before[3])[CYCLE_BITS - 1]
        stays = self.injects & early & ~self.fresh[3] & ~(by_first & tells.took)
        m.d.sync += [
            self.ways[4].eq(Mux(by_first, tells.after, self.ways[3])),
            self.read[4].eq(Mux(self.of_told[2][3] & tells.was_valid, tells.last.ccti, self.read[3])),
            self.is_known.eq(Mux(by_first, tells.stays, self.ways[3].any())),
            self.held.eq(stays | self.recent[3] | (self.of_asked[1][3] & self.inject)),
        ]
        m.d.comb += [
            self.inject.eq(self.is_known & ~self.held),
            gaps.inject.eq(self.inject),
            gaps.place.eq(Cat(number_of(self.ways[4]), self.sets[4])),
            self.ccti.eq(Mux(self.of_told[1][4] & tells.was_valid, tells.last.ccti, self.read[4])),
            gaps.ccti.eq(self.ccti),
            gaps.blocks.eq(self.blocks[4]),
        ]
