"""Flow-control packets of a switch's port: which lane's limit is told next."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.link import LimitSignature, ReturnSignature
from vlane.hdl.list_search import ListSearch
from vlane.hdl.select import equals, one_of

from vlane.fcp import COUNTER_BITS

__all__ = ["FCPTimes", "FCPTurns"]


@dataclass(frozen=True, slots=True)
class FCPTimes:
    """When flow-control packets are due.

    Parameters
    ----------
    step : int
        Blocks by which a limit has grown.
    period : int
        Cycles.
    """

    step: int
    period: int


class FCPTurns(wiring.Component):
    """The limits of an input's buffer, told when they have grown and when a period is over (C2 to C4).

    Reset: all room is free and told, but due to be told again.

    Parameters
    ----------
    vls : int
        Lanes.
    blocks : int
        Of each lane's part of the buffer.
    step : int
        Blocks by which a limit has grown when it is due.
    period : int
        Cycles after which every lane is due, counted from reset on.

    Members
    -------
    freed : In(ReturnSignature())
        Blocks that left the buffer in the cycle before.
    may : In(1)
        The link takes one.
    takes : Out(1)
        One is sent in this cycle.
    says : Out(LimitSignature())
        What was sent in the cycle before.
    """

    def __init__(self, *, vls: int, blocks: int, step: int, period: int) -> None:
        self.vls, self.blocks, self.step, self.period = vls, blocks, step, period
        super().__init__({"freed": In(ReturnSignature()), "may": In(1), "takes": Out(1), "says": Out(LimitSignature())})
        self.search = ListSearch(vls)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.search = search = self.search
        over, last = Signal(self.vls, init=-1), Signal(range(max(2, self.vls)), init=self.vls - 1)
        timer, wraps = Signal(range(self.period)), Signal()
        limits = []
        for vl in range(self.vls):
            before = Signal(COUNTER_BITS, name=f"before_{vl}", init=self.blocks)
            said = Signal(COUNTER_BITS, name=f"said_{vl}", init=self.blocks)
            limit, grown = (Signal(COUNTER_BITS, name=f"{name}_{vl}") for name in ("limit", "grown"))
            m.d.comb += [
                limit.eq(before + Mux(equals(self.freed.vl, vl), self.freed.blocks, 0)),
                grown.eq(limit - said),
                search.eligible[vl].eq(over[vl] | (grown >= self.step)),
            ]
            m.d.sync += before.eq(limit)
            with m.If(self.takes & search.chosen[vl]):
                m.d.sync += said.eq(limit)
            limits.append(limit)
        m.d.comb += [
            search.pointer.eq(last),
            self.takes.eq(self.may & search.found),
            wraps.eq(equals(timer, self.period - 1)),
        ]
        m.d.sync += [
            timer.eq(Mux(wraps, 0, timer + 1)),
            over.eq(Mux(wraps, ~0, over & ~Mux(self.takes, search.chosen, 0))),
            self.says.valid.eq(self.takes),
            self.says.vl.eq(Mux(self.takes, search.entry, 0)),
            self.says.limit.eq(Mux(self.takes, one_of(search.chosen, limits), 0)),
        ]
        with m.If(self.takes):
            m.d.sync += last.eq(search.entry)
        return m
