"""Output side of the fast switch: buffer, egress scheduler, late credits (``docs/fast_switch.md``).

Stages of a packet granted in cycle g and started in cycle d:

    g + 2   enters         size and lane are inputs
    g + 3   used           blocks of each lane; the packet requests the link
    g + 4   open           lanes for which the buffer is open
    g + 4   crossing       first flit is written
    d       decision
    d + 1   started        address of the memory
    d + 2   addressed
    d + 3                  data of the memory
    d + 4   tx
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.buffers.buffer_geometry import BufferGeometry
from vlane.hdl.buffers.ring_memory import RingMemory, ring_size
from vlane.hdl.buffers.size_queue import SizeQueue
from vlane.hdl.common.part import Part
from vlane.hdl.common.select import any_of, equals, number_of, one_of
from vlane.hdl.links.late_room import LateRoom
from vlane.hdl.links.link import LinkSignature, ReturnSignature, lane_shape

_LATE = 4
"""Cycles of grants that an open buffer has not counted yet, without the last one (IBF-6)."""

_IN_FLIGHT = 3
"""Flits that left the count of a lane and are still to be read."""


class FastOutput(wiring.Component):
    """Output side of a switch, for a single packet at a time.

    Parameters
    ----------
    scheduler : Component
        Egress scheduler with the shared port list, as many lanes, and no VL15.
    geometry : BufferGeometry
        Geometry of the far buffer. Each lane of this buffer has a ring of its own, larger than its maximum.
    data_bits, vl_bits : int
        Data bits of a flit, and width of a lane number on links.

    Members
    -------
    enters : In(range(largest + 1))
        Blocks of the packet granted two cycles ago; 0 if none.
    enters_vl : In(lane_shape(vls))
        Lane of that packet.
    open : Out(vls)
        Lanes for which the buffer is open.
    crossing : In(StructLayout)
        Flit that crossed in the previous cycle: valid, lane, first, last, data.
    ready : In(1)
        A packet may start on the link.
    tx : Out(LinkSignature(data_bits, vl_bits))
        Flits that leave, four cycles after their packet's decision.
    far_returned : In(ReturnSignature(1, vl_bits))
        Space freed at the far end.
    """

    turns = None
    marker = None

    def __init__(self, scheduler: Any, *, geometry: BufferGeometry, data_bits: int, vl_bits: int) -> None:
        self.scheduler, self.geometry = scheduler, geometry
        self.returns = ReturnSignature(1, vl_bits)
        vls, most = geometry.vls, geometry.maximum + geometry.largest + _LATE
        self.most = most
        self.ring = ring_size(most + _IN_FLIGHT)
        self.memory = RingMemory(width=data_bits + 2, depth=self.ring << (vls - 1).bit_length())
        self.remote = LateRoom(
            vls=vls,
            blocks=geometry.blocks,
            minimum=geometry.minimum,
            maximum=geometry.maximum,
            largest=geometry.largest,
        )
        super().__init__(
            {
                "enters": In(range(geometry.largest + 1)),
                "enters_vl": In(lane_shape(vls)),
                "open": Out(vls),
                "crossing": In(
                    data.StructLayout({"valid": 1, "vl": lane_shape(vls), "last": 1, "first": 1, "data": data_bits})
                ),
                "ready": In(1),
                "tx": Out(LinkSignature(data_bits, vl_bits)),
                "far_returned": In(self.returns),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.memory, m.submodules.remote = self.memory, self.remote
        m.submodules.scheduler = Part(self.scheduler, self.scheduler.parameters)
        starts, moves, lanes = self._start(m)
        left = Signal.like(lanes)
        m.d.sync += left.eq(Mux(moves, lanes, 0))
        self._queue(m, starts)
        self._hold(m, left)
        self._write(m)
        self._read(m, moves, lanes)
        return m

    def _start(self, m: Module) -> tuple[Signal, Signal, Signal]:
        """Start a packet when the link is free.

        Return the starting lane, one-hot; whether a flit of the previous decision leaves; and the lane of the flit,
        one-hot.
        """
        scheduler, remote, vls = self.scheduler, self.remote, self.geometry.vls
        left, counts = Signal(range(self.geometry.largest + 1)), Signal(range(self.geometry.largest + 1))
        is_free = Signal(init=1)
        starts, lanes = Signal(vls), Signal(vls)
        begins, moves = Signal(), Signal()
        sizes = scheduler.heads.blocks
        m.d.comb += [
            scheduler.ready.eq(is_free & self.ready),
            begins.eq(scheduler.grant & scheduler.ready),
            starts.eq(Mux(begins, Cat(equals(scheduler.vl, lane) for lane in range(vls)), 0)),
            # The size is selected in the cycle after the decision.
            counts.eq(Mux(remote.began, one_of(remote.take, (remote.take_less[lane] for lane in range(vls))), left)),
        ]
        m.d.sync += [
            moves.eq(begins | ~is_free),
            remote.began.eq(begins),
            left.eq(counts - counts.any()),
            remote.take.eq(starts),
            *(remote.take_blocks[lane].eq(sizes[lane]) for lane in range(vls)),
            *(remote.take_less[lane].eq(sizes[lane] - 1) for lane in range(vls)),
        ]
        with m.If(begins):
            m.d.sync += [
                is_free.eq(any_of(starts[lane] & equals(sizes[lane], 1) for lane in range(vls))),
                lanes.eq(starts),
            ]
        with m.Else():
            m.d.sync += is_free.eq(counts <= 1)
        m.d.sync += self.remote.give.eq(
            Mux(self.far_returned.blocks.any(), Cat(equals(self.far_returned.vl, lane) for lane in range(vls)), 0)
        )
        return starts, moves, lanes

    def _queue(self, m: Module, starts: Signal) -> None:
        """Request the link for the packets of each lane, in order (IBF-5)."""
        heads = self.scheduler.heads
        for lane in range(self.geometry.vls):
            queue = SizeQueue(depth=self.most, largest=self.geometry.largest)
            m.submodules[f"sizes_{lane}"] = Part(queue, self.most, self.geometry.largest)
            m.d.comb += [
                queue.comes.eq(self.enters.any() & equals(self.enters_vl, lane)),
                queue.size.eq(self.enters),
                queue.leaves.eq(starts[lane]),
                heads.request[lane].eq(queue.there),
                heads.fits[lane].eq(queue.there & self.remote.fits[lane]),
                heads.blocks[lane].eq(queue.head),
            ]

    def _hold(self, m: Module, left: Signal) -> None:
        """Count the blocks of each lane, and find the lanes for which the buffer is open (IBF-6)."""
        geometry = self.geometry
        for lane in range(geometry.vls):
            used = Signal(range(self.most + 1), name=f"used_{lane}")
            m.d.sync += [
                used.eq(used + Mux(equals(self.enters_vl, lane), self.enters, 0) - left[lane]),
                self.open[lane].eq(used <= geometry.maximum - geometry.largest),
            ]

    def _write(self, m: Module) -> None:
        """Store the crossing flits."""
        crossing, vls = self.crossing, self.geometry.vls
        behind = [Signal(range(max(2, self.ring)), name=f"behind_{lane}") for lane in range(vls)]
        lanes = Cat(equals(crossing.vl, lane) for lane in range(vls))
        m.d.comb += [
            self.memory.write.eq(crossing.valid),
            self.memory.write_place.eq(self._place(one_of(lanes, behind), crossing.vl)),
            self.memory.write_data.eq(Cat(crossing.last, crossing.first, crossing.data)),
        ]
        m.d.sync += [place.eq(place + (crossing.valid & lanes[lane])) for lane, place in enumerate(behind)]

    def _place(self, place: Any, vl: Any) -> Any:
        return Cat(place[: (self.ring - 1).bit_length()], vl)

    def _read(self, m: Module, moves: Signal, lanes: Signal) -> None:
        """Read and send the flits of the packet on the link."""
        vls, tx = self.geometry.vls, self.tx
        oldest = [Signal(range(max(2, self.ring)), name=f"oldest_{lane}") for lane in range(vls)]
        place = Signal(range(max(2, self.ring)))
        vl, shown_vl = Signal(lane_shape(vls)), Signal(lane_shape(vls))
        addressed, shown = Signal(), Signal()
        flit = self.memory.read_data
        m.d.comb += self.memory.read_place.eq(self._place(place, vl))
        m.d.sync += [
            addressed.eq(moves),
            place.eq(one_of(lanes, oldest)),
            vl.eq(number_of(lanes)),
            *(each.eq(each + (moves & lanes[lane])) for lane, each in enumerate(oldest)),
            shown.eq(addressed),
            shown_vl.eq(vl),
            tx.valid.eq(shown),
            tx.vl.eq(Mux(shown, shown_vl, 0)),
            tx.last.eq(shown & flit[0]),
            tx.first.eq(shown & flit[1]),
            tx.data.eq(Mux(shown, flit[2:], 0)),
        ]
