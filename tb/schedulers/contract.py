"""Contract of the schedulers at their ports, except of the line-rate forms."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Signal

from vlane.tb.machinery.proofs.contract import Contract
from vlane.tb.schedulers.proofs_scheduler import STATEMENTS, claim_grants
from vlane.units import MAX_PACKET_BLOCKS

_GRANTS = ("vl15-first", "no-grant-no-packet", "hold", "able", "size")


class SchedulerContract(Contract):
    """Contract of the grants (``docs/schedulers.md``, ``docs/vlarb.md``)."""

    assumptions: ClassVar = {"sizes": f"A head packet that can be sent has 1 to {MAX_PACKET_BLOCKS} blocks."}
    guarantees: ClassVar = {name: STATEMENTS[name] for name in _GRANTS}

    def observe(self, m: Module) -> None:
        """Add the claims of grants."""
        able, _ = claim_grants(self.claim, m, self, self.block)
        for lane, blocks in enumerate(self.heads.blocks):
            self.claim(m, "sizes", (blocks != 0) & (blocks <= MAX_PACKET_BLOCKS), when=able[lane])


class SwappedContract(SchedulerContract):
    """Contract of a scheduler whose table has two banks."""

    guarantees: ClassVar = {
        **SchedulerContract.guarantees,
        "swap-pending": "A swap waits from the cycle in which it is requested until the first ready cycle.",
    }

    def observe(self, m: Module) -> None:
        """Add the claim of a pending swap."""
        super().observe(m)
        pending = Signal()
        m.d.sync += pending.eq((self.swap | pending) & ~self.ready)
        self.claim(m, "swap-pending", self.swap_pending == pending)


def contract(block: Any) -> Contract | None:
    """Return the contract of a scheduler, or ``None`` for a line-rate form, which decides a cycle later."""
    members = block.signature.members
    if "behind" in members:
        return None
    return (SwappedContract if "swap" in members else SchedulerContract)(block)
