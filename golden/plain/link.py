"""Links of the plain network: packets, flits, buffer space, the sending side of a port, and the return of credits.

Rules: buffer space (section "Room") and IBS-6 to IBS-9 of ``docs/ib_switch.md``; NET-3 and NET-5 of
``docs/network.md``.
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
    """State of a port's lanes as its scheduler sees them.

    ``request`` and ``fits`` are bit masks of lanes with a head packet and with credit for it; ``blocks`` are the
    sizes of the heads. ``behind`` is the mask of lanes with credit for the head and the second packet together,
    ``behind_blocks`` the size of each second packet.
    """

    request: int
    fits: int
    blocks: list[int]
    behind: int
    behind_blocks: list[int]


Serve = Callable[[Seen, bool], int]
"""One cycle of an egress scheduler: maps (``Seen``, link is ready) to the lane that starts, or -1."""


@dataclass(eq=False)
class Packet:
    """A packet. ``queue`` is its application queue (traffic class) at the source."""

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
        """Whether this is the packet's last flit."""
        return self.place == self.packet.flits - 1


@dataclass(frozen=True)
class Sizes:
    """Buffer sizes: blocks in total, minimum and maximum per lane, largest packet per lane, and flits per block."""

    blocks: int
    minimum: tuple[int, ...]
    maximum: tuple[int, ...]
    largest: tuple[int, ...]
    flits_per_block: int = 1

    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return len(self.largest)

    @property
    def are_static(self) -> bool:
        """Whether every lane has a static partition and nothing is shared."""
        return self.minimum == self.maximum

    def taken_by(self, flit: Flit) -> int:
        """Return the blocks that the arrival of a flit occupies: 1 for the first flit of a block."""
        return int(flit.place % self.flits_per_block == 0)

    def freed_by(self, flit: Flit) -> int:
        """Return the blocks that the departure of a flit frees: 1 for the last flit of a block."""
        return int(flit.is_last or (flit.place + 1) % self.flits_per_block == 0)


def round_robin(last: int, count: int) -> Iterator[int]:
    """Yield the numbers below ``count`` in round-robin order. ``last`` comes last."""
    return ((last + 1 + step) % count for step in range(count))


class Room:
    """Occupied blocks of a buffer by lane.

    Each lane has a guaranteed minimum; lanes share the rest up to their maximum.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.used = [0] * sizes.lanes

    def fits(self, lane: int, blocks: int) -> bool:
        """Return whether ``blocks`` more blocks of a lane fit."""
        after = self.used.copy()
        after[lane] += blocks
        beyond = sum(max(0, used - least) for used, least in zip(after, self.sizes.minimum, strict=True))
        return after[lane] <= self.sizes.maximum[lane] and beyond <= self.sizes.blocks - sum(self.sizes.minimum)

    def change(self, lane: int, blocks: int) -> None:
        """Occupy blocks of a lane, or free them if negative."""
        self.used[lane] += blocks
        assert 0 <= self.used[lane] <= self.sizes.maximum[lane], "a room beyond its bounds"


class Egress:
    """The sending side of a switch or NIC port: output buffer, scheduler and link (IBS-6, IBS-7, IBS-9).

    ``peer`` is the sending side at the other end of the cable, None without a cable; ``receive`` accepts flits there.
    ``pace`` is the time of a flit on the link in cycles. ``sent_flits`` counts the sent flits of the packet that
    started in cycle ``sending_since``. ``fcp_cycles_left`` is the number of cycles for which an FCP still occupies the
    link. ``delay`` is the number of cycles by which flits are on the link later than decided.
    """

    delay = 0

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
        self.pace, self.sent_flits, self.fcp_cycles_left = Fraction(1), 0, 0
        self.sending_since: int | None = None

    def join(self, peer: Egress, receive: Callable[[int, int, Flit], None]) -> None:
        """Connect the cable to a peer and to the receiver of its flits."""
        self.peer, self.receive = peer, receive

    def write(self, lane: int, flit: Flit) -> None:
        """Append a flit to the output buffer. Assert that the flit continues the packet in front."""
        queue = self.buffer[lane]
        if queue:
            before = queue[-1]
            assert before.is_last if flit.place == 0 else before == Flit(flit.packet, flit.place - 1), "flits mixed"
        queue.append(flit)

    def begin(self, now: int) -> None:
        """Begin a cycle: update the stall state, the pending table exchanges and the returned credits."""
        self.is_stalled = any(stall.covers(now) for stall in self.stalls)
        self.asked = [swap for swap in self.swaps if swap.cycle <= now]
        while self.returns and self.returns[0][0] <= now:
            _, lane, blocks = self.returns.popleft()
            self.remote_credit.change(lane, -blocks)

    def give_back(self, now: int, lane: int, flit: Flit) -> None:
        """Return the credits of a flit that left this port's input buffer to the other end (IBS-8, NET-3)."""
        self.give_back_blocks(now, lane, self.sizes.freed_by(flit))

    def give_back_blocks(self, now: int, lane: int, blocks: int) -> None:
        """Return credits for ``blocks`` blocks of this port's input buffer to the other end."""
        assert self.peer is not None
        self.peer.returns.append((now + self.flight + 1, lane, blocks))

    def fits(self, lane: int, blocks: int) -> bool:
        """Return whether the next node has space for a packet (IBS-6)."""
        return self.remote_credit.fits(lane, blocks)

    @property
    def is_idle(self) -> bool:
        """Whether neither a packet nor an FCP occupies the link."""
        return self.sending is None and self.fcp_cycles_left == 0

    def decide(self, *, is_free: bool = True) -> int | None:
        """Run the scheduler for a cycle and return the lane whose packet starts, or None.

        A pending table exchange takes place at the end of a ready cycle.
        """
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
        """Start the head packet of a lane on the link and consume its credits."""
        self.sending, self.sending_since, self.sent_flits = lane, None, 0
        self.remote_credit.change(lane, self.buffer[lane][0].packet.blocks)

    def move(self, now: int) -> None:
        """Send the flits due in this cycle and deliver the flit that arrives (NET-5)."""
        self.fcp_cycles_left = max(0, self.fcp_cycles_left - 1)
        if self.sending is not None:
            lane = self.sending
            if self.sending_since is None:
                self.sending_since = now
                packet = self.buffer[lane][0].packet
                first = now + math.ceil(packet.flits * self.pace) - packet.flits + self.flight + self.delay
                self.link += [(first + place, lane, Flit(packet, place)) for place in range(packet.flits)]
            while self.sending is not None and (self.sent_flits + 1) * self.pace <= now + 1 - self.sending_since:
                flit = self.buffer[lane].popleft()
                self.sent_flits += 1
                self.room.change(lane, -self.sizes.freed_by(flit))
                self.sending = None if flit.is_last else lane
        if self.link and self.link[0][0] == now:
            _, lane, flit = self.link.popleft()
            assert self.receive is not None
            self.receive(now, lane, flit)
