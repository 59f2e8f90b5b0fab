"""Flow-control packets of a switch port: send the limits of its input buffer, round robin."""

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
        Advance of a limit, in blocks, that makes its packet due.
    period : int
        Cycles after which the packets of all VLs become due.
    """

    step: int
    period: int


class FCPRoundRobin(wiring.Component):
    """Send the limits of an input buffer in the order of ``credit_ib`` (IBS-C2 to IBS-C4).

    A VL's limit is its share of the buffer plus the blocks freed since reset. Without packet loss ``credit_ib``
    computes the same limit from blocks received and free blocks.

    After reset the buffer is empty, and the initial limits count as sent but are due to be sent again.

    Parameters
    ----------
    vls : int
        Lanes.
    blocks : int
        Fixed share of each lane in the buffer, in blocks.
    step : int
        Advance of a limit, in blocks, that makes it due.
    period : int
        Cycles after which every limit becomes due, counted from reset.
    returned : int
        Most blocks of a lane that may leave the buffer per cycle.
    vls_apart : bool
        Whether blocks of several lanes may leave the buffer in one cycle, one block per lane.

    Members
    -------
    freed : In(ReturnSignature(returned)) or In(LaneReturnSignature(vls))
        Blocks that left the buffer in the previous cycle.
    may : In(1)
        The link can take a flow-control packet in this cycle.
    takes : Out(1)
        A flow-control packet is sent in this cycle.
    fcp_tx : Out(LimitSignature())
        Flow-control packet sent in the previous cycle.
    """

    def __init__(
        self, *, vls: int, blocks: int, step: int, period: int, returned: int = 1, vls_apart: bool = False
    ) -> None:
        self.vls, self.blocks, self.step, self.period, self.returned = vls, blocks, step, period, returned
        self.returns = LaneReturnSignature(vls) if vls_apart else ReturnSignature(returned)
        super().__init__({"freed": In(self.returns), "may": In(1), "takes": Out(1), "fcp_tx": Out(LimitSignature())})
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
            self.fcp_tx.valid.eq(self.takes),
            self.fcp_tx.vl.eq(Mux(self.takes, offer.vl, 0)),
            self.fcp_tx.limit.eq(Mux(self.takes, offer.limit, 0)),
        ]
        return m
