"""Hierarchical Omni-Path switch: MPorts of four ports, central buffers, any egress scheduler."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import In, connect, flipped
from vlane.hdl.buffer_sizes import BufferSizes
from vlane.hdl.centre import Centre
from vlane.hdl.link import field_of, take_crossing
from vlane.hdl.opa_allocator import MPORT, READERS, OPAAllocator, ports_of
from vlane.hdl.sc import SC, SCProgramSignature
from vlane.hdl.select import equals, one_of
from vlane.hdl.switch import Switch, check_blocks

from vlane.egress import MAX_SCHEDULER_VLS
from vlane.errors import InputError
from vlane.sc import SC15

__all__ = ["OPASwitch"]

_INNER_FLITS = 3
_DOORS = 2
_VL_BITS = 5
(_LOCAL, _CENTRAL) = range(_DOORS)


class OPASwitch(Switch):
    """Virtual cut-through, inner links of up to three flits a cycle, a second allocation (``docs/opa_switch.md``).

    Every output comes from a flip-flop: a packet whose scheduler decides in cycle t is on ``tx`` from t + 1 on.

    Parameters
    ----------
    ports : int
        2 to 48, in MPorts of four; the last one may have fewer.
    data_vls : int
        Lanes, 2 to 31; with ``vlarb`` up to 15.
    blocks : int
        Of each input and output buffer, and of the buffers at the far ends, 2 to 2048.
    minimum, maximum, largest : int
        Blocks that each lane is guaranteed, and the most it may take; its largest packet, up to ``minimum``.
    central_blocks, central_minimum, central_maximum : int
        The same of each central buffer.
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

    Members
    -------
    rx : In(LinkSignature(data_bits, 5)).array(ports)
        Flits that arrive.
    returned : Out(ReturnSignature(3, 5)).array(ports)
        Blocks that left the input's buffer.
    tx : Out(LinkSignature(data_bits, 5)).array(ports)
        Flits to the next node.
    heard : In(ReturnSignature(3, 5)).array(ports)
        Blocks that left the next node's buffer.
    ready : In(ports)
        Links on which a packet may start.
    dropped : Out(ArrayLayout(DropCause, ports))
        By input: why the packet whose head arrived two cycles ago goes nowhere.
    lft : In(LFTProgramSignature())
        Writes the forwarding table, at any time; ports count from 1.
    sc : In(SCProgramSignature())
        Writes SC2SC and SC2VL_t, at any time; ports count from 0.
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
    """Cycles from a head on ``rx`` to its flit on ``tx``, at zero load, within an MPort; 8 through the centre."""

    def __init__(
        self,
        *,
        ports: int = 8,
        data_vls: int = 8,
        blocks: int = 64,
        minimum: int = 4,
        maximum: int = 36,
        largest: int = 4,
        central_blocks: int = 64,
        central_minimum: int = 4,
        central_maximum: int = 36,
        scheduler: str = "rr",
        entries: int = 8,
        line_rate: bool = False,
        lids: int = 64,
        data_bits: int = 64,
    ) -> None:
        self.check_parameters(
            ports=ports, data_vls=data_vls, blocks=blocks, minimum=minimum, maximum=maximum, largest=largest,
            central_blocks=central_blocks, central_minimum=central_minimum, central_maximum=central_maximum,
            scheduler=scheduler, entries=entries, line_rate=line_rate, lids=lids, data_bits=data_bits,
        )  # fmt: skip
        self.map = SC(ports=ports, data_vls=data_vls)
        self.allocator = OPAAllocator(ports=ports, vls=data_vls)
        central = BufferSizes(data_vls, central_blocks, central_minimum, central_maximum, largest)
        self.centres = [
            Centre(ports=ports, sizes=central, data_bits=data_bits, flits=_INNER_FLITS)
            for _ in range(self.allocator.mports)
        ]
        super().__init__(
            ports=ports, sizes=BufferSizes(data_vls, blocks, minimum, maximum, largest), scheduler=scheduler,
            entries=entries, line_rate=line_rate, lids=lids, data_bits=data_bits, flits=_INNER_FLITS, doors=_DOORS,
            vl_bits=_VL_BITS, by_channel=True, fcp=None, members={"sc": In(SCProgramSignature())},
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
        central_blocks: int,
        central_minimum: int,
        central_maximum: int,
        scheduler: str,
        entries: int,
        line_rate: bool,
        lids: int,
        data_bits: int,
    ) -> None:
        """Raise what the constructor would raise, without making anything."""
        Switch.check_shared(
            ports=ports, data_vls=data_vls, most_vls=MAX_SCHEDULER_VLS, blocks=blocks, minimum=minimum,
            maximum=maximum, largest=largest, scheduler=scheduler, entries=entries, line_rate=line_rate, lids=lids,
            data_bits=data_bits,
        )  # fmt: skip
        check_blocks(
            vls=data_vls, blocks=central_blocks, minimum=central_minimum, maximum=central_maximum, prefix="central_"
        )
        if central_minimum < largest:
            raise InputError("central_minimum", f"at least largest, {largest}", central_minimum)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        self.connect_ports(m)
        m.submodules.sc, m.submodules.allocator = self.map, self.allocator
        connect(m, flipped(self.sc), self.map.program)
        for number, port in enumerate(self.inputs):
            maps, header = self.map, port.header
            channel = Cat(field_of(header, "vl"), field_of(header, "channel_top"))
            mapped_away = maps.drop[number] | equals(channel, SC15)
            lane = Value.cast(maps.vl[number])
            m.d.comb += [
                maps.channel[number].eq(channel),
                maps.egress[number].eq(self.look_up(m, number, mapped_away=mapped_away)),
                port.following.eq(lane - (lane > SC15)),
                port.channel.eq(maps.channel_out[number]),
            ]
        for number, centre in enumerate(self.centres):
            m.submodules[f"centre_{number}"] = centre
        self._allocate(m)
        self._cross(m)
        return m

    def _allocate(self, m: Module) -> None:
        """Wire the allocator to the heads and to the room (VA-SA, twice)."""
        allocator, vls = self.allocator, self.sizes.vls
        sizes, lanes = self.connect_heads(m, allocator)
        stored_sizes, stored_lanes = [], []
        for mport, centre in enumerate(self.centres):
            mine = ports_of(mport, self.ports)
            source = allocator.central_source[mport]
            readers = [READERS * mport + reader for reader in range(READERS)]
            m.d.comb += [
                allocator.link_free[mport].eq(centre.link_free),
                allocator.central_room[mport].eq(centre.room),
                allocator.stored[mport].eq(centre.stored),
                *(allocator.stored_output[mport * vls + lane].eq(centre.outputs[lane]) for lane in range(vls)),
                *(allocator.reader_free[number].eq(centre.free[number % READERS]) for number in readers),
                *(allocator.reading[number].eq(centre.reading[number % READERS]) for number in readers),
                *(centre.lane[number % READERS].eq(allocator.reader_lane[number]) for number in readers),
                centre.granted.eq(Cat(allocator.reader_granted[number] for number in readers)),
                centre.source.eq(source),
                centre.reserved.eq(one_of(source[: len(mine)], (sizes[port] for port in mine))),
                centre.reserved_vl.eq(one_of(source[: len(mine)], (lanes[port] for port in mine))),
            ]
            for number in readers:
                chosen = allocator.reader_lane[number]
                stored_sizes.append(self.of_chosen(m, f"stored_size_{number}", chosen, centre.blocks))
                stored_lanes.append(one_of(chosen, range(vls)))
        for mport in range(len(self.centres)):
            mine = ports_of(mport, self.ports)
            for number in mine:
                output, source = self.outputs[number], allocator.source[number]
                picked = Cat(source[: len(mine)], source[MPORT:])
                m.d.comb += [
                    allocator.local_free[number].eq(output.free[_LOCAL]),
                    allocator.central_free[number].eq(output.free[_CENTRAL]),
                    allocator.room[number].eq(output.room),
                    output.reserved.eq(one_of(picked, [*(sizes[port] for port in mine), *stored_sizes])),
                    output.reserved_vl.eq(one_of(picked, [*(lanes[port] for port in mine), *stored_lanes])),
                    output.enters[_LOCAL].eq(source[:MPORT].any()),
                    output.enters[_CENTRAL].eq(source[MPORT:].any()),
                ]

    def _cross(self, m: Module) -> None:
        """Let doors of outputs and links to the centre take the flits that are for them (X)."""
        reads = [centre.read[reader] for centre in self.centres for reader in range(READERS)]
        for mport, centre in enumerate(self.centres):
            mine = [self.inputs[port].crossing for port in ports_of(mport, self.ports)]
            for place, crossing in enumerate(mine):
                take_crossing(m, centre.crossing[place], [(Value.cast(1), crossing)])
            for number in ports_of(mport, self.ports):
                doors = self.outputs[number].crossing
                take_crossing(m, doors[_LOCAL], [(equals(each.to, number), each) for each in mine])
                take_crossing(m, doors[_CENTRAL], [(equals(each.to, number), each) for each in reads])
