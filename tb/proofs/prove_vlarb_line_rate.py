"""Proofs of the VL arbiter's line-rate form, for every table and every input, by induction over its state."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Assume, Module, Mux, Signal, Value
from vlane.tb.proofs.properties import Properties, free_inputs
from vlane.tb.proofs.prove_list_memory import KeptEntry
from vlane.tb.proofs.prove_list_walk import FollowedEntry, assert_entries, lane_bit

from vlane.egress import ListCode
from vlane.vlarb import VL15

__all__ = ["LineRateProperties"]


class LineRateProperties(Properties):
    """The arbiter with the properties to prove.

    Parameters
    ----------
    arbiter : LineRateVLArb
        The component; what is in it is watched, nothing is changed.
    """

    unfolds_memories = True
    any_memory = True

    def __init__(self, arbiter: Any) -> None:
        super().__init__()
        self.arbiter = arbiter
        self.followed = [FollowedEntry(each.walk, each.name) for each in arbiter.lists]
        self.kept = [KeptEntry(each.walk, each.name) for each in arbiter.lists]

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        chosen = [port for each in self.followed for port in each.ports()]
        return [*free_inputs(self.arbiter), *chosen, *(port for each in self.kept for port in each.ports())]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = self.arbiter
        self._grants(m)
        for each in self.arbiter.lists:
            self._entries(m, each)
            self._budget(m, each.weight, f"weight_{each.name}")
        for followed, kept in zip(self.followed, self.kept, strict=True):
            followed.assert_turns(m)
            m.submodules[f"kept_{kept.name}"] = kept
        return m

    def _grants(self, m: Module) -> None:
        """Assert that a grant goes to an able lane, VL15 first, one list at a time."""
        a = self.arbiter
        able = a.heads.request & a.heads.fits
        granted_able, vl15_able = Signal(), Signal()
        m.d.comb += [
            granted_able.eq(able.bit_select(a.vl, 1)),
            vl15_able.eq(able[a.data_vls] if a.vl15 else 0),
        ]
        high, low = a.lists
        m.d.comb += [
            Assert((a.grant & (a.vl == VL15)) == vl15_able),
            Assert((Value.cast(a.list) == int(ListCode.VL15)) == vl15_able),
            Assert(~(high.wins & low.wins)),
        ]
        with m.If(a.grant & ~vl15_able):
            m.d.comb += [Assert(granted_able & (a.vl < a.data_vls)), Assert(~a.hold_data)]
            m.d.comb += Assert((Value.cast(a.list) == int(ListCode.HIGH)) == high.wins)
            m.d.comb += Assert((Value.cast(a.list) == int(ListCode.LOW)) == low.wins)
        with m.If(a.hold_data & ~vl15_able):
            m.d.comb += Assert(~a.grant)
        with m.If((able[: a.data_vls] == 0) & ~vl15_able):
            m.d.comb += Assert(~a.grant)

    def _entries(self, m: Module, each: Any) -> None:
        """Assert that a served entry names one lane of the port, and that its bit and its number agree."""
        assert_entries(m, each.walk)
        with m.If(each.can):
            m.d.comb += Assert(each.walk.offered)
        with m.If(each.weight.left):
            m.d.comb += Assert(each.lane == lane_bit(each.vl, each.walk.data_vls))
        with m.If(each.walk.reading):
            m.d.comb += Assert(~each.can & ~each.weight.left)

    def _budget(self, m: Module, budget: Any, name: str) -> None:
        """Assert that a list's budget has blocks left exactly while a plain count of them is above 0.

        What is in the memory is not followed: that a lane's entry is kept with a weight is assumed.
        """
        plain = Signal(budget.bits, name=f"plain_{name}")
        m.d.comb += Assume(~budget.renew | (budget.amount != 0))
        before = Signal(budget.bits, name=f"before_{name}")
        m.d.comb += before.eq(Mux(budget.renew, budget.amount, plain))
        m.d.sync += plain.eq(before - (budget.charge & (before != 0)))
        with m.If(budget.end):
            m.d.sync += plain.eq(0)
        m.d.comb += Assert(budget.left == (plain != 0))
        with m.If(budget.left):
            m.d.comb += [
                Assert((budget.value - budget.charged)[: budget.bits] == plain),
                Assert(budget.is_one == (budget.value == 1)),
                Assert(budget.is_two == (budget.value == 2)),
            ]
