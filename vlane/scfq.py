"""Weights of self-clocked fair queueing, and the reciprocals that hardware multiplies by."""

from __future__ import annotations

from dataclasses import dataclass

from vlane.egress import MAX_REQUESTERS
from vlane.errors import InputError
from vlane.whole import whole_list

__all__ = ["MAX_RECIPROCAL_BITS", "MAX_SCFQ_WEIGHT", "MAX_TAG_BITS", "SCFQWeights"]

MAX_SCFQ_WEIGHT = 65535
MAX_RECIPROCAL_BITS = 16
MAX_TAG_BITS = 32


@dataclass(frozen=True, slots=True)
class SCFQWeights:
    """Shares of the link.

    Parameters
    ----------
    weight : tuple of int
        Per requester, 0 to 65535; 0 is never served.

    Raises
    ------
    InputError
        Naming the requester and what its weight must be.
    """

    weight: tuple[int, ...]

    def __post_init__(self) -> None:
        checked = whole_list("scfq.weight", self.weight, least=0, most=MAX_SCFQ_WEIGHT, longest=MAX_REQUESTERS)
        object.__setattr__(self, "weight", checked)

    def reciprocals(self, bits: int) -> tuple[int, ...]:
        """Return what a block adds to each requester's tag, in ``bits`` bits; 0 for weight 0.

        The least weight gets the largest number, 2**bits - 1, and the others that times (least / weight),
        rounded: a share is off by half a unit in that number, so by less than a third with the largest weight
        that is accepted.

        Raises
        ------
        InputError
            If a weight is so much larger than the least one that its number would be below 2.

        Examples
        --------
        >>> SCFQWeights((1, 2, 4, 0)).reciprocals(8)
        (255, 128, 64, 0)
        """
        least = min((weight for weight in self.weight if weight), default=1)
        most = ((1 << bits) - 1) * least
        made = tuple((2 * most + weight) // (2 * weight) if weight else 0 for weight in self.weight)
        for index, (number, weight) in enumerate(zip(made, self.weight, strict=True)):
            if weight and number < 2:
                must = f"at most {2 * most // 3}, with {least} the least weight and reciprocals of {bits} bits"
                raise InputError(f"scfq.weight[{index}]", must, weight)
        return made
