"""Base class of reference models of one lane, which proofs and contracts share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amaranth.hdl import Value


class PortModel:
    """Reference model of one lane, driven by the ports of a block. Subclasses add what they claim.

    Parameters
    ----------
    claim : callable
        Collector of the claims.
    ports : object
        Ports of the block by name, and its parameters: the block itself, or a contract that observes it.
    lane : Value or int
        Modelled lane.
    """

    def __init__(self, claim: Callable[..., None], ports: Any, lane: Value | int) -> None:
        self.claim, self.ports, self.lane = claim, ports, lane
