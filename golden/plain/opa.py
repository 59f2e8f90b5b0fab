"""Plain network of hierarchical Omni-Path switches and NICs: OPAS-1 to OPAS-8 of ``docs/opa_switch.md``.

Links, NICs and buffer space are those of the plain InfiniBand network (``docs/ib_switch.md``, ``docs/network.md``). A
packet that crosses occupies resources: inputs, read ports, write ports, central links and VLs. Each cycle decides from
the state at its start which flits cross, which resources their last flits release, and which packets are granted. Then
all decisions are applied.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.plain.faults import Faults
from vlane.golden.plain.link import Egress, Flit, Packet, Room, Serve, Sizes
from vlane.golden.plain.network import NO_FAULTS, NO_TRUNKS, Input, PlainNetwork, Tables
from vlane.golden.plain.trunks import Trunks

MPORT, LINKS, READ_PORTS, WIDTH = 4, 2, 2, 3
NO_PORT, SC15, CHANNELS = 255, 15, 32
Hold = tuple[str, int, int]
"""A resource that one packet at a time occupies: kind, port or MPort, and number or VL."""
Arbiter = tuple[str, int]
"""An output (OPAS-3) or an MPort's pair of central links (OPAS-4)."""


class ChannelTables(NamedTuple):
    """Routing tables by switch and NIC.

    Output by (switch, DLID), 255 for none; outgoing channel by (switch, input, output, channel), 15 drops; VL by
    (switch, output, outgoing channel), an absent VL drops; channel and VL at the source by (NIC, SL).
    """

    lft: NDArray[np.uint8]
    sc2sc: NDArray[np.uint8]
    sc2vl: NDArray[np.uint8]
    nic_sc: NDArray[np.uint8]
    nic_vl: NDArray[np.uint8]
    trunks: Trunks = NO_TRUNKS


@dataclass(eq=False)
class ChannelPacket(Packet):
    """A packet with a channel in its header. Each switch replaces the channel when the head leaves its input."""

    sc: int = 0


def round_robin_order(last: int, count: int) -> list[int]:
    """Return the numbers below ``count`` in round-robin order. ``last`` comes last."""
    return [*range(last + 1, count), *range(last + 1)]


class Central:
    """A central buffer with a queue for each outgoing VL.

    ``heads`` stores the first cycle of allocation and the output with each head.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.sizes, self.room = sizes, Room(sizes)
        self.buffer: list[deque[Flit]] = [deque() for _ in range(sizes.lanes)]
        self.heads: list[deque[tuple[int, ChannelPacket, int]]] = [deque() for _ in range(sizes.lanes)]


class ReadPort:
    """A read port of a central buffer, which is an input of the central crossbar (OPAS-2)."""

    def __init__(self, central: Central) -> None:
        self.central = central
        self.last_lane = central.sizes.lanes - 1

    @property
    def buffer(self) -> list[deque[Flit]]:
        """Queues of the central buffer."""
        return self.central.buffer


class Candidate(NamedTuple):
    """A head that requests to move: reader, target (None for a drop), and the resources to occupy."""

    packet: ChannelPacket
    reader: Input | ReadPort
    lane: int
    holds: frozenset[Hold]
    target: Egress | Central | None = None
    output: int = NO_PORT
    out_lane: int = 0
    sc: int = SC15
    arbiter: Arbiter | None = None
    turn: int = 0
    cause: str = ""

    def can_go_on(self, busy: set[Hold]) -> bool:
        """Return whether all resources are free and the target buffer has space (OPAS-1, OPAS-2).

        The target needs space for the largest packet of the outgoing VL.
        """
        if not busy.isdisjoint(self.holds):
            return False
        return self.target is None or self.target.room.fits(self.out_lane, self.target.sizes.largest[self.out_lane])


@dataclass(eq=False)
class Transfer:
    """A granted packet that crosses. ``crossed`` counts its flits that have crossed."""

    candidate: Candidate
    crossed: int = 0

    def crossing_now(self) -> int:
        """Return the number of flits that cross in this cycle: all present at its start, up to three (OPAS-6)."""
        queue = self.candidate.reader.buffer[self.candidate.lane]
        return sum(flit.packet is self.candidate.packet for flit in islice(queue, WIDTH))


class Plan(NamedTuple):
    """Decisions of a cycle: number of flits to move for each transfer, and the granted requests."""

    crossings: list[tuple[Transfer, int]]
    grants: list[Candidate]


class OPASwitch:
    """A switch: inputs, central buffers, outputs and their allocation (OPAS-1 to OPAS-8)."""

    def __init__(
        self,
        number: int,
        tables: ChannelTables,
        central: Sizes,
        inputs: list[Input],
        outputs: list[Egress],
        faults: Faults,
    ) -> None:
        self.number, self.tables, self.faults = number, tables, faults
        self.inputs, self.outputs = inputs, outputs
        mports = -(-len(inputs) // MPORT)
        self.centrals = [Central(central) for _ in range(mports)]
        self.read_ports = [[ReadPort(buffer) for _ in range(READ_PORTS)] for buffer in self.centrals]
        self.turns = {("output", output): MPORT + READ_PORTS * mports for output in range(len(outputs))}
        self.turns |= {("links", mport): MPORT for mport in range(mports)}
        self.last_turn = {arbiter: count - 1 for arbiter, count in self.turns.items()}
        self.transfers: list[Transfer] = []
        self.drops: Counter[str] = Counter()

    def decide(self, now: int) -> Plan:
        """Return the flits that cross and the grants of this cycle, without changing the state (OPAS-1 to OPAS-4)."""
        crossings = [(transfer, transfer.crossing_now()) for transfer in self.transfers]
        busy: set[Hold] = set()
        for transfer, count in crossings:
            if transfer.crossed + count < transfer.candidate.packet.flits:  # the last flit does not cross in this cycle
                busy |= transfer.candidate.holds
        grants: list[Candidate] = []
        wanting: dict[Arbiter, dict[int, Candidate]] = {}
        for candidate in [*self._picks_of_inputs(now, busy), *self._picks_of_read_ports(now, busy)]:
            if candidate.arbiter is None:
                grants.append(candidate)
            else:
                assert candidate.turn not in wanting.setdefault(candidate.arbiter, {}), "two wishes in one turn"
                wanting[candidate.arbiter][candidate.turn] = candidate
        for arbiter, by_turn in wanting.items():
            order = round_robin_order(self.last_turn[arbiter], self.turns[arbiter])
            grants.append(next(by_turn[turn] for turn in order if turn in by_turn))
        return Plan(crossings, grants)

    def _picks_of_inputs(self, now: int, busy: set[Hold]) -> Iterator[Candidate]:
        """Yield the request of each input that is not busy (OPAS-1)."""
        for port, source in enumerate(self.inputs):
            for lane in round_robin_order(source.last_lane, len(source.buffer)):
                if source.heads[lane] and source.heads[lane][0][0] <= now:
                    takes_part_from, packet = source.heads[lane][0]
                    assert isinstance(packet, ChannelPacket)
                    candidate = self._wish_of_input(port, lane, packet, takes_part_from - 2, busy)
                    if candidate.can_go_on(busy):
                        yield candidate
                        break

    def _wish_of_input(self, port: int, lane: int, packet: ChannelPacket, arrived: int, busy: set[Hold]) -> Candidate:
        """Route a head: to an output of its own MPort, to the central buffer, or to be dropped (RT, OPAS-8)."""
        source, mport = self.inputs[port], port // MPORT
        held = ("input", port, 0)
        dlids = self.tables.lft.shape[1]
        table = int(self.tables.lft[self.number, packet.dlid]) if packet.dlid < dlids else NO_PORT
        output = self.faults.port_of(table, self.number, packet.dlid, arrived)
        if output == NO_PORT:
            return Candidate(packet, source, lane, frozenset([held]), cause="no port")
        assert output < len(self.outputs), "an output that is not there"
        channel = int(self.tables.sc2sc[self.number, port, output, packet.sc])
        if channel == SC15:
            return Candidate(packet, source, lane, frozenset([held]), cause="SC15")
        out_lane = int(self.tables.sc2vl[self.number, output, channel])
        if out_lane >= len(source.buffer):
            return Candidate(packet, source, lane, frozenset([held]), cause="no VL")
        output = self.tables.trunks.member_of(self.number, port, output, packet, arrived)
        if output // MPORT == mport:
            holds = frozenset([held, ("local write port", output, 0), ("output VL", output, out_lane)])
            target, arbiter = self.outputs[output], ("output", output)
            return Candidate(packet, source, lane, holds, target, output, out_lane, channel, arbiter, port % MPORT)
        link = next((link for link in range(LINKS) if ("link", mport, link) not in busy), 0)  # lower free link (OPAS-4)
        holds = frozenset([held, ("link", mport, link), ("central VL", mport, out_lane)])
        central, arbiter = self.centrals[mport], ("links", mport)
        return Candidate(packet, source, lane, holds, central, output, out_lane, channel, arbiter, port % MPORT)

    def _picks_of_read_ports(self, now: int, busy: set[Hold]) -> Iterator[Candidate]:
        """Yield the request of each read port that is not busy. The first port of an MPort picks first (OPAS-2)."""
        for mport, (central, readers) in enumerate(zip(self.centrals, self.read_ports, strict=True)):
            picked: set[int] = set()
            for number, reader in enumerate(readers):
                for lane in round_robin_order(reader.last_lane, len(central.heads)):
                    if lane in picked or not central.heads[lane] or central.heads[lane][0][0] > now:
                        continue
                    _, packet, output = central.heads[lane][0]
                    write_port, writing = ("central write port", output, 0), ("output VL", output, lane)
                    holds = frozenset([("read port", mport, number), ("read VL", mport, lane), write_port, writing])
                    target, arbiter = self.outputs[output], ("output", output)
                    turn = MPORT + READ_PORTS * mport + number
                    candidate = Candidate(packet, reader, lane, holds, target, output, lane, packet.sc, arbiter, turn)
                    if candidate.can_go_on(busy):
                        picked.add(lane)
                        yield candidate
                        break

    def apply(self, now: int, plan: Plan) -> None:
        """Move the flits of a plan, then start its grants."""
        crossed: Counter[Hold] = Counter()
        for transfer, count in plan.crossings:
            for _ in range(count):
                self._cross(now, transfer)
            crossed.update(dict.fromkeys(transfer.candidate.holds, count))
        assert all(flits <= WIDTH for flits in crossed.values()), "more flits in a cycle than an inner link carries"
        self.transfers = [it for it in self.transfers if it.crossed < it.candidate.packet.flits]
        for candidate in plan.grants:
            self._grant(candidate)
        held = Counter(hold for transfer in self.transfers for hold in transfer.candidate.holds)
        assert all(users == 1 for users in held.values()), "two packets have the same write port, link, port or queue"
        self._check_bounds()

    def _cross(self, now: int, transfer: Transfer) -> None:
        """Move one flit and free its space (OPAS-7)."""
        candidate = transfer.candidate
        flit = candidate.reader.buffer[candidate.lane].popleft()
        assert flit.packet is candidate.packet, "flits of two packets mixed"
        assert flit.place == transfer.crossed, "a flit out of order"
        transfer.crossed += 1
        if isinstance(candidate.reader, ReadPort):
            room = candidate.reader.central.room
            room.change(candidate.lane, -room.sizes.freed_by(flit))
        else:
            candidate.reader.give_back(now, candidate.lane, flit)
        if candidate.target is None:
            return
        queue = candidate.target.buffer[candidate.out_lane]
        if flit.place:
            before = Flit(flit.packet, flit.place - 1)
            assert not queue or queue[-1] == before, "a packet was interrupted"
        else:
            assert not queue or queue[-1].is_last, "a packet interrupts another"
            candidate.packet.sc = candidate.sc
            if isinstance(candidate.target, Central):
                candidate.target.heads[candidate.out_lane].append((now + 2, candidate.packet, candidate.output))
            else:
                candidate.packet.switches += 1
        queue.append(flit)

    def _grant(self, candidate: Candidate) -> None:
        """Start to move a packet from the next cycle on: move the pointers (OPAS-5) and reserve space for all of it."""
        heads = candidate.reader.central.heads if isinstance(candidate.reader, ReadPort) else candidate.reader.heads
        assert heads[candidate.lane].popleft()[1] is candidate.packet, "another head than the one granted"
        candidate.reader.last_lane = candidate.lane
        if candidate.arbiter is None or candidate.target is None:
            self.drops[candidate.cause] += 1
        else:
            self.last_turn[candidate.arbiter] = candidate.turn
            candidate.target.room.change(candidate.out_lane, candidate.packet.blocks)
        self.transfers.append(Transfer(candidate))

    def _check_bounds(self) -> None:
        """Assert that no buffer holds more than its reserved space and that no reservation exceeds the buffer."""
        stores = [(it.room, it.buffer) for it in self.inputs]
        stores += [(it.egress.peer.remote_credit, it.buffer) for it in self.inputs if it.egress.peer is not None]
        stores += [(it.room, it.buffer) for it in self.outputs]
        stores += [(it.room, it.buffer) for it in self.centrals]
        for room, buffer in stores:
            assert sum(room.used) <= room.sizes.blocks, "more blocks taken than there are"
            for used, queue in zip(room.used, buffer, strict=True):
                assert len(queue) <= used * room.sizes.flits_per_block, "more flits than the room they took"


class PlainOPANetwork(PlainNetwork):
    """An idle, cabled network of Omni-Path switches and NICs. ``central`` is the size of every central buffer."""

    def __init__(
        self,
        far: dict[tuple[int, int], tuple[int, int]],
        hosts: Sequence[tuple[int, int]],
        tables: ChannelTables,
        sizes: Sizes,
        central: Sizes,
        packets: Iterable[Packet],
        new_serve: Callable[[], Serve],
        flight: int = 1,
        faults: Faults = NO_FAULTS,
        switch: type[OPASwitch] = OPASwitch,
    ) -> None:
        assert central.lanes == sizes.lanes, "as many lanes in a central buffer as elsewhere"
        assert central.flits_per_block == sizes.flits_per_block, "flits of one size"
        in_header = [self._with_channel(packet, tables, sizes) for packet in packets]
        switches, ports = tables.sc2sc.shape[:2]
        assert tables.sc2sc.shape == (switches, ports, ports, CHANNELS), "outgoing channels by every channel"
        assert tables.sc2vl.shape == (switches, ports, CHANNELS), "lanes by every outgoing channel"
        unused = np.zeros((switches, ports, ports, 1), np.uint8)
        super().__init__(
            far, hosts, Tables(tables.lft, unused, tables.nic_vl), sizes, in_header, new_serve, flight, faults=faults
        )
        self.opa_switches = [
            switch(each.number, tables, central, each.inputs, each.outputs, faults) for each in self.switches
        ]
        self.switches = []  # replaced by the switches with central buffers

    @staticmethod
    def _with_channel(packet: Packet, tables: ChannelTables, sizes: Sizes) -> ChannelPacket:
        """Return a copy of a packet with the channel that its source writes into the header."""
        assert tables.nic_vl[packet.source, packet.sl] < sizes.lanes, "a source without a lane for a service level"
        assert 0 < packet.flits <= packet.blocks * sizes.flits_per_block, "flits that are not of the packet's blocks"
        return ChannelPacket(**vars(packet), sc=int(tables.nic_sc[packet.source, packet.sl]))

    @property
    def drops(self) -> Counter[str]:
        """Number of dropped packets by cause: ``no port``, ``SC15`` and ``no VL``."""
        return sum((switch.drops for switch in self.opa_switches), Counter())

    def step(self) -> None:
        """Run a cycle: switches decide, links and NICs decide and move, then the switches' flits cross."""
        now = self.now
        plans = [(switch, switch.decide(now)) for switch in self.opa_switches]
        super().step()
        for switch, plan in plans:
            switch.apply(now, plan)
