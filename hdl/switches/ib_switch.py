"""Input-buffered InfiniBand switch with output buffers and any egress scheduler."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib.wiring import In, connect, flipped
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.links.link import field_of, take_crossing
from vlane.hdl.switches.allocator import Allocator
from vlane.hdl.switches.switch import Switch
from vlane.hdl.tables.sl2vl import SL2VL, SL2VLProgramSignature

from vlane.ib_switch import IBSwitchParameters
from vlane.sl2vl import SL2VLParameters
from vlane.switch_kinds import INFINIBAND

__all__ = ["IBSwitch"]


class IBSwitch(Switch):
    """Virtual cut-through, per-VL credits, two-stage allocation (``docs/ib_switch.md``).

    Every output comes from a flip-flop: a packet whose scheduler decides in cycle t is on ``tx`` from t + 1 on.

    Parameters
    ----------
    parameters : IBSwitchParameters
        Shape of the component.

    Members
    -------
    rx : In(LinkSignature(data_bits)).array(ports)
        Flits that arrive.
    returned : Out(ReturnSignature()).array(ports)
        Blocks that left the input's buffer. Not with ``fcp``.
    tx : Out(LinkSignature(data_bits)).array(ports)
        Flits to the next node.
    heard : In(ReturnSignature()).array(ports)
        Blocks that left the next node's buffer. Not with ``fcp``.
    says : Out(LimitSignature()).array(ports)
        With ``fcp`` only: flow-control packets to the other end of the cable.
    hears : In(LimitSignature()).array(ports)
        With ``fcp`` only: flow-control packets from there.
    ready : In(ports)
        Links on which a packet may start.
    dropped : Out(ArrayLayout(DropCause, ports))
        By input: why the packet whose head arrived two cycles ago goes nowhere.
    lft : In(LFTProgramSignature())
        Writes the forwarding table, at any time; ports count from 1.
    sl2vl : In(SL2VLProgramSignature())
        Writes SL2VL, at any time; ports count from 0.
    schedule : In(the scheduler's program signature)
        Writes the schedulers' tables; not there with ``rr``.
    schedule_ports : In(ports)
        The outputs that take the write; not there with ``rr``.
    swap : In(ports)
        With ``vlarb`` and ``dtable`` only: outputs whose tables are to be exchanged.
    """

    latency = 5
    """Cycles from a head on ``rx`` to its flit on ``tx``, at zero load."""

    def __init__(self, parameters: IBSwitchParameters) -> None:
        self.parameters = p = parameters
        self.map = SL2VL(SL2VLParameters(inputs=p.ports, outputs=p.ports, data_vls=p.data_vls))
        self.allocator = Allocator(ports=p.ports, vls=p.data_vls)
        super().__init__(
            p, kind=INFINIBAND,
            members={"sl2vl": In(SL2VLProgramSignature())},
            fcp=p.fcp_times and FCPTimes(*p.fcp_times),
        )  # fmt: skip

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self.connect_ports(m)
        m.submodules.sl2vl, m.submodules.allocator = self.map, self.allocator
        connect(m, flipped(self.sl2vl), self.map.program)
        for number, port in enumerate(self.inputs):
            m.d.comb += [
                self.map.output[number].eq(self.look_up(m, number, mapped_away=self.map.drop[number])),
                self.map.sl[number].eq(field_of(port.header, "sl")),
                port.outgoing_vl.eq(self.map.vl[number]),
            ]
        self._allocate(m)
        self._cross(m)
        return m

    def _allocate(self, m: Module) -> None:
        """Wire the allocator to the heads and to the room (VA-SA)."""
        allocator = self.allocator
        sizes, lanes = self.connect_heads(m, allocator)
        for number, output in enumerate(self.outputs):
            source = allocator.source[number]
            m.d.comb += [
                allocator.output_free[number].eq(output.free),
                allocator.room[number].eq(output.room),
                output.reserved.eq(one_of(source, sizes)),
                output.reserved_vl.eq(one_of(source, lanes)),
                output.enters.eq(1),
            ]

    def _cross(self, m: Module) -> None:
        """Let each output take the flit that is for it (X)."""
        for number, output in enumerate(self.outputs):
            take_crossing(m, output.crossing[0], [(equals(p.crossing.to, number), p.crossing) for p in self.inputs])
