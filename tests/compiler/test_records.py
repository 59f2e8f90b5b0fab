"""Records: equal positions and fields in compiled and uncompiled code."""

from __future__ import annotations

import numpy as np
import pytest

from vlane.golden.compiler.records import Int16, Int32, Records, new_records
from vlane.golden.compiler.source import UntranslatableError
from vlane.golden.engine.kernel import inner, kernel


class Cell:
    """Record with fields of 32 and 16 bits."""

    first: Int32
    second: Int16


class Hidden:
    """Record with two field names that numpy records use as attributes."""

    size: Int32
    base: Int16
    length: Int32


@inner
def _raise(cell: Cell, by: int) -> None:
    cell.second += by


@kernel
def _fill(row: Records[Cell], table: Records[Cell]) -> int:
    for place in range(len(row)):
        row[place].first = 10 * place
    for place in range(table.shape[0]):
        for column in range(table.shape[1]):
            cell = table[place, column]
            cell.first = 100 * place + column
            _raise(cell, row[column].first - 5)
    return len(table) * table.shape[1] + row.shape[0]


@kernel
def _flat(table: Records[Cell]) -> int:
    return table[1].first


def test_compiled_and_uncompiled_kernels_write_the_same_records() -> None:
    made = []
    for fill in (_fill, _fill.python_function):  # type: ignore[attr-defined]  # of a kernel
        row, table = new_records(Cell, 3), new_records(Cell, 2, 3)
        assert fill(row, table) == 9
        made.append((row["first"].tolist(), table["first"].tolist(), table["second"].tolist()))

    assert made[0] == made[1] == ([0, 10, 20], [[0, 1, 2], [100, 101, 102]], [[-5, 5, 15]] * 2)


def test_fields_are_as_wide_as_they_say() -> None:
    """Record fields have the declared widths, and slices can be assigned."""
    cells = new_records(Cell, 4)
    cells["first"] = [1, 2, 3, 4]
    cells[:2] = new_records(Cell, 2)

    assert cells.array.dtype.itemsize == 6
    assert (cells["first"].dtype, cells["second"].dtype) == (np.dtype(np.int32), np.dtype(np.int16))
    assert cells["first"].tolist() == [0, 0, 3, 4]
    assert (len(cells), cells.shape, cells[3].first) == (4, (4,), 4)


def test_a_table_has_no_single_place() -> None:
    """Given one index for records in two dimensions, a kernel is refused."""
    with pytest.raises(UntranslatableError, match=r"test_records.py:\d+: records Cell in 2 dimensions need 2 indices"):
        _flat(new_records(Cell, 2, 3))


def test_a_field_that_numpy_hides_is_refused() -> None:
    """Given a field name that numpy hides, such as ``size``, creating the records is refused."""
    with pytest.raises(TypeError, match=r"Hidden.*size, base$"):
        new_records(Hidden, 2)
