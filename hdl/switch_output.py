"""Output side of a switch: the buffer, the egress scheduler, what is known of the far buffer."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from vlane.hdl.buffer_sizes import FLAGS, BufferSizes
from vlane.hdl.door import Door
from vlane.hdl.fcp_turns import FCPTimes, FCPTurns
from vlane.hdl.link import CrossingSignature, LimitSignature, LinkSignature, ReturnSignature, lane_shape
from vlane.hdl.select import equals, one_of
from vlane.hdl.size_queue import SizeQueue

__all__ = ["SwitchOutput"]


class SwitchOutput(wiring.Component):
    """One output (``docs/ib_switch.md``, ``docs/opa_switch.md``: stage OB).

    Parameters
    ----------
    scheduler : Component
        With the egress schedulers' shared port list, as many lanes, and no VL15.
    ports : int
        Of the switch.
    sizes : BufferSizes
        Of the buffer, and of the one at the far end.
    data_bits : int
        Carried of a flit.
    flits : int
        That may cross in a cycle.
    doors : int
        Packets that may come in at a time, 1 or 2, of different lanes.
    vl_bits : int
        Of a lane's number on links.
    fcp : FCPTimes or None
        Of the flow-control packets that tell of room, if any do.

    Members
    -------
    reserved, reserved_vl : In(range(largest + 1)), In(lane_shape(vls))
        Blocks of a packet that was granted in this cycle, 0 if none was; its lane.
    enters : In(doors)
        The door through which it comes, one bit.
    room : Out(vls)
        Lanes with room for their largest packet, and, where there are several doors, to which nobody writes.
    free : Out(doors)
        Doors through which another packet may be granted.
    crossing : In(CrossingSignature(...)).array(doors)
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
        self, scheduler: Any, *, ports: int, sizes: BufferSizes, data_bits: int, flits: int, doors: int, vl_bits: int,
        fcp: FCPTimes | None,
    ) -> None:  # fmt: skip
        self.scheduler, self.sizes, self.flits = scheduler, sizes, flits
        self.ways = [Door(sizes.vls) for _ in range(doors)]
        self.storage = sizes.storage(data_bits=data_bits, writers=doors, write_flits=flits)
        self.looks_behind = "behind" in scheduler.signature.members
        self.turns = FCPTurns(vls=sizes.vls, blocks=sizes.minimum, step=fcp.step, period=fcp.period) if fcp else None
        self.far = (
            sizes.limits(behind=self.looks_behind) if fcp else sizes.room(returned=flits, behind=self.looks_behind)
        )
        returns = ReturnSignature(flits, vl_bits)
        told = {"freed": In(returns), "hears": In(LimitSignature()), "says": Out(LimitSignature())}
        crossing = CrossingSignature(
            flits=flits, data_bits=data_bits, vls=sizes.vls, ports=ports, largest=sizes.largest
        )
        super().__init__(
            {
                "reserved": In(range(sizes.largest + 1)),
                "reserved_vl": In(lane_shape(sizes.vls)),
                "enters": In(doors),
                "room": Out(sizes.vls),
                "free": Out(doors),
                "crossing": In(crossing).array(doors),
                "ready": In(1),
                "tx": Out(LinkSignature(data_bits, vl_bits)),
                **(told if fcp else {"heard": In(returns)}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.storage, m.submodules.far, m.submodules.scheduler = self.storage, self.far, self.scheduler
        self._take_in(m)
        self._queue(m)
        self._send(m)
        return m

    def _take_in(self, m: Module) -> None:
        """Keep what crosses; a door, and the lane it writes to, are busy until a packet's last flit comes (S5, O6)."""
        storage = self.storage
        m.d.comb += [storage.reserve_flits.eq(self.reserved), storage.reserve_vl.eq(self.reserved_vl)]
        for number, door in enumerate(self.ways):
            m.submodules[f"door_{number}"] = door
            crossing, first = self.crossing[number], number * self.flits
            m.d.comb += [
                storage.write_vl[number].eq(crossing.vl),
                storage.write_count[number].eq(crossing.count),
                *(storage.write_data[first + place].eq(crossing.flits[place]) for place in range(self.flits)),
                door.enters.eq(self.reserved.any() & self.enters[number]),
                door.vl.eq(self.reserved_vl),
                door.ends.eq(crossing.count.any() & crossing.last),
                self.free[number].eq(door.free),
            ]
        if len(self.ways) > 1:
            m.d.comb += self.room.eq(storage.room & ~reduce(or_, (door.writes for door in self.ways)))
        else:
            m.d.comb += self.room.eq(storage.room)

    def _queue(self, m: Module) -> None:
        """Let packets ask for the link once their first flit is there (S6)."""
        heads, sizes = self.scheduler.heads, self.sizes
        for lane in range(sizes.vls):
            m.submodules[f"sizes_{lane}"] = queue = SizeQueue(depth=sizes.maximum, largest=sizes.largest)
            comes = [each.count.any() & each.first & equals(each.vl, lane) for each in self.crossing]
            m.d.comb += [
                queue.comes.eq(Cat(comes).any()),
                queue.size.eq(one_of(comes, (each.blocks for each in self.crossing))),
                queue.leaves.eq(self.far.take[lane]),
                heads.request[lane].eq(queue.there),
                heads.fits[lane].eq(queue.there & self.far.fits[lane]),
                heads.blocks[lane].eq(queue.head),
                self.far.blocks[lane].eq(queue.head),
            ]
            if self.turns is None:
                m.d.comb += self.far.give[lane].eq(Mux(equals(self.heard.vl, lane), self.heard.blocks, 0))
            if self.looks_behind:
                self._look_behind(m, lane, queue)

    def _look_behind(self, m: Module, lane: int, queue: SizeQueue) -> None:
        """Tell the scheduler of the packet behind a lane's head."""
        m.d.comb += [
            self.far.behind_blocks[lane].eq(queue.behind),
            self.scheduler.behind[lane].eq(queue.follows & self.far.fits_behind[lane]),
        ]
        if "behind_blocks" in self.scheduler.signature.members:
            m.d.comb += self.scheduler.behind_blocks[lane].eq(queue.behind)

    def _tell(self, m: Module, is_free: Signal) -> Value:
        """Return whether a flow-control packet takes the link in this cycle (C4)."""
        if self.turns is None:
            return Const(0)
        m.submodules.turns = turns = self.turns
        connect(m, flipped(self.freed), turns.freed)
        connect(m, flipped(self.hears), self.far.hears)
        connect(m, turns.says, flipped(self.says))
        m.d.comb += turns.may.eq(is_free)
        return turns.takes

    def _send(self, m: Module) -> None:
        """Start a packet when the link is free, and send it to its end (S7, S9)."""
        scheduler, storage, tx = self.scheduler, self.storage, self.tx
        sending, starts, moves, is_free = Signal(), Signal(), Signal(), Signal()
        vl, now = Signal(lane_shape(self.sizes.vls), reset_less=True), Signal(lane_shape(self.sizes.vls))
        flit, lanes = storage.read_data[0], range(self.sizes.vls)
        m.d.comb += [
            is_free.eq(~sending & self.ready),
            scheduler.ready.eq(is_free & ~self._tell(m, is_free)),
            starts.eq(scheduler.grant & scheduler.ready),
            now.eq(Mux(sending, vl, scheduler.vl)),
            storage.read_vl[0].eq(now),
            storage.read_count[0].eq(sending | starts),
            moves.eq((sending | starts) & storage.readable[0].any()),
            self.far.take_blocks.eq(one_of(self.far.take, (scheduler.heads.blocks[lane] for lane in lanes))),
            *(self.far.take[lane].eq(starts & equals(scheduler.vl, lane)) for lane in lanes),
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
