"""Proofs of which flow-control packet is due, and which one is next, for the port and for the switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value

from vlane.packets.fcp import COUNTER_BITS, CREDIT_CAP
from vlane.tb.machinery.proofs.properties import Claims
from vlane.tb.tables.proofs_tables import at

OFFER_STATEMENTS = {
    "advance": "An FCP of a lane is due while its limit is ahead of the one sent last by the step or more, up to 2048,"
    " modulo 4096.",
    "period": "From the end of each period an FCP of every lane is due until it is sent, whether or not its limit has"
    " changed.",
    "only-due": "No FCP is offered of a lane for which none is due.",
    "round-robin": "No lane with an FCP that is due stands between the lane whose FCP was sent last and the lane whose"
    " FCP is offered.",
    "wait": "An FCP that is due is sent after at most as many FCPs of other lanes as there are other lanes.",
}
"""What holds for the offer of flow-control packets."""


@dataclass(frozen=True, slots=True)
class OfferRules:
    """When a flow-control packet is due, as the contract says.

    Parameters
    ----------
    vls : int
        Lanes.
    step : int
        Blocks by which a limit must have advanced.
    period : int
        Cycles after which an FCP of every lane is due.
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
    shown: Value,
    may: Value,
    offered: Value,
) -> None:
    """Claim when an FCP of a lane is offered, beside an account of what was sent.

    Parameters
    ----------
    offer : FCPOffer
        The component.
    rules : OfferRules
        When an FCP is due.
    lane : Value
        Any one lane.
    limit : Value
        The lane's limit, by an account of the proof.
    shown : Value
        A loss that an FCP has shown has not been answered yet.
    may : Value
        An FCP may be sent.
    offered : Value
        An FCP is offered.
    """
    vls, period = rules.vls, rules.period
    said, cycles = Signal(COUNTER_BITS, init=rules.told_at_reset), Signal(range(period + 1))
    over = Signal(init=1 if rules.due_at_reset else 0)  # the period is over and the lane's FCP not sent since
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
        due.eq(over | shown | far_enough),
    ]
    claim(m, "advance", offered, when=far_enough & may)
    claim(m, "advance", at(list(offer.said), lane) == said)
    claim(m, "period", offered, when=over & may)
    claim(m, "period", (offer.timer == cycles) & (cycles < period))
    claim(m, "only-due", may & due, when=offered & (offer.vl == lane))
    claim(m, "only-due", at([offer.pending[vl] for vl in range(vls)], lane) == (over | shown))
    claim(m, "only-due", offer.vl < vls, when=offered)
    _claim_turn(claim, m, offer, vls, lane, due=due, sent=sent, last=last, offered=offered)


def _claim_turn(
    claim: Claims, m: Module, offer: Any, vls: int, lane: Value, *, due: Value, sent: Value, last: Value, offered: Value
) -> None:
    """Claim the order of the lanes, and how many others are sent before one that is due."""
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
    """Return how many places after the last lane another one stands, 1 to their number."""
    return Mux(last < lane, lane - last, vls + lane - last)
