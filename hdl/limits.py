"""Room of a far buffer as flow-control packets tell it, kept by whoever sends to it."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from vlane.hdl.link import LimitSignature
from vlane.hdl.parameters import check_range
from vlane.hdl.select import equals

from vlane.fcp import COUNTER_BITS, CREDIT_CAP
from vlane.vlarb import MAX_DATA_VLS

__all__ = ["Limits"]


class Limits(wiring.Component):
    """Blocks sent and the limit for them, by lane (``docs/ib_switch.md``, C1, C5).

    Latency 0 for ``fits``; what is taken or heard counts from the next cycle on. Reset: nothing is sent, and all the
    room there is may be taken.

    Parameters
    ----------
    vls : int
        Lanes, 1 to 15.
    blocks : int
        Of each lane's part of the buffer, 1 to 2048.
    largest : int
        Blocks of the largest packet, 1 to ``blocks``.
    behind : bool
        Whether the packets behind the heads are looked at too.

    Members
    -------
    blocks : In(ArrayLayout(range(largest + 1), vls))
        Sizes of the head packets.
    fits : Out(vls)
        There is room for all of it.
    behind_blocks : In(ArrayLayout(range(largest + 1), vls))
        With ``behind`` only: sizes of the packets behind the heads.
    fits_behind : Out(vls)
        With ``behind`` only: there is room for the head and the one behind it.
    take : In(vls)
        Lane whose packet starts, one bit. Only one that fits may.
    take_blocks : In(range(largest + 1))
        Its size.
    hears : In(LimitSignature())
        A limit that arrives; of a lane that is not there it is ignored.

    Raises
    ------
    TypeError
        If a parameter is not of its type.
    ValueError
        If it is out of range.
    """

    latency = 0

    def __init__(self, *, vls: int, blocks: int, largest: int, behind: bool = False) -> None:
        check_range("vls", vls, 1, MAX_DATA_VLS)
        check_range("blocks", blocks, 1, CREDIT_CAP)
        check_range("largest", largest, 1, blocks)
        self.vls, self.behind = vls, behind
        packet = range(largest + 1)
        sizes = data.ArrayLayout(packet, vls)
        looks_behind = {"behind_blocks": In(sizes), "fits_behind": Out(vls)} if behind else {}
        super().__init__(
            {
                "blocks": In(sizes),
                "fits": Out(vls),
                **looks_behind,
                "take": In(vls),
                "take_blocks": In(packet),
                "hears": In(LimitSignature()),
            }
        )
        self.sent = [Signal(COUNTER_BITS, name=f"sent_{vl}") for vl in range(vls)]
        self.limit = [Signal(COUNTER_BITS, name=f"limit_{vl}", init=blocks) for vl in range(vls)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        for vl, (sent, limit) in enumerate(zip(self.sent, self.limit, strict=True)):
            m.d.comb += self.fits[vl].eq(self._fits(m, vl, "head", self.blocks[vl]))
            if self.behind:
                both = self.blocks[vl] + self.behind_blocks[vl]
                m.d.comb += self.fits_behind[vl].eq(self._fits(m, vl, "behind", both))
            m.d.sync += sent.eq(sent + Mux(self.take[vl], self.take_blocks, 0))
            with m.If(self.hears.valid & equals(self.hears.vl, vl)):
                m.d.sync += limit.eq(self.hears.limit)
        return m

    def _fits(self, m: Module, vl: int, name: str, blocks: Value) -> Value:
        """Return whether so many more blocks stay within the limit, modulo 4096."""
        left = Signal(COUNTER_BITS, name=f"left_{name}_{vl}")
        m.d.comb += left.eq(self.limit[vl] - (self.sent[vl] + blocks))
        return left <= CREDIT_CAP
