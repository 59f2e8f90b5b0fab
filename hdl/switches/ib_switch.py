"""Input-buffered InfiniBand switch with output buffers and a selectable egress scheduler."""

from __future__ import annotations

from amaranth.hdl import Module

from vlane.hdl.common.select import equals, one_of
from vlane.hdl.links.link import take_crossing
from vlane.hdl.switches.allocator import Allocator
from vlane.hdl.switches.fast_switch import FastSwitch
from vlane.hdl.switches.per_vl_switch import PerVLSwitch
from vlane.hdl.switches.sl2vl_switch import SL2VLSwitch
from vlane.hdl.switches.switch import Switch
from vlane.switches.ib_switch import IBSwitchParameters

__all__ = ["IBSwitch", "ib_switch"]


class IBSwitch(SL2VLSwitch):
    """Virtual cut-through switch: per-VL credits, multiplexed crossbar, two-stage allocation (``docs/ib_switch.md``).

    Every output is registered: a packet scheduled in cycle t is on ``tx`` from t + 1 on.

    A packet has as many flits as the length in its header gives. The switch does not check this. A packet of another
    length damages the later packets of its lane until the reset (IBS-H4).

    Parameters
    ----------
    parameters : IBSwitchParameters
        Shape of the component.

    Members
    -------
    rx : In(LinkSignature(data_bits)).array(ports)
        Arriving flits.
    returned : Out(ReturnSignature(speed)).array(ports)
        Blocks that left the input's buffer. Not with ``fcp``.
    tx : Out(LinkSignature(data_bits)).array(ports)
        Flits to the next node.
    far_returned : In(ReturnSignature(speed)).array(ports)
        Blocks that left the next node's buffer. Not with ``fcp``.
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

    vls_apart = False

    def __init__(self, parameters: IBSwitchParameters) -> None:
        self.allocator = Allocator(ports=parameters.ports, vls=parameters.data_vls)
        super().__init__(parameters)

    def _allocate(self, m: Module) -> None:
        """Connect the allocator to the heads and to the output buffers (VA-SA)."""
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
        """Connect each output to the crossing packet that is destined for it (X)."""
        for number, output in enumerate(self.outputs):
            take_crossing(m, output.crossing[0], [(equals(p.crossing.to, number), p.crossing) for p in self.inputs])


def ib_switch(parameters: IBSwitchParameters) -> Switch:
    """Return a switch of the form that its parameters select."""
    if parameters.switch_form.late:
        return FastSwitch(parameters)
    return (PerVLSwitch if parameters.switch_form.vls_apart else IBSwitch)(parameters)


COMPONENT = ib_switch
