"""The packet-size study: requests, cases, and a short run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.conftest import call
from vlane.sim_top.studies.packet_size_requests import BUDGET, LEVELS, Requests, admitted
from vlane.sim_top.studies.study_packet_size import STUDY
from vlane.sim_top.studies.study_packet_size_cases import CROSSBARS, SIZES, cases
from vlane.sim_top.studies.summary import Summary
from vlane.units import HEADER_BYTES

SMALL = Requests(switches=8, network=1, seed=1, packet_bytes=256, attempts=2000)


def test_requests_are_those_of_table_1() -> None:
    """Requests follow the paper's ten levels of distances and rates, within the budget of each host.

    Bandwidth is that of the payload.
    """
    table = admitted(SMALL)

    assert table.equals(admitted(SMALL))
    assert [level.distance for level in LEVELS] == [2, 4, 8, 16, 32, 32, 64, 64, 64, 64]
    for sl, level in enumerate(LEVELS):
        kbps = table.filter(sl=sl)["kbps"]
        assert len(kbps)
        assert level.least <= kbps.min() <= kbps.max() <= level.most  # type: ignore[operator]
    assert (table["source"] != table["destination"]).all()
    assert table["bytes"].unique().to_list() == [256]
    bits = 8 * (256 - HEADER_BYTES) / (table["interval_cycles"] * 204.8e-9)
    assert np.allclose(bits, 1000 * table["kbps"])
    load = 4 / table["interval_cycles"]
    for end in ("source", "destination"):
        of_host = table.with_columns(load=load).group_by(end).agg(pl.col("load").sum())["load"]
        assert of_host.max() <= BUDGET  # type: ignore[operator]
        large = table.with_columns(load=load).filter(pl.col("sl").is_in([5, 8, 9]))
        assert large.group_by(end, "sl").agg(pl.col("load").sum())["load"].max() <= 0.1  # type: ignore[operator]


def test_seeds_draw_different_requests() -> None:
    """Two seeds draw different connection requests."""
    other = Requests(switches=8, network=1, seed=2, packet_bytes=256, attempts=2000)
    assert not admitted(SMALL).equals(admitted(other))


def test_levels_may_ask_one_after_another_with_another_overhead() -> None:
    """Connections of an ordered request series are admitted level by level. The overhead changes a packet's payload."""
    for order in ("ascending", "descending"):
        table = admitted(replace(SMALL, order=order))
        assert table["sl"].is_sorted(descending=order == "descending")
        assert table["sl"].n_unique() > 1
    small = admitted(replace(SMALL, header_bytes=5))
    bits = 8 * (256 - 5) / (small["interval_cycles"] * 204.8e-9)
    assert np.allclose(bits, 1000 * small["kbps"])


@pytest.mark.long
def test_cases_are_those_of_the_page() -> None:
    """The main part has four packet sizes, and its slowest connection sends 100 measured packets.

    The part on crossbars covers each crossbar, and the part of checks covers further network sizes.
    """
    main = cases("main", quick=False)
    assert [int(case.labels["bytes"]) for case in main] == list(SIZES)
    for case in main:
        run = case.study.study.run
        seconds = (run.cycles - run.warm_up_cycles) * 204.8e-9
        assert seconds == pytest.approx(100 * 8 * (int(case.labels["bytes"]) - HEADER_BYTES) / 8000, rel=1e-5)
    assert [case.labels["crossbar"] for case in cases("crossbars", quick=False)] == 2 * list(CROSSBARS)
    assert [case.labels["switches"] for case in cases("checks", quick=False)] == ["8", "64", "16", "16"]


@pytest.mark.long
def test_a_short_part_of_the_study_is_run_and_judged(tmp_path: Path) -> None:
    """Given a short run with 4096 bytes, no packet is late and the summary contains deadline shares."""
    done = call("study", "packet-size", "--quick", "--only", "bytes=4096", "--out", tmp_path, "--json")

    figures = {each["name"]: each for each in done.json()["figures"]}
    assert figures["late packets, 4096 bytes"]["ours"] == 0
    assert figures["largest delay over deadline, 4096 bytes"]["holds"]
    assert figures["late packets, 256 bytes"]["ours"] is None
    rows = Summary.read(tmp_path / "summary.parquet", STUDY.columns, measures=("deadlines",))
    assert len(rows) == 1
    levels = pl.read_parquet(tmp_path / "summary.parquet")
    assert levels["sl"].to_list() == list(range(10))
    assert (levels["largest"] >= levels["p999"] - 1 / 512).all()
    assert all(within[-1] == 1 for within in levels["within"].to_list())
