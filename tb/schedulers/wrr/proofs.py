"""Proofs of weighted round robin: service, packets left of the turn, and waiting time."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from vlane.schedulers.writes import ScheduleSelect
from vlane.schedulers.wrr import MAX_WRR_WEIGHT
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.schedulers.proofs_scheduler import LANE_TURNS, STATEMENTS, SchedulerProperties
from vlane.tb.tables.proofs_tables import at

SMALL = 4
"""Most requesters for which a proof is cheap."""
_BITS = MAX_WRR_WEIGHT.bit_length()


class WRRProperties(SchedulerProperties):
    """Check weighted round robin against a reference model of weights, turn and count."""

    statements: ClassVar = {
        **STATEMENTS,
        **LANE_TURNS,
        "weights": "The weight of a requester is the value written last for it, and 0 after reset.",
        "unreachable": "A requester is reported unreachable exactly when its weight is 0.",
        "work-conserving": "In a decision a packet is granted exactly when a requester with a weight can send.",
        "weight-0": "A requester with weight 0 is not served.",
        "turn": "The turn belongs to the requester that sent the last data packet, and the count is that of its "
        "packets since the turn began.",
        "packets-left": "The output `packets_left` is the weight of the turn's requester minus the packets of the "
        "turn, and 0 before the first packet after reset and when the turn is over.",
        "turn-continues": "The requester of the turn is served while it can send and packets of the turn are left.",
        "next-in-turn": "When the turn is over or its requester cannot send, no able requester with a weight lies, "
        "in cyclic order, between that requester and the one that is served.",
        "turn-length": "A turn has at most as many packets as the weight in force when its last packet started.",
        "wait-turns": "A requester with a weight that can send is served after at most as many turns of others as "
        "there are other requesters, the current turn included.",
    }
    sums = False

    def __init__(self, scheduler: Any) -> None:
        super().__init__(scheduler)
        if scheduler.requesters <= SMALL and not self.sums:
            self.depth = 5  # five cycles from reset contain two packets of a turn

    def state(self) -> Value:
        """Return the registers that only a decision may change."""
        return Cat(self.scheduler.turn, self.scheduler.count)

    def _claim_own_properties(self, m: Module) -> None:
        s, claim = self.scheduler, self.claim
        self.lane_turns(m)
        self._weights(m)
        self.turn = turn = Signal(range(s.requesters), init=s.requesters - 1, name="account_turn")
        self.left, self.count = Signal(_BITS, name="account_left"), Signal(_BITS, name="account_count")
        begun, self.served = Signal(name="account_begun"), Signal(name="account_served")
        weight = Signal(_BITS, name="account_weight")
        m.d.comb += [
            weight.eq(at(list(self.weights), turn)),
            self.left.eq(Mux(begun & (weight > self.count), weight - self.count, 0)),
            self.served.eq(s.ready & s.decides & s.grant),
        ]
        with m.If(self.served):
            m.d.sync += begun.eq(1)
            for requester in range(s.requesters):
                with m.If(s.winner[requester]):
                    again = (turn == requester) & (self.left > 0)
                    m.d.sync += [turn.eq(requester), self.count.eq(Mux(again, self.count + 1, 1))]
        claim(m, "turn", (s.turn == turn) & (s.turn < s.requesters))
        claim(m, "turn", s.count == self.count, when=begun)
        claim(m, "turn", s.count == MAX_WRR_WEIGHT, when=~begun)
        claim(m, "packets-left", s.packets_left == self.left)

        self.able = Signal(s.requesters, name="served_if_next")
        m.d.comb += self.able.eq(
            Cat(active & weight.any() for active, weight in zip(s.active, self.weights, strict=True))
        )
        decides = s.grant & s.decides
        claim(m, "work-conserving", s.grant == self.able.any(), when=s.decides)
        claim(m, "weight-0", (s.winner & self.able).any(), when=decides)
        self.wins = at(list(s.winner), self.watched)
        can = at(list(self.able), self.watched)
        in_turn = turn == self.watched
        claim(m, "turn-continues", self.wins, when=decides & in_turn & can & (self.left > 0))
        place, winning = (Signal(range(s.requesters + 1), name=name) for name in ("place", "winning"))
        m.d.comb += place.eq(self._place(turn, self.watched))
        for requester in range(s.requesters):
            with m.If(s.winner[requester]):
                m.d.comb += winning.eq(self._place(turn, requester))
        continues = (self.left > 0) & at(list(self.able), turn)
        claim(m, "next-in-turn", winning <= place, when=decides & can & ~continues)

        started, in_force = Signal(name="started_before"), Signal(_BITS)
        m.d.sync += [started.eq(self.served), in_force.eq(at(list(self.weights), self.watched))]
        claim(m, "turn-length", (self.count > 0) & (self.count <= in_force), when=started & in_turn)
        self._wait(m, can, place)

    def _weights(self, m: Module) -> None:
        """Model the weights."""
        s, program = self.scheduler, self.scheduler.program
        self.weights = [Signal(_BITS, name=f"account_weight_{requester}") for requester in range(s.requesters)]
        self.writes = Signal(name="writes_a_weight")
        m.d.comb += self.writes.eq(program.enable & (Value.cast(program.select) == ScheduleSelect.TABLE))
        for requester, weight in enumerate(self.weights):
            with m.If(self.writes & (program.index == requester)):
                m.d.sync += weight.eq(program.weight)
            self.claim(m, "weights", s.weights[requester] == weight)
        is_zero = at(list(s.unreachable), self.watched) == ~at(list(self.weights), self.watched).any()
        self.claim(m, "unreachable", is_zero)

    def _wait(self, m: Module, may_send: Value, place: Signal) -> None:
        """Count the turns that send before the watched requester does."""
        s = self.scheduler
        turns = Signal(range(s.requesters + 1), name="turns_before")
        new_turn = Signal()
        for requester in range(s.requesters):
            with m.If(s.winner[requester]):
                m.d.comb += new_turn.eq((self.turn != requester) | (self.left == 0))
        waits = Signal(name="waits")
        m.d.comb += waits.eq(may_send & ~self.wins)
        with m.If(~may_send | (self.served & self.wins)):
            m.d.sync += turns.eq(0)
        with m.Elif(self.served & ((turns == 0) | new_turn)):
            m.d.sync += turns.eq(turns + 1)
        self.claim(m, "wait-turns", turns + place <= s.requesters, when=turns != 0)
        if self.sums:
            self._claim_wait_bound(m, may_send)

    def _claim_wait_bound(self, m: Module, may_send: Value) -> None:
        """Count the packets sent before the watched requester's, and claim their bound."""
        s = self.scheduler
        bits = (MAX_WRR_WEIGHT * s.requesters).bit_length()
        passed, others, ahead = (Signal(bits, name=name) for name in ("packets_before", "others", "ahead"))
        m.d.comb += [
            others.eq(sum((Mux(self.watched == r, 0, each) for r, each in enumerate(self.weights)), Value.cast(0))),
            ahead.eq(self._packets_ahead()),
        ]
        with m.If(~may_send | self.writes | (self.served & self.wins)):
            m.d.sync += passed.eq(0)
        with m.Elif(self.served):
            m.d.sync += passed.eq(passed + 1)
        self.claim(m, "wait", passed + ahead <= others, when=passed != 0)
        self.claim(m, "wait", passed <= others)

    def _packets_ahead(self) -> Value:
        """Return how many packets may precede the watched requester's, in this turn and in the turns between."""
        wraps = self.watched <= self.turn
        ahead: Value = Mux(self.watched == self.turn, 0, self.left)
        for requester, weight in enumerate(self.weights):
            after, before = self.turn < requester, self.watched > requester
            ahead = ahead + Mux(Mux(wraps, after | before, after & before), weight, 0)
        return ahead

    def _place(self, turn: Value, requester: Value | int) -> Value:
        """Return the cyclic distance from the current requester to the given one, 1 to the number of requesters."""
        return Mux(turn < requester, requester - turn, self.scheduler.requesters + requester - turn)


class SummedWRRProperties(WRRProperties):
    """Check, in addition, the wait in packets.

    Only for few requesters, because solvers cannot handle sums of many weights.
    """

    statements: ClassVar = {
        **WRRProperties.statements,
        "wait": "If no weight is written meanwhile, a requester with a weight that can send is served after at most "
        "as many packets as the sum of the other requesters' weights.",
    }
    sums = True


INSTANCES = (
    Instance("small", WRRProperties, {"data_vls": 3, "requesters": 0, "vl15": True}),
    Instance("mapped", WRRProperties, {"data_vls": 6, "requesters": 4, "vl15": False}),
    Instance("wait", SummedWRRProperties, {"data_vls": 3, "requesters": 0, "vl15": False}),
    Instance("full", WRRProperties, {"data_vls": 15, "requesters": 0, "vl15": True}),
    Instance("past-vl15", WRRProperties, {"data_vls": 17, "requesters": 0, "vl15": True}),
    Instance("mapped-full", WRRProperties, {"data_vls": 15, "requesters": 16, "vl15": True}),
)
"""Proven instances: small; with a map; waiting time; full size; lanes numbered past VL15; a map at full size."""
