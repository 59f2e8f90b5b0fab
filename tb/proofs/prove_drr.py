"""Proofs of deficit round robin."""

from __future__ import annotations

from vlane.tb.proofs.properties import Instance
from vlane.tb.proofs.prove_deficit import DeficitProperties

__all__ = ["INSTANCES", "DRRProperties"]


class DRRProperties(DeficitProperties):
    """Deficit round robin beside its properties."""


INSTANCES = (
    Instance(
        "small", DRRProperties, {"data_vls": 3, "requesters": 0, "vl15": True, "keep_on_stall": False, "mtu_blocks": 66}
    ),
    Instance(
        "mapped",
        DRRProperties,
        {"data_vls": 4, "requesters": 3, "vl15": False, "keep_on_stall": True, "mtu_blocks": 33},
    ),
    Instance(
        "full", DRRProperties, {"data_vls": 15, "requesters": 0, "vl15": True, "keep_on_stall": False, "mtu_blocks": 66}
    ),
)
"""What is proven."""
