"""Sets as bits: the same answers compiled and not, for every number of members."""

from __future__ import annotations

import random

import numpy as np
from numpy.typing import NDArray
from vlane.golden.bits import LIST_MARGIN, MAX_SET, length, list_members, lowest, next_of, size
from vlane.golden.kernel import kernel


@kernel
def _answers(members: int, last: int, found: NDArray[np.int64]) -> None:
    found[0], found[1], found[2], found[3] = lowest(members), next_of(members, last), size(members), length(members)


@kernel
def _listed(first: int, second: int, numbers: NDArray[np.int64]) -> int:
    return list_members(second, 1000, numbers, list_members(first, 0, numbers, 0))


def _sets() -> list[int]:
    source = random.Random(5)  # noqa: S311 - a repeatable choice
    return [1, 1 << MAX_SET, (1 << MAX_SET) - 1, *(source.getrandbits(MAX_SET) & source.getrandbits(62) | 1 << 40
            for _ in range(100))]  # fmt: skip


def test_compiled_answers_are_those_of_sets() -> None:
    for members in _sets():
        held = [number for number in range(MAX_SET + 1) if members >> number & 1]
        for last in (0, 31, MAX_SET - 1):
            behind = [number for number in held if number > last]
            right = [held[0], (behind or held)[0], len(held), held[-1] + 1]
            for answers in (_answers, _answers.py_func):  # type: ignore[attr-defined]  # of numba's dispatcher
                found = np.zeros(4, np.int64)
                answers(members, last, found)
                assert found.tolist() == right


def test_members_of_sets_are_listed_one_after_the_other() -> None:
    """None, one, as many as are written at a time, one more, and all."""
    for first in (0, 1, 0b1111, 0b11111, *_sets()):
        for second in (0, 1 << MAX_SET, 0b10111):
            right = [number for number in range(MAX_SET + 1) if first >> number & 1]
            right += [1000 + number for number in range(MAX_SET + 1) if second >> number & 1]
            for listed in (_listed, _listed.py_func):  # type: ignore[attr-defined]
                numbers = np.zeros(len(right) + LIST_MARGIN, np.int64)
                assert listed(first, second, numbers) == len(right)
                assert numbers[: len(right)].tolist() == right
