"""What is proven of the Omni-Path switch: who crosses is free to, everywhere; the room that is counted is kept to."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Cat, Elaboratable, Module, Value
from vlane.golden.central import READERS
from vlane.golden.opa_switch import MPORT
from vlane.tb.prove import free_inputs
from vlane.tb.prove_switch import at_most_one, prove_input, prove_returns, prove_room

__all__ = ["INSTANCES", "OPASwitchProperties"]

_SMALL = {"scheduler": "rr", "entries": 1, "lids": 4, "data_bits": 64}
INSTANCES = (
    {
        "ports": 2, "data_vls": 2, "blocks": 4, "minimum": 1, "maximum": 3, "largest": 1,
        "central_blocks": 4, "central_minimum": 1, "central_maximum": 3, **_SMALL,
    },
    {
        "ports": 5, "data_vls": 2, "blocks": 4, "minimum": 2, "maximum": 2, "largest": 2,
        "central_blocks": 6, "central_minimum": 2, "central_maximum": 4, **_SMALL,
    },
)  # fmt: skip
"""Parameters of the instances that are proven: one MPort, and two of which one has a single port."""


class OPASwitchProperties(Elaboratable):
    """The switch beside its properties, which hold in any history, whatever its neighbours do.

    Parameters
    ----------
    switch : OPASwitch
        The component.
    """

    unfolds_memories = True

    def __init__(self, switch: Any) -> None:
        self.switch = switch

    def ports(self) -> list[Value]:
        """Return the free inputs."""
        return free_inputs(self.switch)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.switch = self.switch
        self._inputs(m)
        self._outputs(m)
        self._readers(m)
        for port in self.switch.inputs:
            prove_returns(m, port)
        for output in self.switch.outputs:
            prove_room(m, output.far)
        return m

    def _inputs(self, m: Module) -> None:
        """Assert of every input what holds of a switch of either kind: it is served by an output or the centre."""
        allocator, ports = self.switch.allocator, self.switch.ports
        for mport in range(allocator.mports):
            for port in _ports_of(mport, ports):
                serves = Cat(
                    *(allocator.source[output][port % MPORT] for output in _ports_of(mport, ports)),
                    allocator.central_source[mport][port % MPORT],
                )
                prove_input(m, allocator, port, serves)

    def _outputs(self, m: Module) -> None:
        """Assert that outputs and central links take one packet, by a free way, to a lane that nobody writes to."""
        allocator, ports = self.switch.allocator, self.switch.ports
        ways = [output.ways for output in self.switch.outputs] + [centre.links for centre in self.switch.centres]
        m.d.comb += [Assert(~(one.writes & other.writes).any()) for one, other in ways]
        for output in range(ports):
            source = allocator.source[output]
            m.d.comb += [
                Assert(at_most_one(source)),
                Assert(~source[:MPORT].any() | allocator.local_free[output]),
                Assert(~source[MPORT:].any() | allocator.central_free[output]),
            ]
        for mport in range(allocator.mports):
            source = allocator.central_source[mport]
            m.d.comb += [Assert(at_most_one(source)), Assert(~source.any() | allocator.link_free[mport])]

    def _readers(self, m: Module) -> None:
        """Assert that read ports are free, read what is there, and never both the same lane."""
        allocator = self.switch.allocator
        for mport in range(allocator.mports):
            pair = range(READERS * mport, READERS * (mport + 1))
            for reader in pair:
                lane, granted = allocator.reader_lane[reader], allocator.reader_granted[reader]
                serves = Cat(allocator.source[output][MPORT + reader] for output in range(self.switch.ports))
                m.d.comb += [
                    Assert(~granted | allocator.reader_free[reader]),
                    Assert(~granted | (lane & allocator.stored[mport]).any()),
                    Assert(at_most_one(lane)),
                    Assert(at_most_one(serves)),
                    Assert(granted == serves.any()),
                    *(Assert(~(lane & allocator.reading[other]).any()) for other in pair if other != reader),
                ]
            lower, upper = pair
            m.d.comb += [
                Assert(~(allocator.reader_lane[lower] & allocator.reader_lane[upper]).any()),
                Assert(~(allocator.reading[lower] & allocator.reading[upper]).any()),
            ]


def _ports_of(mport: int, ports: int) -> range:
    return range(MPORT * mport, min(ports, MPORT * (mport + 1)))
