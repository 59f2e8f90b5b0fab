"""Plain switches whose decisions use state some cycles old: IBF-1 to IBF-7 of ``docs/fast_switch.md``."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import NamedTuple

from vlane.golden.plain.link import Egress, Flit, Room, Serve, Sizes
from vlane.golden.plain.network import CrossbarPort, Grant, Input, Switch, Tables


class Bid(NamedTuple):
    """A bid: the requested grant, and whether it is refused with the input's bid of the cycle before."""

    candidate: Grant
    refused_with_last: bool


class LateEgress(Egress):
    """The sending side of a port that decides from credits some cycles old (IBF-7)."""

    delay = 3

    def __init__(self, sizes: Sizes, flight: int, serve: Serve) -> None:
        super().__init__(sizes, flight, serve)
        larger = tuple(most + largest + 4 for most, largest in zip(sizes.maximum, sizes.largest, strict=True))
        self.room = Room(replace(sizes, maximum=larger))
        self.now = -1
        self.seen: deque[list[int]] = deque([[0] * sizes.lanes] * 5, maxlen=5)
        self.started: list[tuple[int, int]] = []

    def begin(self, now: int) -> None:
        """Begin a cycle and note the credits at its start."""
        super().begin(now)
        self.now = now
        self.seen.append(self.remote_credit.used.copy())
        self.started = [(cycle, lane) for cycle, lane in self.started if cycle >= now - 4]

    def fits(self, lane: int, blocks: int) -> bool:  # noqa: ARG002 - the size does not matter
        """Return whether a VL's largest packet fits after the starts and returns up to five cycles ago (IBF-7)."""
        sizes, used, largest = self.sizes, self.seen[0], self.sizes.largest[lane]
        own = 2 * largest + 3 if any(each == lane for _, each in self.started) else largest
        common = 2 * largest + 3 if self.started else largest
        beyond = sum(max(0, each - least) for each, least in zip(used, sizes.minimum, strict=True))
        if used[lane] + own > sizes.maximum[lane]:
            return False
        return used[lane] + own <= sizes.minimum[lane] or beyond + common <= sizes.blocks - sum(sizes.minimum)

    def start(self, lane: int) -> None:
        """Start the head packet of a lane and note the start."""
        super().start(lane)
        self.started.append((self.now, lane))


class FastSwitch(Switch):
    """A switch whose inputs bid for outputs (IBF-1 to IBF-6)."""

    egress = LateEgress

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        super().__init__(number, tables, sizes, inputs, outputs)
        self.bids: dict[int, Bid] = {}
        self.refused: set[int] = set()
        self.lane_served: dict[tuple[int, int], int] = {}
        self.input_served: dict[tuple[int, int], int] = {}
        self.overtaken: dict[tuple[int, int], int] = {}
        self.known: dict[CrossbarPort, int] = {}
        self.used: deque[list[list[int]]] = deque([[[0] * sizes.lanes] * len(outputs)] * 5, maxlen=5)
        self.crossed: list[tuple[int, int, Flit]] = []

    def decide(self, now: int) -> list[Grant]:
        """Make the bids of this cycle, and decide those of the cycle before (IBF-2, IBF-3)."""
        self.used.append([output.room.used.copy() for output in self.outputs])
        bids = {port: bid for port in range(len(self.inputs)) if (bid := self.bid_of(port, now)) is not None}
        granted = self._granted(now)
        self.refused = set(self.bids) - {grant.port for grant in granted}
        self.bids, self.known = bids, self.free_from.copy()
        return granted

    def _granted(self, now: int) -> list[Grant]:
        """Return the grants among the bids of the cycle before (IBF-3)."""
        granted, wanting = [], dict[int, list[Grant]]()
        for port, (candidate, follows) in self.bids.items():
            if (follows and port in self.refused) or self.free_from.get(("input", port, 0), 0) > now:
                continue
            if candidate.output is None:
                granted.append(candidate)
            elif self.free_from.get(("output", candidate.output, 0), 0) <= now:
                wanting.setdefault(candidate.output, []).append(candidate)
        for output, candidates in wanting.items():
            ranks = {self._rank_of_input(output, each.port): each for each in candidates}
            granted.append(ranks[min(ranks)])
        return granted

    def _rank_of_input(self, output: int, port: int) -> int:
        return self.input_served.get((output, port), port - len(self.inputs))

    def _rank_of_lane(self, port: int, lane: int) -> int:
        return self.lane_served.get((port, lane), lane - self.sizes.lanes)

    def bid_of(self, port: int, now: int) -> Bid | None:
        """Return the bid of an input, or None (IBF-2)."""
        if self.free_from.get(("input", port, 0), 0) > now + 1:
            return None
        offers = [offer for lane in range(self.sizes.lanes) if (offer := self._offer(port, lane, now)) is not None]
        return min(offers, key=lambda offer: self._rank_of_lane(port, offer.candidate.lane), default=None)

    def _offer(self, port: int, lane: int, now: int) -> Bid | None:
        """Return the packet that a VL of an input offers, or None (IBF-1, IBF-2, IBF-4)."""
        heads, pending = self.inputs[port].heads[lane], self.bids.get(port)
        is_second = bool(heads) and pending is not None and pending.candidate.packet is heads[0][1]
        if len(heads) <= is_second or (is_second and self.overtaken.get((port, lane), 0) == 2):
            return None
        written, packet = heads[is_second]
        arrived = written - 2
        candidate = self.route(port, lane, packet, arrived)
        if now < arrived + 6 or not (candidate.output is None or self._is_open(candidate.output, candidate, now)):
            return None
        return Bid(candidate, is_second and pending is not None and pending.candidate.output == candidate.output)

    def _is_open(self, output: int, candidate: Grant, now: int) -> bool:
        """Return whether an output can soon take part, and its buffer is open, as far as known (IBF-2, IBF-6)."""
        if self.known.get(("output", output, 0), 0) > now + 1:
            return False
        lane = candidate.out_lane
        return self.used[0][output][lane] + self.sizes.largest[lane] <= self.sizes.maximum[lane]

    def grant(self, now: int, grant: Grant) -> None:
        """Start to move a packet from the next cycle on (IBF-4, IBF-5)."""
        source, place = self.inputs[grant.port], (grant.port, grant.lane)
        index = [packet for _, packet in source.heads[grant.lane]].index(grant.packet)
        assert index < 2, "a grant to a packet outside the window"
        assert self.is_free(now, grant), "a grant while the crossbar is busy"
        del source.heads[grant.lane][index]
        self.overtaken[place] = self.overtaken.get(place, 0) + 1 if index else 0
        assert grant.lane not in source.crossing, "a grant while a packet of the queue crosses"
        source.crossing[grant.lane] = grant
        self.free_from |= dict.fromkeys(self.ports(grant), now + grant.packet.flits)
        self.lane_served[place] = now
        if grant.output is not None:
            self.input_served[grant.output, grant.port] = now
            self.outputs[grant.output].room.change(grant.out_lane, grant.packet.blocks)

    def move(self, now: int) -> None:
        """Move a flit of every granted packet. It reaches the output buffer a cycle later (IBF-5)."""
        for output, lane, flit in self.crossed:
            self.outputs[output].write(lane, flit)
        self.crossed = []
        super().move(now)

    def cross(self, now: int, grant: Grant) -> None:
        """Move the next flit of a packet, which may not be the oldest one of its VL."""
        port, lane, packet, output, out_lane = grant
        source = self.inputs[port]
        flit = next(each for each in source.buffer[lane] if each.packet is packet)
        source.buffer[lane].remove(flit)
        if output is not None:
            self.crossed.append((output, out_lane, flit))
            packet.switches += flit.place == 0
        source.give_back(now, lane, flit)
        if flit.is_last:
            del source.crossing[lane]
