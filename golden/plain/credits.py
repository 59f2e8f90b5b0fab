"""Flow-control packets (FCPs) between plain ports: rules IBS-C1 to IBS-C6 of ``docs/ib_switch.md``.

Both ends keep explicit counters, and every FCP in flight is an object. Assertions compare the limits with the true
occupancy of the far buffer (``remote_credit``), which no decision uses.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from vlane.golden.plain.link import Egress, Serve, Sizes, round_robin


@dataclass(frozen=True)
class Credits:
    """Transmission of FCPs.

    ``sideband`` sends them next to the link instead of on it. An FCP is due when a limit has grown by ``fcp_blocks``
    blocks (0: a quarter of the lane's partition, at least 1), and after every ``fcp_period`` cycles.
    """

    sideband: bool = False
    fcp_blocks: int = 0
    fcp_period: int = 1024


class Fcp(NamedTuple):
    """A flow-control packet: the limit up to which the receiver may send on a lane, in blocks since the start."""

    lane: int
    limit: int


class FcpEgress(Egress):
    """A sending side that receives its limits in FCPs and sends the limits of the port's own input to the peer."""

    def __init__(self, sizes: Sizes, flight: int, serve: Serve, scheme: Credits) -> None:
        super().__init__(sizes, flight, serve)
        assert sizes.are_static, "FCPs and buffers that lanes share"
        assert max(sizes.maximum) <= 2048, "a partition that a limit of 12 bits does not cover"
        self.scheme = scheme
        self.sent, self.limit = [0] * sizes.lanes, [*sizes.maximum]
        self.own_limit, self.limit_sent = [*sizes.maximum], [*sizes.maximum]
        self.growth = [scheme.fcp_blocks or max(1, partition // 4) for partition in sizes.maximum]
        self.period_over = [False] * sizes.lanes
        self.last_lane = sizes.lanes - 1
        self.fcp: Fcp | None = None
        self.fcps: deque[tuple[int, Fcp]] = deque()

    def begin(self, now: int) -> None:
        """Begin a cycle. With a new period an FCP of every lane is due (IBS-C3)."""
        super().begin(now)
        if now % self.scheme.fcp_period == 0:
            self.period_over = [True] * self.sizes.lanes
        self._check()

    def give_back_blocks(self, now: int, lane: int, blocks: int) -> None:  # noqa: ARG002 - nothing is on its way before an FCP
        """Raise the limit of the port's own input by freed blocks, from the next cycle on (IBS-C2)."""
        self.own_limit[lane] += blocks
        self._far_end().remote_credit.change(lane, -blocks)

    def fits(self, lane: int, blocks: int) -> bool:
        """Return whether the limit allows a packet (IBS-C1). Assert that 12-bit counters decide the same (CIB-2)."""
        fits = self.sent[lane] + blocks <= self.limit[lane]
        assert fits == ((self.limit[lane] - self.sent[lane] - blocks) % 4096 <= 2048), "not what 12 bits would say"
        return fits

    def decide(self, *, is_free: bool = True) -> int | None:
        """Return the lane whose packet starts, or None if an FCP takes the link (IBS-C4)."""
        can_send = self.peer is not None and (self.scheme.sideband or (self.is_idle and not self.is_stalled))
        self.fcp = self._first_due() if can_send else None
        takes_the_link = self.fcp is not None and not self.scheme.sideband
        return super().decide(is_free=is_free and not takes_the_link)

    def start(self, lane: int) -> None:
        """Start the head packet of a lane and count its blocks (IBS-C1)."""
        super().start(lane)
        self.sent[lane] += self.buffer[lane][0].packet.blocks

    def move(self, now: int) -> None:
        """Send the FCP of this cycle and the due flits, and deliver arriving ones (IBS-C5)."""
        if self.fcp is not None:
            assert self.scheme.sideband or self.sending is None, "an FCP and a flit on a link"
            holds = 1 if self.scheme.sideband else math.ceil(self.pace)
            if not any(loss.covers(now) for loss in self.losses):  # a lost FCP counts as sent (IBS-C6)
                self.fcps.append((now + holds - 1 + self.flight, self.fcp))
            self.last_lane = self.fcp.lane
            self.limit_sent[self.fcp.lane] = self.fcp.limit
            self.period_over[self.fcp.lane] = False
        super().move(now)
        if self.fcp is not None:
            self.fcp_cycles_left = holds - 1
        if self.fcps and self.fcps[0][0] == now:
            self._far_end().receive_fcp(self.fcps.popleft()[1])

    def receive_fcp(self, fcp: Fcp) -> None:
        """Apply a received limit. Limits never shrink."""
        assert fcp.limit >= self.limit[fcp.lane], "FCPs out of order"
        self.limit[fcp.lane] = fcp.limit

    def _first_due(self) -> Fcp | None:
        """Return the FCP of the first due lane, round robin, or None (IBS-C3, IBS-C4)."""
        for lane in round_robin(self.last_lane, self.sizes.lanes):
            if self.own_limit[lane] - self.limit_sent[lane] >= self.growth[lane] or self.period_over[lane]:
                return Fcp(lane, self.own_limit[lane])
        return None

    def _far_end(self) -> FcpEgress:
        assert isinstance(self.peer, FcpEgress), "a cable with FCPs at one end only"
        return self.peer

    def _check(self) -> None:
        """Assert that limits never exceed the free space and that unfreed blocks fit into the partition."""
        if self.peer is None:
            return
        far_end = self._far_end()
        for lane, partition in enumerate(self.sizes.maximum):
            not_freed = far_end.sent[lane] - (self.own_limit[lane] - partition)
            assert far_end.sent[lane] <= far_end.limit[lane] <= self.limit_sent[lane] <= self.own_limit[lane], (
                "a false limit"
            )
            assert not_freed == far_end.remote_credit.used[lane] <= partition, "more sent than the partition holds"
