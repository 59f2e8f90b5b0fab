"""Output side of a switch: the buffer, the egress scheduler, what is known of the far buffer."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from vlane.hdl.egress import BLOCKS_SHAPE
from vlane.hdl.link import LinkSignature, ReturnSignature
from vlane.hdl.room import Room
from vlane.hdl.select import equals
from vlane.hdl.vlbuffer import VLBuffer

__all__ = ["SwitchOutput"]


class SwitchOutput(wiring.Component):
    """One output (``docs/ib_switch.md``, stage OB).

    Parameters
    ----------
    scheduler : Component
        With the egress schedulers' shared port list, as many lanes, and no VL15.
    vls : int
        Lanes.
    blocks, minimum, maximum, largest : int
        Of the buffer, and of the one at the far end; guaranteed to and allowed for each lane; its largest packet.
    data_bits : int
        Carried of a flit.

    Members
    -------
    reserved, reserved_vl : In(7), In(4)
        Blocks of a packet that was granted in this cycle, 0 if none was; its lane.
    room : Out(vls)
        Lanes with room for their largest packet.
    free : Out(1)
        Another packet may be granted.
    crossing, crossing_blocks : In(LinkSignature(data_bits)), In(7)
        The flit that comes in; size of its packet.
    tx : Out(LinkSignature(data_bits))
        Flits that leave, a cycle after they were chosen.
    heard : In(ReturnSignature())
        Room that came free at the far end.
    """

    def __init__(
        self, scheduler: Any, *, vls: int, blocks: int, minimum: int, maximum: int, largest: int, data_bits: int
    ) -> None:
        self.scheduler, self.vls, self.maximum, self.data_bits = scheduler, vls, maximum, data_bits
        self.storage = VLBuffer(
            vls=vls, flits=blocks, minimum=minimum, maximum=maximum, mtu_flits=largest, data_bits=data_bits + 2,
            form="static" if minimum == maximum else "shared",
        )  # fmt: skip
        self.far = Room(vls=vls, blocks=blocks, minimum=minimum, maximum=maximum)
        super().__init__(
            {
                "reserved": In(BLOCKS_SHAPE),
                "reserved_vl": In(4),
                "room": Out(vls),
                "free": Out(1),
                "crossing": In(LinkSignature(data_bits)),
                "crossing_blocks": In(BLOCKS_SHAPE),
                "tx": Out(LinkSignature(data_bits)),
                "heard": In(ReturnSignature()),
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
        """Keep what crosses; the output is busy until the last flit does (S5)."""
        storage, crossing = self.storage, self.crossing
        busy = Signal()
        m.d.comb += [
            storage.reserve_flits.eq(self.reserved),
            storage.reserve_vl.eq(self.reserved_vl),
            storage.write_vl[0].eq(crossing.vl),
            storage.write_count[0].eq(crossing.valid),
            storage.write_data[0].eq(Cat(crossing.last, crossing.first, crossing.data)),
            self.room.eq(storage.room),
            self.free.eq(~busy | (crossing.valid & crossing.last)),
        ]
        with m.If(self.reserved.any()):
            m.d.sync += busy.eq(1)
        with m.Elif(crossing.valid & crossing.last):
            m.d.sync += busy.eq(0)

    def _queue(self, m: Module) -> None:
        """Let packets ask for the link once their first flit is there (S6)."""
        heads, crossing = self.scheduler.heads, self.crossing
        for lane in range(self.vls):
            m.submodules[f"sizes_{lane}"] = sizes = SyncFIFO(width=BLOCKS_SHAPE.width, depth=self.maximum)
            comes = crossing.valid & crossing.first & equals(crossing.vl, lane)
            m.d.comb += [
                sizes.w_en.eq(comes),
                sizes.w_data.eq(self.crossing_blocks),
                sizes.r_en.eq(self.far.take[lane]),
                heads.request[lane].eq(sizes.r_rdy),
                heads.fits[lane].eq(sizes.r_rdy & self.far.fits[lane]),
                heads.blocks[lane].eq(sizes.r_data),
                self.far.blocks[lane].eq(sizes.r_data),
                self.far.give[lane].eq(self.heard.valid & equals(self.heard.vl, lane)),
            ]

    def _send(self, m: Module) -> None:
        """Start a packet when the link is free, and send it to its end (S7, S9)."""
        scheduler, storage, tx = self.scheduler, self.storage, self.tx
        sending, vl, starts, moves = Signal(), Signal(4), Signal(), Signal()
        now = Signal(4)
        flit = storage.read_data[0]
        m.d.comb += [
            scheduler.ready.eq(~sending),
            starts.eq(scheduler.grant & ~sending),
            now.eq(Mux(sending, vl, scheduler.vl)),
            storage.read_vl[0].eq(now),
            storage.read_count[0].eq(sending | starts),
            moves.eq((sending | starts) & storage.readable[0].any()),
            self.far.take_blocks.eq(scheduler.blocks),
            *(self.far.take[lane].eq(starts & equals(scheduler.vl, lane)) for lane in range(self.vls)),
        ]
        with m.If(starts):
            m.d.sync += vl.eq(scheduler.vl)
        m.d.sync += [
            sending.eq((sending | starts) & ~(moves & flit[0])),
            tx.valid.eq(moves),
            tx.vl.eq(Mux(moves, now, 0)),
            tx.last.eq(moves & flit[0]),
            tx.first.eq(moves & flit[1]),
            tx.data.eq(Mux(moves, flit[2:], 0)),
        ]
