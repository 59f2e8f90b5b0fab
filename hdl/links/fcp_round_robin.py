"""Flow-control packets that a port of a switch sends: limits of its input buffer, round robin."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.credits.fcp_offer import FCPOffer
from vlane.hdl.links.link import LaneReturnSignature, LimitSignature, ReturnSignature
from vlane.packets.fcp import COUNTER_BITS


@dataclass(frozen=True, slots=True)
class FCPTimes:
    """Conditions under which flow-control packets are due.

    Parameters
    ----------
    step : int
        Growth of a limit, in blocks, that makes its packet due.
    period : int
        Cycles after which the packets of all VLs are due.
    """

    step: int
    period: int


class FCPRoundRobin(wiring.Component):
    """The limits of an input's buffer, offered as ``credit_ib`` offers them (IBS-C2 to IBS-C4).

    The limit of a VL is its part of the buffer and the blocks freed since reset: what ``credit_ib`` computes as blocks
    received and room where no packet is lost.

    Reset: all room is free and told, but due to be told again.

    Parameters
    ----------
    vls : int
        Lanes.
    blocks : int
        Of each lane's part of the buffer.
    step : int
        Blocks by which a limit has grown when it is due.
    period : int
        Cycles after which every lane is due, counted from reset on.
    returned : int
        Blocks of a lane that may leave the buffer in a cycle.
    vls_apart : bool
        Whether blocks of several lanes may leave the buffer in a cycle, one of each.

    Members
    -------
    freed : In(ReturnSignature(returned)) or In(LaneReturnSignature(vls))
        Blocks that left the buffer in the cycle before.
    may : In(1)
        The link takes one.
    takes : Out(1)
        One is sent in this cycle.
    says : Out(LimitSignature())
        What was sent in the cycle before.
    """

    def __init__(
        self, *, vls: int, blocks: int, step: int, period: int, returned: int = 1, vls_apart: bool = False
    ) -> None:
        self.vls, self.blocks, self.step, self.period, self.returned = vls, blocks, step, period, returned
        self.returns = LaneReturnSignature(vls) if vls_apart else ReturnSignature(returned)
        super().__init__({"freed": In(self.returns), "may": In(1), "takes": Out(1), "says": Out(LimitSignature())})
        self.offer = FCPOffer(vls=vls, step=step, period=period, sent=blocks, most_ahead=blocks, due_at_reset=True)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.offer = offer = self.offer
        for vl in range(self.vls):
            before = Signal(COUNTER_BITS, name=f"before_{vl}", init=self.blocks)
            m.d.comb += offer.limits[vl].eq(before + self.returns.of_lane(self.freed, vl))
            m.d.sync += before.eq(offer.limits[vl])
        m.d.comb += [self.takes.eq(self.may & offer.found), offer.sends.eq(self.takes)]
        m.d.sync += [
            self.says.valid.eq(self.takes),
            self.says.vl.eq(Mux(self.takes, offer.vl, 0)),
            self.says.limit.eq(Mux(self.takes, offer.limit, 0)),
        ]
        return m
