"""Optimisations that change no result: prefetching, shared table rows, counters without readers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from vlane.golden.compiler.records import Int32, Records, new_records
from vlane.golden.compiler.source import UntranslatableError
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.pool import allocate_record
from vlane.golden.engine.prefetch import prefetch
from vlane.golden.engine.unread import unread_counters
from vlane.golden.switches.packets import NOBODY, TO_SINK, new_packets, pop_event, prefetch_next, schedule
from vlane.golden.switches.vl_tables import tables_with_row_per_input, tables_with_shared_rows


class Cell:
    """Record with one field."""

    number: Int32


@kernel
def _loads(cells: Records[Cell], numbers: NDArray[np.uint8]) -> int:
    for place in (0, 2, 1 << 40, -1):
        prefetch(cells, place)
        prefetch(numbers, place)
    return cells[2].number


@kernel
def _counts(marks: NDArray[np.int64]) -> int:
    rules = unread_counters(3)
    for place in range(len(marks)):
        rules[place] += marks[place]
        rules[place] = 1
        rules[0] += _raised(marks)
    return marks[0]


@inner
def _raised(marks: NDArray[np.int64]) -> int:
    marks[0] += 1
    return marks[0]


@kernel
def _reads() -> int:
    rules = unread_counters(3)
    rules[0] += 1
    return rules[0]


def test_prefetch_changes_nothing_and_accepts_any_index() -> None:
    """Prefetching at valid and invalid indices changes no data and raises no error."""
    cells, numbers = new_records(Cell, 3), np.zeros(4, np.uint8)
    cells["number"] = [7, 8, 9]
    for loads in (_loads, _loads.python_function):  # type: ignore[attr-defined]  # of a kernel
        assert loads(cells, numbers) == 9
    assert cells["number"].tolist() == [7, 8, 9]
    assert not numbers.any()


def test_unread_counters_can_only_be_incremented() -> None:
    """Counters marked ``unread_counters`` can only be incremented, and a kernel that reads one is refused."""
    for counts in (_counts, _counts.python_function):  # type: ignore[attr-defined]  # of a kernel
        assert counts(np.array([1, 2, 3])) == 4

    assert _reads.python_function() == 1  # type: ignore[attr-defined]  # of a kernel
    with pytest.raises(UntranslatableError, match=r"test_loaded_ahead.py:\d+: .*nobody may read them"):
        _reads()


def test_equal_rows_are_kept_once() -> None:
    """Shared tables store each distinct row once and return the rows of separate tables."""
    vl = np.random.default_rng(1).integers(0, 2, (5, 3, 1, 2)).astype(np.uint8)
    shared, apart = (tables(vl, by_lane=False) for tables in (tables_with_shared_rows, tables_with_row_per_input))

    assert len(shared.vl) == len(np.unique(vl.reshape(15, -1), axis=0)) < len(apart.vl) == 15
    assert (shared.vl[shared.row] == vl).all()
    assert (apart.vl[apart.row] == vl).all()
    assert np.shares_memory(apart.vl, vl)
    assert not np.shares_memory(shared.vl, vl)


def test_the_same_row_everywhere_is_found_at_once() -> None:
    """Given a broadcast row, sharing finds the single distinct row without expanding the array."""
    tables = tables_with_shared_rows(
        np.broadcast_to(np.arange(16, dtype=np.uint8), (1 << 14, 64, 64, 16)), by_lane=True
    )

    assert (tables.vl.shape, tables.row.any(), tables.by_lane) == ((1, 64, 16), False, True)


def test_prefetch_ends_at_the_end_of_the_list() -> None:
    """Walking a list of due packets with prefetch returns each packet once and stops at the end."""
    packets = new_packets(4)
    made = [allocate_record(packets) for _ in range(3)]
    for packet in made:
        schedule(packets, packet, 5, TO_SINK, 0)
    found, packet = [], pop_event(packets, 5, TO_SINK)
    while packet != NOBODY:
        found.append(packet)
        packet = prefetch_next(packets, packet)

    assert found == made[::-1]
    assert prefetch_next(packets, NOBODY) == NOBODY
