"""Plain switches whose crossbar is allocated flit by flit: IBS-F1 to IBS-F6 of ``docs/ib_switch.md``."""

from __future__ import annotations

from collections.abc import Iterator

from vlane.golden.plain.link import Egress, Flit, Packet, Sizes
from vlane.golden.plain.network import CrossbarPort, Grant, Input, Switch, Tables


class FlitSwitch(Switch):
    """A switch that grants every flit separately. Output buffers receive whole packets (IBS-F1 to IBS-F6)."""

    def __init__(self, number: int, tables: Tables, sizes: Sizes, inputs: list[Input], outputs: list[Egress]) -> None:
        super().__init__(number, tables, sizes, inputs, outputs)
        self.crossed: dict[Packet, int] = {}
        self.routed: dict[Packet, Grant] = {}
        self.crossing: list[Grant] = []
        self.half: dict[Packet, list[Flit]] = {}

    def firsts_of(self, port: int, now: int) -> Iterator[Grant]:
        """Yield the first packets of an input's queues with a flit that takes part, by incoming VL (IBS-F1)."""
        for candidate in super().firsts_of(port, now):
            takes_part_from, packet = self.inputs[port].heads[candidate.lane][0]
            if takes_part_from + self.crossed.get(packet, 0) <= now:
                yield candidate

    def can_cross(self, now: int, candidate: Grant) -> bool:
        """Return whether a packet's next flit can cross (IBS-F2, IBS-F4).

        The first flit needs output-buffer space for the VL's largest packet; later flits have their space reserved.
        """
        return self.crossed.get(candidate.packet, 0) > 0 or super().can_cross(now, candidate)

    def ports(self, candidate: Grant) -> list[CrossbarPort]:  # noqa: ARG002 - as the others'
        """Return an empty list: no crossbar port is ever busy (IBS-F3)."""
        return []

    def grant(self, now: int, grant: Grant) -> None:  # noqa: ARG002 - as the others'
        """Grant the packet's next flit, which crosses in the next cycle (IBS-F4).

        The grant of the first flit reserves output-buffer space for the whole packet.
        """
        packet = grant.packet
        _, first = self.inputs[grant.port].heads[grant.lane][0]
        assert first is packet, "a grant to another than the first packet"
        before = self.crossed.get(packet, 0)
        if before == 0 and grant.output is not None:
            self.outputs[grant.output].room.change(grant.out_lane, packet.blocks)
        assert self.routed.setdefault(packet, grant) == grant, "a packet that changes its way"
        self.crossed[packet] = before + 1
        if before + 1 == packet.flits:
            self.inputs[grant.port].heads[grant.lane].popleft()
            del self.crossed[packet], self.routed[packet]
        self.crossing.append(grant)
        self.move_pointers(grant)

    def move(self, now: int) -> None:
        """Move the granted flits. A complete packet is written to the output buffer (IBS-F5)."""
        outputs = [grant.output for grant in self.crossing if grant.output is not None]
        assert len(outputs) == len(set(outputs)), "two flits to an output"
        assert len({grant.port for grant in self.crossing}) == len(self.crossing), "two flits from an input"
        for port, lane, packet, output, out_lane in self.crossing:
            source = self.inputs[port]
            flit = source.buffer[lane].popleft()
            assert flit.packet is packet, "flits of two packets mixed"
            source.give_back(now, lane, flit)
            if output is None:
                continue
            packet.switches += flit.place == 0
            self.half.setdefault(packet, []).append(flit)
            if flit.is_last:
                for each in self.half.pop(packet):
                    self.outputs[output].write(out_lane, each)
        self.crossing = []
