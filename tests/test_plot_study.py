"""Pictures of studies: what is drawn as a latency, what is not, and what a replay's page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from vlane.sim_top.study.plot_study import write_plots
from vlane.sim_top.study.simulate import PerSL, RunResult
from vlane.sim_top.study.study_points import MEASURES, joined, points_of, words_of

from tests.conftest import ROOT, STUDY, call, call_apart
from vlane.study import Study
from vlane.study_model import read_study

MEAN, _, ACCEPTED, GROWTH = MEASURES
WIDTH = 2.0


def level(mean: float, *, saturated: bool = False, decided: bool = True, **given: Any) -> PerSL:
    """Return what a level got."""
    known: dict[str, Any] = {
        "sl": 0, "packets": 9, "offered": 0.1, "accepted": 0.08, "saturated": saturated, "decided": decided,
        "backlog_growth": 0.02, "backlog_growth_ci95": 0.001, "latency_mean_cycles": mean,
        "latency_ci95_cycles": WIDTH, "latency_p50": 7, "latency_p99": 99, "latency_max": 100, "mean_switches": 2.0,
        "precise": None, "offered_parts": [0.1] * 40, "accepted_parts": [0.08] * 40,
    }  # fmt: skip
    return PerSL(**{**known, **given})


def run(load: float, *levels: PerSL, seed: int = 1) -> RunResult:
    """Return a run with those levels."""
    saturated, decided = any(it.saturated for it in levels), all(it.decided for it in levels)
    return RunResult(load, seed, 1000, saturated, decided, load, load, 1, 1.0, 1.0, 1.0, "0", 0, 0, 0, 0, list(levels))


def full(load: float, seed: int = 1) -> RunResult:
    """Return a run whose level is saturated."""
    return run(load, level(5000.0, saturated=True), seed=seed)


RUNS = [run(0.1, level(10)), run(0.2, level(20)), run(0.3, level(30, decided=False)), full(0.4)]


@pytest.fixture
def asked(tmp_path: Path) -> Study:
    """Return a study with loads."""
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return read_study(file)


def traces(page: Path) -> list[dict[str, Any]]:
    """Return what a page's script draws."""
    found = re.search(r"Plotly\.newPlot\(\s*\"[^\"]+\",\s*(\[.*?\]),\s*\{\"", page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))  # type: ignore[no-any-return]


def test_a_saturated_level_has_no_latency_and_its_load_is_left_out_of_the_curve() -> None:
    """Accepted load and growth it has; what a run could not tell is not joined either, but has its value."""
    points = points_of(RUNS, MEAN)[0]

    assert [it.value for it in points] == [10, 20, 30, None]
    assert [[it.load for it in stretch] for stretch in joined(points, is_latency=True)] == [[0.1, 0.2]]
    others = points_of(RUNS, GROWTH)[0]
    assert [it.value for it in others] == [0.02] * 4
    assert [[it.load for it in stretch] for stretch in joined(others, is_latency=False)] == [[0.1, 0.2, 0.3, 0.4]]
    assert [it.saturated for it in points] == [False, False, False, True]
    assert [it.decided for it in points] == [True, True, False, True]


def test_one_saturated_seed_is_enough() -> None:
    """A mean over seeds that are steady and one that is not would mean nothing."""
    points = points_of([run(0.1, level(10), seed=1), full(0.1, seed=2)], MEAN)[0]

    assert [(it.value, it.ci95, it.saturated) for it in points] == [(None, None, True)]


def test_intervals_are_over_seeds_or_of_the_run() -> None:
    """With two seeds, Student's; with one, that of the run's batches; a percentile of one run has none."""
    (two,) = points_of([run(0.1, level(10), seed=1), run(0.1, level(12), seed=2)], MEAN)[0]
    (one,) = points_of([run(0.1, level(10))], MEAN)[0]

    assert two.value == 11
    assert two.ci95 == pytest.approx(12.706)
    assert one.ci95 == WIDTH
    assert points_of([run(0.1, level(10))], MEASURES[1])[0][0].ci95 is None


def test_words_say_growth_and_verdict() -> None:
    """What a reader of the page sees at a point."""
    points = points_of(RUNS, MEAN)[0]

    said = ["\n".join(words_of(0, it)) for it in points]
    assert "mean latency (cycles): 10.0 ± 2" in said[0]
    assert "too short to tell" in said[2]
    assert "0.0200 ± 0.001" in said[3]
    assert "saturated" in said[3]
    assert "5000" not in said[3]


def test_the_page_has_hollow_marks_off_the_curve(asked: Study, tmp_path: Path) -> None:
    """No line comes to a saturated level's mark in the latencies; no height is its mean; the title is only text."""
    picture, page = write_plots(RUNS, tmp_path, title="<b>$x^</b>", study=asked)

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "<b>$x^" not in page.read_text()
    drawn = traces(page)
    marks = [it for it in drawn if it["mode"] == "markers"]
    assert len(marks) == len(MEASURES)
    assert [mark["marker"]["symbol"] for mark in marks] == [["circle", "circle", "circle-open-dot", "circle-open"]] * 4
    lines = [it for it in drawn if it["mode"] == "lines" and it.get("fill") is None and len(it["x"]) == 2]
    latencies = [it for it in lines if it.get("yaxis", "y") in {"y", "y2"} and it["x"] == [0.1, 0.2]]
    assert len(latencies) == 2
    assert not any(5000 in list(it["y"]) for it in drawn)


def test_all_levels_saturated_can_be_drawn(asked: Study, tmp_path: Path) -> None:
    """Nothing but marks at the edge; one load alone has no width."""
    for runs in ([full(0.4)], [full(0.4), full(0.5)], [run(0.4, level(1, latency_mean_cycles=None, latency_p99=None))]):
        assert all(file.stat().st_size for file in write_plots(runs, tmp_path, title="full", study=asked))


def test_a_replay_shows_bars_and_time(tmp_path: Path) -> None:
    """It has no load to be drawn against."""
    called = call("simulate", ROOT / "sim_top" / "configs" / "replay_incast.toml", "--out", tmp_path, "--json")

    assert called.status == 0, called.err
    page = tmp_path / "study.html"
    text, drawn = page.read_text(), traces(page)
    assert "a replay, 112 packets received in 4,000 cycles" in text
    assert "offered load" not in text
    bars = {it["name"]: it["y"] for it in drawn if it["type"] == "bar"}
    assert set(bars) == {"p50", "mean", "p99", "longest"}
    (per_sl,) = (it["per_sl"] for it in called.json()["runs"])
    assert list(bars["longest"]) == [it["latency_max"] for it in per_sl]
    times = [it for it in drawn if it["type"] == "scatter"]
    assert [it["name"] for it in times] == ["SL 0 offered", "SL 0 accepted", "SL 1 offered", "SL 1 accepted"]
    assert all(it["x"][0] == 0 and it["x"][-1] == 4000 for it in times)
    assert sum(times[2]["y"][:-1]) == pytest.approx(sum(times[3]["y"][:-1]))


def test_the_screen_names_a_replay(tmp_path: Path) -> None:
    """In place of a load that it has not."""
    called = call_apart("simulate", ROOT / "sim_top" / "configs" / "replay_incast.toml", "--out", tmp_path)

    assert sum("replay " in line for line in called.out.splitlines()) == 2
