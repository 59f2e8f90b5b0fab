"""Proofs of the reaction point: limiters, their rates and tokens, for any orders."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data

from vlane.ethernet.ecm_rp import ASK_CYCLES, NOTICE_CYCLES, Notice
from vlane.tb.machinery.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant, elaborated_module

_DECIDED, _REACTS = 12, 37
"""Steps in which a request and a notice are decided."""


class ECMRPProperties(Properties):
    """Check a reaction point against a model of the limiter of one arbitrary flow.

    Parameters
    ----------
    point : ECMRP
        The component. The proof adds a read port for the watched record to its memory.
    """

    statements: ClassVar = {
        "rate": "The rate of every flow with a limiter is at least `least_mbps` and never above the link's.",
        "tokens": "The bucket of a flow with a limiter never exceeds its capacity.",
        "install": "A flow gets a limiter only through negative feedback or a stop.",
        "install-rate": "A flow that gets a limiter through negative feedback starts with an empty bucket; a stopped "
        "flow starts with a full bucket and the minimum rate.",
        "remove": "A flow loses its limiter only through positive feedback or a drift, when its rate reaches the "
        "link's.",
        "cut": "Negative feedback never raises a rate, and stores its sender.",
        "rise": "A rate rises only through a drift, through feedback of the congestion point that last lowered it, "
        "or through a probe; with `strict` only through a probe that last lowered it.",
        "may": "A frame may start exactly if its flow has no limiter, or is not stopped and has enough tokens; a "
        "limited flow then loses exactly the frame's tokens.",
        "question": "A question changes neither the rate, nor the sender that last lowered it, nor the presence of a"
        " limiter.",
        "others": "An order or a visit changes only its own flow.",
        "limiters": "The count of limiters equals the number installed.",
        "time": "A request is answered 14 cycles after it is taken, a notice after 40, and there is no other answer.",
    }
    depth = 3
    within = 90
    unfolds_memories = True

    def __init__(self, point: Any) -> None:
        super().__init__()
        self.point, self.m = point, Module()
        self.flow = constant(self.m, "watched_flow", 10, 0, point.parameters.flows - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.point), self.flow]

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.point
        m.submodules.point = elaborated_module(p)
        self._bounds(m)
        self._claim_decision(m)
        self._notice(m)
        self._limiter(m)
        self._answers(m)
        return m

    def _previous(self, m: Module, name: str, value: Any) -> Value:
        value = Value.cast(value)
        before = Signal(len(value), name=f"before_{name}")
        m.d.sync += before.eq(value)
        return before

    def _in_bounds(self, record: Any) -> Value:
        p = self.point
        return (record.rate >= p.least) & (record.rate <= p.link)

    def _bounds(self, m: Module) -> None:
        p, claim = self.point, self.claim
        reader = p.records.read_port(domain="comb")
        m.d.comb += reader.addr.eq(self.flow)
        kept = data.View(p.record.shape(), reader.data)
        there = at(list(p.installed), self.flow)
        mine = ~p.ready & (p.place == self.flow)
        claim(m, "rate", self._in_bounds(kept), when=there & ~mine)
        claim(m, "tokens", kept.tokens <= p.bucket, when=there & ~mine)
        fetched, limited = p.count == 1, at(list(p.installed), p.place)
        claim(m, "rate", self._in_bounds(p.fetched), when=fetched & limited & mine)
        claim(m, "tokens", p.fetched.tokens <= p.bucket, when=fetched & limited & mine)
        claim(m, "rate", self._in_bounds(p.record), when=(p.count > 1) & p.was & mine)
        claim(m, "tokens", p.record.tokens <= p.bucket, when=(p.count > 1) & p.was & mine)
        claim(m, "rate", p.was == limited, when=p.count > 1)
        claim(m, "cut", (p.change >= p.least) & (p.change <= p.link), when=(p.count == _REACTS) & (mine | ~p.was))
        claim(m, "cut", p.change <= Mux(p.was, p.record.rate, p.link), when=(p.count == _REACTS) & (mine | ~p.was))
        claim(m, "rise", p.raised >= p.record.rate, when=p.count == _REACTS)
        claim(m, "time", p.count < Mux(p.asks, ASK_CYCLES, NOTICE_CYCLES))
        still = Signal(name="not_its_write", reset_less=True)
        m.d.sync += still.eq(~mine)
        before = Signal(len(reader.data), name="kept_before", reset_less=True)  # reset preserves memory
        m.d.sync += before.eq(reader.data)
        claim(m, "others", reader.data == before, when=still)
        claim(m, "others", there == self._previous(m, "there", there), when=still & self._previous(m, "on", 1))

    def _claim_decision(self, m: Module) -> None:
        p, claim = self.point, self.claim
        decides = self._previous(m, "decides", p.asks & (p.count == _DECIDED))
        before = data.View(p.record.shape(), self._previous(m, "record", p.record))
        needed, stopped = self._previous(m, "needed", p.needed), self._previous(m, "stays", p.stays)
        visit = self._previous(m, "visit", p.visits)
        enough = ~stopped & (before.tokens >= needed)
        claim(m, "may", p.stays == (p.was & ~enough), when=decides)
        taken = before.tokens - Mux(enough & ~visit, needed, 0)
        claim(m, "may", p.record.tokens == taken, when=decides)
        same = (before.rate == p.record.rate) & (before.probe == p.record.probe) & (before.cpid == p.record.cpid)
        claim(m, "question", same, when=self._previous(m, "asks", p.asks & (p.count > 1)))

    def _notice(self, m: Module) -> None:
        p, claim, strict = self.point, self.claim, self.point.parameters.strict
        reacts = self._previous(m, "reacts", p.count == _REACTS)
        before = data.View(p.record.shape(), self._previous(m, "reacting", p.record))
        had, falls = self._previous(m, "had", p.was), self._previous(m, "falls", p.falls)
        rises_by = self._previous(m, "rises", p.is_rise)
        notice, cpid = p.of_notice, p.of_cpid
        of_point, of_probe = notice == Notice.POINT, notice == Notice.PROBE
        tells, stops = of_point | of_probe, notice == Notice.STOP
        own = self._is_for_watched(p)
        claim(m, "cut", p.record.rate <= Mux(had, before.rate, p.link), when=reacts & tells & falls & own)
        claim(m, "cut", (p.record.cpid == cpid) & (p.record.probe == of_probe), when=reacts & ((tells & falls) | stops))
        mine = (before.probe == of_probe) & (before.cpid == cpid)
        by_point, by_probe = of_point & rises_by & mine, of_probe & rises_by & (mine if strict else 1)
        may_rise = by_point | by_probe | (notice == Notice.DRIFT)
        claim(m, "rise", p.record.rate <= before.rate, when=reacts & had & ~may_rise & own)
        fresh = reacts & ~had & p.was
        claim(m, "install-rate", p.record.tokens == 0, when=fresh & tells)
        full = (p.record.tokens == p.bucket) & (p.record.rate == p.least)
        claim(m, "install-rate", full, when=reacts & stops)

    def _is_for_watched(self, point: Any) -> Value:
        """Return whether the current order is for the watched flow. The proof does not follow other flows."""
        return point.place == self.flow

    def _limiter(self, m: Module) -> None:
        p, claim = self.point, self.claim
        there = at(list(p.installed), self.flow)
        before, started = self._previous(m, "installed", there), Signal(name="has_run")
        m.d.sync += started.eq(1)
        reacts = self._previous(m, "may_change", (p.count == _REACTS) & ~p.asks & (p.place == self.flow))
        falls, rises = self._previous(m, "falling", p.falls), self._previous(m, "rising", p.is_rise)
        at_link = self._previous(m, "at_link", p.raised >= p.link)
        tells = (p.of_notice == Notice.POINT) | (p.of_notice == Notice.PROBE)
        drifts = p.of_notice == Notice.DRIFT
        claim(m, "install", reacts & ((tells & falls) | (p.of_notice == Notice.STOP)), when=started & there & ~before)
        claim(m, "remove", reacts & at_link & ((tells & rises) | drifts), when=started & ~there & before)
        claim(m, "question", there == before, when=started & self._previous(m, "asking", p.asks & ~p.ready))
        claim(m, "limiters", p.total == sum(p.installed))
        claim(m, "limiters", p.limiters == p.total, when=p.done)

    def _answers(self, m: Module) -> None:
        """Model the timing of an order, from its acceptance on."""
        p, claim = self.point, self.claim
        left, answers = Signal(range(NOTICE_CYCLES + 1)), Signal()
        takes = p.ready & p.order
        with m.If(takes):
            m.d.sync += [left.eq(Mux(p.ask, ASK_CYCLES, NOTICE_CYCLES) - 1), answers.eq(1)]
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        with m.Else():
            m.d.sync += answers.eq(0)
        under_way = answers & (left != 0)
        claim(m, "time", p.done == (answers & (left == 0)))
        claim(m, "time", (p.count != 0) & ~p.visits, when=under_way)
        claim(m, "time", p.count == Mux(p.asks, ASK_CYCLES, NOTICE_CYCLES) - left, when=under_way)
        claim(m, "time", (p.count == 0) | under_way | (p.visits & p.asks))
        claim(m, "time", ~p.may, when=~p.done)


INSTANCES = (
    Instance("small", ECMRPProperties, {"flows": 4, "stop_bits": 8}),
    Instance("strict", ECMRPProperties, {"flows": 4, "strict": True, "gain_of": "current", "link_mbps": 1000}),
)
"""Proven instances."""
