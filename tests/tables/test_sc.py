"""Omni-Path mapping from service channels to virtual lanes."""

from __future__ import annotations

import numpy as np
import pytest

from vlane.golden.tables import sc
from vlane.tables.sc import SC15, SCTable, gen1_sc2vl


@pytest.mark.parametrize("data_vls", [1, 4, 8, 15, 16, 17, 20, 31])
def test_first_generation_table_uses_lanes_that_are_there(data_vls: int) -> None:
    """For any number of lanes, each data channel maps to an existing lane and only SC15 to VL15."""
    state = sc.new_state(ports=1, data_vls=data_vls)
    rules = np.zeros(len(sc.RULES), np.int64)
    table = gen1_sc2vl(data_vls)
    for channel, vl in enumerate(table):
        sc.write(state, int(SCTable.SC2VL_T), 0, 0, channel, vl)

    answers = [sc.forward(state, 0, 0, channel, rules) for channel in range(32)]

    assert [vl for _, vl, _ in answers] == list(table)
    assert not any(dropped for _, _, dropped in answers)
    assert [channel for channel, (_, vl, _) in enumerate(answers) if vl == SC15] == [SC15]
