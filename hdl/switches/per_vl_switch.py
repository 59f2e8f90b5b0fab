"""InfiniBand switch whose crossbar has a port for each VL of each input and output."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value

from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.switches.lane_input import LaneInput
from vlane.hdl.switches.lane_output import LaneOutput
from vlane.hdl.switches.pair_allocator import PairAllocator
from vlane.hdl.switches.sl2vl_switch import SL2VLSwitch
from vlane.switches.ib_switch import IBSwitchParameters
from vlane.switches.switch_kinds import SwitchKind


class PerVLSwitch(SL2VLSwitch):
    """Virtual cut-through switch, per-VL credits, a crossbar port per VL (``docs/ib_switch.md``, IBS-P1 to IBS-PQ2).

    Every output is registered, as in ``IBSwitch``. A pair is a (port, VL), numbered port * lanes + VL.

    A packet has as many flits as the length in its header gives. The switch does not check this (IBS-H4).

    Parameters
    ----------
    parameters : IBSwitchParameters
        Shape of the component.

    Members
    -------
    rx : In(LinkSignature(data_bits)).array(ports)
        Arriving flits.
    returned : Out(LaneReturnSignature(vls)).array(ports)
        Blocks that left the input's buffer, one bit per lane. Not with ``fcp``.
    tx : Out(LinkSignature(data_bits)).array(ports)
        Flits to the next node.
    far_returned : In(LaneReturnSignature(vls)).array(ports)
        Blocks that left the next node's buffer, one bit per lane. Not with ``fcp``.
    fcp_tx : Out(LimitSignature()).array(ports)
        With ``fcp`` only: flow-control packets to the other end of the cable.
    fcp_rx : In(LimitSignature()).array(ports)
        With ``fcp`` only: flow-control packets from the other end of the cable.
    ready : In(ports)
        Links on which a packet may start.
    dropped : Out(ArrayLayout(DropCause, ports))
        By input: why the packet whose head arrived two cycles ago is dropped:
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

    vls_apart = True

    def __init__(self, parameters: IBSwitchParameters) -> None:
        p = parameters
        self.allocator: PairAllocator = PairAllocator(
            ports=p.ports, vls=p.data_vls, blocks=p.minimum, largest=p.largest, queues=p.switch_form.queues
        )
        super().__init__(parameters)

    def make_input(self, kind: SwitchKind) -> LaneInput:
        """Return an input side with a crossbar port per lane."""
        return LaneInput(
            ports=self.ports,
            geometry=self.geometry,
            data_bits=self.parameters.data_bits,
            vl_bits=kind.vl_bits,
            counts_waiting=self.parameters.by_inputs,
        )

    def make_output(self, scheduler: Any, kind: SwitchKind, fcp: FCPTimes | None) -> LaneOutput:
        """Return an output side with a crossbar port per lane, including its egress scheduler."""
        return LaneOutput(
            scheduler,
            geometry=self.geometry,
            data_bits=self.parameters.data_bits,
            vl_bits=kind.vl_bits,
            fcp=fcp,
            marker=self.make_marker(),
            measured=self.parameters.by_inputs,
        )

    def _allocate(self, m: Module) -> None:
        allocator, vls = self.allocator, self.geometry.vls
        sizes: list[Value] = []
        for number, (port, output) in enumerate(zip(self.inputs, self.outputs, strict=True)):
            m.d.comb += [
                allocator.valid[number].eq(port.valid),
                allocator.drop[number].eq(port.drop),
                allocator.input_free[number].eq(port.free),
                allocator.output_free[number].eq(output.free),
                port.granted.eq(allocator.granted[number]),
            ]
            for lane in range(vls):
                pair = number * vls + lane
                m.d.comb += [
                    allocator.output[pair].eq(port.outputs[lane]),
                    allocator.outgoing_vl[pair].eq(port.outgoing_vls[lane]),
                    allocator.left[pair].eq(output.left[lane]),
                ]
                if allocator.queues:
                    m.d.comb += allocator.sizes[pair].eq(port.blocks[lane])
                sizes.append(port.blocks[lane])
        for pair, takes in enumerate(allocator.takes):
            size = Mux(takes, Array(sizes)[allocator.source[pair]], 0)
            m.d.comb += self.outputs[pair // vls].reserved[pair % vls].eq(size)

    def _cross(self, m: Module) -> None:
        allocator, vls = self.allocator, self.geometry.vls
        crossings = Array(Cat(each.valid, each.flit) for port in self.inputs for each in port.crossing)
        for pair, takes in enumerate(allocator.takes):
            source = Signal(range(allocator.pairs), name=f"source_{pair}", reset_less=True)
            with m.If(takes):
                m.d.sync += source.eq(allocator.source[pair])
            crossing = self.outputs[pair // vls].crossing[pair % vls]
            m.d.comb += Cat(crossing.valid, crossing.flit).eq(crossings[source])
