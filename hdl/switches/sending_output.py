"""Output side of a switch from its packet queue on: packet sizes in order, egress scheduler, remote credits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from vlane.hdl.buffers.buffer_geometry import FLAGS, BufferGeometry
from vlane.hdl.buffers.size_queue import SizeQueue
from vlane.hdl.common.part import Part
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.congestion.cc_marker import CCMarker
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.links.link import LaneReturnSignature, LimitSignature, LinkSignature, ReturnSignature, lane_shape


class SendingOutput(wiring.Component):
    """Base of the output sides (``docs/ib_switch.md``, ``docs/opa_switch.md``: stage OB).

    A subclass adds the buffer and its write side, and documents all members.

    Parameters
    ----------
    scheduler : Component
        Egress scheduler with the shared port list, as many lanes, and no VL15.
    members : dict
        Members in addition to the shared ones.
    returns : ReturnSignature or LaneReturnSignature
        Signature of credit returns.
    geometry : BufferGeometry
        Geometry of this buffer and of the far buffer.
    data_bits : int
        Data bits of a flit.
    vl_bits : int
        Width of a lane number on links.
    returned : int
        Most blocks of a lane that may come back per cycle.
    fcp : FCPTimes or None
        Timing of flow-control packets; ``None`` if credits return as blocks.
    marker : CCMarker or None
        Marker of starting packets, with as many lanes; ``None`` for a switch that does not mark.
    measured : bool
        Whether the marker measures the member ``measure`` instead of the buffer's fill.
    """

    vls_apart: ClassVar[bool]
    """Whether blocks of several lanes may be freed in one cycle."""

    def __init__(
        self,
        scheduler: Any,
        members: dict[str, Any],
        *,
        returns: ReturnSignature | LaneReturnSignature,
        geometry: BufferGeometry,
        data_bits: int,
        vl_bits: int,
        returned: int,
        fcp: FCPTimes | None,
        marker: CCMarker | None = None,
        measured: bool = False,
    ) -> None:
        self.scheduler, self.geometry, self.returns, self.marker = scheduler, geometry, returns, marker
        self.measured = measured
        measure = {"measure": In(data.ArrayLayout(range(geometry.maximum + 1), geometry.vls))} if measured else {}
        self.looks_behind = "behind" in scheduler.signature.members
        self.turns = geometry.round_robin(fcp, returned=returned, vls_apart=self.vls_apart) if fcp else None
        self.remote = (
            geometry.limits(behind=self.looks_behind)
            if fcp
            else geometry.room(returned=returned, behind=self.looks_behind)
        )
        told = {"freed": In(returns), "fcp_rx": In(LimitSignature()), "fcp_tx": Out(LimitSignature())}
        super().__init__(
            {
                **members,
                **measure,
                "ready": In(1),
                "tx": Out(LinkSignature(data_bits, vl_bits)),
                **(told if fcp else {"far_returned": In(returns)}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.remote = self.remote
        m.submodules.scheduler = Part(self.scheduler, self.scheduler.parameters)
        self._take_in(m)
        self._queue(m)
        self._send(m)
        return m

    @abstractmethod
    def _take_in(self, m: Module) -> None:
        """Store the flits that cross."""

    @abstractmethod
    def _comes(self, lane: int) -> tuple[Value, Value]:
        """Return whether a packet's first flit enters a lane, and the packet's size."""

    @abstractmethod
    def _read(self, m: Module, vl: Value, reads: Value) -> tuple[Value, Value]:
        """Remove a lane's oldest flit if ``reads``. Return the flit, and whether it is available."""

    def _queue(self, m: Module) -> None:
        """Request the link for packets whose first flit is stored (IBS-6)."""
        heads, geometry = self.scheduler.heads, self.geometry
        for lane in range(geometry.vls):
            queue = SizeQueue(depth=geometry.maximum, largest=geometry.largest)
            m.submodules[f"sizes_{lane}"] = Part(queue, geometry.maximum, geometry.largest)
            comes, size = self._comes(lane)
            m.d.comb += [
                queue.comes.eq(comes),
                queue.size.eq(size),
                queue.leaves.eq(self.remote.take[lane]),
                heads.request[lane].eq(queue.there),
                heads.fits[lane].eq(queue.there & self.remote.fits[lane]),
                heads.blocks[lane].eq(queue.head),
                self.remote.blocks[lane].eq(queue.head),
            ]
            if self.turns is None:
                m.d.comb += self.remote.give[lane].eq(self.returns.of_lane(self.far_returned, lane))
            if self.looks_behind:
                self._look_behind(m, lane, queue)

    def _look_behind(self, m: Module, lane: int, queue: SizeQueue) -> None:
        """Drive the scheduler's inputs about the packet behind a lane's head."""
        m.d.comb += [
            self.remote.behind_blocks[lane].eq(queue.behind),
            self.scheduler.behind[lane].eq(queue.follows & self.remote.fits_behind[lane]),
        ]
        if "behind_blocks" in self.scheduler.signature.members:
            m.d.comb += self.scheduler.behind_blocks[lane].eq(queue.behind)

    def _tell(self, m: Module, is_free: Signal) -> Value:
        """Connect the flow-control packets and return whether one of them takes the link in this cycle (IBS-C4)."""
        if self.turns is None:
            return Const(0)
        m.submodules.turns = turns = self.turns
        connect(m, flipped(self.freed), turns.freed)
        connect(m, flipped(self.fcp_rx), self.remote.fcp_rx)
        connect(m, turns.fcp_tx, flipped(self.fcp_tx))
        m.d.comb += turns.may.eq(is_free)
        return turns.takes

    def _send(self, m: Module) -> None:
        """Start a packet when the link is free, and send all its flits (IBS-7, IBS-9)."""
        scheduler, tx = self.scheduler, self.tx
        sending = Signal()
        starts = Signal()
        moves = Signal()
        is_free = Signal()
        vl = Signal(lane_shape(self.geometry.vls), name="link_vl", reset_less=True)
        now = Signal(lane_shape(self.geometry.vls))
        lanes = range(self.geometry.vls)
        flit, there = self._read(m, now, sending | starts)
        m.d.comb += [
            is_free.eq(~sending & self.ready),
            scheduler.ready.eq(is_free & ~self._tell(m, is_free)),
            starts.eq(scheduler.grant & scheduler.ready),
            now.eq(Mux(sending, vl, scheduler.vl)),
            moves.eq((sending | starts) & there),
            self.remote.take_blocks.eq(one_of(self.remote.take, (scheduler.heads.blocks[lane] for lane in lanes))),
            *(self.remote.take[lane].eq(starts & equals(scheduler.vl, lane)) for lane in lanes),
        ]
        with m.If(starts):
            m.d.sync += vl.eq(scheduler.vl)
        m.d.sync += [
            sending.eq((sending | starts) & ~(moves & flit[0])),
            tx.valid.eq(moves),
            tx.vl.eq(Mux(moves, now, 0)),
            tx.last.eq(moves & flit[0]),
            tx.first.eq(moves & flit[1]),
            tx.data.eq(Mux(moves, self._marked(m, starts, flit[FLAGS:]), 0)),
        ]

    @abstractmethod
    def _taken(self, lane: int) -> Value:
        """Return the used and reserved blocks of a lane at the start of the cycle."""

    def _marked(self, m: Module, starts: Value, flit: Value) -> Value:
        """Return the leaving flit, with FECN set in the first flit of a marked packet (IBS-M1)."""
        marker = self.marker
        if marker is None:
            return flit
        m.submodules.marker = Part(marker, marker.parameters)
        heads = self.scheduler.heads
        m.d.comb += [
            *(
                marker.measure[lane].eq(self.measure[lane] if self.measured else self._taken(lane))
                for lane in range(self.geometry.vls)
            ),
            marker.free.eq(self.scheduler.ready),
            marker.asks.eq(heads.request),
            marker.fits.eq(heads.fits),
            marker.start.eq(starts),
            marker.start_vl.eq(self.scheduler.vl),
            marker.start_blocks.eq(self.remote.take_blocks),
            marker.flit_in.eq(flit),
        ]
        return marker.flit_out
