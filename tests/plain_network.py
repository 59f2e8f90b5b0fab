"""A network of input-buffered switches and NICs, flit by flit and cycle by cycle: slow, plain, an oracle.

Written from ``docs/ib_switch.md`` (S1 to S10, Q1 to Q3) and ``docs/network.md`` (N1 to N4) alone. In every cycle all
decisions are made from the state at its start, then all of them are applied and every flit moves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Delivery", "Packet", "PlainNetwork", "Serve", "Sizes", "Tables"]

NO_PORT = 255
Serve = Callable[[int, int, list[int]], int]
"""One cycle of an egress scheduler, its link free: (requests, fits, sizes of heads) to the lane that starts or -1."""


class Delivery(NamedTuple):
    """A packet whose last flit was received."""

    source: int
    target: int
    dlid: int
    sl: int
    flits: int
    generated: int
    delivered: int
    switches: int


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

    def freed_by(self, flit: Flit) -> int:
        """Return the blocks that are free when this flit has left: one with the last flit of a block."""
        return int(flit.is_last or (flit.place + 1) % self.flits_per_block == 0)


class Tables(NamedTuple):
    """Output by (switch, DLID), outgoing VL by (switch, input, output, SL or incoming VL), NICs' VL by (NIC, SL)."""

    lft: NDArray[np.uint8]
    vl: NDArray[np.uint8]
    nic_vl: NDArray[np.uint8]
    by_lane: bool = False


def _after(last: int, count: int) -> Iterator[int]:
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
    """An output buffer, its scheduler and its link, of a switch's output or a NIC (S6, S7, S9)."""

    def __init__(self, sizes: Sizes, flight: int, serve: Serve) -> None:
        self.sizes, self.flight, self.serve = sizes, flight, serve
        self.room, self.far_room = Room(sizes), Room(sizes)
        self.buffer: list[deque[Flit]] = [deque() for _ in range(sizes.lanes)]
        self.sending: int | None = None
        self.link: deque[tuple[int, int, Flit]] = deque()
        self.returns: deque[tuple[int, int, int]] = deque()
        self.receive: Callable[[int, int, Flit], None] | None = None

    def count_returns(self, now: int) -> None:
        """Count the room that has come back on the reverse lane."""
        while self.returns and self.returns[0][0] <= now:
            _, lane, blocks = self.returns.popleft()
            self.far_room.change(lane, -blocks)

    def give_back(self, now: int, lane: int, flit: Flit) -> None:
        """Send the room of a flit that left the far buffer on its way (S8, N3)."""
        self.returns.append((now + self.flight + 1, lane, self.sizes.freed_by(flit)))

    def decide(self) -> int | None:
        """Return the lane whose packet starts, stepping the scheduler if the link is free."""
        if self.sending is not None or self.receive is None:
            return None
        request, fits, blocks = 0, 0, [0] * self.sizes.lanes
        for lane, flits in enumerate(self.buffer):
            if flits:
                head = flits[0]
                assert head.place == 0, "a free link and a packet that was begun"
                blocks[lane] = head.packet.blocks
                request |= 1 << lane
                fits |= self.far_room.fits(lane, head.packet.blocks) << lane
        lane = self.serve(request, fits, blocks)
        return lane if lane >= 0 else None

    def start(self, lane: int) -> None:
        """Let the packet at the head of a lane hold the link; its room at the next node is taken."""
        self.sending = lane
        self.far_room.change(lane, self.buffer[lane][0].packet.blocks)

    def move(self, now: int) -> None:
        """Send one flit and deliver the flit that arrives."""
        if self.sending is not None:
            lane = self.sending
            flit = self.buffer[lane].popleft()
            self.link.append((now + self.flight, lane, flit))
            self.room.change(lane, -self.sizes.freed_by(flit))
            self.sending = None if flit.is_last else lane
        if self.link and self.link[0][0] == now:
            _, lane, flit = self.link.popleft()
            assert self.receive is not None
            self.receive(now, lane, flit)


class Grant(NamedTuple):
    """A packet that may cross a switch: from where to where; no output if it is dropped."""

    port: int
    lane: int
    packet: Packet
    output: int | None
    out_lane: int


class Input:
    """An input buffer of a switch."""

    def __init__(self, sizes: Sizes, feeder: Egress | None) -> None:
        self.feeder = feeder
        self.buffer: list[deque[Flit]] = [deque() for _ in range(sizes.lanes)]
        self.heads: list[deque[tuple[int, Packet]]] = [deque() for _ in range(sizes.lanes)]
        self.last_lane = sizes.lanes - 1
        self.free_from = 0
        self.crossing: Grant | None = None

    def receive(self, now: int, lane: int, flit: Flit) -> None:
        """Write a flit that arrives; a head takes part in the allocation two cycles later (S1)."""
        self.buffer[lane].append(flit)
        if flit.place == 0:
            self.heads[lane].append((now + 2, flit.packet))


class Switch:
    """A switch: its inputs and the first two stages of its allocation (S1 to S5, S8, S10)."""

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        self.number, self.tables, self.sizes = number, tables, sizes
        self.inputs, self.outputs = inputs, outputs
        self.last_input = [len(inputs) - 1] * len(outputs)
        self.output_free_from = [0] * len(outputs)

    def join(self, now: int) -> None:
        """Note who takes part from this cycle on: nothing to do where inputs and outputs choose in turns."""

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted in this cycle, at most one for each input and each output."""
        granted: list[Grant] = []
        wishes: dict[int, list[Grant]] = {}
        for port in range(len(self.inputs)):
            wish = next(self._candidates(port, now), None)
            if wish is None:
                continue
            if wish.output is None:
                granted.append(wish)
            else:
                wishes.setdefault(wish.output, []).append(wish)
        for output, wanting in wishes.items():
            by_port = {wish.port: wish for wish in wanting}
            turn = _after(self.last_input[output], len(self.inputs))
            granted.append(next(by_port[port] for port in turn if port in by_port))
        return granted

    def _candidates(self, port: int, now: int) -> Iterator[Grant]:
        """Yield what an input may pick, in its order (S2)."""
        source = self.inputs[port]
        if now < source.free_from:
            return
        for lane in _after(source.last_lane, self.sizes.lanes):
            if source.heads[lane] and source.heads[lane][0][0] <= now:
                wish = self._route(port, lane, source.heads[lane][0][1])
                if wish.output is None or self._takes(now, wish.output, wish.out_lane):
                    yield wish

    def _takes(self, now: int, output: int, lane: int) -> bool:
        """Tell whether an output is not busy and has room for the largest packet of a lane."""
        room = self.outputs[output].room
        return now >= self.output_free_from[output] and room.fits(lane, self.sizes.largest[lane])

    def _route(self, port: int, lane: int, packet: Packet) -> Grant:
        output = int(self.tables.lft[self.number, packet.dlid])
        if output != NO_PORT:
            index = lane if self.tables.by_lane else packet.sl
            out_lane = int(self.tables.vl[self.number, port, output, index])
            if out_lane < self.sizes.lanes:
                return Grant(port, lane, packet, output, out_lane)
        return Grant(port, lane, packet, None, lane)

    def move(self, now: int) -> None:
        """Let one flit of every granted packet cross (S5), and its place in the input buffer return (S8)."""
        for source in self.inputs:
            if source.crossing is None:
                continue
            _, lane, packet, output, out_lane = source.crossing
            flit = source.buffer[lane].popleft()
            assert flit.packet is packet, "flits of two packets mixed"
            if output is not None:
                self.outputs[output].buffer[out_lane].append(flit)
                packet.switches += flit.place == 0
            assert source.feeder is not None
            source.feeder.give_back(now, lane, flit)
            if flit.is_last:
                source.crossing = None

    def grant(self, now: int, grant: Grant) -> None:
        """Begin to cross from the next cycle on; room is reserved for the whole packet and the pointers move (S4)."""
        source, packet = self.inputs[grant.port], grant.packet
        source.heads[grant.lane].popleft()
        source.crossing, source.free_from = grant, now + packet.flits
        source.last_lane = grant.lane  # of a drop too: S10 calls it granted, though no second stage took part
        if grant.output is not None:
            self.last_input[grant.output] = grant.port
            self.output_free_from[grant.output] = now + packet.flits
            self.outputs[grant.output].room.change(grant.out_lane, packet.blocks)


class Request(NamedTuple):
    """A first packet that waits for its output: the cycle in which it joined, and what it would be granted."""

    joined: int
    wish: Grant


class FifoSwitch(Switch):
    """A switch with a queue of requests at every output (Q1 to Q3) instead of turns (S2 to S4)."""

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        super().__init__(number, tables, sizes, inputs, outputs)
        self.requests: list[list[Request]] = [[] for _ in outputs]
        self.granted_in: dict[tuple[int, int], int] = {}

    def join(self, now: int) -> None:
        """Append the requests of this cycle: by input, then by incoming VL (Q1). A packet that drops has none."""
        waiting = {(wish.port, wish.lane) for queue in self.requests for _, wish in queue}
        for wish in self._firsts(now):
            if wish.output is not None and (wish.port, wish.lane) not in waiting:
                takes_part_from, _ = self.inputs[wish.port].heads[wish.lane][0]
                after_the_one_before = self.granted_in.get((wish.port, wish.lane), -1) + 1
                assert now == max(takes_part_from, after_the_one_before), "a request that joins late"
                self.requests[wish.output].append(Request(now, wish))
        self._check_requests(now)

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted in this cycle: those that drop, then output by output (Q2, Q3)."""
        granted: dict[int, Grant] = {}
        for wish in self._firsts(now):
            if wish.output is None and self._is_free(now, wish.port):
                granted.setdefault(wish.port, wish)
        for output, queue in enumerate(self.requests):
            if now < self.output_free_from[output]:
                continue
            for _, wish in queue:
                if wish.port in granted or not self._is_free(now, wish.port):
                    continue
                if self.outputs[output].room.fits(wish.out_lane, wish.packet.blocks):
                    granted[wish.port] = wish
                    break
        return list(granted.values())

    def grant(self, now: int, grant: Grant) -> None:
        """Begin to cross from the next cycle on; the request leaves its queue, the others keep their places."""
        source = self.inputs[grant.port]
        assert source.crossing is None, "an input that is granted while a packet crosses"
        assert source.heads[grant.lane][0][1] is grant.packet, "a grant to another than the first packet"
        if grant.output is not None:
            assert now >= self.output_free_from[grant.output], "an output that is granted while it is busy"
            queue = self.requests[grant.output]
            queue.remove(next(request for request in queue if request.wish == grant))
        self.granted_in[grant.port, grant.lane] = now
        super().grant(now, grant)  # the turns that it keeps are of no use here

    def _firsts(self, now: int) -> Iterator[Grant]:
        """Yield the first packet of every VL's queue that takes part (S1), by input, then by incoming VL."""
        for port, source in enumerate(self.inputs):
            for lane, heads in enumerate(source.heads):
                if heads and heads[0][0] <= now:
                    yield self._route(port, lane, heads[0][1])

    def _is_free(self, now: int, port: int) -> bool:
        """Tell whether an input is not busy (S5)."""
        return now >= self.inputs[port].free_from

    def _check_requests(self, now: int) -> None:
        """Check that every first packet with an output waits there, once, and nothing else; in the order of Q1."""
        for output, queue in enumerate(self.requests):
            assert all(wish.output == output for _, wish in queue), "a request for another output"
            places = [(joined, wish.port, wish.lane) for joined, wish in queue]
            assert places == sorted(places), "requests out of order"
            assert all(joined <= now for joined, _, _ in places), "a request from the future"
        waiting = [(wish.port, wish.lane) for queue in self.requests for _, wish in queue]
        assert len(waiting) == len(set(waiting)), "two requests of one VL of an input"
        wishes = {wish for queue in self.requests for _, wish in queue}
        firsts = {wish for wish in self._firsts(now) if wish.output is not None}
        assert wishes == firsts, "requests that are not those of the first packets"


class Nic:
    """A NIC: application queues, an egress, and what it receives (N1 to N4)."""

    def __init__(self, sizes: Sizes, vl: Sequence[int], egress: Egress, queues: list[deque[Packet]]) -> None:
        self.sizes, self.vl, self.egress, self.queues = sizes, vl, egress, queues
        self.last_queue = len(queues) - 1
        self.feeder: Egress | None = None
        self.deliveries: list[Delivery] = []

    def decide(self, now: int) -> int | None:
        """Return the queue a packet is taken from (N1)."""
        for number in _after(self.last_queue, len(self.queues)):
            queue = self.queues[number]
            if queue and queue[0].generated <= now:
                lane = int(self.vl[queue[0].sl])
                if self.egress.room.fits(lane, self.sizes.largest[lane]):
                    return number
        return None

    def take(self, number: int) -> None:
        """Write a whole packet to the output buffer (N2)."""
        packet = self.queues[number].popleft()
        lane = int(self.vl[packet.sl])
        self.last_queue = number
        self.egress.room.change(lane, packet.blocks)
        self.egress.buffer[lane].extend(Flit(packet, place) for place in range(packet.flits))

    def receive(self, now: int, lane: int, flit: Flit) -> None:
        """Receive a flit; its room goes back at once (N3)."""
        assert self.feeder is not None
        self.feeder.give_back(now, lane, flit)
        if flit.is_last:
            it = flit.packet
            self.deliveries.append(
                Delivery(it.source, it.target, it.dlid, it.sl, it.flits, it.generated, now, it.switches)
            )


class PlainNetwork:
    """Switches and NICs at rest, cabled: ``far`` maps (switch, port) to (switch, port), ``hosts`` lists NICs' ends.

    The ``allocation`` of the switches is by ``turns`` (S2 to S4) or from queues of requests, ``fifo`` (Q1 to Q3).
    """

    def __init__(
        self,
        far: dict[tuple[int, int], tuple[int, int]],
        hosts: Sequence[tuple[int, int]],
        tables: Tables,
        sizes: Sizes,
        packets: Iterable[Packet],
        new_serve: Callable[[], Serve],
        flight: int = 1,
        allocation: str = "turns",
    ) -> None:
        new_switch = {"turns": Switch, "fifo": FifoSwitch}[allocation]
        switches, ports = tables.vl.shape[0], tables.vl.shape[2]
        ends = [(switch, port) for switch in range(switches) for port in range(ports)]
        output = {end: Egress(sizes, flight, new_serve()) for end in ends}
        nic_output = [Egress(sizes, flight, new_serve()) for _ in hosts]
        feeder = {end: output[far[end]] for end in far} | dict(zip(hosts, nic_output, strict=True))
        source = {end: Input(sizes, feeder.get(end)) for end in ends}
        self.now = 0
        self.switches = [
            new_switch(
                number,
                tables,
                sizes,
                [source[number, port] for port in range(ports)],
                [output[number, port] for port in range(ports)],
            )
            for number in range(switches)
        ]
        self.nics: list[Nic] = []
        waiting = sorted(packets, key=lambda packet: packet.generated)
        count = 1 + max((packet.queue for packet in waiting), default=0)
        for host, end in enumerate(hosts):
            queues = [deque(it for it in waiting if (it.source, it.queue) == (host, queue)) for queue in range(count)]
            nic = Nic(sizes, tables.nic_vl[host], nic_output[host], queues)
            nic.feeder, output[end].receive = output[end], nic.receive
            self.nics.append(nic)
        for end, egress in feeder.items():
            egress.receive = source[end].receive
        self.egresses = [*output.values(), *nic_output]

    def step(self) -> None:
        """Run one cycle: decide everything from the state at its start, then move."""
        now = self.now
        for egress in self.egresses:
            egress.count_returns(now)
        for switch in self.switches:
            switch.join(now)
        starts = [(egress, egress.decide()) for egress in self.egresses]
        grants = [(switch, switch.decide(now)) for switch in self.switches]
        taken = [(nic, nic.decide(now)) for nic in self.nics]
        for egress, lane in starts:
            if lane is not None:
                egress.start(lane)
            egress.move(now)
        for switch, granted in grants:
            switch.move(now)
            for grant in granted:
                switch.grant(now, grant)
        for nic, number in taken:
            if number is not None:
                nic.take(number)
        self.now += 1

    def run(self, cycles: int) -> list[Delivery]:
        """Run up to a cycle and return what was delivered before it, in order."""
        while self.now < cycles:
            self.step()
        return sorted(delivery for nic in self.nics for delivery in nic.deliveries)
