"""Input-buffered InfiniBand switch with output buffers and any egress scheduler."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib.wiring import In, connect, flipped
from vlane.hdl.allocator import Allocator
from vlane.hdl.buffer_sizes import BufferSizes
from vlane.hdl.fcp_turns import FCPTimes
from vlane.hdl.link import field_of, take_crossing
from vlane.hdl.parameters import check_range
from vlane.hdl.select import equals, one_of
from vlane.hdl.sl2vl import SL2VL, SL2VLProgramSignature
from vlane.hdl.switch import Switch

from vlane.errors import InputError, unknown_word
from vlane.fcp import MAX_FCP_PERIOD
from vlane.vlarb import MAX_DATA_VLS

__all__ = ["IBSwitch"]

_CREDITS = ("returns", "fcp")
_FCP_PERIOD = 1024


class IBSwitch(Switch):
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
    line_rate : bool
        Whether ``vlarb`` or ``dtable`` is its line-rate form.
    lids : int
        Entries of the forwarding table.
    data_bits : int
        Carried of a 64-byte flit, 64 to 512 in steps of 64.
    credit : str
        How room is told: ``returns``, or ``fcp``, by flow-control packets on the links.
    fcp_blocks, fcp_period : int
        With ``fcp``: growth of a limit after which it is told, 0 to ``minimum``, 0 for a quarter of the lane's room;
        cycles after which all are, above ``data_vls``, up to 2**24.

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
        line_rate: bool = False,
        lids: int = 64,
        data_bits: int = 64,
        credit: str = "returns",
        fcp_blocks: int = 0,
        fcp_period: int = _FCP_PERIOD,
    ) -> None:
        self.check_parameters(
            ports=ports, data_vls=data_vls, blocks=blocks, minimum=minimum, maximum=maximum, largest=largest,
            scheduler=scheduler, entries=entries, line_rate=line_rate, lids=lids, data_bits=data_bits,
            credit=credit, fcp_blocks=fcp_blocks, fcp_period=fcp_period,
        )  # fmt: skip
        self.map = SL2VL(inputs=ports, outputs=ports, data_vls=data_vls)
        self.allocator = Allocator(ports=ports, vls=data_vls)
        super().__init__(
            ports=ports, sizes=BufferSizes(data_vls, blocks, minimum, maximum, largest), scheduler=scheduler,
            entries=entries, line_rate=line_rate, lids=lids, data_bits=data_bits, flits=1, doors=1, vl_bits=4,
            by_channel=False, members={"sl2vl": In(SL2VLProgramSignature())},
            fcp=FCPTimes(fcp_blocks or max(1, minimum // 4), fcp_period) if credit == "fcp" else None,
        )  # fmt: skip

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
        line_rate: bool,
        lids: int,
        data_bits: int,
        credit: str,
        fcp_blocks: int,
        fcp_period: int,
    ) -> None:
        """Raise what the constructor would raise, without making anything."""
        Switch.check_shared(
            ports=ports, data_vls=data_vls, most_vls=MAX_DATA_VLS, blocks=blocks, minimum=minimum, maximum=maximum,
            largest=largest, scheduler=scheduler, entries=entries, line_rate=line_rate, lids=lids, data_bits=data_bits,
        )  # fmt: skip
        if credit not in _CREDITS:
            raise unknown_word("credit", _CREDITS, credit)
        if credit == "fcp":
            check_range("fcp_blocks", fcp_blocks, 0, minimum)
            check_range("fcp_period", fcp_period, data_vls + 1, MAX_FCP_PERIOD)
            if maximum != minimum:
                raise InputError("maximum", f"minimum, {minimum}, with credit fcp", maximum)
            return
        for field, value, usual in (("fcp_blocks", fcp_blocks, 0), ("fcp_period", fcp_period, _FCP_PERIOD)):
            if value != usual:
                raise InputError(field, "left out with credit returns", value)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self.connect_ports(m)
        m.submodules.sl2vl, m.submodules.allocator = self.map, self.allocator
        connect(m, flipped(self.sl2vl), self.map.program)
        for number, port in enumerate(self.inputs):
            m.d.comb += [
                self.map.output[number].eq(self.look_up(m, number, mapped_away=self.map.drop[number])),
                self.map.sl[number].eq(field_of(port.header, "sl")),
                port.following.eq(self.map.vl[number]),
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
