"""Rows of the SL-to-VL mapping."""

from __future__ import annotations

from typing import Any

import pytest

from vlane.errors import InputError
from vlane.tables.sl2vl import SL2VLRow


def test_the_lowest_sl_of_a_lane_is_its_requester() -> None:
    """Service levels on a common lane form one requester, named by the lowest level."""
    assert SL2VLRow((2, 2, 0, 15, *(0,) * 12)).owners() == {0: 2, 2: 0}


@pytest.mark.parametrize(("field", "row"), [("sl2vl.row", (0,) * 15), ("sl2vl.row[3]", (0, 0, 0, 16, *(0,) * 12))])
def test_rows_that_no_port_can_hold_are_refused(field: str, row: Any) -> None:
    """Given a row of the wrong length or a VL out of range, construction is refused and names the field."""
    with pytest.raises(InputError) as refused:
        SL2VLRow(row)

    assert refused.value.field == field
