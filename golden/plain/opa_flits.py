"""Plain Omni-Path switches that are allocated flit by flit: OPAS-F1 to OPAS-F6 of ``docs/opa_switch.md``.

A granted flit leaves its queue at once and crosses in the next cycle. Its space becomes free when it crosses. The
passes of a cycle follow each other, so the grants of a cycle change the state that later passes see. No other switch
reads the state in the same cycle.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

from vlane.golden.plain.faults import Faults
from vlane.golden.plain.link import Egress, Flit, Packet, Sizes
from vlane.golden.plain.network import Input
from vlane.golden.plain.opa import (
    LINKS,
    MPORT,
    READ_PORTS,
    WIDTH,
    Candidate,
    Central,
    ChannelPacket,
    ChannelTables,
    OPASwitch,
    Plan,
    ReadPort,
    round_robin_order,
)


class FlitCentral(Central):
    """A central buffer whose flits are read separately.

    ``crossed`` stores the cycle in which each flit of ``buffer`` crossed, ``writer`` the packet that is written to a
    VL and not complete.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.crossed: list[deque[int]] = [deque() for _ in range(sizes.lanes)]
        self.writer: dict[int, Packet] = {}


class Crossing(NamedTuple):
    """A granted flit and its path."""

    candidate: Candidate
    flit: Flit


class OPAFlitSwitch(OPASwitch):
    """A switch that grants every flit separately, in three passes a cycle (OPAS-F1 to OPAS-F6)."""

    def __init__(
        self,
        number: int,
        tables: ChannelTables,
        central: Sizes,
        inputs: list[Input],
        outputs: list[Egress],
        faults: Faults,
    ) -> None:
        super().__init__(number, tables, central, inputs, outputs, faults)
        self.flit_centrals = [FlitCentral(central) for _ in self.centrals]
        self.centrals = [*self.flit_centrals]
        self.read_ports = [[ReadPort(buffer) for _ in range(READ_PORTS)] for buffer in self.flit_centrals]
        self.last_local = [MPORT - 1] * len(outputs)
        self.last_central = [READ_PORTS * len(self.flit_centrals) - 1] * len(outputs)
        self.paths: dict[Packet, Candidate] = {}
        self.onward: dict[Packet, Candidate] = {}
        self.granted: list[Crossing] = []
        self.crossing: list[Crossing] = []
        self.parts: dict[Packet, list[Flit]] = {}

    def decide(self, now: int) -> Plan:
        """Run the passes of a cycle (OPAS-F1). The grants take effect at once, and the plan is empty."""
        assert not self.granted, "grants of an earlier cycle that did not cross"
        for _ in range(WIDTH):
            self._run_pass(now)
        return Plan([], [])

    def _run_pass(self, now: int) -> None:
        local: dict[int, dict[int, Candidate]] = {}
        links: dict[int, dict[int, Candidate]] = {}
        central: dict[int, dict[int, Candidate]] = {}
        for candidate in [*self._flits_of_inputs(now), *self._flits_of_read_ports(now)]:
            if candidate.target is None:
                self._grant_flit(candidate)
            elif isinstance(candidate.reader, ReadPort):
                central.setdefault(candidate.output, {})[candidate.turn] = candidate
            elif isinstance(candidate.target, Central):
                links.setdefault(self.centrals.index(candidate.target), {})[candidate.turn] = candidate
            else:
                local.setdefault(candidate.output, {})[candidate.turn] = candidate
        for output in sorted(local.keys() | central.keys()):
            for last, by_turn, turns in (
                (self.last_local, local.get(output, {}), MPORT),
                (self.last_central, central.get(output, {}), READ_PORTS * len(self.centrals)),
            ):
                for turn in round_robin_order(last[output], turns):
                    if turn in by_turn and self._may_cross(by_turn[turn]):
                        last[output] = turn
                        self._grant_flit(by_turn[turn])
                        break
        for mport, by_turn in links.items():
            free = LINKS
            for turn in round_robin_order(self.last_turn["links", mport], MPORT):
                if free and turn in by_turn and self._may_cross(by_turn[turn]):
                    free -= 1
                    self.last_turn["links", mport] = turn
                    self._grant_flit(by_turn[turn])

    def _may_cross(self, candidate: Candidate) -> bool:
        """Return whether the next flit of a packet may cross (OPAS-F2): the first one needs space for its packet."""
        flit = candidate.reader.buffer[candidate.lane][0]
        target = candidate.target
        if flit.place > 0 or target is None:
            return True
        if isinstance(target, FlitCentral) and candidate.out_lane in target.writer:
            return False
        return target.room.fits(candidate.out_lane, target.sizes.largest[candidate.out_lane])

    def _flits_of_inputs(self, now: int) -> Iterator[Candidate]:
        """Yield the flit that each input picks (OPAS-F2)."""
        for port, source in enumerate(self.inputs):
            for lane in round_robin_order(source.last_lane, len(source.buffer)):
                if not source.heads[lane]:
                    continue
                takes_part_from, packet = source.heads[lane][0]
                if not source.buffer[lane] or takes_part_from + source.buffer[lane][0].place > now:
                    continue
                assert isinstance(packet, ChannelPacket)
                assert source.buffer[lane][0].packet is packet, "a flit of another packet than the first"
                if packet not in self.paths:
                    candidate = self._wish_of_input(port, lane, packet, takes_part_from - 2, set())
                else:
                    candidate = self.paths[packet]
                if self._may_cross(candidate):
                    yield candidate
                    break

    def _flits_of_read_ports(self, now: int) -> Iterator[Candidate]:
        """Yield the flit that each read port picks (OPAS-F2). The first port of a buffer picks first."""
        for mport, readers in enumerate(self.read_ports):
            picked: set[int] = set()
            for number, reader in enumerate(readers):
                central = self.flit_centrals[mport]
                for lane in round_robin_order(reader.last_lane, len(central.buffer)):
                    if lane in picked or not central.buffer[lane] or central.crossed[lane][0] + 2 > now:
                        continue
                    packet = central.buffer[lane][0].packet
                    assert isinstance(packet, ChannelPacket)
                    routed, turn = self.onward[packet], READ_PORTS * mport + number
                    output, sc, target = routed.output, routed.sc, self.outputs[routed.output]
                    candidate = Candidate(
                        packet, reader, lane, frozenset(), target, output, lane, sc, ("output", output), turn
                    )
                    if self._may_cross(candidate):
                        picked.add(lane)
                        yield candidate
                        break

    def _grant_flit(self, candidate: Candidate) -> None:
        """Grant the next flit of a packet: reserve space for all of it with its first flit, and move the pointer."""
        reader, target, packet = candidate.reader, candidate.target, candidate.packet
        flit = reader.buffer[candidate.lane].popleft()
        assert flit.packet is packet, "flits of two packets mixed"
        reader.last_lane = candidate.lane
        if isinstance(reader, ReadPort):
            self.flit_centrals[candidate.turn // READ_PORTS].crossed[candidate.lane].popleft()
        elif flit.is_last:
            reader.heads[candidate.lane].popleft()
            self.paths.pop(packet, None)
        else:
            self.paths[packet] = candidate
        if flit.place == 0:
            if target is None:
                self.drops[candidate.cause] += 1
            else:
                target.room.change(candidate.out_lane, packet.blocks)
        if isinstance(target, FlitCentral):
            self.onward[packet] = candidate
            target.writer[candidate.out_lane] = packet
            if flit.is_last:
                del target.writer[candidate.out_lane]
        self.granted.append(Crossing(candidate, flit))

    def apply(self, now: int, plan: Plan) -> None:
        """Move the flits granted in the cycle before (OPAS-F4). The plan is empty."""
        assert plan == Plan([], []), "a plan of another switch"
        for candidate, flit in self.crossing:
            reader, target = candidate.reader, candidate.target
            if isinstance(reader, ReadPort):
                room = reader.central.room
                room.change(candidate.lane, -room.sizes.freed_by(flit))
            else:
                reader.give_back(now, candidate.lane, flit)
            if isinstance(target, FlitCentral):
                queue = target.buffer[candidate.out_lane]
                assert flit.place == 0 or not queue or queue[-1] == flit._replace(place=flit.place - 1), "flits mixed"
                queue.append(flit)
                target.crossed[candidate.out_lane].append(now)
            elif target is not None:
                self._cross_to_output(candidate, flit)
        self.crossing, self.granted = self.granted, []
        self._check_bounds()
        self._check_widths()

    def _cross_to_output(self, candidate: Candidate, flit: Flit) -> None:
        """Move a flit to the output. A complete packet is written to the output buffer (OPAS-F5)."""
        packet = candidate.packet
        self.parts.setdefault(packet, []).append(flit)
        if flit.is_last:
            packet.sc, packet.switches = candidate.sc, packet.switches + 1
            self.onward.pop(packet, None)
            for each in self.parts.pop(packet):
                self.outputs[candidate.output].write(candidate.out_lane, each)

    def _check_widths(self) -> None:
        """Assert that no input, read port, write port or pair of links carries more flits in a cycle than it can."""
        inputs = [id(it.candidate.reader) for it in self.crossing if not isinstance(it.candidate.reader, ReadPort)]
        readers = [it.candidate.turn for it in self.crossing if isinstance(it.candidate.reader, ReadPort)]
        written = [
            (it.candidate.output, isinstance(it.candidate.reader, ReadPort))
            for it in self.crossing
            if isinstance(it.candidate.target, Egress)
        ]
        linked = [id(it.candidate.target) for it in self.crossing if isinstance(it.candidate.target, Central)]
        for places, most in ((inputs, WIDTH), (readers, WIDTH), (written, WIDTH), (linked, LINKS * WIDTH)):
            counts = Counter(places)
            assert all(count <= most for count in counts.values()), "more flits in a cycle than a path carries"
