"""Common part of the InfiniBand switches: heads are looked up in LFT and SL2VL."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from amaranth.hdl import Module
from amaranth.lib.wiring import In, connect, flipped

from vlane.errors import InputError
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.links.link import field_of
from vlane.hdl.switches.allocator import Allocator
from vlane.hdl.switches.input_measure import InputMeasure
from vlane.hdl.switches.pair_allocator import PairAllocator
from vlane.hdl.switches.switch import Switch
from vlane.hdl.tables.sl2vl import SL2VL, SL2VLProgramSignature
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.switches.switch_kinds import INFINIBAND
from vlane.tables.sl2vl import SL2VLParameters


class SL2VLSwitch(Switch):
    """Base of the InfiniBand switches. A subclass creates ``allocator``, allocates, and connects the crossbar.

    Parameters
    ----------
    parameters : IBSwitchParameters
        Shape of the switch.

    Raises
    ------
    InputError
        If the parameters select another crossbar.
    """

    latency = 5
    """Zero-load latency in cycles, from a head on ``rx`` to its flit on ``tx``."""

    vls_apart: ClassVar[bool]
    """Whether the crossbar has a port for each lane."""

    allocator: Allocator | PairAllocator

    def __init__(self, parameters: IBSwitchParameters) -> None:
        p = parameters
        if p.switch_form.vls_apart != self.vls_apart:
            raise InputError("crossbar", f"that of a {type(self).__name__}", p.crossbar)
        self.measure = InputMeasure(ports=p.ports, vls=p.data_vls, maximum=p.maximum) if p.by_inputs else None
        self.map = SL2VL(SL2VLParameters(inputs=p.ports, outputs=p.ports, data_vls=p.data_vls))
        super().__init__(
            p,
            kind=INFINIBAND,
            members={"sl2vl": In(SL2VLProgramSignature())},
            fcp=p.fcp_times and FCPTimes(*p.fcp_times),
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self.connect_ports(m)
        m.submodules.sl2vl, m.submodules.allocator = self.map, self.allocator
        connect(m, flipped(self.sl2vl), self.map.program)
        for number, port in enumerate(self.inputs):
            m.d.comb += [
                self.map.out_port[number].eq(self.look_up(m, number, mapped_away=self.map.drop[number])),
                self.map.sl[number].eq(field_of(port.header, "sl")),
                port.outgoing_vl.eq(self.map.vl[number]),
            ]
        self._allocate(m)
        self._cross(m)
        self._measure(m)
        return m

    def _measure(self, m: Module) -> None:
        """Connect the measure of waiting blocks at the inputs to the outputs, if configured (IBS-M2)."""
        measure, vls = self.measure, self.geometry.vls
        if measure is None:
            return
        m.submodules.measure = measure
        for number, (port, output) in enumerate(zip(self.inputs, self.outputs, strict=True)):
            m.d.comb += [measure.valid[number].eq(port.valid), measure.drop[number].eq(port.drop)]
            for lane in range(vls):
                pair = number * vls + lane
                m.d.comb += [
                    measure.output[pair].eq(port.outputs[lane]),
                    measure.outgoing_vl[pair].eq(port.outgoing_vls[lane]),
                    measure.waiting[pair].eq(port.waiting[lane]),
                    output.measure[lane].eq(measure.measure[pair]),
                ]

    @abstractmethod
    def _allocate(self, m: Module) -> None:
        """Connect the allocator to the heads and to the output buffers (VA-SA)."""

    @abstractmethod
    def _cross(self, m: Module) -> None:
        """Connect the outputs to the flits destined for them (X)."""
