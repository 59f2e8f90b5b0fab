"""Proofs of the Omni-Path switch: only free resources are granted, and no buffer exceeds its room."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Cat, Module, Value
from vlane.tb.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.proofs.prove_switch import at_most_one, prove_input, prove_returns, prove_room

from vlane.mports import MPORT, READERS, ports_of
from vlane.schedulers import DEFAULT

__all__ = ["INSTANCES", "OPASwitchProperties"]

_SMALL = {"scheduler": DEFAULT, "entries": 1, "lids": 4, "data_bits": 64}


class OPASwitchProperties(Properties):
    """The switch with properties that hold for every history and all inputs.

    Parameters
    ----------
    switch : OPASwitch
        The component.
    """

    unfolds_memories = True

    def __init__(self, switch: Any) -> None:
        super().__init__()
        self.switch = switch

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
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
            prove_room(m, output.remote)
        return m

    def _inputs(self, m: Module) -> None:
        """Assert the properties that every input of either kind of switch has: one output or central link serves it."""
        allocator, ports = self.switch.allocator, self.switch.ports
        for mport in range(allocator.mports):
            for port in ports_of(mport, ports):
                serves = Cat(
                    *(allocator.source[output][port % MPORT] for output in ports_of(mport, ports)),
                    allocator.central_source[mport][port % MPORT],
                )
                prove_input(m, allocator, port, serves)

    def _outputs(self, m: Module) -> None:
        """Assert that outputs and central links grant one packet, over a free port, to a lane not being written."""
        allocator, ports = self.switch.allocator, self.switch.ports
        ways = [output.write_ports for output in self.switch.outputs] + [centre.links for centre in self.switch.centres]
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


INSTANCES = (
    Instance(
        "small",
        OPASwitchProperties,
        {
            "ports": 2,
            "data_vls": 2,
            "blocks": 4,
            "minimum": 1,
            "maximum": 3,
            "largest": 1,
            "central_blocks": 4,
            "central_minimum": 1,
            "central_maximum": 3,
            **_SMALL,
        },
    ),
    Instance(
        "two-mports",
        OPASwitchProperties,
        {
            "ports": 5,
            "data_vls": 2,
            "blocks": 4,
            "minimum": 2,
            "maximum": 2,
            "largest": 2,
            "central_blocks": 6,
            "central_minimum": 2,
            "central_maximum": 4,
            **_SMALL,
        },
    ),
)
"""What is proven: one MPort, and two of which one has a single port."""
