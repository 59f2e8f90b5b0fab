"""Properties of the order of flow-control packets, for the credit port and for the switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value

from vlane.packets.fcp import COUNTER_BITS, CREDIT_CAP
from vlane.tb.machinery.proofs.properties import Claims
from vlane.tb.tables.proofs_tables import at

OFFER_STATEMENTS = {
    "advance": "An FCP of a lane is due while its limit exceeds the one sent last by at least the step and at most "
    "2048, modulo 4096.",
    "period": "From the end of each period on, an FCP of every lane is due until it is sent, even if its limit has "
    "not changed.",
    "only-due": "An FCP is offered only for a lane for which one is due.",
    "round-robin": "No lane with a due FCP lies, in cyclic order, between the lane whose FCP was sent last and the "
    "lane whose FCP is offered.",
    "wait": "A due FCP is sent after at most as many FCPs of other lanes as there are other lanes.",
}
"""Properties of the offer of flow-control packets."""


@dataclass(frozen=True, slots=True)
class OfferRules:
    """Conditions under which a flow-control packet is due, from the contract.

    Parameters
    ----------
    vls : int
        Number of lanes.
    step : int
        Blocks by which a limit must advance.
    period : int
        Cycles after which an FCP of every lane becomes due.
    told_at_reset : int
        Limit that counts as sent last after reset.
    due_at_reset : bool
        Whether every FCP is due after reset.
    """

    vls: int
    step: int
    period: int
    told_at_reset: int = 0
    due_at_reset: bool = False


def claim_offer(
    claim: Claims,
    m: Module,
    offer: Any,
    rules: OfferRules,
    lane: Value,
    *,
    limit: Value,
    visible_limit: Value,
    may: Value,
    offered: Value,
) -> None:
    """Claim when an FCP of a lane is offered, with a reference model of the FCPs sent.

    Parameters
    ----------
    offer : FCPOffer
        The component.
    rules : OfferRules
        Conditions under which an FCP is due.
    lane : Value
        Arbitrary lane.
    limit : Value
        Limit of the lane, from a reference model of the proof.
    visible_limit : Value
        An FCP has revealed a loss that is not answered yet.
    may : Value
        An FCP may be sent.
    offered : Value
        An FCP is offered.
    """
    vls, period = rules.vls, rules.period
    said, cycles = Signal(COUNTER_BITS, init=rules.told_at_reset), Signal(range(period + 1))
    over = Signal(
        init=1 if rules.due_at_reset else 0
    )  # the period has ended and the lane's FCP has not been sent since
    last = Signal(range(max(2, vls)), init=vls - 1)
    ends, sent = Signal(), Signal()
    m.d.comb += [ends.eq(cycles + 1 == period), sent.eq(offer.sends & (offer.vl == lane))]
    m.d.sync += cycles.eq(Mux(ends, 0, cycles + 1))
    with m.If(ends):
        m.d.sync += over.eq(1)
    with m.Elif(sent):
        m.d.sync += over.eq(0)
    with m.If(sent):
        m.d.sync += said.eq(limit)
    with m.If(offer.sends):
        m.d.sync += last.eq(offer.vl)
    ahead, far_enough, due = Signal(COUNTER_BITS), Signal(), Signal()
    m.d.comb += [
        ahead.eq(limit - said),
        far_enough.eq((ahead >= rules.step) & (ahead <= CREDIT_CAP)),
        due.eq(over | visible_limit | far_enough),
    ]
    claim(m, "advance", offered, when=far_enough & may)
    claim(m, "advance", at(list(offer.said), lane) == said)
    claim(m, "period", offered, when=over & may)
    claim(m, "period", (offer.timer == cycles) & (cycles < period))
    claim(m, "only-due", may & due, when=offered & (offer.vl == lane))
    claim(m, "only-due", at([offer.pending[vl] for vl in range(vls)], lane) == (over | visible_limit))
    claim(m, "only-due", offer.vl < vls, when=offered)
    _claim_turn(claim, m, offer, vls, lane, due=due, sent=sent, last=last, offered=offered)


def _claim_turn(
    claim: Claims, m: Module, offer: Any, vls: int, lane: Value, *, due: Value, sent: Value, last: Value, offered: Value
) -> None:
    """Claim the order of the lanes, and how many other lanes are served before a due one."""
    place, turn, passed = (Signal(range(vls + 1), name=name) for name in ("place", "turn", "passed"))
    m.d.comb += [place.eq(_place(last, lane, vls)), turn.eq(_place(last, offer.vl, vls))]
    claim(m, "round-robin", turn <= place, when=offered & due)
    claim(m, "round-robin", (offer.last == last) & (last < vls))
    with m.If(~due | sent):
        m.d.sync += passed.eq(0)
    with m.Elif(offer.sends):
        m.d.sync += passed.eq(passed + 1)
    if vls > 1:
        claim(m, "wait", passed + place <= vls, when=passed != 0)


def _place(last: Value, lane: Value, vls: int) -> Value:
    """Return the cyclic distance from the last lane to another, 1 to the number of lanes."""
    return Mux(last < lane, lane - last, vls + lane - last)
