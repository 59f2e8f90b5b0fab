"""Credit counter of a remote buffer whose limits arrive in flow-control packets."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from vlane.hdl.common.select import equals
from vlane.hdl.credits.credit_ib import CreditIBSender
from vlane.hdl.links.link import LimitSignature
from vlane.packets.fcp import CREDIT_CAP
from vlane.parameters import check_range
from vlane.units import MAX_DATA_VLS


class FCPLimits(wiring.Component):
    """``CreditIBSender`` with the ports of ``Room`` (``docs/ib_switch.md``, IBS-C1, IBS-C5).

    The link is up from reset on. Latency 0 for ``fits``; sent packets and received limits take effect in the next
    cycle. After reset nothing is sent and the whole buffer is available.

    Parameters
    ----------
    vls : int
        Lanes, 1 to 15.
    blocks : int
        Fixed share of each lane in the buffer, 1 to 2048 blocks.
    largest : int
        Blocks of the largest packet, 1 to ``blocks``.
    behind : bool
        Whether to check the packets behind the heads too.

    Members
    -------
    blocks : In(ArrayLayout(range(largest + 1), vls))
        Sizes of the head packets.
    fits : Out(vls)
        Lanes whose whole head packet fits.
    behind_blocks : In(ArrayLayout(range(largest + 1), vls))
        With ``behind`` only: sizes of the packets behind the heads.
    fits_behind : Out(vls)
        With ``behind`` only: lanes whose head and second packet fit together.
    take : In(vls)
        Lane whose packet starts, one-hot. The packet must fit.
    take_blocks : In(range(largest + 1))
        Size of the starting packet, in blocks.
    fcp_rx : In(LimitSignature())
        Received limit. A limit for a lane that does not exist is ignored.

    Raises
    ------
    TypeError
        If a parameter has the wrong type.
    ValueError
        If a parameter is out of range.
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
                "fcp_rx": In(LimitSignature()),
            }
        )
        self.sender = CreditIBSender(vls, limit=blocks, behind=behind)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.sender = sender = self.sender
        received = Cat(self.fcp_rx.valid & equals(self.fcp_rx.vl, vl) for vl in range(self.vls))
        m.d.comb += [
            *(sender.blocks[vl].eq(self.blocks[vl]) for vl in range(self.vls)),
            self.fits.eq(sender.fits),
            sender.grant.eq(self.take),
            sender.grant_blocks.eq(self.take_blocks),
            sender.update.eq(received),
            sender.update_fccl.eq(self.fcp_rx.limit),
        ]
        if self.behind:
            m.d.comb += [
                *(sender.behind_blocks[vl].eq(self.behind_blocks[vl]) for vl in range(self.vls)),
                self.fits_behind.eq(sender.fits_behind),
            ]
        return m
