"""Proofs of the InfiniBand switch: only free inputs and outputs are granted, and no buffer exceeds its room."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Assert, Cat, Module, Value
from vlane.tb.proofs.properties import Instance, Properties, free_inputs
from vlane.tb.proofs.prove_delivery import DeliveryProperties
from vlane.tb.proofs.prove_switch import at_most_one, prove_input, prove_returns, prove_room

from vlane.schedulers import DEFAULT

__all__ = ["INSTANCES", "IBSwitchProperties"]

_SMALL = {"scheduler": DEFAULT, "entries": 1, "lids": 4, "data_bits": 64}


class IBSwitchProperties(Properties):
    """The switch with properties that hold for every history and all inputs.

    Parameters
    ----------
    switch : IBSwitch
        The component.
    """

    def __init__(self, switch: Any) -> None:
        super().__init__()
        self.switch = switch

    def ports(self) -> list[Value]:
        """Return the free inputs of the proof."""
        return free_inputs(self.switch)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.switch = self.switch
        self._allocation(m)
        for port in self.switch.inputs:
            prove_returns(m, port)
        for output in self.switch.outputs:
            if output.turns is None:
                prove_room(m, output.remote)
            else:
                self._limits(m, output)
        return m

    def _limits(self, m: Module, output: Any) -> None:
        """Assert that a flow-control packet leaves between packets only, and then no packet starts."""
        turns, scheduler = output.turns, output.scheduler
        m.d.comb += [
            Assert(~turns.takes | output.ready),
            Assert(~(turns.takes & output.remote.take.any())),
            Assert(~(turns.takes & scheduler.ready)),
            Assert(~(turns.says.valid & output.tx.valid)),
        ]

    def _allocation(self, m: Module) -> None:
        """Assert that busy inputs and outputs are not granted, and that each has one grant at a time."""
        allocator, ports = self.switch.allocator, self.switch.ports
        for port in range(ports):
            source = allocator.source[port]
            prove_input(m, allocator, port, Cat(allocator.source[output][port] for output in range(ports)))
            m.d.comb += [Assert(~source.any() | allocator.output_free[port]), Assert(at_most_one(source))]


INSTANCES = (
    Instance(
        "small",
        IBSwitchProperties,
        {"ports": 2, "data_vls": 2, "blocks": 4, "minimum": 1, "maximum": 3, "largest": 1, **_SMALL},
    ),
    Instance(
        "three-ports",
        IBSwitchProperties,
        {"ports": 3, "data_vls": 2, "blocks": 6, "minimum": 2, "maximum": 4, "largest": 2, **_SMALL},
    ),
    Instance(
        "delivery",
        DeliveryProperties,
        {"ports": 2, "data_vls": 2, "blocks": 2, "minimum": 1, "maximum": 1, "largest": 1, **_SMALL, "lids": 3},
    ),
    Instance(
        "limits",
        IBSwitchProperties,
        {"ports": 2, "data_vls": 2, "blocks": 4, "minimum": 2, "maximum": 2, "largest": 2, **_SMALL, "credit": "fcp"},
    ),
)
"""What is proven: all by induction but the third, which follows a packet, to a depth."""
