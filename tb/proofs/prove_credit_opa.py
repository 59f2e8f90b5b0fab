"""Proofs of Omni-Path credits: what is proven, in which instance."""

from __future__ import annotations

from vlane.tb.proofs.properties import Instance
from vlane.tb.proofs.prove_credit_opa_division import CreditOPADivisionProperties
from vlane.tb.proofs.prove_credit_opa_pair import CreditOPAPairProperties
from vlane.tb.proofs.prove_credit_opa_port import CreditOPASenderProperties
from vlane.tb.proofs.prove_credit_opa_receiver import CreditOPAReceiverProperties
from vlane.tb.proofs.prove_parity import ParityProperties

__all__ = ["INSTANCES"]

INSTANCES = (
    Instance("small", CreditOPASenderProperties, {"vls": 2, "vcu": 0}),
    Instance("large-unit", CreditOPASenderProperties, {"vls": 3, "vcu": 5}),
    Instance("receiver", CreditOPAReceiverProperties, {"vls": 2, "vcu": 0}),
    Instance("receiver-large-unit", CreditOPAReceiverProperties, {"vls": 3, "vcu": 5}),
    Instance("pair", CreditOPAPairProperties, {"vls": 2, "vcu": 0}),
    Instance("parity", ParityProperties, {"vls": 3, "vcu": 0, "parity": True}),
    Instance("one-lane", CreditOPADivisionProperties, {"vls": 1, "vcu": 0}),
)
"""What is proven: one port's sender and receiver, two ports and a link, and limits that change."""
