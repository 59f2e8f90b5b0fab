"""Plain egress schedulers with deficits: DT-1 to DT-12 (``docs/dtable.md``) and DRR (``docs/drr.md``)."""

from __future__ import annotations

from collections.abc import Sequence

from vlane.golden.plain.link import Seen, round_robin
from vlane.golden.plain.schedulers import TABLE, Requesters, Write


class DTable:
    """The Deficit Table, exact form (DT-1 to DT-12), with its table written and swapped in."""

    def __init__(
        self,
        lanes: int,
        writes: Sequence[Write],
        *,
        entries: int,
        requesters: int = 0,
        keep_on_stall: bool = False,
        mtu_blocks: int = 66,
    ) -> None:
        self.requesters = Requesters(lanes, requesters, writes)
        self.keep_on_stall, self.most_kept = keep_on_stall, mtu_blocks - 1
        self.entries = [(0, 0)] * entries
        for select, index, requester, weight in writes:
            if select == TABLE and index < entries:
                self.entries[index] = requester, weight
        self.deficit = [0] * self.requesters.count
        self.current_entry = entries - 1
        self.requester_in_turn: int | None = None
        self.accumulated = 0

    def decide(self, heads: Seen) -> int | None:
        """Return the lane whose head the accumulated weight covers, or None (DT-2, DT-3, DT-6)."""
        offers = self.requesters.offers(heads)
        self._discard(heads, offers)
        if self.requester_in_turn in offers and self.accumulated >= heads.blocks[offers[self.requester_in_turn]]:
            return self._send(heads, self.requester_in_turn, offers[self.requester_in_turn])
        self._end_turn()
        for place in round_robin(self.current_entry, len(self.entries)):
            requester, weight = self.entries[place]
            if weight and requester in offers:
                self.current_entry, self.requester_in_turn = place, requester
                self.accumulated = weight + self.deficit[requester]
                self.deficit[requester] = 0
                if self.accumulated >= heads.blocks[offers[requester]]:
                    return self._send(heads, requester, offers[requester])
                return None
        return None

    def _discard(self, heads: Seen, offers: dict[int, int]) -> None:
        """Clear deficit and turn of inactive requesters, except what ``keep_on_stall`` preserves (DT-7, DT-8)."""
        for requester in range(self.requesters.count):
            if requester in offers:
                continue
            keeps = self.keep_on_stall and self.requesters.waits(heads, requester)
            if not keeps:
                self.deficit[requester] = 0
            if requester == self.requester_in_turn:
                self.accumulated = min(self.accumulated, self.most_kept) if keeps else 0

    def _end_turn(self) -> None:
        """Store the rest of the accumulated weight as the deficit of the turn's requester (DT-4)."""
        if self.requester_in_turn is not None:
            self.deficit[self.requester_in_turn] = self.accumulated
        self.requester_in_turn, self.accumulated = None, 0

    def _send(self, heads: Seen, requester: int, lane: int) -> int:
        self.accumulated -= heads.blocks[lane]
        return self.requesters.sends(requester, lane)


class DRR(DTable):
    """Deficit round robin: a Deficit Table with one entry for each requester, in the order of their numbers."""

    def __init__(
        self,
        lanes: int,
        writes: Sequence[Write],
        *,
        requesters: int = 0,
        keep_on_stall: bool = False,
        mtu_blocks: int = 66,
    ) -> None:
        count = requesters or lanes
        quanta = [
            (select, index, index, value) if select == TABLE else (select, index, owner, value)
            for select, index, owner, value in writes
        ]
        super().__init__(
            lanes, quanta, entries=count, requesters=requesters, keep_on_stall=keep_on_stall, mtu_blocks=mtu_blocks
        )
