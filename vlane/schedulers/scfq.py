"""Weights of self-clocked fair queueing, and their reciprocals, which hardware multiplies by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vlane.documents.whole import whole_list
from vlane.egress import MAX_REQUESTERS, SchedulerParameters
from vlane.errors import InputError
from vlane.parameters import check_range, choice, whole
from vlane.schedulers.writes import ScheduleSelect, Write, too_long, value_writes

__all__ = ["MAX_RECIPROCAL_BITS", "MAX_SCFQ_WEIGHT", "MAX_TAG_BITS", "SCFQParameters", "SCFQWeights"]

MAX_SCFQ_WEIGHT = 65535
MAX_RECIPROCAL_BITS = 16
MAX_TAG_BITS = 32
_DEFAULT_BITS, _LEAST_RECIPROCAL = 8, 2
_TABLE, _TOO_LARGE = int(ScheduleSelect.TABLE), -1


@dataclass(frozen=True, slots=True)
class SCFQWeights:
    """Weights of the requesters.

    Parameters
    ----------
    weight : tuple of int
        Weight of each requester, 0 to 65535; a requester with 0 is never served.

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
        """Return the tag increment of each requester per block, in ``bits`` bits, or 0 for weight 0.

        The smallest weight gets the largest number, 2**bits - 1. Others get that number times (smallest / weight),
        rounded. The rounding error of a share is at most half a unit, less than a third for the largest accepted
        weight.

        Raises
        ------
        InputError
            If a weight is so large compared with the smallest one that its number would be below 2.

        Examples
        --------
        >>> SCFQWeights((1, 2, 4, 0)).reciprocals(8)
        (255, 128, 64, 0)
        """
        least = min((weight for weight in self.weight if weight), default=1)
        made = tuple(reciprocal(weight, least, bits) if weight else 0 for weight in self.weight)
        for index, (number, weight) in enumerate(zip(made, self.weight, strict=True)):
            if weight and number < _LEAST_RECIPROCAL:
                most = 2 * ((1 << bits) - 1) * least // 3
                must = f"at most {most} with smallest weight {least} and reciprocal_bits = {bits}"
                raise InputError(f"scfq.weight[{index}]", must, weight)
        return made

    def writes(self, parameters: Mapping[str, Any]) -> list[Write]:
        """Return the writes that program an instance. Requesters without an entry get reciprocal 0.

        Raises
        ------
        InputError
            If there are more weights than requesters, or a weight has no reciprocal.
        """
        most = parameters["requesters"] or parameters["data_vls"]
        if len(self.weight) > most:
            raise too_long("scfq.weight", most, len(self.weight))
        return value_writes(self.reciprocals(parameters["reciprocal_bits"]), most)

    def shape(self) -> dict[str, int]:
        """Return an empty mapping: no parameter of an instance depends on the table."""
        return {}

    def requesters(self) -> int:
        """Return the number of weights."""
        return len(self.weight)

    def served(self) -> dict[str, int]:
        """Return the number of each requester with a nonzero weight, by the key of the weight in the file."""
        return {f"scfq.weight[{sl}]": sl for sl, weight in enumerate(self.weight) if weight}


def reciprocal(weight: int, least: int, bits: int) -> int:
    """Return the reciprocal of a weight in units in which the smallest weight has the largest number of ``bits``."""
    return (2 * ((1 << bits) - 1) * least + weight) // (2 * weight)


def weight_write(_place: int, lane: int, weight: int, least: int) -> Write:
    """Return the write that gives a lane its weight: the reciprocal. A reciprocal must be at least 2."""
    made = reciprocal(weight, least, _DEFAULT_BITS)
    return (_TABLE if made >= _LEAST_RECIPROCAL else _TOO_LARGE), lane, 0, made


@dataclass(frozen=True, eq=False, kw_only=True)
class SCFQParameters(SchedulerParameters):
    """Parameters of ``scfq``.

    With ``units = "shared"``, one unit computes one new tag per cycle, and nothing is sent while a tag is missing; with
    ``per_requester``, each requester has its own unit.

    Raises
    ------
    TypeError, InputError
        If a value is rejected, as for ``Parameters``.
    """

    tag_bits: int = whole(16, 12, MAX_TAG_BITS, "width of a tag, at least 8 bits more than a reciprocal")
    reciprocal_bits: int = whole(_DEFAULT_BITS, 4, MAX_RECIPROCAL_BITS, "width of a reciprocal weight")
    units: str = choice("shared", ("shared", "per_requester"), "tag units")

    def check(self) -> None:
        """Reject tags that are too narrow for comparison after a wrap."""
        super().check()
        check_range("tag_bits", self.tag_bits, self.reciprocal_bits + _SIZE_BITS + 1, MAX_TAG_BITS)


_SIZE_BITS = 7
"""Width of a packet's size in blocks, the factor of a reciprocal."""
