"""Input-buffered InfiniBand switch with output buffers and any egress scheduler."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from vlane.hdl.allocator import Allocator
from vlane.hdl.drr import DRR
from vlane.hdl.dtable import DTable
from vlane.hdl.egress import BLOCKS_SHAPE
from vlane.hdl.lft import LFT, LFTProgramSignature
from vlane.hdl.link import HEADER_BITS, LinkSignature, ReturnSignature
from vlane.hdl.parameters import check_range
from vlane.hdl.rr import RR
from vlane.hdl.scfq import SCFQ
from vlane.hdl.select import equals, one_of
from vlane.hdl.sl2vl import SL2VL, SL2VLProgramSignature
from vlane.hdl.switch_input import DropCause, SwitchInput
from vlane.hdl.switch_output import SwitchOutput
from vlane.hdl.vlarb import VLArb

from vlane.lft import MAX_ENTRIES
from vlane.units import MAX_PACKET_BLOCKS
from vlane.vlarb import MAX_DATA_VLS

__all__ = ["IBSwitch"]

_MAX_PORTS = 48
_MAX_BLOCKS = 2048
_MAX_DATA_BITS = 512
_DTABLE: dict[str, Any] = {
    "requesters": 0, "vl15": False, "form": "free", "keep_on_stall": False, "mtu_blocks": MAX_PACKET_BLOCKS,
}  # fmt: skip
_SCHEDULERS = ("vlarb", "dtable", "drr", "scfq", "rr")


class IBSwitch(wiring.Component):
    """Virtual cut-through, per-VL credits, two-stage allocation (``docs/ib_switch.md``).

    Every output comes from a flip-flop: a packet whose scheduler decides in cycle t is on ``tx`` from t + 1 on.

    Parameters
    ----------
    ports : int
        2 to 48.
    data_vls : int
        Lanes, 2 to 15.
    blocks : int
        Of each input and output buffer, and of the buffers at the far ends, 2 to 2048.
    minimum, maximum, largest : int
        Blocks that each lane is guaranteed, and the most it may take; its largest packet, up to ``minimum``.
    scheduler : str
        Of every output: ``vlarb``, ``dtable``, ``drr``, ``scfq`` or ``rr``.
    entries : int
        Of the scheduler's table, where it has one.
    lids : int
        Entries of the forwarding table.
    data_bits : int
        Carried of a 64-byte flit, 64 to 512 in steps of 64.

    Members
    -------
    rx : In(LinkSignature(data_bits)).array(ports)
        Flits that arrive.
    returned : Out(ReturnSignature()).array(ports)
        Blocks that left the input's buffer.
    tx : Out(LinkSignature(data_bits)).array(ports)
        Flits to the next node.
    heard : In(ReturnSignature()).array(ports)
        Blocks that left the next node's buffer.
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

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    latency = 5
    """Cycles from a head on ``rx`` to its flit on ``tx``, at zero load."""

    def __init__(
        self,
        *,
        ports: int = 8,
        data_vls: int = 8,
        blocks: int = 64,
        minimum: int = 4,
        maximum: int = 36,
        largest: int = 4,
        scheduler: str = "rr",
        entries: int = 8,
        lids: int = 64,
        data_bits: int = 64,
    ) -> None:
        self.check_parameters(
            ports=ports, data_vls=data_vls, blocks=blocks, minimum=minimum, maximum=maximum, largest=largest,
            scheduler=scheduler, entries=entries, lids=lids, data_bits=data_bits,
        )  # fmt: skip
        self.ports, self.data_vls = ports, data_vls
        sizes = {"blocks": blocks, "minimum": minimum, "maximum": maximum, "largest": largest, "data_bits": data_bits}
        self.inputs = [SwitchInput(ports=ports, vls=data_vls, **sizes) for _ in range(ports)]
        self.outputs = [
            SwitchOutput(_scheduler(scheduler, data_vls, entries), vls=data_vls, **sizes) for _ in range(ports)
        ]
        self.table = LFT(lookups=ports, ports=ports, entries=lids)
        self.map = SL2VL(inputs=ports, outputs=ports, data_vls=data_vls)
        self.allocator = Allocator(ports=ports, vls=data_vls)
        members: dict[str, Any] = {
            "rx": In(LinkSignature(data_bits)).array(ports),
            "returned": Out(ReturnSignature()).array(ports),
            "tx": Out(LinkSignature(data_bits)).array(ports),
            "heard": In(ReturnSignature()).array(ports),
            "dropped": Out(data.ArrayLayout(DropCause, ports)),
            "lft": In(LFTProgramSignature()),
            "sl2vl": In(SL2VLProgramSignature()),
        }
        first = self.outputs[0].scheduler
        if "program" in first.signature.members:
            members["schedule"] = first.signature.members["program"]
            members["schedule_ports"] = In(ports)
        if "swap" in first.signature.members:
            members["swap"] = In(ports)
        super().__init__(members)

    @staticmethod
    def check_parameters(
        *,
        ports: int,
        data_vls: int,
        blocks: int,
        minimum: int,
        maximum: int,
        largest: int,
        scheduler: str,
        entries: int,
        lids: int,
        data_bits: int,
    ) -> None:
        """Raise what the constructor would raise, without making anything."""
        check_range("ports", ports, 2, _MAX_PORTS)
        check_range("data_vls", data_vls, 2, MAX_DATA_VLS)
        check_range("blocks", blocks, 2, _MAX_BLOCKS)
        check_range("minimum", minimum, 1, blocks // data_vls)
        check_range("maximum", maximum, minimum, blocks - (data_vls - 1) * minimum)
        check_range("largest", largest, 1, min(minimum, MAX_PACKET_BLOCKS))
        if scheduler not in _SCHEDULERS:
            raise ValueError(f"scheduler must be one of {', '.join(_SCHEDULERS)}, not {scheduler}")
        if scheduler == "vlarb":
            VLArb.check_parameters(data_vls=data_vls, entries=entries, vl15=False)
        if scheduler == "dtable":
            DTable.check_parameters(data_vls=data_vls, entries=entries, **_DTABLE)
        check_range("entries", entries, 1, 128)
        check_range("lids", lids, 2, MAX_ENTRIES)
        check_range("data_bits", data_bits, HEADER_BITS, _MAX_DATA_BITS)
        if data_bits % HEADER_BITS:
            raise ValueError(f"data_bits must be a multiple of {HEADER_BITS}, not {data_bits}")

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.lft, m.submodules.sl2vl, m.submodules.allocator = self.table, self.map, self.allocator
        connect(m, flipped(self.lft), self.table.program)
        connect(m, flipped(self.sl2vl), self.map.program)
        for number, port in enumerate(self.inputs):
            m.submodules[f"input_{number}"] = port
            connect(m, flipped(self.rx[number]), port.rx)
            connect(m, port.returned, flipped(self.returned[number]))
            m.d.comb += self.dropped[number].eq(port.dropped)
            self._look_up(m, number, port)
        for number, output in enumerate(self.outputs):
            m.submodules[f"output_{number}"] = output
            connect(m, output.tx, flipped(self.tx[number]))
            connect(m, flipped(self.heard[number]), output.heard)
        self._allocate(m)
        self._cross(m)
        self._program(m)
        return m

    def _look_up(self, m: Module, number: int, port: SwitchInput) -> None:
        """Let the forwarding table and SL2VL say where a head goes (RT)."""
        found, table, lanes = Signal(8, name=f"found_{number}"), self.table, self.map
        m.d.comb += [
            table.dlid[number].eq(port.dlid),
            found.eq(table.port[number] - 1),
            lanes.output[number].eq(found),
            lanes.sl[number].eq(port.sl),
            port.output.eq(found),
            port.following.eq(lanes.vl[number]),
        ]
        with m.If(table.drop[number]):
            m.d.comb += port.cause.eq(DropCause.UNKNOWN_LID)
        with m.Elif(~table.port[number].any()):
            m.d.comb += port.cause.eq(DropCause.PORT_0)
        with m.Elif(lanes.drop[number]):
            m.d.comb += port.cause.eq(DropCause.NO_VL)

    def _allocate(self, m: Module) -> None:
        """Wire the allocator to the heads and to the room (VA-SA)."""
        allocator, vls = self.allocator, self.data_vls
        for number, port in enumerate(self.inputs):
            m.d.comb += [
                allocator.valid[number].eq(port.valid),
                allocator.drop[number].eq(port.drop),
                allocator.input_free[number].eq(port.free),
                port.granted.eq(allocator.granted[number]),
                port.lane.eq(allocator.lane[number]),
                *(allocator.output[number * vls + lane].eq(port.outputs[lane]) for lane in range(vls)),
                *(allocator.following[number * vls + lane].eq(port.followings[lane]) for lane in range(vls)),
            ]
        sizes, lanes = [], []
        for number, port in enumerate(self.inputs):
            size, lane = Signal(BLOCKS_SHAPE, name=f"size_{number}"), Signal(4, name=f"lane_{number}")
            m.d.comb += [
                size.eq(one_of(port.lane, (port.blocks[each] for each in range(vls)))),
                lane.eq(one_of(port.lane, (port.followings[each] for each in range(vls)))),
            ]
            sizes.append(size)
            lanes.append(lane)
        for number, output in enumerate(self.outputs):
            source = allocator.source[number]
            m.d.comb += [
                allocator.output_free[number].eq(output.free),
                allocator.room[number].eq(output.room),
                output.reserved.eq(one_of(source, sizes)),
                output.reserved_vl.eq(one_of(source, lanes)),
            ]

    def _cross(self, m: Module) -> None:
        """Let each output take the flit that is for it (X)."""
        for number, output in enumerate(self.outputs):
            comes = Signal(self.ports, name=f"comes_{number}")
            m.d.comb += [
                comes.eq(Cat(port.crossing.valid & equals(port.to, number) for port in self.inputs)),
                output.crossing.valid.eq(comes.any()),
                output.crossing_blocks.eq(one_of(comes, (port.crossing_blocks for port in self.inputs))),
                *(
                    getattr(output.crossing, name).eq(one_of(comes, (getattr(p.crossing, name) for p in self.inputs)))
                    for name in ("vl", "first", "last", "data")
                ),
            ]

    def _program(self, m: Module) -> None:
        """Let chosen outputs take a write of the scheduler's program port."""
        for number, output in enumerate(self.outputs):
            scheduler = output.scheduler
            if "schedule_ports" in self.signature.members:
                for name in self.schedule.signature.members:
                    value = getattr(self.schedule, name)
                    if name == "enable":
                        value = value & self.schedule_ports[number]
                    m.d.comb += getattr(scheduler.program, name).eq(value)
            if "swap" in self.signature.members:
                m.d.comb += scheduler.swap.eq(self.swap[number])


def _scheduler(name: str, data_vls: int, entries: int) -> Any:
    """Return an output's scheduler: a requester for each lane, no VL15."""
    if name == "vlarb":
        return VLArb(data_vls=data_vls, entries=entries, vl15=False)
    if name == "rr":
        return RR(data_vls=data_vls, vl15=False)
    if name == "scfq":
        return SCFQ(data_vls=data_vls, vl15=False, units="per_requester")
    if name == "drr":
        return DRR(data_vls=data_vls, vl15=False)
    return DTable(data_vls=data_vls, entries=entries, **_DTABLE)
