"""What plain switches and NICs are joined by: packets and flits, rooms, egresses and their links, room that returns.

Written from ``docs/ib_switch.md`` (Room, IBS-6 to IBS-9) alone.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from vlane.golden.plain.faults import Span, Swap


class Seen(NamedTuple):
    """What a scheduler sees: by lane, as bits and sizes, the head packets and those behind them."""

    request: int
    fits: int
    blocks: list[int]
    behind: int
    behind_blocks: list[int]


Serve = Callable[[Seen, bool], int]
"""One cycle of an egress scheduler, its link free: (requests, fits, sizes of heads) to the lane that starts or -1."""


@dataclass(eq=False)
class Packet:
    """A packet; ``queue`` is the application queue (traffic class) that it waits in at its source."""

    source: int
    target: int
    dlid: int
    sl: int
    blocks: int
    flits: int
    generated: int
    queue: int = 0
    switches: int = 0
    fecn: bool = False
    psn: int = 0


class Flit(NamedTuple):
    """One flit of a packet."""

    packet: Packet
    place: int

    @property
    def is_last(self) -> bool:
        """Whether the packet ends with it."""
        return self.place == self.packet.flits - 1


@dataclass(frozen=True)
class Sizes:
    """Of every buffer: blocks, minimum and maximum per lane; the largest packet per lane; flits of a block."""

    blocks: int
    minimum: tuple[int, ...]
    maximum: tuple[int, ...]
    largest: tuple[int, ...]
    flits_per_block: int = 1

    @property
    def lanes(self) -> int:
        """How many there are."""
        return len(self.largest)

    @property
    def are_static(self) -> bool:
        """Whether every lane has a partition of its own, and nothing is shared."""
        return self.minimum == self.maximum

    def taken_by(self, flit: Flit) -> int:
        """Return the blocks that are taken when this flit has come: one with the first flit of a block."""
        return int(flit.place % self.flits_per_block == 0)

    def freed_by(self, flit: Flit) -> int:
        """Return the blocks that are free when this flit has left: one with the last flit of a block."""
        return int(flit.is_last or (flit.place + 1) % self.flits_per_block == 0)


def round_robin(last: int, count: int) -> Iterator[int]:
    """Yield so many numbers in round-robin order, ``last`` as the last."""
    return ((last + 1 + step) % count for step in range(count))


class Room:
    """Blocks taken of one buffer, by lane: a guaranteed minimum each, beyond it what the minima leave, to a maximum."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.used = [0] * sizes.lanes

    def fits(self, lane: int, blocks: int) -> bool:
        """Tell whether so many more blocks fit."""
        after = self.used.copy()
        after[lane] += blocks
        beyond = sum(max(0, used - least) for used, least in zip(after, self.sizes.minimum, strict=True))
        return after[lane] <= self.sizes.maximum[lane] and beyond <= self.sizes.blocks - sum(self.sizes.minimum)

    def change(self, lane: int, blocks: int) -> None:
        """Take blocks, or give them back if negative."""
        self.used[lane] += blocks
        assert 0 <= self.used[lane] <= self.sizes.maximum[lane], "a room beyond its bounds"


class Egress:
    """The sending side of a port, of a switch or a NIC: output buffer, scheduler and link (IBS-6, IBS-7, IBS-9).

    ``peer`` is the one at the other end of the cable, if there is a cable; ``receive`` is where flits arrive there.
    ``pace`` are the cycles of a flit on the link, ``gone`` the flits that have left of the packet that is sent since
    cycle ``since``, ``held`` the cycles for which an FCP still holds the link.
    """

    def __init__(self, sizes: Sizes, flight: int, serve: Serve) -> None:
        self.sizes, self.flight, self.serve = sizes, flight, serve
        self.room, self.remote_credit = Room(sizes), Room(sizes)
        self.buffer: list[deque[Flit]] = [deque() for _ in range(sizes.lanes)]
        self.sending: int | None = None
        self.link: deque[tuple[int, int, Flit]] = deque()
        self.returns: deque[tuple[int, int, int]] = deque()
        self.peer: Egress | None = None
        self.receive: Callable[[int, int, Flit], None] | None = None
        self.stalls: Sequence[Span] = ()
        self.losses: Sequence[Span] = ()
        self.swaps: list[Swap] = []
        self.asked: list[Swap] = []
        self.is_stalled = False
        self.pace, self.gone, self.held = Fraction(1), 0, 0
        self.since: int | None = None

    def join(self, peer: Egress, receive: Callable[[int, int, Flit], None]) -> None:
        """Lead the cable to another one, and its flits to what is beside that."""
        self.peer, self.receive = peer, receive

    def write(self, lane: int, flit: Flit) -> None:
        """Write a flit to the output buffer, behind the one before it of its packet."""
        queue = self.buffer[lane]
        if queue:
            before = queue[-1]
            assert before.is_last if flit.place == 0 else before == Flit(flit.packet, flit.place - 1), "flits mixed"
        queue.append(flit)

    def begin(self, now: int) -> None:
        """Begin a cycle: see whether the link is stalled, and count the room that has come back on the reverse lane."""
        self.is_stalled = any(stall.covers(now) for stall in self.stalls)
        self.asked = [swap for swap in self.swaps if swap.cycle <= now]
        while self.returns and self.returns[0][0] <= now:
            _, lane, blocks = self.returns.popleft()
            self.remote_credit.change(lane, -blocks)

    def give_back(self, now: int, lane: int, flit: Flit) -> None:
        """Send the room of a flit that left the input buffer of this port to the other end (IBS-8, NET-3)."""
        self.give_back_blocks(now, lane, self.sizes.freed_by(flit))

    def give_back_blocks(self, now: int, lane: int, blocks: int) -> None:
        """Send so much room of the input buffer of this port to the other end."""
        assert self.peer is not None
        self.peer.returns.append((now + self.flight + 1, lane, blocks))

    def fits(self, lane: int, blocks: int) -> bool:
        """Tell whether the next node has room for a packet (IBS-6)."""
        return self.remote_credit.fits(lane, blocks)

    @property
    def is_idle(self) -> bool:
        """Whether neither a packet nor an FCP holds the link."""
        return self.sending is None and self.held == 0

    def decide(self, *, is_free: bool = True) -> int | None:
        """Return the lane whose packet starts, telling the scheduler whether the link is free."""
        if self.peer is None:
            return None
        request, fits, behind = 0, 0, 0
        blocks, behind_blocks = ([0] * self.sizes.lanes for _ in range(2))
        for lane, flits in enumerate(self.buffer):
            waiting = [flit.packet.blocks for flit in flits if flit.place == 0]
            if waiting:
                blocks[lane] = waiting[0]
                request |= 1 << lane
                fits |= self.fits(lane, waiting[0]) << lane
            if len(waiting) > 1:
                behind_blocks[lane] = waiting[1]
                behind |= self.fits(lane, waiting[0] + waiting[1]) << lane
        is_ready = is_free and self.is_idle and not self.is_stalled
        lane = self.serve(Seen(request, fits, blocks, behind, behind_blocks), is_ready)
        if is_ready and self.asked:
            self.serve = self.asked[-1].new_serve()
            del self.swaps[: len(self.asked)]
        return lane if lane >= 0 else None

    def start(self, lane: int) -> None:
        """Let the packet at the head of a lane hold the link; its room at the next node is taken."""
        self.sending, self.since, self.gone = lane, None, 0
        self.remote_credit.change(lane, self.buffer[lane][0].packet.blocks)

    def move(self, now: int) -> None:
        """Send what the link carries in a cycle and deliver the flit that arrives (NET-5)."""
        self.held = max(0, self.held - 1)
        if self.sending is not None:
            lane = self.sending
            if self.since is None:
                self.since = now
                packet = self.buffer[lane][0].packet
                first = now + math.ceil(packet.flits * self.pace) - packet.flits + self.flight
                self.link += [(first + place, lane, Flit(packet, place)) for place in range(packet.flits)]
            while self.sending is not None and (self.gone + 1) * self.pace <= now + 1 - self.since:
                flit = self.buffer[lane].popleft()
                self.gone += 1
                self.room.change(lane, -self.sizes.freed_by(flit))
                self.sending = None if flit.is_last else lane
        if self.link and self.link[0][0] == now:
            _, lane, flit = self.link.popleft()
            assert self.receive is not None
            self.receive(now, lane, flit)
