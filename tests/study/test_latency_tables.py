"""Latencies in tables: percentiles and histograms of levels and flows, and levels that are saturated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from vlane import Results, Study

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, pl.DataFrame]:
    """Return the results of a tree with histograms and flows, and every packet that arrived in the window."""
    study = Study.from_dict(
        {
            "network": {"topology": "tree", "k": 2, "n": 2},
            "buffers": {"blocks": 64},
            "measure": {"flows": True, "histograms": True},
            "traffic": [{"sl": 0, "share": 0.5, "bytes": [64, 1024]}, {"sl": 1, "share": 0.5, "bytes": 256}],
            "run": {"loads": [0.5], "cycles": 12_000, "warm_up_cycles": 1000},
        }
    )
    folder = tmp_path_factory.mktemp("latencies")
    made = study.run(out=folder, trace=True)
    (file,) = (folder / "runs").glob("*.trace.parquet")
    trace = pl.read_parquet(file).filter(pl.col("cycle") >= 1000, pl.col("delivered_cycle") < 12_000)
    return made, trace.with_columns((pl.col("delivered_cycle") - pl.col("cycle")).alias("latency"))


def assert_percentiles(row: dict[str, Any], packets: pl.DataFrame) -> None:
    """Assert that a row's latencies are those of the packets."""
    latencies = packets["latency"].sort()
    assert (row["latency_min_cycles"], row["latency_max_cycles"]) == (latencies[0], latencies[-1])
    for name, share in SHARES.items():
        found, exact = row[f"latency_{name}_cycles"], latencies[math.ceil(share * len(latencies) - 1e-9) - 1]
        assert latencies[0] <= found <= latencies[-1]
        assert found == pytest.approx(exact, rel=0.016)


def test_percentiles_are_those_of_the_packets(results: tuple[Results, pl.DataFrame]) -> None:
    """Percentiles of levels and of flows are within 1.6 % of the exact ranks of the trace, and within its extremes."""
    made, trace = results
    for row in made.levels.to_dicts():
        assert_percentiles(row, trace.filter(sl=row["sl"]))
    flows = made.flows.to_dicts()
    assert len(flows) == 4 * 4 * 2
    for row in flows:
        assert_percentiles(row, trace.filter(sl=row["sl"], source=row["source"], destination=row["destination"]))


def test_histograms_hold_every_packet(results: tuple[Results, pl.DataFrame]) -> None:
    """The histograms of levels and of flows count each packet of the trace in the bin of its latency."""
    made, trace = results
    for row in made.histograms.filter(pl.col("packets") > 0).to_dicts():
        ends = {name: row[name] for name in ("source", "destination") if row[name] is not None}
        inside = pl.col("latency").is_between(row["latency_least_cycles"], row["latency_most_cycles"])
        assert len(trace.filter(inside, sl=row["sl"], **ends)) == row["packets"]
    of_levels = made.histograms.filter(pl.col("source").is_null())
    assert of_levels["packets"].sum() == len(trace) == made.histograms["packets"].sum() - len(trace)


def test_saturated_level_has_no_latency_in_tables(tmp_path: Path) -> None:
    """Latencies of saturated levels, and of no others, are null in ``results.parquet`` and ``flows.parquet``."""
    study = Study.from_dict(
        {
            "network": {"topology": "dumbbell", "left": 3, "right": 2},
            "buffers": {"blocks": 64},
            "link": {"vl_of_sl": [0, 1, *[15] * 14]},
            "measure": {"flows": True},
            "traffic": [
                {"sl": 0, "load": 0.4, "hot_share": 1.0, "hot_hosts": [3]},
                {"sl": 1, "load": 0.05, "hot_share": 1.0, "hot_hosts": [4]},
            ],
            "run": {"loads": [0.45], "cycles": 20_000, "warm_up_cycles": 2000},
        }
    )
    made = study.run(out=tmp_path)

    assert made.levels["saturated"].to_list() == [True, False]
    for table in (made.levels, made.flows):
        names = [name for name in table.columns if name.startswith("latency_")]
        assert len(names) >= 14
        assert all(table.filter(sl=0)[name].is_null().all() for name in names)
        assert all(table.filter(sl=1)[name].is_not_null().all() for name in names)
