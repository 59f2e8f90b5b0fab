"""Plain egress schedulers without deficits, from ``docs/schedulers.md`` and the page of each scheduler.

RR-1 to RR-3, WRR-1 to WRR-8, SCFQ-1 to SCFQ-9, VLA-1 to VLA-19. A scheduler receives the state of a port's lanes in a
cycle in which the link is free, and returns the lane whose packet starts. ``golden/plain/deficits.py`` has the
schedulers with deficits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from vlane.golden.plain.link import Seen, Serve, round_robin

Write = tuple[int, int, int, int]
"""A program-port write: select, index, requester or lane, value."""
TABLE, MAP = 0, 1


class Scheduler(Protocol):
    """An egress scheduler, called in every cycle in which the link is free."""

    def decide(self, heads: Seen) -> int | None:
        """Return the lane whose packet starts, or None."""


def serve_of(scheduler: Scheduler) -> Serve:
    """Return the function that a plain port calls each cycle. It steps the scheduler if the link is ready (IBS-7)."""

    def step(heads: Seen, ready: bool) -> int:  # noqa: FBT001 - a signal of the hardware
        lane = scheduler.decide(heads) if ready else None
        return -1 if lane is None else lane

    return step


class Requesters:
    """Requesters and their lanes.

    Without a map each lane is a requester. With a map the lanes of a requester take turns.
    """

    def __init__(self, lanes: int, requesters: int, writes: Sequence[Write]) -> None:
        self.count = requesters or lanes
        self.requester_of = [lane % self.count for lane in range(lanes)]
        if requesters:
            for select, index, requester, _ in writes:
                if select == MAP and index < lanes:
                    self.requester_of[index] = requester
        self.sent_from = [lanes - 1] * self.count
        self.lanes = lanes

    def sendable(self, heads: Seen, requester: int) -> list[int]:
        """Return the lanes of a requester that can send, starting after the lane that sent last."""
        order = round_robin(self.sent_from[requester], self.lanes)
        return [
            lane for lane in order if self.requester_of[lane] == requester and (heads.request & heads.fits) >> lane & 1
        ]

    def offers(self, heads: Seen) -> dict[int, int]:
        """Return the lane that each active requester offers."""
        sendable = {requester: self.sendable(heads, requester) for requester in range(self.count)}
        return {requester: lanes[0] for requester, lanes in sendable.items() if lanes}

    def waits(self, heads: Seen, requester: int) -> bool:
        """Return whether a requester has packets but no credit for any of them."""
        has = any(heads.request >> lane & 1 for lane in range(self.lanes) if self.requester_of[lane] == requester)
        return has and not self.sendable(heads, requester)

    def sends(self, requester: int, lane: int) -> int:
        """Record the lane from which a requester sends, and return it."""
        self.sent_from[requester] = lane
        return lane


class RR:
    """Round robin (RR-1 to RR-3)."""

    def __init__(self, lanes: int, writes: Sequence[Write], *, requesters: int = 0) -> None:
        self.requesters = Requesters(lanes, requesters, writes)
        self.last_requester = self.requesters.count - 1

    def decide(self, heads: Seen) -> int | None:
        """Return the lane of the first active requester after the last one."""
        offers = self.requesters.offers(heads)
        for requester in round_robin(self.last_requester, self.requesters.count):
            if requester in offers:
                self.last_requester = requester
                return self.requesters.sends(requester, offers[requester])
        return None


class WRR:
    """Weighted round robin, in packets (WRR-1 to WRR-8)."""

    def __init__(self, lanes: int, writes: Sequence[Write], *, requesters: int = 0) -> None:
        self.requesters = Requesters(lanes, requesters, writes)
        self.weight = {index: weight for select, index, _, weight in writes if select == TABLE}
        self.turn, self.packets_left = self.requesters.count - 1, 0

    def decide(self, heads: Seen) -> int | None:
        """Return the lane of the current requester while its turn lasts, otherwise of the next one with a weight."""
        offers = self.requesters.offers(heads)
        offers = {requester: lane for requester, lane in offers.items() if self.weight.get(requester)}
        if not offers:
            return None
        if self.turn not in offers or not self.packets_left:
            self.turn = next(it for it in round_robin(self.turn, self.requesters.count) if it in offers)
            self.packets_left = self.weight[self.turn]
        self.packets_left -= 1
        return self.requesters.sends(self.turn, offers[self.turn])


class SCFQ:
    """Self-clocked fair queueing with a tag unit per requester (SCFQ-1 to SCFQ-9). Tags do not wrap."""

    def __init__(self, lanes: int, writes: Sequence[Write], *, requesters: int = 0) -> None:
        self.requesters = Requesters(lanes, requesters, writes)
        self.reciprocal = {index: value for select, index, _, value in writes if select == TABLE}
        self.virtual_time = 0
        self.tags: dict[int, tuple[int, int]] = {}

    def decide(self, heads: Seen) -> int | None:
        """Compute missing tags and return the lane with the smallest tag."""
        offers = self.requesters.offers(heads)
        if not offers:
            self.virtual_time = 0
        for requester, (_, lane) in list(self.tags.items()):
            if lane not in self.requesters.sendable(heads, requester):
                del self.tags[requester]
        for requester, lane in offers.items():
            if self.reciprocal.get(requester) and requester not in self.tags:
                tag = self.virtual_time + heads.blocks[lane] * self.reciprocal[requester]
                self.tags[requester] = tag, lane
        if not self.tags:
            return None
        served = min(self.tags, key=lambda requester: (self.tags[requester][0], requester))
        self.virtual_time, lane = self.tags.pop(served)
        return self.requesters.sends(served, lane)


class _List:
    """A list of the VL arbiter: entries of (lane, weight), the current entry and its remaining weight."""

    def __init__(self, lanes: int, entries: list[tuple[int, int]]) -> None:
        self.lanes, self.entries = lanes, entries
        self.current_entry, self.weight_left = 0, entries[0][1]

    def eligible(self, heads: Seen) -> list[int]:
        """Return the indices of entries with a weight whose lane can send (VLA-10)."""
        sendable = heads.request & heads.fits
        entries = enumerate(self.entries)
        return [place for place, (lane, weight) in entries if weight and lane < self.lanes and sendable >> lane & 1]

    def serve(self, heads: Seen) -> int:
        """Return the lane of the current entry while it has weight left, otherwise of the next one (VLA-2 to VLA-5)."""
        eligible = self.eligible(heads)
        if self.current_entry not in eligible or self.weight_left <= 0:
            self.current_entry = next(it for it in round_robin(self.current_entry, len(self.entries)) if it in eligible)
            self.weight_left = self.entries[self.current_entry][1]
        lane = self.entries[self.current_entry][0]
        self.weight_left -= heads.blocks[lane]
        return lane


class VLArb:
    """InfiniBand's VL arbiter, exact form (VLA-1 to VLA-19), with its tables written and swapped in."""

    def __init__(self, lanes: int, writes: Sequence[Write], *, entries: int) -> None:
        tables = [[(0, 0)] * entries, [(0, 0)] * entries]
        limit = 0
        for select, index, lane, weight in writes:
            if select in (0, 1) and index < entries:
                tables[select][index] = lane, weight
            elif select == 2:
                limit = weight
        self.high, self.low = (_List(lanes, table) for table in tables)
        self.limit = limit
        self.most = max(1, 64 * limit)
        self.counter = self.most

    def decide(self, heads: Seen) -> int | None:
        """Return the lane of High unless its limit has expired, otherwise of Low (VLA-7, VLA-8, VLA-15, VLA-18)."""
        high, low = self.high.eligible(heads), self.low.eligible(heads)
        has_expired = self.counter <= 0
        if has_expired or not high:
            self.counter = self.most
        if high and not (has_expired and low):
            lane = self.high.serve(heads)
            if self.limit != 255:
                self.counter -= heads.blocks[lane]
            return lane
        return self.low.serve(heads) if low else None
