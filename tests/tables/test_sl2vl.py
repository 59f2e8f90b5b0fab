"""Rows of SL to VL mapping."""

from __future__ import annotations

from typing import Any

import pytest

from vlane.errors import InputError
from vlane.tables.sl2vl import SL2VLRow


def test_the_lowest_sl_of_a_lane_is_its_requester() -> None:
    """Service levels that share a lane queue together: a scheduler sees one requester."""
    assert SL2VLRow((2, 2, 0, 15, *(0,) * 12)).owners() == {0: 2, 2: 0}


@pytest.mark.parametrize(("field", "row"), [("sl2vl.row", (0,) * 15), ("sl2vl.row[3]", (0, 0, 0, 16, *(0,) * 12))])
def test_rows_that_no_port_can_hold_are_refused(field: str, row: Any) -> None:
    """A table is checked when it is made."""
    with pytest.raises(InputError) as refused:
        SL2VLRow(row)

    assert refused.value.field == field
