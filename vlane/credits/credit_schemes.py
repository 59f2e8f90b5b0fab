"""Credit schemes: ways in which a sender learns of free space in the buffer at the other end of its cable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class CreditScheme:
    """Properties of a credit scheme.

    Parameters
    ----------
    name : str
        Value of ``link.credits`` in a study and of a switch's ``credit``.
    by_fcps : bool
        Whether flow-control packets carry limits (IBS-C1 to IBS-C6); otherwise every freed block is returned to the
        sender individually (IBS-8). Flow-control packets need a fixed part of each buffer per VL.
    on_link : bool
        Whether a flow-control packet occupies the link for a cycle.
    in_hardware : bool
        Whether switches in hardware support the scheme.
    """

    name: str
    by_fcps: bool
    on_link: bool
    in_hardware: bool


RETURNS = CreditScheme(name="returns", by_fcps=False, on_link=False, in_hardware=True)
FCP = CreditScheme(name="fcp", by_fcps=True, on_link=True, in_hardware=True)
SIDEBAND = CreditScheme(name="sideband", by_fcps=True, on_link=False, in_hardware=False)

CREDIT_SCHEMES: Mapping[str, CreditScheme] = MappingProxyType({each.name: each for each in (RETURNS, FCP, SIDEBAND)})
"""All credit schemes by name."""
