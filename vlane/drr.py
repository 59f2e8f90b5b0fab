"""Quanta of deficit round robin."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.egress import MAX_REQUESTERS
from vlane.whole import whole_list

__all__ = ["MAX_QUANTUM", "DRRQuanta"]

MAX_QUANTUM = 255


@dataclass(frozen=True, slots=True)
class DRRQuanta:
    """What each requester may send per round.

    Parameters
    ----------
    quantum : tuple of int
        Per requester, 0 to 255 units of 64 bytes; 0 is never served.

    Raises
    ------
    InputError
        Naming the requester and what its quantum must be.
    """

    quantum: tuple[int, ...]

    def __post_init__(self) -> None:
        checked = whole_list("drr.quantum", self.quantum, least=0, most=MAX_QUANTUM, longest=MAX_REQUESTERS)
        object.__setattr__(self, "quantum", checked)
