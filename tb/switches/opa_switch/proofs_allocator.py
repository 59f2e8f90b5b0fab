"""Proofs of the Omni-Path switch's two allocations: grants, round robins, and waiting times."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Assume, Cat, Fragment, Module, Mux, Signal, Value

from vlane.switches.mports import MPORT, READERS, ports_of
from vlane.tb.machinery.proofs.inside import inner_signal
from vlane.tb.machinery.proofs.properties import Properties, free_inputs
from vlane.tb.schedulers.proofs_turns import Turns, at_most_one
from vlane.tb.tables.proofs_tables import at, constant


class OPAAllocatorProperties(Properties):
    """Check inputs, read ports, outputs and central links against a model of every round robin (OPAS-1 to -5).

    Assumption: the output of a packet that is not dropped exists.

    Parameters
    ----------
    allocator : OPAAllocator
        The component.
    """

    statements: ClassVar = {
        "turns-move": "The round robin of an input's or read port's lanes advances with each of its grants (an "
        "input's also with each drop), that of an output or a pair of central links with each of its "
        "own grants, and in no other cycle.",
        "lane-turn": "The lane of an input is the first one after the last granted lane whose packet is dropped, or "
        "can be accepted by the local write port of its output or by a central link.",
        "reader-turn": "The lane of a read port is the first one after the last granted lane that is stored, not "
        "read or selected by the other port, and can be accepted by the central write port of its "
        "output; the first read port selects first.",
        "output-turn": "An output accepts the first requesting source after the one granted last, in the order: "
        "inputs of its MPort, then all read ports.",
        "link-turn": "A pair of central links accepts the first input of its MPort, after the one granted last, "
        "whose packet is for another MPort.",
        "granted": "An input is granted exactly when an output or a central link accepts its packet or the packet is "
        "dropped, a read port exactly when an output accepts its packet.",
        "free": "Only free inputs and read ports are granted, and an output accepts a packet only through a free "
        "write port.",
        "one-at-a-time": "An output, and a pair of central links, accepts at most one packet per cycle, and each "
        "packet is accepted once.",
        "lane-wait": "A lane whose packet can be granted is granted after at most as many grants of its input as there"
        " are other lanes.",
        "reader-lane-wait": "A lane that a read port could select is granted after at most as many grants of that "
        "read port as there are other lanes.",
        "output-wait": "An input or a read port that requests an output is granted after at most as many grants of "
        "that output as there are other sources.",
        "link-wait": "An input that requests a central link is granted after at most three grants of others.",
    }
    depth = 3

    def __init__(self, allocator: Any) -> None:
        super().__init__()
        self.allocator, self.m = allocator, Module()
        self.port = constant(self.m, "watched_port", 6, 0, allocator.ports - 1)
        self.lane = constant(self.m, "watched_lane", 5, 0, allocator.vls - 1)
        self.place = constant(self.m, "watched_place", 6, 0, MPORT + READERS * allocator.mports - 1)
        self.inputs: list[list[Value]] = []
        """By input: one bit for each output, then one for the central links."""
        self.readers: list[list[Value]] = []

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return [*free_inputs(self.allocator), self.port, self.lane, self.place]

    def elaborate(self, _platform: object) -> Module:
        m, a = self.m, self.allocator
        m.submodules.allocator = self.fragment = Fragment.get(a, None)
        for place in range(a.ports * a.vls):
            drops = Value.cast(a.drop.as_value())[place]
            m.d.comb += Assume(drops | (a.output[place] < a.ports))
        for place in range(a.mports * a.vls):
            m.d.comb += Assume(a.stored_output[place] < a.ports)
        for port in range(a.ports):
            self.inputs.append(self._input(m, port))
        for mport in range(a.mports):
            self._readers(m, mport)
        for output in range(a.ports):
            self._output(m, output)
        for mport in range(a.mports):
            self._links(m, mport)
        self._granted(m)
        return m

    def _turns(self, m: Module, name: str, part: str, eligible: list[Value], served: Value) -> Turns:
        """Return a model of a round robin, claimed to equal the component's."""
        turns, given = Turns(m, part, eligible), Signal(len(eligible), name=f"{part}_served")
        m.d.comb += given.eq(served)
        turns.serve(given)
        self.claim(m, "turns-move", turns.is_behind(inner_signal(self.fragment, "behind", part)))
        chosen = Signal(len(eligible), name=f"{part}_chosen")
        m.d.comb += chosen.eq(self._chosen(part))
        self.claim(m, name, chosen == turns.expected, when=Cat(eligible).any())
        self.claim(m, name, ~chosen.any(), when=~Cat(eligible).any())
        return turns

    def _chosen(self, part: str) -> Value:
        a, (kind, number) = self.allocator, part.split("_")
        by_kind = {"lanes": a.lane, "reader": a.reader_lane, "output": a.source, "centre": a.central_source}
        chosen: Value = Value.cast(by_kind[kind][int(number)])
        return chosen

    def _wait(self, m: Module, name: str, turns: Turns, watched: Value, requests: Value, served: Value) -> None:
        passed, bounded = turns.wait(watched, requests, served)
        self.claim(m, name, bounded, when=passed != 0)

    def _input(self, m: Module, port: int) -> list[Value]:
        """Claim which lane an input chooses (OPAS-1) and return its requests."""
        a, able, mport = self.allocator, [], port // MPORT
        mine = ports_of(mport, a.ports)
        places = range(port * a.vls, (port + 1) * a.vls)
        centre = a.link_free[mport]
        for lane, place in enumerate(places):
            lane_out = a.outgoing_vl[place]
            here = [(a.output[place] == o) & a.local_free[o] & at(a.room[o], lane_out) for o in mine]
            is_here = (a.output[place] >= mine.start) & (a.output[place] < mine.stop)
            through = ~is_here & centre & at(a.central_room[mport], lane_out)
            takes = a.drop[port][lane] | Cat(here).any() | through
            able.append(a.input_free[port] & a.valid[port][lane] & takes)
        served = Mux(a.granted[port], a.lane[port], 0)
        turns = self._turns(m, "lane-turn", f"lanes_{port}", able, served)
        with m.If(self.port == port):
            self._wait(m, "lane-wait", turns, self.lane, at(able, self.lane) & (self.port == port), served)
        chosen = [turns.expected[lane] & ~a.drop[port][lane] for lane in range(a.vls)]
        asks = [Cat(chosen[i] & (a.output[place] == o) for i, place in enumerate(places)).any() for o in mine]
        return [*asks, Cat(chosen).any() & ~Cat(asks).any()]

    def _readers(self, m: Module, mport: int) -> None:
        """Claim which lanes a buffer's read ports choose (OPAS-2)."""
        a, picked = self.allocator, Value.cast(0)
        first = READERS * mport
        for reader in range(first, first + READERS):
            other, able = 2 * first + 1 - reader, []
            for lane in range(a.vls):
                to = a.stored_output[mport * a.vls + lane]
                takes = Cat((to == o) & a.central_free[o] & a.room[o][lane] for o in range(a.ports)).any()
                taken = a.reading[other][lane] | (picked >> lane)[0]
                able.append(a.reader_free[reader] & a.stored[mport][lane] & takes & ~taken)
            served = Mux(a.reader_granted[reader], a.reader_lane[reader], 0)
            turns = self._turns(m, "reader-turn", f"reader_{reader}", able, served)
            picked = turns.expected
            watched = (self.place == reader + MPORT) & at(able, self.lane)
            with m.If(self.place == reader + MPORT):
                self._wait(m, "reader-lane-wait", turns, self.lane, watched, served)
            lanes = range(a.vls)
            self.readers.append(
                [
                    Cat(turns.expected[lane] & (a.stored_output[mport * a.vls + lane] == o) for lane in lanes).any()
                    for o in range(a.ports)
                ]
            )

    def _output(self, m: Module, output: int) -> None:
        """Claim which packet an output accepts (OPAS-3)."""
        a, mine = self.allocator, ports_of(output // MPORT, self.allocator.ports)
        local = [self.inputs[port][output - mine.start] for port in mine]
        asks = [*local, *[Value.cast(0)] * (MPORT - len(local)), *(wants[output] for wants in self.readers)]
        source = Value.cast(a.source[output])
        turns = self._turns(m, "output-turn", f"output_{output}", asks, source)
        with m.If(self.port == output):
            watched = (self.port == output) & at(asks, self.place)
            self._wait(m, "output-wait", turns, self.place, watched, source)
        self.claim(m, "free", a.local_free[output], when=source[:MPORT].any())
        self.claim(m, "free", a.central_free[output], when=source[MPORT:].any())
        self.claim(m, "one-at-a-time", at_most_one(source), when=source.any())

    def _links(self, m: Module, mport: int) -> None:
        """Claim which packet a pair of central links accepts (OPAS-4)."""
        a, mine = self.allocator, ports_of(mport, self.allocator.ports)
        asks = [self.inputs[port][-1] for port in mine] + [Value.cast(0)] * (MPORT - len(mine))
        source = Value.cast(a.central_source[mport])
        turns = self._turns(m, "link-turn", f"centre_{mport}", asks, source)
        watched = at(asks, self.port - mine.start) & (self.port >= mine.start) & (self.port < mine.stop)
        if len(mine) > 1:
            self._wait(m, "link-wait", turns, (self.port - mine.start)[:2], watched, source)
        self.claim(m, "free", a.link_free[mport], when=source.any())
        self.claim(m, "one-at-a-time", at_most_one(source), when=source.any())

    def _granted(self, m: Module) -> None:
        """Claim which inputs and read ports are granted."""
        a, claim = self.allocator, self.claim
        for port in range(a.ports):
            mine = ports_of(port // MPORT, a.ports)
            serves = Cat(*(a.source[o][port - mine.start] for o in mine), a.central_source[port // MPORT][port % MPORT])
            drops = (a.lane[port] & a.drop[port]).any()
            claim(m, "granted", a.granted[port] == (serves.any() | drops))
            claim(m, "free", a.input_free[port], when=a.granted[port])
            claim(m, "one-at-a-time", at_most_one(serves), when=serves.any())
        for reader in range(READERS * a.mports):
            serves = Cat(a.source[output][MPORT + reader] for output in range(a.ports))
            claim(m, "granted", a.reader_granted[reader] == serves.any())
            claim(m, "free", a.reader_free[reader], when=a.reader_granted[reader])
            claim(m, "one-at-a-time", at_most_one(serves), when=serves.any())
