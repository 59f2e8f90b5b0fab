"""Absolute credits of InfiniBand: sender, receiver, and the flow-control packets (FCPs) between them."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.credits.credit_ib import CreditIBParameters
from vlane.hdl.common.select import equals, one_of
from vlane.hdl.common.stored import Stored
from vlane.hdl.credits.fcp_format import FCP_LAYOUT, check_sum
from vlane.hdl.credits.fcp_offer import FCPOffer
from vlane.hdl.schedulers.ports import BLOCKS_SHAPE
from vlane.packets.fcp import COUNTER_BITS, COUNTER_MODULUS, CREDIT_CAP, FCP_BITS, Op

__all__ = ["CreditIB", "CreditIBReceiver", "CreditIBSender"]


def _counters(data_vls: int) -> data.ArrayLayout:
    return data.ArrayLayout(COUNTER_BITS, data_vls)


class CreditIBSender(wiring.Component):
    """Count the blocks sent, and compare them with the received limit, per lane (IBA 7.9.4).

    Parameters
    ----------
    data_vls : int
        Data lanes.
    limit : int
        Limit of every lane after reset.
    behind : bool
        Whether to check the packets behind the heads too.
    parity : bool
        Whether registers have parity bits; ``stored.upset`` reports a mismatch.

    Members
    -------
    blocks : In(ArrayLayout(7, data_vls))
        Sizes of the head packets, in blocks.
    initializing : In(1)
        The link is being initialized: nothing fits.
    fits : Out(data_vls)
        Lanes whose whole head packet is within the limit.
    behind_blocks : In(ArrayLayout(7, data_vls))
        With ``behind`` only: sizes of the packets behind the heads.
    fits_behind : Out(data_vls)
        With ``behind`` only: lanes whose head and second packet are together within the limit.
    grant : In(data_vls)
        Lane whose packet starts, one-hot.
    grant_blocks : In(7)
        Size of the starting packet, in blocks.
    update : In(data_vls)
        Lane for which a limit arrived, one-hot.
    update_fccl : In(12)
        The arrived limit.
    fctbs : Out(ArrayLayout(12, data_vls))
        Blocks sent, modulo 4096.
    fccl : Out(ArrayLayout(12, data_vls))
        Limits received, modulo 4096.
    """

    def __init__(self, data_vls: int, *, limit: int = 0, behind: bool = False, parity: bool = False) -> None:
        self.data_vls, self.behind, self.stored = data_vls, behind, Stored(parity=parity)
        sizes = data.ArrayLayout(BLOCKS_SHAPE, data_vls)
        looks_behind = {"behind_blocks": In(sizes), "fits_behind": Out(data_vls)} if behind else {}
        super().__init__(
            {
                "blocks": In(sizes),
                "initializing": In(1),
                "fits": Out(data_vls),
                **looks_behind,
                "grant": In(data_vls),
                "grant_blocks": In(BLOCKS_SHAPE),
                "update": In(data_vls),
                "update_fccl": In(COUNTER_BITS),
                "fctbs": Out(_counters(data_vls)),
                "fccl": Out(_counters(data_vls), init=[limit] * data_vls),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for vl in range(self.data_vls):
            m.d.comb += self.fits[vl].eq(~self.initializing & self._within(m, f"head_{vl}", vl, self.blocks[vl]))
            if self.behind:
                both = self.blocks[vl] + self.behind_blocks[vl]
                m.d.comb += self.fits_behind[vl].eq(~self.initializing & self._within(m, f"behind_{vl}", vl, both))
            with m.If(self.grant[vl]):
                self.stored.write(m, self.fctbs[vl], self.fctbs[vl] + self.grant_blocks)
            with m.If(self.update[vl]):
                self.stored.write(m, self.fccl[vl], self.update_fccl)
        self.stored.check(m)
        return m

    def _within(self, m: Module, name: str, vl: int, blocks: Value) -> Value:
        """Return whether ``blocks`` more blocks stay within the limit, modulo 4096 (CIB-2)."""
        left = Signal(COUNTER_BITS, name=f"left_{name}")
        m.d.comb += left.eq(self.fccl[vl] - (self.fctbs[vl] + blocks))
        return left <= CREDIT_CAP


class CreditIBReceiver(wiring.Component):
    """Count the blocks received and the free buffer space, per lane (IBA 7.9.4).

    Parameters
    ----------
    data_vls : int
        Data lanes.
    buffer_blocks : int
        Buffer space of a lane, in blocks.
    parity : bool
        Whether registers have parity bits; ``stored.upset`` reports a mismatch.

    Members
    -------
    arrived : In(data_vls)
        Lane on which a packet's head arrives, one-hot.
    arrived_blocks : In(7)
        Size of the arriving packet, in blocks.
    accepted : Out(1)
        The buffer has space for the arriving packet and reserves it.
    freed : In(data_vls)
        Lane whose buffer one block leaves, one-hot.
    update : In(data_vls)
        Lane for which FCTBS arrived, one-hot. The update is applied before a packet of the same cycle.
    update_fctbs : In(12)
        The arrived FCTBS: blocks that the other end has sent.
    abr : Out(ArrayLayout(12, data_vls))
        Blocks received, modulo 4096.
    room : Out(ArrayLayout(range(buffer_blocks + 1), data_vls))
        Free blocks.
    limit : Out(ArrayLayout(12, data_vls))
        Limit to send: blocks received plus free blocks (at most 2048), modulo 4096.
    """

    def __init__(self, data_vls: int, buffer_blocks: int, *, parity: bool = False) -> None:
        self.data_vls, self.buffer_blocks, self.stored = data_vls, buffer_blocks, Stored(parity=parity)
        super().__init__(
            {
                "arrived": In(data_vls),
                "arrived_blocks": In(BLOCKS_SHAPE),
                "accepted": Out(1),
                "freed": In(data_vls),
                "update": In(data_vls),
                "update_fctbs": In(COUNTER_BITS),
                "abr": Out(_counters(data_vls)),
                "room": Out(data.ArrayLayout(range(buffer_blocks + 1), data_vls), init=[buffer_blocks] * data_vls),
                "limit": Out(_counters(data_vls)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        has_room = Cat(self.room[vl] >= self.arrived_blocks for vl in range(self.data_vls))
        m.d.comb += self.accepted.eq((self.arrived & has_room).any())
        for vl in range(self.data_vls):
            taken = Mux(self.arrived[vl] & self.accepted, self.arrived_blocks, 0)
            before = Mux(self.update[vl], self.update_fctbs, self.abr[vl])
            left = Signal(range(self.buffer_blocks + 1), name=f"left_{vl}")
            m.d.comb += [left.eq(self.room[vl] - taken), self.limit[vl].eq(self.abr[vl] + self._capped(self.room[vl]))]
            self.stored.write(m, self.abr[vl], before + taken)
            self.stored.write(m, self.room[vl], left + (self.freed[vl] & (left < self.buffer_blocks)))
        self.stored.check(m)
        return m

    def _capped(self, room: Value) -> Value:
        return room if self.buffer_blocks <= CREDIT_CAP else Mux(room > CREDIT_CAP, CREDIT_CAP, room)


class CreditIB(wiring.Component):
    """Both ends of a port's credits, with the flow-control packets in and out (``docs/credit_ib.md``).

    Latency 0 for ``fits``, ``accepted`` and the offered FCP. Inputs about arrivals take effect in the next cycle.

    Parameters
    ----------
    parameters : CreditIBParameters
        Shape of the component.

    Members
    -------
    initializing : In(1)
        The link is being initialized: nothing fits, and FCPs are initial ones.
    blocks : In(ArrayLayout(7, data_vls))
        Sizes of the head packets, in blocks.
    fits : Out(data_vls)
        Lanes whose whole head packet fits into the far buffer.
    grant : In(1)
        A packet starts. It must fit.
    grant_vl : In(4)
        Lane of the starting packet. A lane that does not exist changes nothing.
    grant_blocks : In(7)
        Size of the starting packet, in blocks.
    tail : In(1)
        The packet's last flit leaves; for a packet of one flit, in the cycle of ``grant``. The tail wins over a grant:
        grant no packet of several flits in another packet's tail cycle (CIB-8).
    fcp_valid : Out(1)
        An FCP is due, and no packet is in transmission.
    fcp : Out(48)
        The due FCP: op, FCTBS, VL, FCCL, LPCRC from the most significant bits. It may change until it is taken.
    fcp_taken : In(1)
        The FCP is sent.
    fcp_arrived : In(1)
        An FCP arrives.
    fcp_in : In(48)
        The arriving FCP.
    fcp_bad : Out(1)
        The arriving FCP is ignored: wrong checksum, operand or lane.
    arrived : In(1)
        A packet's head arrives.
    arrived_vl : In(4)
        Lane of the arriving packet. A packet on a lane that does not exist is not accepted.
    arrived_blocks : In(7)
        Size of the arriving packet, in blocks.
    accepted : Out(1)
        The arriving packet has its buffer space; otherwise it must be discarded.
    freed : In(1)
        A block leaves a buffer.
    freed_vl : In(4)
        Lane of that block. A lane that is empty or does not exist frees nothing.
    overdue : Out(data_vls)
        Lanes for which no FCP arrived in the last complete watchdog window.
    fctbs : Out(ArrayLayout(12, data_vls))
        Blocks sent, modulo 4096.
    fccl : Out(ArrayLayout(12, data_vls))
        Limits received, modulo 4096.
    abr : Out(ArrayLayout(12, data_vls))
        Blocks received, modulo 4096.
    room : Out(ArrayLayout(12, data_vls))
        Free blocks of the own buffer.
    fcp_timer : Out(range(fcp_period))
        Cycles since the last FCP period ended.
    watchdog_timer : Out(range(watchdog_cycles))
        Cycles since the watchdog window began.
    upset : Out(1)
        Only with ``parity``: in the previous cycle a register did not match its parity bit.
    """

    latency = 0

    def __init__(self, parameters: CreditIBParameters) -> None:
        self.parameters = p = parameters
        self.data_vls, self.buffer_blocks = p.data_vls, p.buffer_blocks
        self.fcp_blocks = p.fcp_blocks or max(1, p.buffer_blocks // 4)
        self.fcp_period, self.watchdog_cycles = p.fcp_period, p.watchdog_cycles
        counters = _counters(p.data_vls)
        super().__init__(
            {
                "initializing": In(1),
                "blocks": In(data.ArrayLayout(BLOCKS_SHAPE, p.data_vls)),
                "fits": Out(p.data_vls),
                "grant": In(1),
                "grant_vl": In(4),
                "grant_blocks": In(BLOCKS_SHAPE),
                "tail": In(1),
                "fcp_valid": Out(1),
                "fcp": Out(FCP_BITS),
                "fcp_taken": In(1),
                "fcp_arrived": In(1),
                "fcp_in": In(FCP_BITS),
                "fcp_bad": Out(1),
                "arrived": In(1),
                "arrived_vl": In(4),
                "arrived_blocks": In(BLOCKS_SHAPE),
                "accepted": Out(1),
                "freed": In(1),
                "freed_vl": In(4),
                "overdue": Out(p.data_vls),
                "fctbs": Out(counters),
                "fccl": Out(counters),
                "abr": Out(counters),
                "room": Out(counters),
                "fcp_timer": Out(range(p.fcp_period)),
                "watchdog_timer": Out(range(p.watchdog_cycles)),
                **({"upset": Out(1)} if p.parity else {}),
            }
        )
        self.sender = CreditIBSender(p.data_vls, parity=p.parity)
        self.receiver = CreditIBReceiver(p.data_vls, p.buffer_blocks, parity=p.parity)
        self.offer = FCPOffer(
            vls=p.data_vls,
            step=self.fcp_blocks,
            period=p.fcp_period,
            sent=0,
            most_ahead=COUNTER_MODULUS - 1,
            due_at_reset=False,
            parity=p.parity,
        )
        self.stored = Stored(parity=p.parity)
        self.busy = Signal()
        self.returned = Signal(p.data_vls)
        self.seen = Signal(p.data_vls)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.sender, m.submodules.receiver, m.submodules.offer = self.sender, self.receiver, self.offer
        heard = self._hear(m)
        m.d.comb += [
            self.sender.blocks.eq(self.blocks),
            self.sender.initializing.eq(self.initializing),
            self.fits.eq(self.sender.fits),
            self.sender.grant.eq(self._lane(self.grant, self.grant_vl)),
            self.sender.grant_blocks.eq(self.grant_blocks),
            self.receiver.arrived.eq(self._lane(self.arrived, self.arrived_vl)),
            self.receiver.arrived_blocks.eq(self.arrived_blocks),
            self.accepted.eq(self.receiver.accepted),
            self.receiver.freed.eq(self._lane(self.freed, self.freed_vl)),
            self.fctbs.eq(self.sender.fctbs),
            self.fccl.eq(self.sender.fccl),
            self.abr.eq(self.receiver.abr),
            *(self.room[vl].eq(self.receiver.room[vl]) for vl in range(self.data_vls)),
        ]
        with m.If(self.tail):
            self.stored.write(m, self.busy, 0)
        with m.Elif(self.grant):
            self.stored.write(m, self.busy, 1)
        self._offer(m)
        self._watch(m, heard)
        self.stored.show(m, self, self.sender.stored, self.receiver.stored, self.offer.stored)
        return m

    def _lane(self, enable: Value, vl: Value) -> Value:
        return Cat(enable & equals(vl, lane) for lane in range(self.data_vls))

    def _hear(self, m: Module) -> Signal:
        """Apply a valid FCP. An FCP that reveals lost packets makes an answer due."""
        packet = data.View(FCP_LAYOUT, self.fcp_in)
        heard = Signal(self.data_vls)
        sound = Signal()
        m.d.comb += [
            sound.eq((check_sum(self.fcp_in[16:]) == packet.lpcrc) & (packet.op <= int(Op.INITIALIZE))),
            heard.eq(self._lane(self.fcp_arrived & sound, packet.vl)),
            self.fcp_bad.eq(self.fcp_arrived & ~heard.any()),
            self.sender.update.eq(heard),
            self.sender.update_fccl.eq(packet.fccl),
            self.receiver.update.eq(heard),
            self.receiver.update_fctbs.eq(packet.fctbs),
            self.returned.eq(Cat(heard[vl] & (packet.fctbs != self.abr[vl]) for vl in range(self.data_vls))),
        ]
        return heard

    def _offer(self, m: Module) -> None:
        """Offer the FCP of the next due lane, between packets (CIB-6 to CIB-8)."""
        offer = self.offer
        packet = Signal(FCP_LAYOUT)
        m.d.comb += [
            *(offer.limits[vl].eq(self.receiver.limit[vl]) for vl in range(self.data_vls)),
            offer.returned.eq(self.returned),
            offer.sends.eq(self.fcp_valid & self.fcp_taken),
            self.fcp_valid.eq(offer.found & ~self.busy),
            self.fcp_timer.eq(offer.timer),
        ]
        with m.If(self.fcp_valid):
            m.d.comb += [
                packet.op.eq(Mux(self.initializing, int(Op.INITIALIZE), int(Op.NORMAL))),
                packet.vl.eq(offer.vl),
                packet.fctbs.eq(one_of(offer.chosen, (self.fctbs[vl] for vl in range(self.data_vls)))),
                packet.fccl.eq(offer.limit),
                packet.lpcrc.eq(check_sum(packet.as_value()[16:])),
                self.fcp.eq(packet),
            ]

    def _watch(self, m: Module, heard: Signal) -> None:
        """Record the lanes for which no FCP arrived in a complete window."""
        timer, seen = self.watchdog_timer, self.seen
        with m.If(equals(timer, self.watchdog_cycles - 1)):
            self.stored.write(m, self.overdue, ~(seen | heard))
            self.stored.write(m, timer, 0)
            self.stored.write(m, seen, 0)
        with m.Else():
            self.stored.write(m, timer, timer + 1)
            self.stored.write(m, seen, seen | heard)


COMPONENT = CreditIB
