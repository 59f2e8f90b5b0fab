"""Bit sets and random numbers: equal results in compiled and uncompiled code."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Records, new_records
from vlane.golden.engine.bits import LIST_MARGIN, bit_length, list_members, lowest_member, member_count, next_member
from vlane.golden.engine.kernel import kernel
from vlane.golden.engine.random_bits import draw_below, seeded_rng, seeded_rngs


class Cell:
    """Record with one 32-bit field."""

    value: Int32


MAX_SET = 62
"""Highest bit below the sign bit, which Python integers lack."""


@kernel
def _answers(members: int, last: int, found: NDArray[np.int64]) -> None:
    found[0], found[1], found[2], found[3] = (
        lowest_member(members),
        next_member(members, last),
        member_count(members),
        bit_length(members),
    )


@kernel
def _listed(sets: NDArray[np.int64], numbers: NDArray[np.int64]) -> int:
    return list_members(sets, 10, numbers)


def _sets() -> list[int]:
    source = random.Random(5)  # noqa: S311 - a repeatable choice
    return [
        1,
        1 << MAX_SET,
        (1 << MAX_SET) - 1,
        *(source.getrandbits(MAX_SET) & source.getrandbits(62) | 1 << 40 for _ in range(100)),
    ]


def test_compiled_answers_are_those_of_sets() -> None:
    """Lowest member, next member, size and length of a bit set equal those of a Python set."""
    for members in _sets():
        held = [number for number in range(MAX_SET + 1) if members >> number & 1]
        for last in (np.int32(0), np.int32(31), MAX_SET - 1):
            behind = [number for number in held if number > last]
            right = [held[0], (behind or held)[0], len(held), held[-1] + 1]
            for answers in (_answers, _answers.python_function):  # type: ignore[attr-defined]  # of a kernel
                found = np.zeros(4, np.int64)
                answers(members, last, found)
                assert found.tolist() == right


def test_members_of_sets_are_listed_one_after_the_other() -> None:
    """Members of two sets are listed in order, for sets from empty to full.

    Sizes include the number of members written per step and one more.
    """
    for first in (0, 1, 0b1111, 0b11111, *_sets()):
        for second in (0, 1 << MAX_SET, 0b10111):
            right = [number for number in range(MAX_SET + 1) if first >> number & 1]
            right += [1024 + number for number in range(MAX_SET + 1) if second >> number & 1]
            for listed in (_listed, _listed.python_function):  # type: ignore[attr-defined]
                numbers = np.zeros(len(right) + LIST_MARGIN, np.int64)
                assert listed(np.array([first, second], np.int64), numbers) == len(right)
                assert numbers[: len(right)].tolist() == right


@kernel
def _of_64(members: int, found: NDArray[np.int64]) -> None:
    found[0], found[1], found[2] = lowest_member(members), next_member(members, 62), member_count(members)


def test_compiled_sets_of_64_have_the_last_bit() -> None:
    """Compiled bit operations support sets with member 63, the sign bit of an integer."""
    found = np.zeros(3, np.int64)
    _of_64(-(1 << 63), found)
    assert found.tolist() == [63, 63, 1]
    _of_64(-(1 << 63) | 1, found)
    assert found.tolist() == [0, 63, 2]


@kernel
def _lengths(narrow: Records[Cell]) -> int:
    return 100 * bit_length(0) + bit_length(narrow[0].value)


def test_a_length_does_not_depend_on_how_wide_a_number_is_kept() -> None:
    """A set stored in 32 bits has the same length as in 64 bits."""
    cells = new_records(Cell, 1)
    cells["value"] = 5
    assert _lengths(cells) == 3


@pytest.mark.parametrize("parts", [(7,), (1, 5), (2**40 + 3, 2**32 - 1, 0), (1, 2, 3, 4)])
def test_many_seeds_equal_single_seeds(parts: tuple[int, ...]) -> None:
    """Seeds computed for arrays equal the seeds computed one by one."""
    for first in (0, 1, 2**31, 2**32 - 1):
        assert seeded_rngs(first, *parts[1:]) == seeded_rng(first, *parts[1:])[0]
    rows, columns = np.arange(300)[:, None], np.arange(7)
    many = seeded_rngs(parts[0], rows, columns)
    assert many.shape == (300, 7)
    assert many.dtype == np.uint64
    assert all(many[row, column] == seeded_rng(parts[0], row, column)[0] for row in range(300) for column in range(7))


@pytest.mark.parametrize("bound", [1, 7, 1 << 31, (1 << 32) - 1, 1 << 32])
def test_random_numbers_are_below_their_bound(bound: int) -> None:
    """Given a bound up to 2**32, compiled and plain draws are equal, below the bound, and well spread."""
    bits = seeded_rng(3)
    compiled = [draw_below(bits, bound) for _ in range(300)]
    bits = seeded_rng(3)
    plain = [draw_below.python_function(bits, bound) for _ in range(300)]  # type: ignore[attr-defined]  # of a kernel

    assert compiled == plain
    assert 0 <= min(compiled) <= bound // 20
    assert bound - 1 - bound // 20 <= max(compiled) < bound
