"""Proofs of the InfiniBand switch's allocation: grants, round robins, and waiting times."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Fragment, Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.inside import inner_signal
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import Turns, at_most_one
from vlane.tb.tables.proofs_tables import at, constant


class AllocatorProperties(Properties):
    """Check both allocation stages of all inputs against a model of every round-robin arbiter (IBS-2 to IBS-4).

    Parameters
    ----------
    allocator : Allocator
        The component.
    """

    statements: ClassVar = {
        "input-free": "Only a free input is granted, for one lane whose first packet takes part.",
        "output-free": "An output that is busy, or has no space for the largest packet of the outgoing VL, accepts "
        "nothing.",
        "one-at-a-time": "An output accepts the packet of one input, and an input gives its packet to one output.",
        "goes-where-it-asks": "An output accepts only a packet that requests it; no output accepts a packet to be "
        "dropped.",
        "lane-turn": "The lane of an input is the first one after the last granted lane whose packet is dropped, or "
        "whose output is free and has space.",
        "output-turn": "An output accepts the first input after the last granted one whose chosen packet requests it.",
        "turns-move": "The round robin of an input's lanes advances with every grant to the input, drops included, "
        "and an output's with every grant of its own; neither advances in any other cycle.",
        "granted": "An input is granted exactly when an output accepts its packet or the packet is dropped.",
        "lane-wait": "A lane whose packet can be granted is granted after at most as many grants of its input as there"
        " are other lanes.",
        "input-wait": "An input that requests an output is granted after at most as many grants of that output as "
        "there are other inputs.",
    }
    depth = 4

    def __init__(self, allocator: Any) -> None:
        super().__init__()
        self.allocator, self.m = allocator, Module()
        self.port = constant(self.m, "watched_port", 6, 0, allocator.ports - 1)
        self.output = constant(self.m, "watched_output", 6, 0, allocator.ports - 1)
        self.lane = constant(self.m, "watched_lane", 5, 0, allocator.vls - 1)

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.allocator), self.port, self.output, self.lane]

    def elaborate(self, _platform: object) -> Module:
        m, a, claim = self.m, self.allocator, self.claim
        m.submodules.allocator = self.fragment = Fragment.get(a, None)
        ports = range(a.ports)
        wishes = [self._lane_turn(m, port) for port in ports]
        for output in ports:
            source = Signal(a.ports, name=f"source_{output}")
            asks = [wishes[port][output] for port in ports]
            turns = Turns(m, f"output_{output}", asks)
            m.d.comb += source.eq(a.source[output])
            turns.serve(source)
            claim(m, "turns-move", turns.is_behind(inner_signal(self.fragment, "behind", f"inputs_{output}")))
            claim(m, "output-turn", source == turns.expected, when=Cat(asks).any())
            claim(m, "output-turn", ~source.any(), when=~Cat(asks).any())
            claim(m, "one-at-a-time", at_most_one(source), when=source.any())
            claim(m, "output-free", a.output_free[output], when=source.any())
            with m.If(self.output == output):
                waits = at(asks, self.port)
                passed, bounded = turns.wait(self.port, waits & (self.output == output), source)
                claim(m, "input-wait", bounded, when=passed != 0)
            for port in ports:
                self._claim_destination(m, port, output)
        for port in ports:
            serves = Cat(a.source[output][port] for output in ports)
            drops = (a.lane[port] & a.drop[port]).any()
            claim(m, "granted", a.granted[port] == (serves.any() | drops))
            claim(m, "one-at-a-time", at_most_one(serves), when=serves.any())
            claim(m, "input-free", a.input_free[port] & (a.lane[port] & a.valid[port]).any(), when=a.granted[port])
            claim(m, "input-free", at_most_one(a.lane[port]), when=a.granted[port])
        return m

    def _lane_turn(self, m: Module, port: int) -> list[Value]:
        """Claim which lane an input chooses and return, by output, whether the input requests it."""
        a, able, wishes = self.allocator, [], []
        for lane in range(a.vls):
            goes = [self._can_take(port, lane, output) for output in range(a.ports)]
            able.append(a.input_free[port] & a.valid[port][lane] & (a.drop[port][lane] | Cat(goes).any()))
        turns = Turns(m, f"lane_{port}", able)
        served = Signal(a.vls, name=f"served_{port}")
        m.d.comb += served.eq(Mux(a.granted[port], a.lane[port], 0))
        turns.serve(served)
        self.claim(m, "turns-move", turns.is_behind(inner_signal(self.fragment, "behind", f"lanes_{port}")))
        self.claim(m, "lane-turn", a.lane[port] == turns.expected, when=Cat(able).any())
        self.claim(m, "lane-turn", ~a.lane[port].any(), when=~Cat(able).any())
        with m.If(self.port == port):
            passed, bounded = turns.wait(self.lane, at(able, self.lane) & (self.port == port), served)
            self.claim(m, "lane-wait", bounded, when=passed != 0)
        for output in range(a.ports):
            asks = [
                turns.expected[lane] & ~a.drop[port][lane] & (a.output[port * a.vls + lane] == output)
                for lane in range(a.vls)
            ]
            wish = Signal(name=f"wish_{port}_{output}")
            m.d.comb += wish.eq(Cat(asks).any())
            wishes.append(wish)
        return wishes

    def _can_take(self, port: int, lane: int, output: int) -> Value:
        """Return whether the output of this packet is free and has space."""
        a, place = self.allocator, port * self.allocator.vls + lane
        room = at(a.room[output], a.outgoing_vl[place])
        return (a.output[place] == output) & a.output_free[output] & room

    def _claim_destination(self, m: Module, port: int, output: int) -> None:
        """Claim that an accepted packet was for this output, on a lane with space."""
        a = self.allocator
        for lane in range(a.vls):
            place = port * a.vls + lane
            taken = a.source[output][port] & a.lane[port][lane]
            self.claim(m, "goes-where-it-asks", (a.output[place] == output) & ~a.drop[port][lane], when=taken)
            self.claim(m, "output-free", at(a.room[output], a.outgoing_vl[place]), when=taken)
