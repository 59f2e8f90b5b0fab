"""Tables over time (``[measure] every``), and tables of links in the measured window."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import vlane
from vlane.sim_top.study.checkpoint import Checkpoint

_SECTIONS = {
    "network": {"topology": "tree", "k": 2, "n": 2},
    "buffers": {"blocks": 64},
    "traffic": [{"sl": 0}],
    "run": {"loads": [0.4], "cycles": 1200, "warm_up_cycles": 300},
}


def _study(**measure: object) -> vlane.Study:
    return vlane.Study.from_dict({**_SECTIONS, "measure": measure})


def test_samples_add_up_to_the_run() -> None:
    """Intervals cover the run. Their traffic, latencies and use of links add up to those of the run."""
    whole, course = _study().run(), _study(every=100).run()

    assert course.runs["digest"].to_list() == whole.runs["digest"].to_list()
    levels, links = course.levels_over_time, course.links_over_time
    assert levels["first_cycle"].to_list() == list(range(0, 1200, 100))
    assert levels["end_cycle"].to_list() == list(range(100, 1300, 100))
    assert levels["accepted"].head(3).to_list() == [0, 0, 0]
    assert levels["latency_mean_cycles"].head(3).null_count() == 3
    assert levels["accepted"].sum() * 100 == pytest.approx(course.levels["accepted"][0] * 900)
    assert levels["offered"].sum() * 100 == pytest.approx(course.levels["offered"][0] * 900)
    mean = (levels["latency_mean_cycles"] * levels["packets"]).sum() / levels["packets"].sum()
    assert mean == pytest.approx(course.levels["latency_mean_cycles"][0])
    assert levels["latency_mean_ns"][-1] == pytest.approx(levels["latency_mean_cycles"][-1] * 5.12)
    between = links.filter(pl.col("from_kind") == "switch", pl.col("to_kind") == "switch")
    each = between.group_by("from").agg(pl.col("utilisation").sum() / 12)["utilisation"]
    assert each.mean() == pytest.approx(course.runs["link_utilisation_mean"][0])
    assert links["output_blocks"].max() <= course.links["peak_output_blocks"].max()
    assert 0 < links["far_blocks"].max() <= course.links["peak_far_blocks"].max()


def test_links_are_counted_without_the_warm_up() -> None:
    """Flits of host links are those of the measured window, and ends have kind, number and port."""
    results = _study().run()

    links = results.links
    inwards = links.filter(pl.col("to_kind") == "host").group_by("to_id").agg(pl.col("flits").sum()).sort("to_id")
    assert inwards["to_id"].to_list() == [0, 1, 2, 3]
    received = results.levels["accepted"][0] * 900 * 4
    assert inwards["flits"].sum() == pytest.approx(received, abs=4 * 32)
    assert (links["flits"] / 900 - links["utilisation"]).abs().max() < 1e-12
    assert links["utilisation"].max() <= 1
    first = links.row(0, named=True)
    assert first["from"] == f"{first['from_kind']} {first['from_id']} port {first['from_port']}"
    assert links.filter(pl.col("from_kind") == "host")["from_port"].null_count() == 4


def test_several_cores_and_a_resumed_run_have_equal_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples do not depend on the number of cores, nor on a run that continues from a checkpoint."""
    study = _study(every=150)
    one, two = study.run(), study.run(cores=2)
    assert two.levels_over_time.equals(one.levels_over_time)
    assert two.links_over_time.equals(one.links_over_time)
    assert two.links.equals(one.links)

    class _Lost(Exception):  # noqa: N818 - an interruption
        pass

    saved = Checkpoint.save_now_and_then

    def interrupted(self: Checkpoint, network: object, course: object) -> None:
        self.seconds = 0.0
        saved(self, network, course)  # type: ignore[arg-type]
        if network.net.clock[0] == 600:  # type: ignore[attr-defined]
            raise _Lost

    monkeypatch.setattr(Checkpoint, "save_now_and_then", interrupted)
    with pytest.raises(_Lost):
        study.run(out=tmp_path / "out")
    monkeypatch.setattr(Checkpoint, "save_now_and_then", saved)
    resumed = study.run(out=tmp_path / "out", resume=True)

    assert resumed.levels_over_time.equals(one.levels_over_time)
    assert resumed.links_over_time.equals(one.links_over_time)
    assert resumed.links.equals(one.links)
    assert vlane.Results.read(tmp_path / "out").links_over_time.equals(one.links_over_time)
