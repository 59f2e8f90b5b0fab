"""The VOQsw study: cases, figures, contents of its summary."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.conftest import call
from vlane.sim_top.studies.study_voqsw_cases import BASELINE, HOT, ROOT_TABLES, ROOTS, SIZES, cases


def test_cases_are_those_of_the_page() -> None:
    """The cases follow the paper's table 1 and figures 6 to 11 in sizes, tables and traffic."""
    main = cases("main", quick=False)

    counts = {
        switches: len({each.labels["network"] for each in main if each.labels["switches"] == str(switches)})
        for switches in SIZES
    }
    assert counts == {8: 30, 16: 30, 32: 30, 64: 10}
    assert {each.labels["traffic"] for each in main} == {"uniform", *HOT}
    assert sum(len(each.loads) * len(each.seeds) for each in main) == 8540
    assert sum(len(each.loads) * len(each.seeds) for each in cases("sensitivity", quick=False)) == 3500
    base = next(each.study.study for each in main if each.labels["tables"] == BASELINE)
    assert [each.sl for each in base.traffic] == list(range(8))
    assert base.link.vl_of_sl is None
    assert base.voqsw is None
    labels = [tuple(each.labels.values()) for each in main]
    assert len(set(labels)) == len(labels) == len({each.digest for each in main})


def test_cases_of_the_roots_differ_in_the_root_only() -> None:
    """Each of five networks has four roots, and the part shares the runs of switch 0 with the main part."""
    roots, main = cases("roots", quick=False), cases("main", quick=False)

    assert len(roots) == 5 * len(ROOTS) * len(ROOT_TABLES)
    of_network = [each.study.study for each in roots if each.labels["network"] == "1"]
    assert len({each.network.root for each in of_network}) == len(ROOTS)
    shared = {each.digest for each in roots} & {each.digest for each in main}
    assert len(shared) == 5 * len(ROOT_TABLES)


def test_hot_hosts_are_counted_separately_and_drawn_per_network() -> None:
    """Hot hosts are counted separately and drawn anew for each network.

    Number and share follow the name of the traffic.
    """
    hot = [each for each in cases("main", quick=False) if each.labels["traffic"] == "four40"]

    for case in hot:
        study = case.study.study
        assert len(study.measure.apart) == 4
        assert all(each.hot_share == 0.4 and each.hot_hosts == study.measure.apart for each in study.traffic)
    assert len({tuple(each.study.study.measure.apart) for each in hot}) > 20


@pytest.mark.slow
def test_a_small_part_of_the_study_is_run_and_judged(tmp_path: Path) -> None:
    """A short run of 8 switches measures its figures, with hot and other hosts as two rows."""
    chosen = ["--only", "switches=8", "--only", "network=1", "--only", "load=0.2,0.6,1.0"]
    traffic = ["--only", "traffic=uniform,hot40"]
    done = call("study", "voqsw", "--quick", "--out", tmp_path, *chosen, *traffic, "--json")

    figures = {each["name"]: each for each in done.json()["figures"]}
    assert figures["SLs for full VOQ, 8 switches"]["ours"] == 16
    assert figures["SLs for full VOQ, 8 switches"]["holds"] is None
    gain = figures["throughput over 8 virtual networks, 8 switches, full VOQ, 8 VLs"]
    assert (gain["published"], gain["seeds"]) == (1.82, 1)
    assert gain["ours"] > 1.3
    assert figures["throughput over 8 virtual networks, 16 switches, full VOQ, 8 VLs"]["ours"] is None
    rows = pl.read_parquet(tmp_path / "summary.parquet")
    hot = rows.filter(pl.col("traffic") == "hot40")
    assert hot["sl"].unique().sort().to_list() == [0, 1]
    assert rows["latency_p99"].is_null().all()
    share = hot.filter(pl.col("load") == 0.2).group_by("sl").agg(pl.col("offered").sum()).sort("sl")["offered"]
    assert share[1] / (share[0] + share[1]) == pytest.approx(0.4 + 0.6 / 32, abs=0.02)
