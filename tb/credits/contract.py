"""Contracts of both kinds of credits at their ports."""

from __future__ import annotations

from typing import Any, ClassVar

from amaranth.hdl import Module, Signal

from vlane.tb.credits.credit_ib import proofs_port as ib
from vlane.tb.credits.credit_opa import proofs_port as opa
from vlane.tb.machinery.proofs.contract import Contract

_IB = ("sent", "limit", "window", "sound", "received", "accepted", "room", "contents", "promise", "between-packets")
_OPA = ("outstanding", "return-error")
_GRANTED = {"granted-fits": "A granted packet is the head packet of a lane, and it fits."}


class _CreditContract(Contract):
    """Assumption about the grants of both kinds of credits."""

    def granted(self, m: Module) -> None:
        """Assume that the head packet of a lane is granted only if it fits."""
        for lane, blocks in enumerate(self.blocks):
            is_head = self.fits[lane] & (self.grant_blocks == blocks)
            self.claim(m, "granted-fits", is_head, when=self.grant & (self.grant_vl == lane))
        self.claim(m, "granted-fits", self.grant_vl < len(self.fits), when=self.grant)


class CreditIBContract(_CreditContract):
    """Contract of InfiniBand's credits (``docs/credit_ib.md``)."""

    assumptions: ClassVar = {
        **_GRANTED,
        "one-packet": "A packet is granted only after the tail of the packet before: in a later cycle.",
        "fcp-first": "No packet is granted while an FCP is offered, or in the cycle in which the link sends the FCP.",
    }
    guarantees: ClassVar = {name: ib.CreditIBPortProperties.statements[name] for name in _IB}

    def observe(self, m: Module) -> None:
        """Add a model of each lane."""
        self.granted(m)
        for lane in range(self.parameters.data_vls):
            model, received = ib.LaneModel(self.claim, self, lane), Signal()
            sent = model.sender(m, received)
            limit, _ = model.receiver(m, received)
            model.packet(m, sent, limit)
        under_way = ib.LaneModel(self.claim, self, 0).between_packets(m)
        self.claim(m, "one-packet", ~self.grant, when=under_way)
        self.claim(m, "fcp-first", ~self.grant, when=self.fcp_valid)


class CreditOPAContract(_CreditContract):
    """Contract of Omni-Path's credits (``docs/credit_opa.md``)."""

    assumptions: ClassVar = {**_GRANTED, "returns": "The far end returns no more units of a lane than are outstanding."}
    guarantees: ClassVar = {name: opa.CreditOPASenderProperties.statements[name] for name in _OPA}

    def observe(self, m: Module) -> None:
        """Add a model of each lane."""
        self.granted(m)
        for lane in range(self.parameters.vls):
            opa.LaneModel(self.claim, self, lane).outstanding(m)
        self.claim(m, "returns", ~self.return_error)


def contract(block: Any) -> Contract:
    """Return the contract of a block of credits."""
    return (CreditOPAContract if "ltp_arrived" in block.signature.members else CreditIBContract)(block)
