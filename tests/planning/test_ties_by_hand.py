"""Ties of planned tables, which decide among equally good entries, by hand."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest

from vlane.planning import vlarb_plan
from vlane.planning.fill_in import FillIn
from vlane.planning.vlarb_plan import _Lane
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable

LANES = [_Lane(vl, Fraction(1, 2), inf, high=False) for vl in (4, 7)]
"""Two lanes with equal shares and no required wait."""


def test_of_entries_at_one_place_the_lane_with_more_entries_is_first() -> None:
    """Given one entry of VL 4 and three of VL 7, both have one in the middle, where VL 7 comes first."""
    spread = vlarb_plan._spread(LANES, [1, 3], [1, 1], mtu=10)

    assert [entry.vl for entry in spread] == [7, 7, 4, 7]
    assert {entry.weight for entry in spread} == {10}


def test_weight_of_a_lane_is_split_with_larger_entries_first() -> None:
    """Given five packets in entries of at most two, the entries have two, two and one."""
    spread = vlarb_plan._spread(LANES[:1], [5], [2], mtu=10)

    assert spread == tuple(VLArbEntry(4, weight) for weight in (20, 20, 10))


def test_of_equal_lanes_the_first_gets_the_spare_packet() -> None:
    """Given a pass with a spare packet and lanes with equal waits, the packet goes to the first lane."""
    made = vlarb_plan._candidates(LANES, [([1, 1], 1)], 10, lambda entries: VLArbTable((), entries, 255), {})
    totals = [[sum(entry.weight for entry in entries if entry.vl == lane.vl) for lane in LANES] for entries, _ in made]

    assert totals[0] == [10, 10]
    assert totals[-1] == [20, 10]


@pytest.mark.parametrize(
    ("fit", "taken", "distance", "found"),
    [
        ("best", [(2, 0), (2, 1)], 4, (2, 2)),
        ("best", [(2, 0), (3, 1)], 8, (3, 5)),
        ("first", [(2, 0), (2, 1)], 4, (2, 2)),
        ("first", [(2, 1)], 4, (1, 0)),
        ("best", [(2, 1)], 4, (2, 3)),
    ],
)
def test_of_free_sets_the_smallest_and_then_the_first_is_taken(
    fit: str, taken: list[tuple[int, int]], distance: int, found: tuple[int, int]
) -> None:
    """Best fit takes the smallest set, and the first in bit-reversed order of several. First fit ignores sizes."""
    room = FillIn.holding(taken, entries=8, fit=fit, merges=False).room(vl=1, distance=distance, weight=1)

    assert room is not None
    assert room.free == found
