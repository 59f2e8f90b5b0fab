"""What switches of both kinds have in common: ports, forwarding table, schedulers and their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from vlane.hdl.buffer_sizes import BufferSizes
from vlane.hdl.drr import DRR
from vlane.hdl.dtable import DTable
from vlane.hdl.fcp_turns import FCPTimes
from vlane.hdl.lft import LFT, LFTProgramSignature
from vlane.hdl.link import HEADER_BITS, LimitSignature, LinkSignature, ReturnSignature, field_of
from vlane.hdl.parameters import check_flag, check_range
from vlane.hdl.rr import RR
from vlane.hdl.scfq import SCFQ
from vlane.hdl.select import one_of
from vlane.hdl.switch_input import DropCause, SwitchInput
from vlane.hdl.switch_output import SwitchOutput
from vlane.hdl.vlarb import VLArb

from vlane.errors import InputError, unknown_word
from vlane.lft import MAX_ENTRIES
from vlane.units import MAX_PACKET_BLOCKS

__all__ = ["Switch", "check_blocks"]

_MAX_PORTS = 48
_MAX_BLOCKS = 2048
_MAX_DATA_BITS = 512
_DTABLE: dict[str, Any] = {
    "requesters": 0, "vl15": False, "keep_on_stall": False, "mtu_blocks": MAX_PACKET_BLOCKS
}  # fmt: skip
_FORMS = {"vlarb": ("exact", "line_rate"), "dtable": ("free", "line_rate")}
"""Forms of the schedulers that have one at line rate, without and with it."""
_SCHEDULERS = ("vlarb", "dtable", "drr", "scfq", "rr")


class Switch(wiring.Component):
    """Base of the switches: input and output sides. A subclass adds its maps, allocates, and lets packets cross.

    Parameters
    ----------
    ports : int
        2 to 48.
    sizes : BufferSizes
        Of each input and output buffer, and of the buffers at the far ends.
    scheduler, entries : str, int
        Of every output, and entries of its table where it has one.
    line_rate : bool
        Whether it is the line-rate form.
    lids : int
        Entries of the forwarding table.
    data_bits : int
        Carried of a 64-byte flit.
    flits : int
        That may cross in a cycle, from one input.
    doors : int
        Of an output.
    vl_bits : int
        Of a lane's number on links.
    by_channel : bool
        Whether headers carry a channel.
    fcp : FCPTimes or None
        Of the flow-control packets that tell of room, if any do.
    members : mapping
        Beside the shared ones.
    """

    def __init__(
        self, *, ports: int, sizes: BufferSizes, scheduler: str, entries: int, line_rate: bool, lids: int,
        data_bits: int, flits: int, doors: int, vl_bits: int, by_channel: bool, fcp: FCPTimes | None,
        members: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.ports, self.sizes = ports, sizes
        shape: dict[str, Any] = {
            "ports": ports, "sizes": sizes, "data_bits": data_bits, "flits": flits, "vl_bits": vl_bits
        }  # fmt: skip
        self.inputs = [SwitchInput(by_channel=by_channel, **shape) for _ in range(ports)]
        self.outputs = [
            SwitchOutput(_scheduler(scheduler, sizes.vls, entries, line_rate=line_rate), doors=doors, fcp=fcp, **shape)
            for _ in range(ports)
        ]
        self.table = LFT(lookups=ports, ports=ports, entries=lids)
        program = self.outputs[0].scheduler.signature.members
        schedules: dict[str, Any] = {}
        if "program" in program:
            schedules |= {"schedule": program["program"], "schedule_ports": In(ports)}
        if "swap" in program:
            schedules["swap"] = In(ports)
        returns = ReturnSignature(flits, vl_bits)
        told = {"returned": Out(returns), "heard": In(returns)}
        if fcp:
            told = {"says": Out(LimitSignature()), "hears": In(LimitSignature())}
        super().__init__(
            {
                "rx": In(LinkSignature(data_bits, vl_bits)).array(ports),
                "tx": Out(LinkSignature(data_bits, vl_bits)).array(ports),
                **{name: member.array(ports) for name, member in told.items()},
                "ready": In(ports),
                "dropped": Out(data.ArrayLayout(DropCause, ports)),
                "lft": In(LFTProgramSignature()),
                **members,
                **schedules,
            }
        )

    @staticmethod
    def check_shared(
        *, ports: int, data_vls: int, most_vls: int, blocks: int, minimum: int, maximum: int, largest: int,
        scheduler: str, entries: int, line_rate: bool, lids: int, data_bits: int,
    ) -> None:  # fmt: skip
        """Raise what a constructor would raise for the shared parameters."""
        check_range("ports", ports, 2, _MAX_PORTS)
        check_range("data_vls", data_vls, 2, most_vls)
        check_blocks(vls=data_vls, blocks=blocks, minimum=minimum, maximum=maximum)
        check_range("largest", largest, 1, min(minimum, MAX_PACKET_BLOCKS))
        if scheduler not in _SCHEDULERS:
            raise unknown_word("scheduler", _SCHEDULERS, scheduler)
        check_flag("line_rate", line_rate)
        if line_rate and scheduler not in _FORMS:
            raise InputError("line_rate", f"false with scheduler {scheduler}", "true")
        if scheduler == "vlarb":
            VLArb.check_parameters(data_vls=data_vls, entries=entries, vl15=False)
        if scheduler == "dtable":
            form = _FORMS[scheduler][line_rate]
            DTable.check_parameters(data_vls=data_vls, entries=entries, form=form, **_DTABLE)
        check_range("entries", entries, 1, 128)
        check_range("lids", lids, 2, MAX_ENTRIES)
        check_range("data_bits", data_bits, HEADER_BITS, _MAX_DATA_BITS)
        if data_bits % HEADER_BITS:
            raise InputError("data_bits", f"a multiple of {HEADER_BITS}", data_bits)

    def connect_ports(self, m: Module) -> None:
        """Add inputs, outputs and the forwarding table; connect what is the same whatever the kind."""
        m.submodules.lft = self.table
        connect(m, flipped(self.lft), self.table.program)
        for number, port in enumerate(self.inputs):
            m.submodules[f"input_{number}"] = port
            connect(m, flipped(self.rx[number]), port.rx)
            m.d.comb += self.dropped[number].eq(port.dropped)
        for number, output in enumerate(self.outputs):
            m.submodules[f"output_{number}"] = output
            connect(m, output.tx, flipped(self.tx[number]))
            returned = self.inputs[number].returned
            if output.turns is None:
                connect(m, returned, flipped(self.returned[number]))
                connect(m, flipped(self.heard[number]), output.heard)
            else:
                connect(m, returned, output.freed)
                connect(m, flipped(self.hears[number]), output.hears)
                connect(m, output.says, flipped(self.says[number]))
            m.d.comb += output.ready.eq(self.ready[number])
            self._program(m, number, output.scheduler)

    def look_up(self, m: Module, number: int, *, mapped_away: Any) -> Signal:
        """Let the forwarding table say where an input's head goes (RT); return the output.

        Parameters
        ----------
        mapped_away : Value
            No VL is there for it.
        """
        found, table, port = Signal(8, name=f"found_{number}"), self.table, self.inputs[number]
        m.d.comb += [
            table.dlid[number].eq(field_of(port.header, "dlid")),
            found.eq(table.port[number] - 1),
            port.output.eq(found),
        ]
        with m.If(table.drop[number]):
            m.d.comb += port.cause.eq(DropCause.UNKNOWN_LID)
        with m.Elif(~table.port[number].any()):
            m.d.comb += port.cause.eq(DropCause.PORT_0)
        with m.Elif(mapped_away):
            m.d.comb += port.cause.eq(DropCause.NO_VL)
        return found

    def connect_heads(self, m: Module, allocator: Any) -> tuple[list[Signal], list[Signal]]:
        """Wire inputs to an allocator; return, by input, the size and the outgoing lane of the packet it chose."""
        vls = self.sizes.vls
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
                *(allocator.following[first + lane].eq(port.followings[lane]) for lane in range(vls)),
            ]
            sizes.append(self.of_chosen(m, f"size_{number}", port.lane, port.blocks))
            lanes.append(self.of_chosen(m, f"lane_{number}", port.lane, port.followings))
        return sizes, lanes

    def of_chosen(self, m: Module, name: str, chosen: Value, by_lane: Any) -> Signal:
        """Return what is told of the lane that was chosen, one bit of ``chosen``."""
        found = Signal.like(by_lane[0], name=name)
        m.d.comb += found.eq(one_of(chosen, (by_lane[lane] for lane in range(self.sizes.vls))))
        return found

    def _program(self, m: Module, number: int, scheduler: Any) -> None:
        """Let an output that is chosen take a write of the scheduler's program port."""
        if "schedule_ports" in self.signature.members:
            for name in self.schedule.signature.members:
                value = getattr(self.schedule, name)
                if name == "enable":
                    value = value & self.schedule_ports[number]
                m.d.comb += getattr(scheduler.program, name).eq(value)
        if "swap" in self.signature.members:
            m.d.comb += scheduler.swap.eq(self.swap[number])


def check_blocks(*, vls: int, blocks: int, minimum: int, maximum: int, prefix: str = "") -> None:
    """Raise ``TypeError`` or ``ValueError`` unless lanes can share a buffer so; names are told after a prefix."""
    check_range(f"{prefix}blocks", blocks, 2, _MAX_BLOCKS)
    check_range(f"{prefix}minimum", minimum, 1, blocks // vls)
    check_range(f"{prefix}maximum", maximum, minimum, blocks - (vls - 1) * minimum)


def _scheduler(name: str, data_vls: int, entries: int, *, line_rate: bool) -> Any:
    """Return an output's scheduler: a requester for each lane, no VL15."""
    if name == "rr":
        return RR(data_vls=data_vls, vl15=False)
    if name == "scfq":
        return SCFQ(data_vls=data_vls, vl15=False, units="per_requester")
    if name == "drr":
        return DRR(data_vls=data_vls, vl15=False)
    form = _FORMS[name][line_rate]
    if name == "vlarb":
        return VLArb(data_vls=data_vls, entries=entries, vl15=False, form=form)
    return DTable(data_vls=data_vls, entries=entries, form=form, **_DTABLE)
