"""Planted bugs of InfiniBand credits."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_PORT, _OFFER = "hdl/credits/credit_ib.py", "hdl/credits/fcp_offer.py"
PLANTS = (
    Plant(
        "abr-never-corrected",
        "ABR is never set to the FCTBS of an FCP, so lost blocks never come back.",
        _PORT,
        "before = Mux(self.update[vl], self.update_fctbs, self.abr[vl])",
        "before = self.abr[vl]",
        instance="recovery",
    ),
    Plant(
        "sent-never-counted",
        "FCTBS counts one block per packet.",
        _PORT,
        "self.stored.write(m, self.fctbs[vl], self.fctbs[vl] + self.grant_blocks)",
        "self.stored.write(m, self.fctbs[vl], self.fctbs[vl] + 1)",
    ),
    Plant(
        "received-never-counted",
        "ABR does not count the packets that are accepted.",
        _PORT,
        "self.stored.write(m, self.abr[vl], before + taken)",
        "self.stored.write(m, self.abr[vl], before)",
    ),
    Plant(
        "size-is-not-compared",
        "A packet fits if there is credit for one block.",
        _PORT,
        "m.d.comb += left.eq(self.fccl[vl] - (self.fctbs[vl] + blocks))",
        "m.d.comb += left.eq(self.fccl[vl] - (self.fctbs[vl] + 1))",
    ),
    Plant(
        "window-too-narrow",
        "A packet that leaves exactly 2048 blocks of credit does not fit.",
        _PORT,
        "return left <= CREDIT_CAP",
        "return left < CREDIT_CAP",
    ),
    Plant(
        "freed-twice",
        "A freed block is counted as two.",
        _PORT,
        "self.stored.write(m, self.room[vl], left + (self.freed[vl] & (left < self.buffer_blocks)))",
        "self.stored.write(m, self.room[vl], left + Mux(self.freed[vl] & (left < self.buffer_blocks), 2, 0))",
    ),
    Plant(
        "loss-is-not-answered",
        "An FCP that reveals a loss is answered only at the end of the period.",
        _OFFER,
        "self.stored.write(m, pending, Mux(wraps, ~0, (pending & ~sent) | self.returned))",
        "self.stored.write(m, pending, Mux(wraps, ~0, pending & ~sent))",
    ),
    Plant(
        "other-operands-taken-over",
        "An FCP with an op above 1 is applied.",
        _PORT,
        "sound.eq((check_sum(self.fcp_in[16:]) == packet.lpcrc) & (packet.op <= int(Op.INITIALIZE))),",
        "sound.eq(check_sum(self.fcp_in[16:]) == packet.lpcrc),",
    ),
    Plant(
        "watchdog-forgets-the-last-cycle",
        "The watchdog does not see an FCP that arrives in the last cycle of its window.",
        _PORT,
        "self.stored.write(m, self.overdue, ~(seen | heard))",
        "self.stored.write(m, self.overdue, ~seen)",
    ),
    Plant(
        "large-buffer-promises-all",
        "A buffer of more than 2048 blocks promises all of its room.",
        _PORT,
        "return room if self.buffer_blocks <= CREDIT_CAP else Mux(room > CREDIT_CAP, CREDIT_CAP, room)",
        "return room",
        instance="large-buffer",
        parameters={"buffer_blocks": 4000, "fcp_blocks": 0},
    ),
)
"""Planted bugs, each a change of one line."""
