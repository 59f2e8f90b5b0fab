"""Contract of the VL buffer at its ports."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module

from vlane.tb.buffers.vlbuffer.proofs import LaneModel, VLBufferProperties, claim_readable, claim_room
from vlane.tb.machinery.proofs.contract import Contract

_STATED = ("reserved", "held", "accepted", "room", "storage", "bounds", "readable")


class VLBufferContract(Contract):
    """Contract of the VL buffer (``docs/vlbuffer.md``)."""

    assumptions: ClassVar = {
        "reserved-first": "A flit is written only into space that is reserved for its lane.",
        "present": "No more flits are read than the read port shows.",
    }
    guarantees: ClassVar = {name: VLBufferProperties.statements[name] for name in _STATED}

    def observe(self, m: Module) -> None:
        """Add a model of each lane."""
        claim_room(self.claim, m, self)
        claim_readable(self.claim, m, self)
        for lane in range(self.parameters.vls):
            LaneModel(self.claim, self, lane).counts(m)
        for discarded in self.discarded:
            self.claim(m, "reserved-first", discarded == 0)
        for count, readable in zip(self.read_count, self.readable, strict=True):
            self.claim(m, "present", count <= readable)


def contract(block: Any) -> Contract:
    """Return the contract of a buffer."""
    return VLBufferContract(block)
