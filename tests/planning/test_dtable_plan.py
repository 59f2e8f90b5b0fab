"""Planning of Deficit Tables: the published table, its bounds, infeasible requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import assert_refused, call
from vlane.planning.dtable_plan import plan_table
from vlane.planning.dtable_request import read_request

PAPER = Path(__file__).parent.parent.parent / "sim_top" / "configs" / "dtable_plan.toml"


def test_published_table_is_reproduced() -> None:
    """The plan of the paper's request equals its table 4 in k, w, total weights and their split."""
    plan = plan_table(read_request(PAPER))

    assert (float(plan.k), float(plan.w), plan.pool, plan.most_weight) == (0.5, 3.0, 1024, 96)
    splits = {
        one.level.name: (one.total_weight, {w: one.weights.count(w) for w in set(one.weights)}) for one in plan.levels
    }
    assert splits == {
        "NC": (101, {3: 27, 4: 5}),
        "VO": (176, {11: 16}),
        "VI": (322, {40: 6, 41: 2}),
        "CL": (375, {93: 1, 94: 3}),
        "EE": (43, {21: 1, 22: 1}),
        "BE": (39, {39: 1}),
        "BK": (17, {17: 1}),
    }
    assert sum(one.total_weight for one in plan.levels) == 1073


def test_bounds_are_those_of_the_formulas() -> None:
    """Bounds are phi_min = (n/N)(MTU/GMTU)/k and phi_max = (n/N)(w/k).

    VO and BK differ from the printed bounds, as the docs page explains.
    """
    plan = plan_table(read_request(PAPER))

    least = [float(one.phi_min) for one in plan.levels]
    most = [float(one.phi_max) for one in plan.levels]
    assert least == [0.09375, 0.03125, 0.25, 0.125, 0.03125, 0.015625, 0.015625]
    assert most == [3.0, 1.5, 0.75, 0.375, 0.1875, 0.09375, 0.09375]
    assert all(one.phi_min <= one.level.bandwidth <= one.phi_max for one in plan.levels)


def test_every_service_level_keeps_its_distance_and_its_packets_fit() -> None:
    """Entries of each level have the requested distance and hold at least one packet."""
    plan = plan_table(read_request(PAPER))

    taken = [place for one in plan.levels for place in one.places]
    assert sorted(taken) == list(range(64))
    for one in plan.levels:
        gaps = {
            (after - before) % 64 or 64
            for before, after in zip(one.places, one.places[1:] + one.places[:1], strict=True)
        }
        assert gaps == {one.level.distance}
        assert min(one.weights) >= one.level.mtu_blocks
    plan.table.check_ib_packing(32)


def edited(tmp_path: Path, old: str, new: str) -> Path:
    text = PAPER.read_text()
    assert old in text
    file = tmp_path / "plan.toml"
    file.write_text(text.replace(old, new, 1))
    return file


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("bandwidth = 0.094", "bandwidth = 0.0001", ("bandwidth of NC", "at least phi_min", "k = 7", "0.0001")),
        ("bandwidth = 0.094", "bandwidth = 0.2", ("dtable_plan.sl: ", "must be at most 1")),
        ("distance = 4\n", "distance = 2\n", ("distance of VI", "only 0 are free")),
        ("distance = 4\n", "distance = 3\n", ("distance of VO", "a power of two")),
        ("# k = 0.5", "k = 0.4", ("bandwidth of NC", "at least phi_min", "given")),
        ("# w = 3.0", "w = 2.9", ("bandwidth of CL", "w x GMTU", "2.9")),
        ("# w = 3.0", "w = 0.1", ("dtable_plan.w", "at least k")),
        ("# k = 0.5", "k = 9.5", ("dtable_plan.k", "at most 7")),
        ("entries = 64", "entries = 48", ("dtable_plan.entries", "32, 64 or 128", "48")),
        ("gmtu_blocks = 32", "gmtu_blocks = 16", ("mtu_blocks of VI", "1 to gmtu_blocks, 16", "32")),
        ("sl = 1", "sl = 0", ("sl of VO", "a service level that NC does not use")),
        ('name = "VO"', 'name = "NC"', ("sl.1.name", "unique")),
        ("bandwidth = 0.094", "bandwidth = 1e400", ("bandwidth", "at most 30 digits")),
        ("bandwidth = 0.094", "bandwidth = 1e-99999999", ("bandwidth", "at most 30 digits")),
        ("bandwidth = 0.094", "bandwidth = nan", ("bandwidth", "a number")),
        ("bandwidth = 0.094", 'bandwidth = "much"', ("bandwidth", "a number", "much")),
        ("sl = 1", "sl = 0x" + "f" * 5000, ("sl of VO", "0 to 15", "too many digits")),
        ("mtu_blocks = 3 ", "mtu = 3 ", ("mtu",)),
    ],
)
def test_request_that_cannot_be_met_is_refused(tmp_path: Path, old: str, new: str, words: tuple[str, ...]) -> None:
    """Given an infeasible request, one line names level, bound and value, and no file is written."""
    file = edited(tmp_path, old, new)

    assert_refused(call("dtable", "plan", file, "--out", tmp_path / "out.toml"), str(file), *words)
    assert not (tmp_path / "out.toml").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"dtable_plan = 3", ("dtable_plan must be a section", "3")),
        (b"\xff", ("UTF-8",)),
        (b"", ("dtable_plan", "missing")),
    ],
)
def test_file_that_is_no_request_is_refused(tmp_path: Path, content: bytes, words: tuple[str, ...]) -> None:
    """Given a file that is not a request, the command is refused."""
    file = tmp_path / "plan.toml"
    file.write_bytes(content)

    assert_refused(call("dtable", "plan", file), str(file), *words)


def test_plan_is_a_table_file_and_json(tmp_path: Path) -> None:
    """The written table file can be read by ``cosim`` and ``egress``, and JSON has the plan."""
    called = call("dtable", "plan", PAPER, "--json", "--out", tmp_path / "table.toml")

    document: Any = called.json()
    assert called.status == 0
    assert list(document["weights_per_sl"].values()) == [101, 176, 322, 375, 43, 39, 17]
    assert (document["k"], document["w"], document["total_weight"]) == (0.5, 3.0, 1073)
    assert len(document["entries"]) == 64
    assert "entries = [[0, 3], [1, 11]" in (tmp_path / "table.toml").read_text()
