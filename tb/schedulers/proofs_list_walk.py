"""Proofs of a walk along a list: entries name one lane, and the wait of an entry is bounded."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Assume, Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.properties import Claims

_ROW = 8
ENTRY_STATEMENTS = {
    "lane-offered": "An offered entry names one lane of the port, and the flags of its weight are right.",
    "lane-waiting": "An entry waits only behind an offered one, names one lane of the port, and the flags of its "
    "weight are right.",
    "idle-reading": "While the list is read, no entry is offered and none waits.",
    "wait-in-walk": "Before an entry whose lane stays able, at most 8 R + 23 other entries are picked (R is the "
    "number of rows), within at most 9 R + 25 moves of the walk.",
}
"""Properties of the entries of a walk that need no reference model of the other entries."""


def claim_entries(m: Module, walk: Any, claim: Claims) -> None:
    """Claim that the offered and the waiting entry each name one existing lane, with correct weight flags."""
    lane, weight, waiting = walk.lane, walk.offered_weight, walk.waiting
    with m.If(walk.offered):
        claim(m, "lane-offered", (lane == lane_bit(walk.offered_vl, walk.data_vls)) & lane.any())
        claim(m, "lane-offered", (walk.single == (weight == 1)) & (walk.double == (weight == 2)))
        claim(m, "lane-offered", walk.ample == (weight >= walk.ample_from))
    with m.If(walk.waits):
        claim(m, "lane-waiting", walk.offered)
        claim(m, "lane-waiting", walk.waiting_lane == lane_bit(waiting.vl, walk.data_vls))
        claim(m, "lane-waiting", walk.waiting_single == (waiting.weight == 1))
        claim(m, "lane-waiting", walk.waiting_double == (waiting.weight == 2))
        claim(m, "lane-waiting", walk.waiting_ample == (waiting.weight >= walk.ample_from))
    claim(m, "idle-reading", ~walk.offered & ~walk.waits, when=walk.reading)


class FollowedEntry:
    """Follow an arbitrary entry of a data lane from a cycle in which its row is awake until picked.

    The entry is no longer followed once its lane is not able or the banks are exchanged. Assumptions: its row was
    written, and the entry read from memory names the lane.

    Parameters
    ----------
    walk : ListWalk
        Walk along the entry's list.
    name : str
        Name of the walk.
    claim : Claims
        Collector of the claims.
    """

    def __init__(self, walk: Any, name: str, claim: Claims) -> None:
        self.walk, self.name, self.claim = walk, name, claim
        numbers = {"row": range(max(2, walk.rows)), "place": range(_ROW), "lane": range(max(2, walk.data_vls))}
        self.choice = {each: Signal(shape, name=f"choice_{each}_{name}") for each, shape in numbers.items()}
        self.starts = self._signal(1, "starts")

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof, which choose the entry and the start."""
        return [*self.choice.values(), self.starts]

    def add_turns(self, m: Module) -> None:
        """Claim how many entries the walk can pick, and how many rows it can pass, before the followed entry."""
        walk, signal = self.walk, self._signal
        followed, waits, is_picked = signal(1, "followed"), signal(1, "waits"), signal(1, "is_picked")
        row, place, lane = (self._kept(m, each, followed) for each in self.choice)
        fetched_row, current_row = Signal.like(walk.number), Signal.like(walk.number)
        with m.If(walk.pulls):
            m.d.sync += [fetched_row.eq(walk.number), current_row.eq(fetched_row)]
        awake = walk.wakes.bit_select(row, 1) & Array(walk.named)[row].bit_select(lane, 1)
        is_current = (current_row == row) & walk.lanes.bit_select(place, 1)
        is_fetched, is_chosen = walk.fetched & (fetched_row == row), walk.chosen & (walk.number == row)
        before = (walk.lanes & ((1 << place) - 1))[:_ROW]
        m.d.comb += [
            Assume(~(waits & is_chosen) | walk.memory.written),
            Assume(~(waits & is_fetched) | (Array(walk.next_row)[place].vl == lane)),
            is_picked.eq(is_current & ~before.any() & walk.advances),
            waits.eq(
                (followed | self.starts) & awake & walk.able_before.bit_select(lane, 1) & ~walk.reading & ~walk.exchange
            ),
        ]
        m.d.sync += followed.eq(waits & ~is_picked)

        most_ahead = _ROW * (walk.rows + 3) - 1
        most_moves = most_ahead + walk.rows + 2
        between, rest = signal(range(2 * walk.rows), "between"), signal(range(_ROW + 1), "rest")
        ahead, pulls = signal(range(2 * most_moves), "ahead"), signal(range(2 * walk.rows + 4), "pulls")
        is_beyond, below = walk.beyond.bit_select(row, 1), (walk.beyond & ((1 << row) - 1))[: walk.rows]
        m.d.comb += [between.eq(Mux(is_beyond, _count(below), _count(walk.beyond) + row)), rest.eq(_count(walk.lanes))]
        with m.If(is_current):
            m.d.comb += [ahead.eq(_count(before)), pulls.eq(0)]
        with m.Elif(is_fetched):
            m.d.comb += [ahead.eq(rest + place), pulls.eq(1)]
        with m.Elif(is_chosen):
            m.d.comb += [ahead.eq(rest + _ROW * walk.fetched + place), pulls.eq(2)]
        with m.Else():
            m.d.comb += [ahead.eq(rest + _ROW * (walk.fetched + walk.chosen + between) + place), pulls.eq(3 + between)]
        picks, moves = signal(range(2 * most_moves), "picks"), signal(range(2 * most_moves), "moves")
        m.d.sync += [
            picks.eq(Mux(followed, picks, 0) + (walk.advances & walk.lanes.any())),
            moves.eq(Mux(followed, moves, 0) + walk.advances),
        ]
        self.claim(m, "wait-in-walk", ~(~walk.beyond & (walk.beyond << 1)[: walk.rows]).any())
        self.claim(m, "wait-in-walk", picks + ahead <= most_ahead, when=followed)
        self.claim(m, "wait-in-walk", moves + ahead + pulls <= most_moves, when=followed)

    def _kept(self, m: Module, entry_name: str, followed: Signal) -> Signal:
        """Return a free choice that stays constant while an entry is followed."""
        given = self.choice[entry_name]
        kept, chosen = (
            Signal.like(given, name=f"kept_{entry_name}_{self.name}"),
            self._signal(given.shape(), entry_name),
        )
        m.d.comb += chosen.eq(Mux(followed, kept, given))
        m.d.sync += kept.eq(chosen)
        return chosen

    def _signal(self, shape: Any, purpose: str) -> Signal:
        return Signal(shape, name=f"{purpose}_{self.name}")


def _count(bits: Value) -> Value:
    return sum(bits[place] for place in range(len(bits)))


def lane_bit(vl: Value, data_vls: int) -> Value:
    """Return a lane as a one-hot value, or 0 for an absent lane."""
    return (1 << vl)[:data_vls]
