"""Common part of both kinds of switch: ports, forwarding table, schedulers and their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.by_name import component
from vlane.hdl.common.select import one_of
from vlane.hdl.congestion.cc_marker import CCMarker
from vlane.hdl.congestion.marking_program import MarkingProgramSignature, program_output
from vlane.hdl.congestion.starvation_settings import StarvationProgramSignature, StarvationSettings, program_input
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.links.link import LimitSignature, LinkSignature, field_of
from vlane.hdl.switches.switch_input import SwitchInput
from vlane.hdl.switches.switch_output import SwitchOutput
from vlane.hdl.tables.lft import LFT, LFTProgramSignature
from vlane.packets.drop_cause import DropCause
from vlane.switches.switch_kinds import SwitchKind
from vlane.switches.switch_parameters import SwitchParameters
from vlane.tables.lft import LFTParameters


class Switch(wiring.Component):
    """Base of the switches: input and output sides.

    A subclass adds its maps, allocates, and connects the crossbar.

    Parameters
    ----------
    parameters : SwitchParameters
        Shape of the switch.
    kind : SwitchKind
        Properties of the kind of switch.
    fcp : FCPTimes or None
        Timing of flow-control packets; ``None`` if credits return as blocks.
    members : mapping
        Members in addition to the shared ones.
    """

    def __init__(
        self, parameters: SwitchParameters, *, kind: SwitchKind, fcp: FCPTimes | None, members: Mapping[str, Any]
    ) -> None:
        self.parameters = p = parameters
        ports, data_bits = p.ports, p.data_bits
        geometry = BufferGeometry(p.data_vls, p.blocks, p.minimum, p.maximum, p.largest)
        self.ports, self.geometry = ports, geometry
        self.inputs = [self.make_input(kind) for _ in range(ports)]
        self.outputs = [self.make_output(component(p.scheduler)(p.of_scheduler()), kind, fcp) for _ in range(ports)]
        self.table = LFT(LFTParameters(lookups=ports, ports=ports, entries=p.lids))
        program = self.outputs[0].scheduler.signature.members
        schedules: dict[str, Any] = {}
        if "program" in program:
            schedules |= {"schedule": program["program"], "schedule_ports": In(ports)}
        if p.marker is not None:
            schedules |= {"congestion": In(MarkingProgramSignature())}
        if p.starves:
            schedules |= {"starvation": In(StarvationProgramSignature())}
        if "swap" in program:
            schedules["swap"] = In(ports)
        returns = self.outputs[0].returns
        told = {"returned": Out(returns), "far_returned": In(returns)}
        if fcp:
            told = {"fcp_tx": Out(LimitSignature()), "fcp_rx": In(LimitSignature())}
        super().__init__(
            {
                "rx": In(LinkSignature(data_bits, kind.vl_bits)).array(ports),
                "tx": Out(LinkSignature(data_bits, kind.vl_bits)).array(ports),
                **{name: member.array(ports) for name, member in told.items()},
                "ready": In(ports),
                "dropped": Out(data.ArrayLayout(DropCause, ports)),
                "lft": In(LFTProgramSignature()),
                **members,
                **schedules,
            }
        )

    def make_input(self, kind: SwitchKind) -> Any:
        """Return an input side."""
        return SwitchInput(
            ports=self.ports,
            geometry=self.geometry,
            data_bits=self.parameters.data_bits,
            flits=self.parameters.inner_flits,
            vl_bits=kind.vl_bits,
            by_channel=kind.by_channel,
            counts_waiting=self.parameters.by_inputs,
            starves=self.parameters.starves,
        )

    def make_output(self, scheduler: Any, kind: SwitchKind, fcp: FCPTimes | None) -> Any:
        """Return an output side with its egress scheduler."""
        return SwitchOutput(
            scheduler,
            ports=self.ports,
            geometry=self.geometry,
            data_bits=self.parameters.data_bits,
            flits=self.parameters.inner_flits,
            write_ports=kind.write_ports,
            vl_bits=kind.vl_bits,
            fcp=fcp,
            marker=self.make_marker(),
            measured=self.parameters.by_inputs,
        )

    def make_marker(self) -> CCMarker | None:
        """Return the marker of an output's packets, or ``None`` if the switch does not mark."""
        return None if self.parameters.marker is None else CCMarker(self.parameters.marker)

    def connect_ports(self, m: Module) -> None:
        """Add inputs, outputs and the forwarding table, and connect the parts that both kinds share."""
        m.submodules.lft = self.table
        connect(m, flipped(self.lft), self.table.program)
        for number, port in enumerate(self.inputs):
            m.submodules[f"input_{number}"] = port
            connect(m, flipped(self.rx[number]), port.rx)
            m.d.comb += self.dropped[number].eq(port.dropped)
            if self.parameters.starves:
                self._starve(m, number, port)
        for number, output in enumerate(self.outputs):
            m.submodules[f"output_{number}"] = output
            connect(m, output.tx, flipped(self.tx[number]))
            returned = self.inputs[number].returned
            if output.turns is None:
                connect(m, returned, flipped(self.returned[number]))
                connect(m, flipped(self.far_returned[number]), output.far_returned)
            else:
                connect(m, returned, output.freed)
                connect(m, flipped(self.fcp_rx[number]), output.fcp_rx)
                connect(m, output.fcp_tx, flipped(self.fcp_tx[number]))
            m.d.comb += output.ready.eq(self.ready[number])
            self._program(m, number, output)

    def _starve(self, m: Module, number: int, port: Any) -> None:
        """Add the credit-starvation settings of an input."""
        m.submodules[f"starvation_{number}"] = settings = StarvationSettings()
        program_input(m, self.starvation, self.congestion, number, settings)
        m.d.comb += [port.masked.eq(settings.masked), port.threshold.eq(settings.threshold), port.gap.eq(settings.gap)]

    def look_up(self, m: Module, number: int, *, mapped_away: Any) -> Signal:
        """Look up an input's head in the forwarding table, drive its drop cause (RT), and return the output.

        Parameters
        ----------
        mapped_away : Value
            No VL is available for the packet.
        """
        found = Signal(8, name=f"found_{number}")
        table = self.table
        port = self.inputs[number]
        m.d.comb += [
            table.dlid[number].eq(field_of(port.header, "dlid")),
            found.eq(table.out_port[number] - 1),
            port.output.eq(found),
        ]
        with m.If(table.drop[number]):
            m.d.comb += port.cause.eq(DropCause.UNKNOWN_LID)
        with m.Elif(~table.out_port[number].any()):
            m.d.comb += port.cause.eq(DropCause.PORT_0)
        with m.Elif(mapped_away):
            m.d.comb += port.cause.eq(DropCause.NO_VL)
        return found

    def connect_heads(self, m: Module, allocator: Any) -> tuple[list[Signal], list[Signal]]:
        """Connect the inputs to an allocator and return, by input, size and outgoing lane of the selected packet."""
        vls = self.geometry.vls
        sizes, lanes = [], []
        for number, port in enumerate(self.inputs):
            first = number * vls
            m.d.comb += [
                allocator.valid[number].eq(port.valid),
                allocator.drop[number].eq(port.drop),
                allocator.input_free[number].eq(port.free),
                port.granted.eq(allocator.granted[number]),
                port.lane.eq(allocator.lane[number]),
                *(allocator.output[first + lane].eq(port.outputs[lane]) for lane in range(vls)),
                *(allocator.outgoing_vl[first + lane].eq(port.outgoing_vls[lane]) for lane in range(vls)),
            ]
            sizes.append(self.of_chosen(m, f"size_{number}", port.lane, port.blocks))
            lanes.append(self.of_chosen(m, f"lane_{number}", port.lane, port.outgoing_vls))
        return sizes, lanes

    def of_chosen(self, m: Module, name: str, chosen: Value, by_lane: Any) -> Signal:
        """Return the element of ``by_lane`` for the selected lane (one-hot ``chosen``)."""
        found = Signal.like(by_lane[0], name=name)
        m.d.comb += found.eq(one_of(chosen, (by_lane[lane] for lane in range(self.geometry.vls))))
        return found

    def _program(self, m: Module, number: int, output: Any) -> None:
        """Connect an output to the program ports of the schedulers and of the markers."""
        if "schedule_ports" in self.signature.members:
            is_chosen, program = self.schedule_ports[number], output.scheduler.program
            for name in self.schedule.signature.members:
                value = getattr(self.schedule, name)
                m.d.comb += getattr(program, name).eq(value & is_chosen if name == "enable" else value)
        if "swap" in self.signature.members:
            m.d.comb += output.scheduler.swap.eq(self.swap[number])
        if output.marker is not None:
            program_output(m, self.congestion, number, output.marker.program)
