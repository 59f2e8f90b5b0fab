"""Proven instances of InfiniBand credits."""

from __future__ import annotations

from vlane.hdl.credits.credit_ib import CreditIBSender
from vlane.hdl.links.fcp_round_robin import FCPRoundRobin
from vlane.tb.credits.credit_ib.proofs_fcp_offer import OfferRules
from vlane.tb.credits.credit_ib.proofs_pair import CreditIBPairProperties
from vlane.tb.credits.credit_ib.proofs_parts import FCPRoundRobinProperties, SenderProperties
from vlane.tb.credits.credit_ib.proofs_port import CreditIBPortProperties
from vlane.tb.credits.credit_ib.proofs_recovery import CreditIBRecoveryProperties
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.machinery.proofs.prove_parity import ParityProperties

_TIMES = {"fcp_period": 4, "watchdog_cycles": 5}
_PAIR = {"data_vls": 1, "fcp_blocks": 2, **_TIMES}
_SENDER = {"data_vls": 2, "limit": 100, "behind": True}
_OFFER = {"vls": 3, "blocks": 6, "step": 2, "period": 4}


def _sender(sender: CreditIBSender) -> SenderProperties:
    return SenderProperties(sender, limit=100)


def _offers(offers: FCPRoundRobin) -> FCPRoundRobinProperties:
    return FCPRoundRobinProperties(offers, OfferRules(3, 2, 4, told_at_reset=6, due_at_reset=True))


INSTANCES = (
    Instance("small", CreditIBPortProperties, {"data_vls": 2, "buffer_blocks": 5, "fcp_blocks": 2, **_TIMES}),
    Instance("port", CreditIBPortProperties, {"data_vls": 3, "buffer_blocks": 200, "fcp_blocks": 0, **_TIMES}),
    Instance("large-buffer", CreditIBPortProperties, {"data_vls": 2, "buffer_blocks": 4000, "fcp_blocks": 0, **_TIMES}),
    Instance(
        "parity", ParityProperties, {"data_vls": 3, "buffer_blocks": 200, "fcp_blocks": 0, **_TIMES, "parity": True}
    ),
    Instance("sender", _sender, _SENDER, CreditIBSender),
    Instance("offer", _offers, _OFFER, FCPRoundRobin),
    Instance("pair", CreditIBPairProperties, {**_PAIR, "buffer_blocks": 16}),
    Instance("recovery", CreditIBRecoveryProperties, {**_PAIR, "buffer_blocks": 4}),
)
"""Proven instances: one port, two ports with a lossy link, and their recovery."""
