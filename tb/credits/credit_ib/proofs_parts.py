"""Proofs of the InfiniBand credit parts in a switch: the sender with two-packet look-ahead, and the FCP offer."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Module, Mux, Signal, Value

from vlane.hdl.credits.credit_ib import CreditIBSender
from vlane.hdl.links.fcp_round_robin import FCPRoundRobin
from vlane.packets.fcp import COUNTER_BITS
from vlane.tb.credits.credit_ib.proofs_fcp_offer import OFFER_STATEMENTS, OfferRules, claim_offer
from vlane.tb.credits.credit_ib.proofs_port import within_window
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant

_WIDE = 20


class SenderProperties(Properties):
    """Check the sender of a switch port, which looks two packets ahead, against a model of one arbitrary lane.

    Parameters
    ----------
    sender : CreditIBSender
        The component, built with a limit after reset.
    limit : int
        That limit, in blocks.
    """

    statements: ClassVar = {
        "sender-counts": "A sender's FCTBS is the number of blocks granted since reset, and its FCCL the last "
        "received limit, initially the limit it was built with, both modulo 4096.",
        "sender-window": "A packet fits, as the head or behind it, exactly when the link is initialized and the "
        "limit is 0 to 2048 ahead of the blocks sent plus the blocks of the head (and of the packet "
        "behind it).",
    }

    def __init__(self, sender: CreditIBSender, limit: int) -> None:
        super().__init__()
        self.sender, self.limit, self.m = sender, limit, Module()
        self.lane = constant(self.m, "watched_lane", 4, 0, sender.data_vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.sender), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, s = self.m, self.sender
        m.submodules.sender = s
        sent, limit = Signal(_WIDE), Signal(COUNTER_BITS, init=self.limit)
        head, behind = self._of_lane(s.blocks), self._of_lane(s.behind_blocks)
        with m.If(self._of_lane(s.grant)):
            m.d.sync += sent.eq(sent + s.grant_blocks)
        with m.If(self._of_lane(s.update)):
            m.d.sync += limit.eq(s.update_fccl)
        self.claim(m, "sender-counts", self._of_lane(s.fctbs) == sent[:COUNTER_BITS])
        self.claim(m, "sender-counts", self._of_lane(s.fccl) == limit)
        for fits, blocks in ((s.fits, head), (s.fits_behind, head + behind)):
            allowed = within_window(limit, sent + blocks)
            self.claim(m, "sender-window", self._of_lane(fits) == allowed, when=~s.initializing)
            self.claim(m, "sender-window", ~self._of_lane(fits), when=s.initializing)
        return m

    def _of_lane(self, values: Any) -> Value:
        return at([values[vl] for vl in range(self.sender.data_vls)], self.lane)


class FCPRoundRobinProperties(Properties):
    """Check which FCP a switch port offers, and when, against a model of one arbitrary lane.

    Parameters
    ----------
    offers : FCPRoundRobin
        The component.
    rules : OfferRules
        Conditions under which FCPs are due.
    """

    statements: ClassVar = {
        **OFFER_STATEMENTS,
        "freed": "The limit in a switch's FCP is the lane's share of the buffer plus all blocks freed since reset, "
        "including those freed in the previous cycle, modulo 4096.",
        "offer-told": "An FCP that is sent in one cycle is on the link in the next; otherwise the link carries none.",
    }

    def __init__(self, offers: FCPRoundRobin, rules: OfferRules) -> None:
        super().__init__()
        self.offers, self.rules, self.m = offers, rules, Module()
        self.lane = constant(self.m, "watched_lane", 4, 0, rules.vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.offers), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, o, rules = self.m, self.offers, self.rules
        m.submodules.offers, offer = o, o.offer
        freed, limit, blocks = Signal(_WIDE), Signal(COUNTER_BITS), rules.told_at_reset
        gained = Mux(o.freed.vl == self.lane, o.freed.blocks, 0)
        m.d.sync += freed.eq(freed + gained)
        m.d.comb += limit.eq(blocks + freed + gained)
        for vl in range(rules.vls):
            m.d.comb += Assume((offer.limits[vl] - offer.said[vl])[:COUNTER_BITS] <= blocks)
        held = at([offer.limits[vl] for vl in range(rules.vls)], self.lane)
        self.claim(m, "freed", held == limit)
        self.claim(m, "freed", offer.limit == limit, when=offer.found & (offer.vl == self.lane))
        off = Value.cast(0)
        claim_offer(
            self.claim, m, offer, rules, self.lane, limit=limit, visible_limit=off, may=~off, offered=offer.found
        )
        self._claim_fcps(m, limit)
        return m

    def _claim_fcps(self, m: Module, limit: Value) -> None:
        """Claim the FCPs on the link."""
        o, offer = self.offers, self.offers.offer
        was_sent, sent_vl, of_lane, sent_limit = Signal(), Signal(4), Signal(), Signal(COUNTER_BITS)
        m.d.sync += [
            was_sent.eq(o.may & offer.found),
            sent_vl.eq(offer.vl),
            of_lane.eq(offer.vl == self.lane),
            sent_limit.eq(limit),
        ]
        self.claim(m, "offer-told", o.takes == (o.may & offer.found))
        self.claim(m, "offer-told", offer.sends == o.takes)
        self.claim(m, "offer-told", o.fcp_tx.valid & (o.fcp_tx.vl == sent_vl), when=was_sent)
        self.claim(m, "offer-told", o.fcp_tx.limit == sent_limit, when=was_sent & of_lane)
        nothing = ~o.fcp_tx.valid & (o.fcp_tx.vl == 0) & (o.fcp_tx.limit == 0)
        self.claim(m, "offer-told", nothing, when=~was_sent)
