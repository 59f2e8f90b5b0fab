"""Proven instances of Omni-Path credits."""

from __future__ import annotations

from vlane.tb.credits.credit_opa.proofs_division import CreditOPADivisionProperties
from vlane.tb.credits.credit_opa.proofs_pair import CreditOPAPairProperties
from vlane.tb.credits.credit_opa.proofs_port import CreditOPASenderProperties
from vlane.tb.credits.credit_opa.proofs_receiver import CreditOPAReceiverProperties
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.machinery.proofs.prove_parity import ParityProperties

INSTANCES = (
    Instance("small", CreditOPASenderProperties, {"vls": 2, "vcu": 0}),
    Instance("large-unit", CreditOPASenderProperties, {"vls": 3, "vcu": 5}),
    Instance("receiver", CreditOPAReceiverProperties, {"vls": 2, "vcu": 0}),
    Instance("receiver-large-unit", CreditOPAReceiverProperties, {"vls": 3, "vcu": 5}),
    Instance("pair", CreditOPAPairProperties, {"vls": 2, "vcu": 0}),
    Instance("parity", ParityProperties, {"vls": 3, "vcu": 0, "parity": True}),
    Instance("one-lane", CreditOPADivisionProperties, {"vls": 1, "vcu": 0}),
)
"""Proven instances: one port's sender and receiver, two ports and a link, and changes of limits."""
