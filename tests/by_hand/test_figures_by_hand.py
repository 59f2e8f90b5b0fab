"""Figures of studies from rows written by hand: each figure reads its own case, load and level."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from vlane.rates import LinkClock
from vlane.sim_top.studies import study_dtable, study_e2cm, study_voqsw
from vlane.sim_top.studies.e2cm_runs import SCHEMA
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.paper_study import PaperStudy
from vlane.sim_top.studies.study_dtable_cases import FIRST, LAST, SHOWN_LOAD

CLOCK = LinkClock(100.0)


def figures_of(study: PaperStudy, rows: pl.DataFrame) -> dict[str, list[float]]:
    """Return the values of each figure of a study's main part."""
    return {figure.name: [*figure.values] for figure in study.figures("main", Measured(rows, CLOCK))}


def voqsw_rows() -> pl.DataFrame:
    """Return the rates of hot hosts and others, in 8 switches of one network at loads 0.5 and 1.

    Hot hosts and others receive the listed rates at load 1. At load 0.5 each of them receives 0.25 more, so the
    greatest throughput is that of load 0.5.
    """
    rates = {
        ("networks8", "hot10"): (0.125, 0.125),
        ("networks8", "hot70"): (0.25, 0.125),
        ("sls8", "hot10"): (0.25, 0.125),
        ("sls8", "hot70"): (0.5, 0.75),
        ("sls4", "hot10"): (0.5, 0.5),
        ("sls4", "hot70"): (0.125, 0.25),
    }
    rows = [
        {
            "switches": "8",
            "network": "1",
            "tables": tables,
            "traffic": traffic,
            "variant": "main",
            "load": load,
            "seed": 1,
            "sl": sl,
            "accepted": rate + (0.25 if load == 0.5 else 0.0),
            "latency_mean_cycles": 100.0 * (sl + 1),
            "packets": 10,
        }
        for (tables, traffic), (hot, others) in rates.items()
        for load in (0.5, 1.0)
        for sl, rate in ((0, others), (1, hot))
    ]
    return pl.DataFrame(rows)


def test_voqsw_figures_read_their_own_hot_spot() -> None:
    """Gains, rates of hot hosts and of others, and the ratio of gains come from their own tables, traffic and load."""
    found = figures_of(study_voqsw.STUDY, voqsw_rows())

    gain = "throughput over 8 virtual networks, 1 hot host with {}, {}"
    assert found[gain.format("10 %", "8 SLs, 8 VLs")] == pytest.approx([0.875 / 0.75])
    assert found[gain.format("70 %", "8 SLs, 8 VLs")] == pytest.approx([1.75 / 0.875])
    assert found[gain.format("10 %", "4 SLs, 8 VLs")] == pytest.approx([1.5 / 0.75])
    assert found[gain.format("70 %", "4 SLs, 8 VLs")] == pytest.approx([0.875 / 0.875])
    full = "accepted at load 1 over 8 virtual networks, 1 hot host with {}, 8 SLs, 8 VLs: to {}"
    assert found[full.format("70 %", "hot hosts")] == pytest.approx([0.5 / 0.25])
    assert found[full.format("70 %", "others")] == pytest.approx([0.75 / 0.125])
    assert found[full.format("10 %", "hot hosts")] == pytest.approx([2.0])
    assert found[full.format("10 %", "others")] == pytest.approx([1.0])
    ratio = "gain with 70 % to the hot host over that with 10 %, 8 SLs, 8 VLs"
    assert found[ratio] == pytest.approx([2.0 / (0.875 / 0.75)])


def test_voqsw_latency_is_weighted_by_packets() -> None:
    """The latency of a point is the mean over all packets, and a load without latencies is omitted."""
    rows = voqsw_rows().with_columns(
        pl.when(pl.col("sl") == 1).then(30).otherwise(10).alias("packets"),
        pl.when(pl.col("load") < 1).then(pl.col("latency_mean_cycles")).alias("latency_mean_cycles"),
    )

    points = study_voqsw._Throughputs(Measured(rows, CLOCK)).curve(8, "sls8", "hot70")

    assert points == [(0.5, 1.75, pytest.approx(CLOCK.ns(175.0)))]


def dtable_rows() -> pl.DataFrame:
    """Return levels 0 to 6 of a tree with two seeds, at three loads.

    Latency is 100 cycles, plus 10 per level, 1 per seed, and 1,000 or 3,000 at the two greater loads; Omni-Path's
    switch halves it. Level 6 of InfiniBand's switch accepts half of its load, all others accept all.
    """
    rows = [
        {
            "network": "tree43",
            "switch": switch,
            "variant": "main",
            "load": load,
            "seed": seed,
            "sl": sl,
            "latency_mean_cycles": (100.0 + 10 * sl + seed + more) / (2 if switch == "opa" else 1),
            "offered": 0.5,
            "accepted": 0.25 if (switch, sl) == ("ib", 6) else 0.5,
            "saturated": False,
        }
        for switch in ("ib", "opa")
        for load, more in ((FIRST, 0), (SHOWN_LOAD, 1000), (LAST, 3000))
        for seed in (1, 2)
        for sl in range(7)
    ]
    return pl.DataFrame(rows)


def test_dtable_figures_read_their_own_load_level_and_switch() -> None:
    """Latency at the shown load, growth between first and last load, and accepted shares are those of their level."""
    found = figures_of(study_dtable.STUDY, dtable_rows())

    tree = "4-ary 3-tree"
    assert found[f"NC latency at 0.7, {tree}, IB"] == pytest.approx([CLOCK.ns(1101), CLOCK.ns(1102)])
    assert found[f"NC latency at 0.7, {tree}, OPA"] == pytest.approx([CLOCK.ns(550.5), CLOCK.ns(551)])
    assert found[f"NC latency at 0.7, {tree}, OPA / IB"] == pytest.approx([0.5, 0.5])
    growth = f"growth of {{}} latency from 0.5735 to 0.9935, {tree}, {{}}"
    assert found[growth.format("NC", "IB")] == pytest.approx([CLOCK.ns(3000)] * 2)
    assert found[growth.format("NC", "OPA")] == pytest.approx([CLOCK.ns(1500)] * 2)
    assert found[growth.format("VI", "OPA / IB")] == pytest.approx([0.5, 0.5])
    less = f"accepted / offered of BK less the least of the others at 0.9935, {tree}, {{}}"
    assert found[less.format("IB")] == pytest.approx([-0.5, -0.5])
    assert found[less.format("OPA")] == pytest.approx([0.0, 0.0])


def e2cm_rows() -> pl.DataFrame:
    """Return groups 0 to 10 of an input of mixed rates: 0.5 Gb/s for the first, then 0.01, 0.02, and so on."""
    labels = {"scenario": "mixed_in", "scheme": "none", "flow_control": "drops", "traffic": "bernoulli", "variant": ""}
    rows = [
        {
            **labels,
            "seed": 1,
            **dict.fromkeys(SCHEMA),
            "group": group,
            "rate": 0.5 if group == 0 else group / 100,
            "off": group / 1000 if group < 10 else 9.0,
            "queue_mean": 20.0 if group == 0 else None,
            "dropped": 3,
            "is_over": True,
        }
        for group in range(11)
    ]
    types: dict[str, Any] = {**dict.fromkeys(labels, pl.String), "seed": pl.UInt32, **SCHEMA}
    return pl.DataFrame(rows, schema=types)


def test_e2cm_figures_read_their_own_groups() -> None:
    """The first group is the fast sender, groups 1 to 9 are the others of the hot port, and group 10 is cold."""
    found = figures_of(study_e2cm.STUDY, e2cm_rows())

    case = "mixed_in, nothing, drops, bernoulli"
    assert found[f"node 11 to 1, {case}"] == pytest.approx([62.5])
    assert found[f"nodes 2 to 10 to 1, mean, {case}"] == pytest.approx([125 * 0.05])
    assert found[f"farthest hot flow from its share, {case}"] == pytest.approx([0.009])
    assert found[f"mean hot queue, {case}"] == pytest.approx([20.0])
    assert found[f"frames dropped, {case}"] == pytest.approx([33.0])
    assert found[f"ran to its last frame, {case}"] == [1.0]
