"""Credit schemes: how a sender learns of room in the buffer at the other end of its cable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class CreditScheme:
    """What a credit scheme does, and what it requires.

    Parameters
    ----------
    name : str
        As ``link.credits`` of a study and ``credit`` of a switch name it.
    by_fcps : bool
        Whether flow-control packets carry limits (IBS-C1 to IBS-C6); otherwise every block that leaves a buffer
        is returned to the sender as it leaves (IBS-8). Flow-control packets need a part of each buffer for each VL.
    on_link : bool
        Whether a flow-control packet occupies the link for a cycle.
    in_hardware : bool
        Whether switches in hardware have it.
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
