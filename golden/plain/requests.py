"""Plain network whose NICs send requests of a window and reply to them (MSG-1 to MSG-3, MSG-6 to MSG-8)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vlane.golden.plain.link import Egress, Flit, Packet, Serve, Sizes
from vlane.golden.plain.network import Nic, PlainNetwork, Tables

_HEADER = 26


class Requests(NamedTuple):
    """Requests of every host to another host, with payloads in bytes.

    ``target`` is the destination of each host, ``lids`` the LID of each host. Requests use queue 0 of a NIC, replies
    queue 1.
    """

    target: Sequence[int]
    lids: Sequence[int]
    window: int
    sls: tuple[int, int]
    request_bytes: int
    reply_bytes: int
    mtu: int
    flit_bytes: int = 64
    delay: int = 0
    think: int = 0

    def packets(self, source: int, target: int, generated: int, queue: int) -> list[Packet]:
        """Return the packets of a request (queue 0) or a reply (queue 1)."""
        left, made = (self.request_bytes, self.reply_bytes)[queue], []
        while left > 0:
            size = min(left, self.mtu) + _HEADER
            flits, blocks = -(-size // self.flit_bytes), -(-size // 64)
            made.append(Packet(source, target, self.lids[target], self.sls[queue], blocks, flits, generated, queue))
            left -= self.mtu
        return made


class RequestNic(Nic):
    """NIC that reports each received packet."""

    received: Callable[[Packet, int], None]

    def receive(self, now: int, lane: int, flit: Flit) -> None:
        """Receive a flit (NET-3), and report its packet with the last one."""
        super().receive(now, lane, flit)
        if flit.is_last:
            self.received(flit.packet, now)


class RequestNetwork(PlainNetwork):
    """Network in which every host keeps a window of requests."""

    def __init__(
        self,
        far: dict[tuple[int, int], tuple[int, int]],
        hosts: Sequence[tuple[int, int]],
        tables: Tables,
        sizes: Sizes,
        new_serve: Callable[[], Serve],
        requests: Requests,
    ) -> None:
        self.requests = requests
        first = [
            packet
            for source, target in enumerate(requests.target)
            for _ in range(requests.window)
            for packet in requests.packets(source, target, 0, 0)
        ]
        super().__init__(far, hosts, tables, sizes, first, new_serve)
        self.missing: dict[tuple[int, int, int], int] = {}
        for nic in self.nics:
            nic.queues.extend(deque() for _ in range(2 - len(nic.queues)))
            nic.last_queue = 1

    def new_nic(
        self, nic_number: int, sizes: Sizes, vl: Sequence[int], egress: Egress, queues: list[deque[Packet]]
    ) -> Nic:
        """Return a NIC that answers requests."""
        nic = RequestNic(nic_number, sizes, vl, egress, queues)
        nic.received = self._received
        return nic

    def _received(self, packet: Packet, now: int) -> None:
        """Count a packet of a message, and send what the complete message causes.

        Messages of one source, destination and queue arrive in order, because every pair has one path.
        """
        requests, key = self.requests, (packet.source, packet.target, packet.queue)
        size = (requests.request_bytes, requests.reply_bytes)[packet.queue]
        left = self.missing.get(key, -(-size // requests.mtu)) - 1
        self.missing[key] = left
        if left:
            return
        del self.missing[key]
        nic = self.nics[packet.target]
        if packet.queue == 0:
            nic.queues[1].extend(requests.packets(packet.target, packet.source, now + 1 + requests.delay, 1))
        else:
            target = requests.target[packet.target]
            nic.queues[0].extend(requests.packets(packet.target, target, now + 1 + requests.think, 0))
