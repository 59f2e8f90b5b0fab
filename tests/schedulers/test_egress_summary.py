"""Summary of ``vlane egress`` by lane: window of the shares, percentiles, warnings, credits."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import assert_refused, call
from vlane.egress import ListCode
from vlane.sim_top.cosim.cosim_vlarb import longest_wait
from vlane.sim_top.egress.egress_summary import Departure, Window, WindowFinder, summaries

LIMITED = "[vlarb]\nhigh = [[0, 1], [1, 3]]\nlow = []\nlimit_of_high_priority = 255\n"


def port(tmp_path: Path, table: str, arrivals: list[str], *more: str | Path) -> tuple[str | Path, ...]:
    """Write table and arrivals files and return the arguments of the call."""
    (tmp_path / "table.toml").write_text(table)
    (tmp_path / "arrivals.csv").write_text("\n".join(["cycle,vl,bytes", *arrivals]) + "\n")
    return ("egress", "--table", tmp_path / "table.toml", "--arrivals", tmp_path / "arrivals.csv", *more)


def test_shares_are_those_of_the_time_in_which_every_lane_waits(tmp_path: Path) -> None:
    """Shares are computed over the window in which every lane has a packet waiting.

    Lane 1 has three times lane 0's weight, while over the whole run both lanes send equally much.
    """
    rows = [f"0,{vl},64" for vl in (0, 1) for _ in range(30)]

    done = call(*port(tmp_path, LIMITED, rows, "--json")).json()

    assert done["window"] == {"first_cycle": 0, "last_cycle": 39}
    lanes = {lane["vl"]: lane for lane in done["per_vl"]}
    assert lanes[0]["bytes"] == lanes[1]["bytes"] == 30 * 64
    assert (lanes[0]["share"], lanes[1]["share"]) == (0.25, 0.75)
    assert (lanes[0]["window_packets"], lanes[1]["window_packets"]) == (10, 30)
    assert lanes[1]["window_bytes"] == 30 * 64


def test_shares_of_the_whole_run_are_labelled(tmp_path: Path) -> None:
    """Given lanes that never wait together, shares cover the whole run and are labelled accordingly."""
    arguments = port(tmp_path, LIMITED, ["0,0,64", "100,1,192"])

    done, shown = call(*arguments, "--json").json(), call(*arguments).out

    assert done["window"] is None
    assert [lane["share"] for lane in done["per_vl"]] == [0.25, 0.75]
    assert "shares: whole run" in shown
    assert "in cycles" not in shown.split("shares:")[1]


def test_the_window_is_the_one_in_which_most_bytes_left(tmp_path: Path) -> None:
    """Given several windows in which every lane waits, shares use the window with the most bytes.

    VL15 packets neither start nor end a window, but count within it.
    """
    rows = ["0,0,64", "0,1,64", *(f"1000,{vl},64" for vl in (0, 1) for _ in range(8)), "1004,15,64"]

    arguments = port(tmp_path, LIMITED, rows)
    done = call(*arguments, "--json").json()

    assert done["window"]["first_cycle"] == 1000
    assert 1008 <= done["window"]["last_cycle"] <= 1012
    shares = {lane["vl"]: lane["share"] for lane in done["per_vl"]}
    assert sum(shares.values()) == pytest.approx(1)
    assert 0 < shares[15] < shares[0] < shares[1]
    first, last = done["window"].values()
    assert (
        f"shares: bytes sent in cycles {first} to {last}, while every lane had a packet waiting" in call(*arguments).out
    )


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, 9)), max_size=30))
def test_window_finder_finds_the_best_window(steps: list[tuple[bool, int, int]]) -> None:
    """The window finder agrees with a search over all windows in which every lane waits."""
    departures: list[Departure] = []
    finder = WindowFinder(departures)
    left = []
    for cycle, (backlogged, vl, size) in enumerate(steps):
        finder.look(cycle, backlogged=backlogged)
        left.append(size if vl < 3 else 0)
        if vl < 3:
            departures.append(Departure(cycle, vl, size, "high"))

    found = finder.found()

    stretches = [
        (first, last)
        for first in range(len(steps))
        for last in range(first, len(steps))
        if all(step[0] for step in steps[first : last + 1])
    ]
    best = max((sum(left[first : last + 1]) for first, last in stretches), default=0)
    if found is None:
        assert best == 0
        return
    assert sum(left[found.first_cycle : found.last_cycle + 1]) == best > 0
    assert sum(each.bytes for each in departures[found.first : found.end]) == best
    assert not any(steps[at][0] for at in (found.first_cycle - 1, found.last_cycle + 1) if 0 <= at < len(steps))


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=250))
def test_percentiles_are_waits_that_so_many_did_not_exceed(waits: list[int]) -> None:
    """A percentile is the smallest observed wait that the given share of packets did not exceed."""
    departures = [Departure(0, 1, 64, "low")] * len(waits)
    (lane,) = summaries(departures, {1: waits}, {1: 2}, None)

    for percent, rank in ((50, lane.p50_wait_cycles), (99, lane.p99_wait_cycles), (100, lane.max_wait_cycles)):
        assert rank in waits
        assert 100 * sum(wait <= rank for wait in waits) >= percent * len(waits)
        assert 100 * sum(wait < rank for wait in waits) < percent * len(waits)
    assert lane.mean_wait_cycles == pytest.approx(np.mean(waits))
    assert (lane.packets, lane.left_behind, lane.share) == (len(waits), 2, 1.0)


def test_lane_without_departures_has_no_waits() -> None:
    """Given a lane that sent nothing, all statistics are zero except the packets left behind."""
    (lane,) = summaries([], {}, {4: 7}, Window(0, 1, 0, 0))

    assert lane == (4, 0, 0, 0.0, 0, 0, 0.0, 0, 0, 0, 7)


def test_departures_are_listed_on_request(tmp_path: Path) -> None:
    """Departures appear in the text and JSON output only with ``--list``."""
    arguments = port(tmp_path, LIMITED, [f"{cycle},0,64" for cycle in range(60)])

    assert call(*arguments, "--json").json()["departures"] is None
    assert len(call(*arguments, "--list", "--json").json()["departures"]) == 60
    listed, plain = (io.StringIO(call(*arguments, *more).out).readlines() for more in (("--list",), ()))
    assert len(listed) == len(plain) + 61
    assert listed[60].split() == ["59", "0", "64", "high"]


@pytest.mark.parametrize(
    ("scheduler", "table", "unserved"),
    [
        ("vlarb", "[vlarb]\nhigh = [[0, 1], [2, 0]]\nlow = [[1, 1]]\nlimit_of_high_priority = 0\n", [2, 3]),
        ("dtable", "[dtable]\nentries = [[0, 1], [1, 255], [2, 0]]\n", [2, 3]),
        ("drr", "[drr]\nquantum = [1, 0, 1, 1]\n", [1]),
        ("scfq", "[scfq]\nweight = [1, 0, 1, 1]\n", [1]),
        ("rr", "[sl2vl]\nrow = [0, 2, 3" + ", 15" * 13 + "]\n", [1]),
        ("rr", "", []),
    ],
)
def test_lanes_that_no_entry_serves_are_warned_of(
    scheduler: str, table: str, unserved: list[int], tmp_path: Path
) -> None:
    """Given lanes that no table entry serves, the run warns of each lane and leaves its packets behind."""
    arguments = port(tmp_path, table, [f"0,{vl},4224" for vl in (0, 1, 2, 3, 15)], "--scheduler", scheduler)

    called = call(*arguments, "--json")

    done = called.json()
    assert called.status == 0
    assert [warning["where"] for warning in done["warnings"]] == [f"VL {vl}" for vl in unserved]
    assert {warning["code"] for warning in done["warnings"]} <= {"VL_UNSERVED"}
    assert [lane["vl"] for lane in done["per_vl"] if lane["left_behind"]] == unserved
    assert called.err.count("warning: VL") == len(unserved)


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("--credits", "cycle,vl,blocks\n0,1,3\n0,15,3\n", [":3: vl must be 0 to 14 (VL15 has no credits), not 15"]),
        ("--credits", "cycle,vl,blocks\n", [":1: rows: the file has no rows below the header"]),
        ("--arrivals", "cycle,vl,bytes\n\n", [":1: rows: the file has no rows below the header"]),
        ("--arrivals", "\ufeffcycle,vl,bytes\r\n0,9,64\r\n", [":2: vl must be 0 to 3 or 15, not 9"]),
    ],
)
def test_empty_or_excess_traffic_is_refused(option: str, text: str, words: list[str], tmp_path: Path) -> None:
    """Given empty traffic files, credits for VL15 or a lane out of range, the line is named."""
    file = tmp_path / "traffic.csv"
    file.write_bytes(text.encode())

    called = call(*port(tmp_path, LIMITED, ["0,0,64"], option, file, "--param", "data_vls=4"))

    assert_refused(called, f"{file}{words[0]}")


def test_a_wait_belongs_to_the_list_that_ended_it() -> None:
    """The longest wait of a list counts only waits it ended and waits that nothing ended."""
    waits = np.array([50, 131, 98, 0])
    assert (longest_wait(waits, ListCode.HIGH), longest_wait(waits, ListCode.LOW)) == (131, 98)
    waits[ListCode.NONE] = 500
    assert (longest_wait(waits, ListCode.HIGH), longest_wait(waits, ListCode.LOW)) == (500, 500)
