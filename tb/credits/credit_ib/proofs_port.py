"""Proofs of one InfiniBand credit port: counters and flow-control packets, with a reference model of one lane."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data

from vlane.hdl.credits.fcp_format import FCP_LAYOUT
from vlane.packets.fcp import COUNTER_BITS, CREDIT_CAP, lpcrc
from vlane.tb.credits.credit_ib.proofs_fcp_offer import OFFER_STATEMENTS, OfferRules, claim_offer
from vlane.tb.machinery.proofs.port_model import PortModel
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.tables.proofs_tables import at, constant

_WIDE = 20


def check_sum_of(body: Value) -> Value:
    """Return the checksum of an FCP's first 32 bits, as the XOR of each set bit's contribution."""
    empty = lpcrc(0)
    changes = [lpcrc(1 << bit) ^ empty for bit in range(32)]
    return Cat(
        Cat(body[bit] for bit in range(32) if changes[bit] >> place & 1).xor() ^ (empty >> place & 1)
        for place in range(16)
    )


def within_window(limit: Value, blocks: Value) -> Value:
    """Return whether a limit is 0 to 2048 ahead of a number of blocks, modulo 4096."""
    return (limit - blocks)[:COUNTER_BITS] <= CREDIT_CAP


class LaneModel(PortModel):
    """Reference model of one lane: blocks sent, limits, and flow-control packets."""

    def of_lane(self, values: Any) -> Value:
        """Return the value of the lane."""
        return at([values[vl] for vl in range(self.ports.parameters.data_vls)], self.lane)

    def sender(self, m: Module, received_fcp: Signal) -> Signal:
        """Claim the sender's counters and decisions, and return the blocks sent."""
        p, packet = self.ports, data.View(FCP_LAYOUT, self.ports.fcp_in)
        sent, limit, sound, is_lane = Signal(_WIDE), Signal(COUNTER_BITS), Signal(), Signal()
        with m.If(p.grant & (p.grant_vl == self.lane)):
            m.d.sync += sent.eq(sent + p.grant_blocks)
        self.claim(m, "sent", self.of_lane(p.fctbs) == sent[:COUNTER_BITS])
        m.d.comb += [
            is_lane.eq(packet.vl < p.parameters.data_vls),
            sound.eq((packet.lpcrc == check_sum_of(p.fcp_in[16:])) & (packet.op <= 1) & is_lane),
            received_fcp.eq(p.fcp_arrived & sound & (packet.vl == self.lane)),
        ]
        self.claim(m, "sound", p.fcp_bad == ~sound, when=p.fcp_arrived)
        self.claim(m, "sound", ~p.fcp_bad, when=~p.fcp_arrived)
        with m.If(received_fcp):
            m.d.sync += limit.eq(packet.fccl)
        self.claim(m, "limit", self.of_lane(p.fccl) == limit)
        fits = self.of_lane(p.fits)
        allowed = within_window(limit, sent + self.of_lane(p.blocks))
        self.claim(m, "window", fits == allowed, when=~p.initializing)
        self.claim(m, "window", ~fits, when=p.initializing)
        return sent

    def receiver(self, m: Module, received_fcp: Signal) -> tuple[Value, Value]:
        """Claim the receiver's counters. Return its limit, and whether an FCP reveals a loss."""
        p, packet = self.ports, data.View(FCP_LAYOUT, self.ports.fcp_in)
        whole = p.parameters.buffer_blocks
        said, since, held, taken = Signal(COUNTER_BITS), Signal(_WIDE), Signal(_WIDE), Signal(_WIDE)
        abr, limit, free = Signal(COUNTER_BITS), Signal(COUNTER_BITS), Signal(_WIDE)
        here = p.arrived & (p.arrived_vl == self.lane)
        enough = held + p.arrived_blocks <= whole
        self.claim(m, "accepted", p.accepted == enough, when=here)
        self.claim(m, "accepted", ~p.accepted, when=~p.arrived | (p.arrived_vl >= p.parameters.data_vls))
        m.d.comb += [taken.eq(Mux(here & enough, p.arrived_blocks, 0)), abr.eq(said + since)]
        with m.If(received_fcp):
            m.d.sync += [said.eq(packet.fctbs), since.eq(taken)]
        with m.Else():
            m.d.sync += since.eq(since + taken)
        self.claim(m, "received", self.of_lane(p.abr) == abr)
        frees = p.freed & (p.freed_vl == self.lane) & (held + taken != 0)
        m.d.sync += held.eq(held + taken - frees)
        m.d.comb += [free.eq(whole - held), limit.eq(abr + Mux(free > CREDIT_CAP, CREDIT_CAP, free))]
        self.claim(m, "room", (held <= whole) & (self.of_lane(p.room) == free))
        return limit, received_fcp & (packet.fctbs != abr)

    def between_packets(self, m: Module) -> Signal:
        """Claim that no FCP is offered inside a packet, and return whether a packet is under way."""
        p, under_way = self.ports, Signal()
        with m.If(p.tail):
            m.d.sync += under_way.eq(0)
        with m.Elif(p.grant):
            m.d.sync += under_way.eq(1)
        self.claim(m, "between-packets", ~p.fcp_valid, when=under_way)
        return under_way

    def packet(self, m: Module, sent: Value, limit: Value) -> None:
        """Claim the fields of the offered FCP."""
        p, packet = self.ports, data.View(FCP_LAYOUT, self.ports.fcp)
        of_lane = p.fcp_valid & (packet.vl == self.lane)
        self.claim(m, "contents", packet.fctbs == sent[:COUNTER_BITS], when=of_lane)
        self.claim(m, "contents", packet.op == p.initializing, when=p.fcp_valid)
        self.claim(m, "contents", packet.lpcrc == check_sum_of(p.fcp[16:]), when=p.fcp_valid)
        self.claim(m, "contents", p.fcp == Const(0, 48), when=~p.fcp_valid)
        self.claim(m, "promise", packet.fccl == limit, when=of_lane)


class CreditIBPortProperties(Properties):
    """Check the sender and the receiver of a port against a reference model of one arbitrary lane.

    Parameters
    ----------
    port : CreditIB
        The component.
    """

    statements: ClassVar = {
        "sent": "FCTBS of a lane is the number of blocks of all its packets granted since reset, modulo 4096.",
        "limit": "The sender's limit of a lane (FCCL) is that of the last valid FCP for the lane, and 0 before the "
        "first one.",
        "window": "A packet fits exactly when the link is initialized and the limit is 0 to 2048 ahead of the blocks "
        "sent plus the packet, modulo 4096.",
        "sound": "An arriving FCP is ignored exactly when its checksum is wrong, its op is above 1 or its lane is "
        "absent.",
        "received": "ABR of a lane is the FCTBS of the last valid FCP for the lane plus the blocks of the packets "
        "accepted since (in its cycle too), modulo 4096.",
        "room": "The free blocks of a lane are its buffer minus the blocks accepted and not yet freed; a block freed "
        "while the buffer is empty changes nothing.",
        "accepted": "An arriving packet is accepted exactly when its lane exists and has enough free blocks.",
        "contents": "An offered FCP carries its lane, the lane's FCTBS, op 1 during initialization and 0 otherwise, "
        "and the checksum; without an offer it is 0.",
        "promise": "The limit in an FCP is ABR plus the free blocks, at most 2048 above ABR: never more than the "
        "buffer can hold.",
        "between-packets": "No FCP is offered from the cycle after a grant until the packet's tail has left.",
        "loss": "An FCP that changes ABR, which reveals lost packets, makes an FCP of its lane due at once.",
        **OFFER_STATEMENTS,
        "watchdog": "A lane is reported overdue exactly from the end of a window of `watchdog_cycles` cycles in "
        "which no valid FCP arrived for it, until the end of the next window.",
    }

    def __init__(self, port: Any) -> None:
        super().__init__()
        self.port, self.m = port, Module()
        self.lane = constant(self.m, "watched_lane", 4, 0, port.data_vls - 1)
        self.model = LaneModel(self.claim, port, self.lane)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.port), self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, p = self.m, self.port
        m.submodules.port = p
        heard = Signal()
        sent = self.model.sender(m, heard)
        limit, lost = self.model.receiver(m, heard)
        self.model.packet(m, sent, limit)
        self.claim(m, "contents", data.View(FCP_LAYOUT, p.fcp).vl == p.offer.vl, when=p.fcp_valid)
        self.claim(m, "contents", p.offer.sends == p.fcp_taken, when=p.fcp_valid)
        self.claim(m, "contents", ~p.offer.sends, when=~p.fcp_valid)
        self._watchdog(m, heard)
        under_way = self.model.between_packets(m)
        self.claim(m, "between-packets", p.busy == under_way)
        shown = Signal()  # an FCP of this lane has revealed a loss that is not answered yet
        with m.If(lost):
            m.d.sync += shown.eq(1)
        with m.Elif(p.offer.sends & (p.offer.vl == self.lane)):
            m.d.sync += shown.eq(0)
        self.claim(m, "loss", p.fcp_valid, when=shown & ~under_way)
        self.claim(m, "period", p.fcp_timer == p.offer.timer)
        given = p.parameters
        rules = OfferRules(given.data_vls, given.fcp_blocks or max(1, given.buffer_blocks // 4), given.fcp_period)
        claim_offer(
            self.claim,
            m,
            p.offer,
            rules,
            self.lane,
            limit=limit,
            visible_limit=shown,
            may=~under_way,
            offered=p.fcp_valid,
        )
        return m

    def _of_lane(self, values: Any) -> Value:
        return self.model.of_lane(values)

    def _watchdog(self, m: Module, received_fcp: Signal) -> None:
        p, cycles = self.port, self.port.parameters.watchdog_cycles
        passed, any_heard, overdue = Signal(range(cycles + 1)), Signal(), Signal()
        m.d.sync += [passed.eq(passed + 1), any_heard.eq(any_heard | received_fcp)]
        with m.If(passed + 1 == cycles):
            m.d.sync += [passed.eq(0), any_heard.eq(0), overdue.eq(~(any_heard | received_fcp))]
        self.claim(m, "watchdog", (p.watchdog_timer == passed) & (passed < cycles))
        self.claim(m, "watchdog", self._of_lane(p.overdue) == overdue)
        self.claim(m, "watchdog", self._of_lane(p.seen) == any_heard)
