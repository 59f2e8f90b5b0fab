"""Output side of a switch: the buffer, the egress scheduler, the credits of the remote buffer."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from vlane.hdl.buffers.buffer_geometry import FLAGS, BufferGeometry
from vlane.hdl.buffers.size_queue import SizeQueue
from vlane.hdl.common.part import Part
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.links.fcp_round_robin import FCPTimes
from vlane.hdl.links.link import CrossingSignature, LimitSignature, LinkSignature, ReturnSignature, lane_shape
from vlane.hdl.switches.write_port import WritePort

__all__ = ["SwitchOutput"]


class SwitchOutput(wiring.Component):
    """One output (``docs/ib_switch.md``, ``docs/opa_switch.md``: stage OB).

    Parameters
    ----------
    scheduler : Component
        With the egress schedulers' shared port list, as many lanes, and no VL15.
    ports : int
        Of the switch.
    geometry : BufferGeometry
        Of the buffer, and of the one at the far end.
    data_bits : int
        Carried of a flit.
    flits : int
        That may cross in a cycle.
    write_ports : int
        Packets that may come in at a time, 1 or 2, of different lanes.
    vl_bits : int
        Of a lane's number on links.
    fcp : FCPTimes or None
        Of the flow-control packets that tell of room, if any do.

    Members
    -------
    reserved, reserved_vl : In(range(largest + 1)), In(lane_shape(vls))
        Blocks of a packet that was granted in this cycle, 0 if none was; its lane.
    enters : In(write_ports)
        The write port through which it comes, one bit.
    room : Out(vls)
        VLs that can accept a largest packet and that no write port is filling.
    free : Out(write_ports)
        Write ports through which another packet may be granted.
    crossing : In(CrossingSignature(...)).array(write_ports)
        The flits that come in.
    ready : In(1)
        A packet may start on the link.
    tx : Out(LinkSignature(data_bits, vl_bits))
        Flits that leave, a cycle after they were chosen.
    heard : In(ReturnSignature(flits, vl_bits))
        Room that came free at the far end. Not with ``fcp``.
    freed : In(ReturnSignature(flits, vl_bits))
        With ``fcp`` only: room that came free in the input beside this output.
    hears : In(LimitSignature())
        With ``fcp`` only: a flow-control packet that arrives.
    says : Out(LimitSignature())
        With ``fcp`` only: one that leaves, a cycle after it was chosen.
    """

    def __init__(
        self, scheduler: Any, *, ports: int, geometry: BufferGeometry, data_bits: int, flits: int, write_ports: int,
        vl_bits: int, fcp: FCPTimes | None,
    ) -> None:  # fmt: skip
        self.scheduler, self.geometry, self.flits = scheduler, geometry, flits
        self.write_ports = [WritePort(geometry.vls) for _ in range(write_ports)]
        self.storage = geometry.storage(data_bits=data_bits, writers=write_ports, write_flits=flits)
        self.looks_behind = "behind" in scheduler.signature.members
        self.turns = geometry.round_robin(fcp) if fcp else None
        self.remote = (
            geometry.limits(behind=self.looks_behind)
            if fcp
            else geometry.room(returned=flits, behind=self.looks_behind)
        )
        returns = ReturnSignature(flits, vl_bits)
        told = {"freed": In(returns), "hears": In(LimitSignature()), "says": Out(LimitSignature())}
        crossing = CrossingSignature(
            flits=flits, data_bits=data_bits, vls=geometry.vls, ports=ports, largest=geometry.largest
        )
        super().__init__(
            {
                "reserved": In(range(geometry.largest + 1)),
                "reserved_vl": In(lane_shape(geometry.vls)),
                "enters": In(write_ports),
                "room": Out(geometry.vls),
                "free": Out(write_ports),
                "crossing": In(crossing).array(write_ports),
                "ready": In(1),
                "tx": Out(LinkSignature(data_bits, vl_bits)),
                **(told if fcp else {"heard": In(returns)}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.storage = Part(self.storage, self.storage.parameters)
        m.submodules.remote = self.remote
        m.submodules.scheduler = Part(self.scheduler, self.scheduler.parameters)
        self._take_in(m)
        self._queue(m)
        self._send(m)
        return m

    def _take_in(self, m: Module) -> None:
        """Store what crosses; a write port and its VL are busy until the last flit of the packet (IBS-5, OPAS-6)."""
        storage = self.storage
        m.d.comb += [storage.reserve_flits.eq(self.reserved), storage.reserve_vl.eq(self.reserved_vl)]
        for number, write_port in enumerate(self.write_ports):
            m.submodules[f"write_port_{number}"] = write_port
            crossing, first = self.crossing[number], number * self.flits
            m.d.comb += [
                storage.write_vl[number].eq(crossing.vl),
                storage.write_count[number].eq(crossing.count),
                *(storage.write_data[first + place].eq(crossing.flits[place]) for place in range(self.flits)),
                write_port.enters.eq(self.reserved.any() & self.enters[number]),
                write_port.vl.eq(self.reserved_vl),
                write_port.ends.eq(crossing.count.any() & crossing.last),
                self.free[number].eq(write_port.free),
            ]
        if len(self.write_ports) > 1:
            m.d.comb += self.room.eq(storage.room & ~reduce(or_, (each.writes for each in self.write_ports)))
        else:
            m.d.comb += self.room.eq(storage.room)

    def _queue(self, m: Module) -> None:
        """Let packets ask for the link once their first flit is there (IBS-6)."""
        heads, geometry = self.scheduler.heads, self.geometry
        for lane in range(geometry.vls):
            queue = SizeQueue(depth=geometry.maximum, largest=geometry.largest)
            m.submodules[f"sizes_{lane}"] = Part(queue, geometry.maximum, geometry.largest)
            comes = [each.count.any() & each.first & equals(each.vl, lane) for each in self.crossing]
            m.d.comb += [
                queue.comes.eq(Cat(comes).any()),
                queue.size.eq(one_of(comes, (each.blocks for each in self.crossing))),
                queue.leaves.eq(self.remote.take[lane]),
                heads.request[lane].eq(queue.there),
                heads.fits[lane].eq(queue.there & self.remote.fits[lane]),
                heads.blocks[lane].eq(queue.head),
                self.remote.blocks[lane].eq(queue.head),
            ]
            if self.turns is None:
                m.d.comb += self.remote.give[lane].eq(Mux(equals(self.heard.vl, lane), self.heard.blocks, 0))
            if self.looks_behind:
                self._look_behind(m, lane, queue)

    def _look_behind(self, m: Module, lane: int, queue: SizeQueue) -> None:
        """Tell the scheduler of the packet behind a lane's head."""
        m.d.comb += [
            self.remote.behind_blocks[lane].eq(queue.behind),
            self.scheduler.behind[lane].eq(queue.follows & self.remote.fits_behind[lane]),
        ]
        if "behind_blocks" in self.scheduler.signature.members:
            m.d.comb += self.scheduler.behind_blocks[lane].eq(queue.behind)

    def _tell(self, m: Module, is_free: Signal) -> Value:
        """Return whether a flow-control packet takes the link in this cycle (IBS-C4)."""
        if self.turns is None:
            return Const(0)
        m.submodules.turns = turns = self.turns
        connect(m, flipped(self.freed), turns.freed)
        connect(m, flipped(self.hears), self.remote.hears)
        connect(m, turns.says, flipped(self.says))
        m.d.comb += turns.may.eq(is_free)
        return turns.takes

    def _send(self, m: Module) -> None:
        """Start a packet when the link is free, and send it to its end (IBS-7, IBS-9)."""
        scheduler, storage, tx = self.scheduler, self.storage, self.tx
        sending, starts, moves, is_free = Signal(), Signal(), Signal(), Signal()
        vl, now = Signal(lane_shape(self.geometry.vls), reset_less=True), Signal(lane_shape(self.geometry.vls))
        flit, lanes = storage.read_data[0], range(self.geometry.vls)
        m.d.comb += [
            is_free.eq(~sending & self.ready),
            scheduler.ready.eq(is_free & ~self._tell(m, is_free)),
            starts.eq(scheduler.grant & scheduler.ready),
            now.eq(Mux(sending, vl, scheduler.vl)),
            storage.read_vl[0].eq(now),
            storage.read_count[0].eq(sending | starts),
            moves.eq((sending | starts) & storage.readable[0].any()),
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
            tx.data.eq(Mux(moves, flit[FLAGS:], 0)),
        ]
