"""Fast form of the InfiniBand switch: decisions in stages (``docs/fast_switch.md``)."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In

from vlane.hdl.common.select import one_of
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.links.link import field_of, with_vl
from vlane.hdl.switches.bid_allocator import BidAllocator
from vlane.hdl.switches.fast_input import FastInput
from vlane.hdl.switches.fast_output import FastOutput
from vlane.hdl.switches.switch import Switch
from vlane.hdl.tables.sl2vl import SL2VL, SL2VLProgramSignature
from vlane.packets.drop_cause import DropCause
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.switches.switch_kinds import INFINIBAND, SwitchKind
from vlane.tables.sl2vl import SL2VLParameters


class FastSwitch(Switch):
    """Virtual cut-through switch whose inputs bid for outputs (IBF-1 to IBF-10, ``docs/fast_switch.md``).

    A packet has as many flits as the length in its header gives. The switch does not check this (IBS-H4).

    Parameters
    ----------
    parameters : IBSwitchParameters
        Shape of the component.

    Members
    -------
    rx : In(LinkSignature(data_bits)).array(ports)
        Arriving flits.
    returned : Out(ReturnSignature(1)).array(ports)
        Blocks that left the input's buffer.
    tx : Out(LinkSignature(data_bits)).array(ports)
        Flits to the next node.
    far_returned : In(ReturnSignature(1)).array(ports)
        Blocks that left the next node's buffer.
    ready : In(ports)
        Links on which a packet may start.
    dropped : Out(ArrayLayout(DropCause, ports))
        By input: why the packet whose head arrived four cycles ago is dropped:
        1 no port for the DLID, 2 no VL, 3 addressed to the switch, 4 no space or too large; 0 otherwise.
    lft : In(LFTProgramSignature())
        Write port of the forwarding table, usable at any time; ports count from 1.
    sl2vl : In(SL2VLProgramSignature())
        Write port of SL2VL, usable at any time; ports count from 0.
    schedule : In(the scheduler's program signature)
        Write port of the schedulers' tables. Absent with ``rr``.
    schedule_ports : In(ports)
        Outputs that accept the write. Absent with ``rr``.
    swap : In(ports)
        With ``vlarb`` and ``dtable`` only: outputs whose banks are to be exchanged.
    """

    latency = 14
    """Zero-load latency in cycles, from a head on ``rx`` to its flit on ``tx``."""

    def __init__(self, parameters: IBSwitchParameters) -> None:
        p = parameters
        self.map = SL2VL(SL2VLParameters(inputs=p.ports, outputs=p.ports, data_vls=p.data_vls))
        self.allocator = BidAllocator(ports=p.ports, largest=p.largest)
        super().__init__(p, kind=INFINIBAND, members={"sl2vl": In(SL2VLProgramSignature())}, fcp=None)

    def make_input(self, kind: SwitchKind) -> Any:
        return FastInput(
            ports=self.ports, geometry=self.geometry, data_bits=self.parameters.data_bits, vl_bits=kind.vl_bits
        )

    def make_output(self, scheduler: Any, kind: SwitchKind, fcp: FCPTimes | None) -> Any:  # noqa: ARG002 - as the base's
        return FastOutput(scheduler, geometry=self.geometry, data_bits=self.parameters.data_bits, vl_bits=kind.vl_bits)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self.connect_ports(m)
        m.submodules.sl2vl, m.submodules.allocator = self.map, self.allocator
        self._delay_program(m)
        for number in range(self.ports):
            self._route(m, number)
        self._allocate(m)
        self._cross(m)
        return m

    def _delay_program(self, m: Module) -> None:
        """Write SL2VL a cycle later, because SL2VL is read a cycle after the forwarding table.

        Reset does not cancel a write.
        """
        for name in self.sl2vl.signature.members:
            given = getattr(self.sl2vl, name)
            late = Signal.like(given, name=f"late_{name}", reset_less=True)
            m.d.sync += late.eq(given)
            m.d.comb += getattr(self.map.program, name).eq(late)

    def _route(self, m: Module, number: int) -> None:
        """Look a head up in the forwarding table, and a cycle later in SL2VL."""
        table, port, kinds = self.table, self.inputs[number], DropCause
        found = Signal(8, name=f"found_{number}")
        unknown, is_port_0 = Signal(name=f"unknown_{number}"), Signal(name=f"is_port_0_{number}")
        sl = Signal(4, name=f"sl_{number}")
        cause = Signal(DropCause, name=f"cause_{number}")
        m.d.comb += table.dlid[number].eq(field_of(port.header, "dlid"))
        m.d.sync += [
            found.eq(table.out_port[number] - 1),
            unknown.eq(table.drop[number]),
            is_port_0.eq(~table.out_port[number].any()),
            sl.eq(field_of(port.header, "sl")),
        ]
        m.d.comb += [self.map.out_port[number].eq(found), self.map.sl[number].eq(sl)]
        with m.If(unknown):
            m.d.comb += cause.eq(kinds.UNKNOWN_LID)
        with m.Elif(is_port_0):
            m.d.comb += cause.eq(kinds.PORT_0)
        with m.Elif(self.map.drop[number]):
            m.d.comb += cause.eq(kinds.NO_VL)
        m.d.sync += [port.output.eq(found), port.outgoing_vl.eq(self.map.vl[number]), port.cause.eq(cause)]

    def _allocate(self, m: Module) -> None:
        """Decide the bids, and reserve space in the output buffers (IBF-3, IBF-6)."""
        allocator, ports = self.allocator, range(self.ports)
        for number, port in enumerate(self.inputs):
            bid = port.bid
            m.d.comb += [
                allocator.valid[number].eq(bid.valid),
                allocator.follows[number].eq(bid.follows),
                allocator.drop[number].eq(bid.packet.drop),
                allocator.to[number].eq(bid.packet.to),
                allocator.blocks[number].eq(bid.packet.blocks),
                allocator.free[number].eq(port.free),
                port.granted.eq(allocator.granted[number]),
                port.free_soon.eq(allocator.free_soon),
                *(port.open[output].eq(self.outputs[output].open) for output in ports),
            ]
        for number, output in enumerate(self.outputs):
            source = Signal(self.ports, name=f"source_{number}")
            m.d.sync += [
                source.eq(allocator.source[number]),
                output.enters.eq(one_of(source, (port.started.blocks for port in self.inputs))),
                output.enters_vl.eq(one_of(source, (port.started.outgoing_vl for port in self.inputs))),
            ]

    def _cross(self, m: Module) -> None:
        """Connect each output to the crossing packet with this destination (X)."""
        for number, output in enumerate(self.outputs):
            comes = Cat(port.crossing.valid & port.crossing.to[number] for port in self.inputs)
            flits: list[Value] = []
            for port in self.inputs:
                rewritten = with_vl(port.flit, port.crossing.outgoing_vl)
                flits.append(Mux(port.first, rewritten, port.flit))
            m.d.sync += [
                output.crossing.valid.eq(comes.any()),
                output.crossing.vl.eq(one_of(comes, (port.crossing.outgoing_vl for port in self.inputs))),
                output.crossing.first.eq(one_of(comes, (port.first for port in self.inputs))),
                output.crossing.last.eq(one_of(comes, (port.crossing.last for port in self.inputs))),
                output.crossing.data.eq(one_of(comes, flits)),
            ]
