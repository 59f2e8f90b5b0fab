"""Proofs of the InfiniBand switch's allocation: who is granted, in whose turn, and how long one waits."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Cat, Fragment, Module, Mux, Signal, Value

from vlane.tb.machinery.proofs.inside import inside
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import Turns, at_most_one
from vlane.tb.tables.proofs_tables import at, constant


class AllocatorProperties(Properties):
    """The two stages beside an account of every turn (IBS-2 to IBS-4), for all inputs.

    Parameters
    ----------
    allocator : Allocator
        The component.
    """

    statements: ClassVar = {
        "input-free": "Only an input that is not busy is granted, for one lane whose first packet may take part.",
        "output-free": "An output that is busy, or without room for the largest packet of the outgoing VL, takes"
        " nothing.",
        "one-at-a-time": "An output takes the packet of one input, and an input gives its packet to one output.",
        "goes-where-it-asks": "An output takes only a packet that asks for it; a packet that drops is given to none.",
        "lane-turn": "The lane of an input is the first one behind the lane granted last whose packet drops, or whose"
        " output is free and has room.",
        "output-turn": "An output takes the first input behind the one granted last whose chosen packet asks for it.",
        "turns-move": "The turn of an input's lanes moves with every grant of it, a drop included, and an output's with"
        " every grant of its own; they move in no other cycle.",
        "granted": "An input is granted exactly when an output takes its packet or the packet drops.",
        "lane-wait": "A lane whose packet can be granted is granted after at most as many grants of its input as there"
        " are other lanes.",
        "input-wait": "An input that asks for an output is granted after at most as many grants of that output as there"
        " are other inputs.",
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
            claim(m, "turns-move", turns.is_at(inside(self.fragment, "last", f"inputs_{output}")))
            claim(m, "output-turn", source == turns.expected, when=Cat(asks).any())
            claim(m, "output-turn", ~source.any(), when=~Cat(asks).any())
            claim(m, "one-at-a-time", at_most_one(source), when=source.any())
            claim(m, "output-free", a.output_free[output], when=source.any())
            with m.If(self.output == output):
                waits = at(asks, self.port)
                passed, bounded = turns.wait(self.port, waits & (self.output == output), source)
                claim(m, "input-wait", bounded, when=passed != 0)
            for port in ports:
                self._goes(m, port, output)
        for port in ports:
            serves = Cat(a.source[output][port] for output in ports)
            drops = (a.lane[port] & a.drop[port]).any()
            claim(m, "granted", a.granted[port] == (serves.any() | drops))
            claim(m, "one-at-a-time", at_most_one(serves), when=serves.any())
            claim(m, "input-free", a.input_free[port] & (a.lane[port] & a.valid[port]).any(), when=a.granted[port])
            claim(m, "input-free", at_most_one(a.lane[port]), when=a.granted[port])
        return m

    def _lane_turn(self, m: Module, port: int) -> list[Value]:
        """Claim which lane an input chooses; return, by output, whether it asks for it."""
        a, able, wishes = self.allocator, [], []
        for lane in range(a.vls):
            goes = [self._takes(port, lane, output) for output in range(a.ports)]
            able.append(a.input_free[port] & a.valid[port][lane] & (a.drop[port][lane] | Cat(goes).any()))
        turns = Turns(m, f"lane_{port}", able)
        served = Signal(a.vls, name=f"served_{port}")
        m.d.comb += served.eq(Mux(a.granted[port], a.lane[port], 0))
        turns.serve(served)
        self.claim(m, "turns-move", turns.is_at(inside(self.fragment, "last", f"lanes_{port}")))
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

    def _takes(self, port: int, lane: int, output: int) -> Value:
        """Return whether an output, to which this packet goes, is free and has room for it."""
        a, place = self.allocator, port * self.allocator.vls + lane
        room = at(a.room[output], a.outgoing_vl[place])
        return (a.output[place] == output) & a.output_free[output] & room

    def _goes(self, m: Module, port: int, output: int) -> None:
        """Claim where a packet that an output takes was to go, on a lane with room."""
        a = self.allocator
        for lane in range(a.vls):
            place = port * a.vls + lane
            taken = a.source[output][port] & a.lane[port][lane]
            self.claim(m, "goes-where-it-asks", (a.output[place] == output) & ~a.drop[port][lane], when=taken)
            self.claim(m, "output-free", at(a.room[output], a.outgoing_vl[place]), when=taken)
