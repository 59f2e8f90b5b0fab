"""Plain network of input-buffered switches and NICs, simulated flit by flit and cycle by cycle.

Rules: IBS-1 to IBS-5, IBS-8 and IBS-10 (``docs/ib_switch.md``); NET-1 to NET-4 (``docs/network.md``). Every cycle has
two phases: all decisions are made from the state at the start of the cycle; then they are applied and every flit moves.

- ``golden/plain/link.py``: output buffers and links (IBS-6 to IBS-9)
- ``golden/plain/credits.py``: flow-control packets (IBS-C1 to IBS-C6)
- ``golden/plain/faster.py``, ``fifo.py``, ``per_vl.py``, ``per_vl_fifo.py``, ``flits.py``, ``fast.py``: other
  allocations (IBS-I, IBS-S, IBS-Q, IBS-P, IBS-PQ, IBS-F, IBF)
- ``golden/plain/schedulers.py``, ``deficits.py``: egress schedulers
- ``golden/plain/opa.py``, ``opa_flits.py``: Omni-Path switches (OPAS-1 to OPAS-8, OPAS-F)
- ``golden/plain/trunks.py``: random members of trunks (NET-6)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.plain.credits import Credits, FcpEgress
from vlane.golden.plain.faults import Faults
from vlane.golden.plain.link import Egress, Flit, Packet, Room, Serve, Sizes, round_robin
from vlane.golden.plain.trunks import Trunks

NO_PORT = 255
NO_FAULTS = Faults()
NO_TRUNKS = Trunks()
CrossbarPort = tuple[str, int, int]
"""A crossbar port: "input" or "output", the port number, and the VL (0 unless the crossbar has a port per VL)."""


class Delivery(NamedTuple):
    """A delivered packet. ``delivered`` is the cycle of its last flit."""

    source: int
    target: int
    dlid: int
    sl: int
    flits: int
    generated: int
    delivered: int
    switches: int


class Tables(NamedTuple):
    """Routing tables.

    Output by (switch, DLID); outgoing VL by (switch, input, output, SL or, with ``by_lane``, incoming VL); VL of a
    NIC by (NIC, SL).
    """

    lft: NDArray[np.uint8]
    vl: NDArray[np.uint8]
    nic_vl: NDArray[np.uint8]
    by_lane: bool = False
    faults: Faults = NO_FAULTS
    trunks: Trunks = NO_TRUNKS


class Grant(NamedTuple):
    """A packet's path through a switch: input port and VL, output port and VL. ``output`` is None if it is dropped."""

    port: int
    lane: int
    packet: Packet
    output: int | None
    out_lane: int


class Input:
    """An input buffer of a switch. ``egress`` is the sending side of the same port."""

    def __init__(self, sizes: Sizes, egress: Egress) -> None:
        self.sizes, self.egress = sizes, egress
        self.room = Room(sizes)
        self.buffer: list[deque[Flit]] = [deque() for _ in range(sizes.lanes)]
        self.heads: list[deque[tuple[int, Packet]]] = [deque() for _ in range(sizes.lanes)]
        self.last_lane = sizes.lanes - 1
        self.crossing: dict[int, Grant] = {}

    def receive(self, now: int, lane: int, flit: Flit) -> None:
        """Write an arriving flit to the buffer. A head takes part in allocation two cycles later (IBS-1)."""
        self.buffer[lane].append(flit)
        self.room.change(lane, self.sizes.taken_by(flit))
        if flit.place == 0:
            self.heads[lane].append((now + 2, flit.packet))

    def give_back(self, now: int, lane: int, flit: Flit) -> None:
        """Free the space of a flit that crosses and return its credits over the cable (IBS-8)."""
        self.room.change(lane, -self.sizes.freed_by(flit))
        self.egress.give_back(now, lane, flit)


class Switch:
    """A switch: inputs, crossbar, and two-stage round-robin allocation (IBS-1 to IBS-5, IBS-8, IBS-10).

    ``egress`` is the class of its sending sides.
    """

    egress: type[Egress] = Egress

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        self.number, self.tables, self.sizes = number, tables, sizes
        self.inputs, self.outputs = inputs, outputs
        self.last_input = [len(inputs) - 1] * len(outputs)
        self.free_from: dict[CrossbarPort, int] = {}

    def join(self, now: int) -> None:
        """Register new first packets. The two-stage allocation needs no registration."""

    def decide(self, now: int) -> list[Grant]:
        """Return the packets granted in this cycle, at most one per input and output (IBS-2, IBS-3)."""
        granted: list[Grant] = []
        candidates: dict[int, list[Grant]] = {}
        for port in range(len(self.inputs)):
            candidate = next(self.candidates(port, now), None)
            if candidate is None:
                continue
            if candidate.output is None:
                granted.append(candidate)
            else:
                candidates.setdefault(candidate.output, []).append(candidate)
        for output, wanting in candidates.items():
            by_port = {candidate.port: candidate for candidate in wanting}
            turn = round_robin(self.last_input[output], len(self.inputs))
            granted.append(next(by_port[port] for port in turn if port in by_port))
        return granted

    def candidates(self, port: int, now: int) -> Iterator[Grant]:
        """Yield the packets that an input may pick, in round-robin order (IBS-2)."""
        firsts = {candidate.lane: candidate for candidate in self.firsts_of(port, now)}
        for lane in round_robin(self.inputs[port].last_lane, self.sizes.lanes):
            if lane in firsts and self.can_cross(now, firsts[lane]):
                yield firsts[lane]

    def firsts_of(self, port: int, now: int) -> Iterator[Grant]:
        """Yield the first packets of an input's queues that take part, by incoming VL (IBS-1)."""
        for lane, heads in enumerate(self.inputs[port].heads):
            if heads and heads[0][0] <= now:
                takes_part_from, packet = heads[0]
                yield self.route(port, lane, packet, takes_part_from - 2)

    def firsts(self, now: int) -> Iterator[Grant]:
        """Yield the first packets of all queues that take part, by input, then by incoming VL (IBS-1)."""
        for port in range(len(self.inputs)):
            yield from self.firsts_of(port, now)

    def can_cross(self, now: int, candidate: Grant) -> bool:
        """Return whether a packet's crossbar ports are free and its output buffer has space (IBS-2).

        The output buffer needs space for the largest packet of the outgoing VL.
        """
        if not self.is_free(now, candidate):
            return False
        largest = self.sizes.largest[candidate.out_lane]
        return candidate.output is None or self.outputs[candidate.output].room.fits(candidate.out_lane, largest)

    def is_free(self, now: int, candidate: Grant) -> bool:
        """Return whether all crossbar ports of a packet are free (IBS-5)."""
        return all(now >= self.free_from.get(port, 0) for port in self.ports(candidate))

    def ports(self, candidate: Grant) -> list[CrossbarPort]:
        """Return the crossbar ports of a packet: the input, and the output unless the packet is dropped."""
        output: list[CrossbarPort] = [] if candidate.output is None else [("output", candidate.output, 0)]
        return [("input", candidate.port, 0), *output]

    def route(self, port: int, lane: int, packet: Packet, arrived: int) -> Grant:
        """Return the path of a packet whose head arrived in cycle ``arrived`` (stage RT, IBS-10)."""
        table = int(self.tables.lft[self.number, packet.dlid])
        output = self.tables.faults.port_of(table, self.number, packet.dlid, arrived)
        if output != NO_PORT:
            index = lane if self.tables.by_lane else packet.sl
            out_lane = int(self.tables.vl[self.number, port, output, index])
            if out_lane < self.sizes.lanes:
                member = self.tables.trunks.member_of(self.number, port, output, packet, arrived)
                return Grant(port, lane, packet, member, out_lane)
        return Grant(port, lane, packet, None, lane)

    def move(self, now: int) -> None:
        """Move one flit of every granted packet through the crossbar (IBS-5)."""
        for source in self.inputs:
            for grant in list(source.crossing.values()):
                self.cross(now, grant)

    def cross(self, now: int, grant: Grant) -> None:
        """Move the next flit of a packet through the crossbar and return its credits (IBS-8)."""
        port, lane, packet, output, out_lane = grant
        source = self.inputs[port]
        flit = source.buffer[lane].popleft()
        assert flit.packet is packet, "flits of two packets mixed"
        if output is not None:
            self.outputs[output].write(out_lane, flit)
            packet.switches += flit.place == 0
        source.give_back(now, lane, flit)
        if flit.is_last:
            del source.crossing[lane]

    def grant(self, now: int, grant: Grant) -> None:
        """Start to move a packet from the next cycle on (IBS-4, IBS-5).

        Output-buffer space is reserved for the whole packet, and the round-robin pointers move.
        """
        source, packet = self.inputs[grant.port], grant.packet
        _, first = source.heads[grant.lane].popleft()
        assert first is packet, "a grant to another than the first packet"
        assert self.is_free(now, grant), "a grant while the crossbar is busy"
        assert grant.lane not in source.crossing, "a grant while a packet of the queue crosses"
        source.crossing[grant.lane] = grant
        self.free_from |= dict.fromkeys(self.ports(grant), now + packet.flits)
        if grant.output is not None:
            self.outputs[grant.output].room.change(grant.out_lane, packet.blocks)
        self.move_pointers(grant)

    def move_pointers(self, grant: Grant) -> None:
        """Move the round-robin pointers after a grant (IBS-4)."""
        self.inputs[grant.port].last_lane = grant.lane  # also for a drop (IBS-4)
        if grant.output is not None:
            self.last_input[grant.output] = grant.port


class Nic:
    """A NIC: application queues, the sending side of its port, and reception (NET-1 to NET-4)."""

    def __init__(
        self, number: int, sizes: Sizes, vl: Sequence[int], egress: Egress, queues: list[deque[Packet]]
    ) -> None:
        self.number, self.sizes, self.vl, self.egress, self.queues = number, sizes, vl, egress, queues
        self.last_queue = len(queues) - 1
        self.deliveries: list[Delivery] = []

    def decide(self, now: int) -> int | None:
        """Return the queue from which a packet is taken, or None (NET-1)."""
        for number in round_robin(self.last_queue, len(self.queues)):
            queue = self.queues[number]
            if queue and queue[0].generated <= now:
                lane = int(self.vl[queue[0].sl])
                if self.egress.room.fits(lane, self.sizes.largest[lane]):
                    return number
        return None

    def take(self, queue: int) -> None:
        """Write the head packet of a queue to the output buffer (NET-2)."""
        packet = self.queues[queue].popleft()
        lane = int(self.vl[packet.sl])
        self.last_queue = queue
        self.egress.room.change(lane, packet.blocks)
        for place in range(packet.flits):
            self.egress.write(lane, Flit(packet, place))

    def receive(self, now: int, lane: int, flit: Flit) -> None:
        """Receive a flit, whatever its destination, and return its credits at once (NET-3)."""
        self.egress.give_back(now, lane, flit)
        if flit.is_last:
            packet = flit.packet
            self.deliveries.append(
                Delivery(
                    packet.source,
                    self.number,
                    packet.dlid,
                    packet.sl,
                    packet.flits,
                    packet.generated,
                    now,
                    packet.switches,
                )
            )


class PlainNetwork:
    """An idle, cabled network of switches and NICs.

    ``far`` maps each (switch, port) to the (switch, port) at the other end of its cable; ``hosts`` lists the (switch,
    port) of each NIC. With ``credits`` FCPs carry the limits (IBS-C1 to IBS-C6); without, credits return flit by flit
    (IBS-8, NET-3). ``faults`` are applied while it runs.
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
        switch: type[Switch] = Switch,
        credits: Credits | None = None,  # noqa: A002 - what they are called
        faults: Faults = NO_FAULTS,
    ) -> None:
        def new_egress(kind: type[Egress] = Egress) -> Egress:
            if credits is None:
                return kind(sizes, flight, new_serve())
            return FcpEgress(sizes, flight, new_serve(), credits)

        tables = tables._replace(faults=faults)
        switches, ports = tables.vl.shape[0], tables.vl.shape[2]
        ends = [(number, port) for number in range(switches) for port in range(ports)]
        output = {end: new_egress(switch.egress) for end in ends}
        for end, egress in output.items():
            egress.stalls, egress.losses = faults.stalls_of(*end), faults.losses_of(*end)
            egress.swaps = faults.swaps_of(*end)
        source = {end: Input(sizes, output[end]) for end in ends}
        for end, other in far.items():
            output[end].join(output[other], source[other].receive)
        self.now = 0
        self.switches = [
            switch(
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
            nic = self.new_nic(host, sizes, tables.nic_vl[host], new_egress(), queues)
            nic.egress.join(output[end], source[end].receive)
            output[end].join(nic.egress, nic.receive)
            self.nics.append(nic)
        self.output = output
        self.egresses = [*output.values(), *(nic.egress for nic in self.nics)]

    def new_nic(
        self, nic_number: int, sizes: Sizes, vl: Sequence[int], egress: Egress, queues: list[deque[Packet]]
    ) -> Nic:
        """Return a NIC."""
        return Nic(nic_number, sizes, vl, egress, queues)

    def set_cable(self, end: tuple[int, int], flight: int, pace: Fraction) -> None:
        """Set the flight time and pace of the cable at a switch port, in both directions."""
        for egress in (self.output[end], self.output[end].peer):
            assert egress is not None
            egress.flight, egress.pace = flight, pace

    def set_nic_sizes(self, sizes: Sizes) -> None:
        """Replace the sizes of the NICs' output buffers."""
        for nic in self.nics:
            nic.egress.room = Room(sizes)

    def joined(self) -> None:
        """Do nothing. Subclasses measure waiting packets here, after new first packets are registered."""

    def step(self) -> None:
        """Run a cycle: make all decisions from the state at its start, then apply them."""
        now = self.now
        for egress in self.egresses:
            egress.begin(now)
        for switch in self.switches:
            switch.join(now)
        self.joined()
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
        """Run up to a cycle and return the deliveries before it, sorted."""
        while self.now < cycles:
            self.step()
        return sorted(delivery for nic in self.nics for delivery in nic.deliveries)
