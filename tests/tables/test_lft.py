"""Forwarding table: meaning of each LID."""

from __future__ import annotations

import numpy as np

from vlane.golden.tables import lft


def test_every_lid_has_exactly_one_meaning() -> None:
    """Each of the 65,536 LIDs is either looked up or dropped for its own reason.

    LID 0 is reserved, LIDs up to the top are looked up, LIDs above the top and multicast LIDs are dropped, and the
    permissive LID goes to port 0.
    """
    state = lft.new_state(lookups=1, ports=8, entries=49152)
    rules = np.zeros(len(lft.RULES), np.int64)
    state.top[0], state.port[:] = 0xBFFE, 5

    answers = [lft.look_up(state, lid, rules) for lid in range(65536)]

    assert answers[0] == (255, 1)
    assert set(answers[1:0xBFFF]) == {(5, 0)}
    assert answers[0xBFFF] == (255, 3)
    assert set(answers[0xC000:0xFFFF]) == {(255, 2)}
    assert answers[0xFFFF] == (0, 0)
