"""Pictures and pages of studies: latencies, saturated levels, replays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.pages import Seen, assert_whole
from tests.conftest import ROOT, call, call_apart
from vlane.rates import LinkClock
from vlane.sim_top.plots.plot_study import write_picture
from vlane.sim_top.plots.study_page import write_study_page
from vlane.sim_top.plots.study_points import MEASURES, joined, points_of, words_of
from vlane.sim_top.scenario.world import World, make_world
from vlane.sim_top.study.simulate import PerSL, RunResult
from vlane.study.model import read_study

MEAN, _, ACCEPTED, GROWTH = MEASURES
WIDTH = 2.0


def level(mean: float, *, saturated: bool = False, decided: bool = True, **given: Any) -> PerSL:
    """Return the result of a level with the given values."""
    known: dict[str, Any] = {
        "sl": 0,
        "packets": 9,
        "offered": 0.1,
        "accepted": 0.08,
        "saturated": saturated,
        "decided": decided,
        "warmed_up": True,
        "backlog_growth": 0.02,
        "backlog_growth_ci95": 0.001,
        "latency_mean_cycles": mean,
        "latency_ci95_cycles": WIDTH,
        "latency_min_cycles": 5,
        "latency_p50_cycles": 7,
        "latency_p95_cycles": 95,
        "latency_p99_cycles": 99,
        "latency_p999_cycles": 99.5,
        "latency_max_cycles": 100,
        "mean_switches": 2.0,
        "precise": None,
        "offered_parts": [0.1] * 40,
        "accepted_parts": [0.08] * 40,
    }
    return PerSL(**{**known, **given})


def run(load: float, *levels: PerSL, seed: int = 1) -> RunResult:
    """Return a run with the given levels."""
    saturated, decided = any(it.saturated for it in levels), all(it.decided for it in levels)
    return RunResult(
        load, seed, 1000, saturated, decided, load, load, 1, 1.0, 1.0, 1.0, "0", 0, 0, 0, 0, list(levels), []
    )


def full(load: float, seed: int = 1) -> RunResult:
    """Return a run whose only level is saturated."""
    return run(load, level(5000.0, saturated=True), seed=seed)


RUNS = [run(0.1, level(10)), run(0.2, level(20)), run(0.3, level(30, decided=False)), full(0.4)]


@pytest.fixture
def world(study: Path) -> World:
    """Return the world of the small study."""
    return make_world(read_study(study), study.parent)


def drawn(runs: list[RunResult], folder: Path, world: World, title: str) -> tuple[Path, Seen]:
    """Write and return the picture and the page of runs."""
    picture = write_picture(runs, folder, title=title, study=world.study)
    return picture, assert_whole(write_study_page(folder / "study.html", world, runs, [], title=title))


def panels(seen: Seen) -> list[list[dict[str, str | None]]]:
    """Return the paths drawn in each panel of a page."""
    made: list[list[dict[str, str | None]]] = []
    for tag, held in seen.elements:
        if tag == "svg" and held.get("role") == "img":
            made.append([])
        elif tag == "path" and made:
            made[-1].append(held)
    return made


def test_a_saturated_level_has_no_latency_and_its_load_is_left_out_of_the_curve() -> None:
    """A saturated level has no latency and an undecided one is off the curve.

    Accepted load and growth are drawn for all levels.
    """
    points = points_of(RUNS, MEAN)[0]

    assert [it.value for it in points] == [10, 20, 30, None]
    assert [[it.load for it in stretch] for stretch in joined(points, is_latency=True)] == [[0.1, 0.2]]
    others = points_of(RUNS, GROWTH)[0]
    assert [it.value for it in others] == [0.02] * 4
    assert [[it.load for it in stretch] for stretch in joined(others, is_latency=False)] == [[0.1, 0.2, 0.3, 0.4]]
    assert [it.saturated for it in points] == [False, False, False, True]
    assert [it.decided for it in points] == [True, True, False, True]


def test_one_saturated_seed_is_enough() -> None:
    """Given one saturated seed among several, no mean latency is shown."""
    points = points_of([run(0.1, level(10), seed=1), full(0.1, seed=2)], MEAN)[0]

    assert [(it.value, it.ci95, it.saturated) for it in points] == [(None, None, True)]


def test_intervals_are_over_seeds_or_of_the_run() -> None:
    """With two seeds, the interval is Student's. With one seed, it is the run's own.

    A percentile of one run has no interval.
    """
    (two,) = points_of([run(0.1, level(10), seed=1), run(0.1, level(12), seed=2)], MEAN)[0]
    (one,) = points_of([run(0.1, level(10))], MEAN)[0]

    assert two.value == 11
    assert two.ci95 == pytest.approx(12.706, rel=1e-4)
    assert one.ci95 == WIDTH
    assert points_of([run(0.1, level(10))], MEASURES[1])[0][0].ci95 is None


def test_text_of_a_point_has_growth_and_verdict() -> None:
    """The text of a point contains latency or growth, and a verdict."""
    points = points_of(RUNS, MEAN)[0]

    said = ["\n".join(words_of(0, it, LinkClock(100.0))) for it in points]
    assert "mean latency (cycles): 10.0 ± 2, 51.2 ns" in said[0]
    assert "saturation undecided: the run is too short" in said[2]
    assert "0.0200 ± 0.001" in said[3]
    assert "saturated" in said[3]
    assert "5000" not in said[3]


def test_the_page_has_hollow_marks_off_the_curve(world: World, tmp_path: Path) -> None:
    """On the page, saturated levels have hollow marks off the latency curve.

    Markup in titles is escaped.
    """
    picture, seen = drawn(RUNS, tmp_path, world, "<b>$x^</b>")

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not seen.of("b")
    assert "<b>$x^" in seen.text
    shown = panels(seen)
    assert len(shown) == len(MEASURES)
    for measure, panel in zip(MEASURES, shown, strict=True):
        marks = [it for it in panel if "mark" in str(it["class"]).split()]
        assert [it["class"] for it in marks] == ["mark", "mark", "mark half", "mark none"]
        (line,) = [it for it in panel if it["class"] == "curve"]
        assert str(line["d"]).count("L") + 1 == (2 if measure.is_latency else 4)
        places = [re.findall(r"[\d.]+", str(it["transform"])) for it in marks]
        if measure.is_latency:
            assert all(float(places[3][1]) < float(y) for _, y in places[:3])
    words = next(data["tips"] for data in seen.data if "tips" in data)
    assert [words[int(str(it["data-t"]))].splitlines()[0] for it in shown[0] if "data-t" in it] == [
        f"SL 0 at load {load}" for load in (0.1, 0.2, 0.3, 0.4)
    ]
    assert "5000" not in "".join(words)
    assert "51.2 ns" in words[0]
    assert "Saturation starts at load 0.4, with SL 0." in seen.text


def test_all_levels_saturated_can_be_drawn(world: World, tmp_path: Path) -> None:
    """Runs with only saturated levels, or with a single load, are drawn."""
    for runs in (
        [full(0.4)],
        [full(0.4), full(0.5)],
        [run(0.4, level(1, latency_mean_cycles=None, latency_p99_cycles=None))],
    ):
        picture, _ = drawn(runs, tmp_path, world, "full")
        assert picture.stat().st_size


@pytest.mark.parametrize(
    "runs",
    [
        [run(0.1, level(10)), full(0.2), full(0.3), full(0.4)],
        [full(0.1), full(0.2)],
        [full(0.1), run(0.2, level(10, decided=False))],
    ],
    ids=["one_steady", "none_steady", "one_undecided"],
)
def test_every_load_has_a_mark_and_every_axis_labels(
    runs: list[RunResult], world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given at most one load with a latency, each panel still marks every load within labelled axes."""
    figures: list[Any] = []
    monkeypatch.setattr("vlane.sim_top.plots.plot_study.write_png", lambda figure, _: figures.append(figure))

    write_picture(runs, tmp_path, title="one class", study=world.study)

    figures[0].canvas.draw()
    for axes in figures[0].axes:
        marks = {
            float(x) for line in axes.lines if line.get_marker() not in {"None", "", None} for x in line.get_xdata()
        }
        low, high = axes.get_xlim()
        assert {each.load for each in runs} <= marks
        assert all(low < each.load < high for each in runs)
        for axis in (axes.xaxis, axes.yaxis, *(child.yaxis for child in axes.child_axes)):
            ends = sorted(axis.get_view_interval())
            labels = [it.get_text() for it in axis.get_ticklabels(which="both") if it.get_text()]
            places = [it for it in axis.get_ticklocs() if ends[0] <= it <= ends[1]]
            assert len(labels) >= 2, axis
            assert len(places) >= 2, axis


def test_many_levels_loads_and_runs_fit_a_page(world: World, tmp_path: Path) -> None:
    """Given 100 loads and 16 levels, page and tables are shortened with a note."""
    runs = [run(load / 200, *[level(load, sl=sl) for sl in range(16)]) for load in range(1, 101)]

    _, seen = drawn(runs, tmp_path, world, "many")

    assert "of 100 loads are drawn; the tables list all." in seen.text
    assert re.search(r"The first \d+ of 1,600 rows; results.parquet has all", seen.text)


def test_a_replay_shows_bars_and_time(tmp_path: Path) -> None:
    """The page of a replay shows bars and the course over time instead of curves over load."""
    called = call("simulate", ROOT / "sim_top" / "configs" / "replay_incast.toml", "--out", tmp_path, "--json")

    assert called.status == 0, called.err
    seen = assert_whole(tmp_path / "study.html")
    assert "Replay: 112 packets received in 4,000 cycles (20.48 us)" in seen.text
    assert "offered load" not in seen.text
    words = next(data["tips"] for data in seen.data if "tips" in data)
    (per_sl,) = (it["per_sl"] for it in called.json()["runs"])
    for level_ in per_sl:
        assert f"SL {level_['sl']}, longest: {level_['latency_max_cycles']:,.4g}" in words
    _, course = panels(seen)[:2]
    lines = [it for it in course if "curve" in str(it["class"]).split()]
    assert [it["class"] for it in lines] == ["curve dotted", "curve"] * 2
    assert all(str(it["d"]).count("L") + 1 == 2 * 40 for it in lines)
    levels = [each.split("L") for each in (str(it["d"])[1:] for it in lines)]
    ground = max(float(point.split()[1]) for each in levels for point in each)
    areas = [sum(ground - float(point.split()[1]) for point in each) for each in levels]
    assert areas[2] == pytest.approx(areas[3], rel=0.01)


def test_the_screen_names_a_replay(tmp_path: Path) -> None:
    """The text output of a replay shows each level in cycles and in time."""
    called = call_apart("simulate", ROOT / "sim_top" / "configs" / "replay_incast.toml", "--out", tmp_path, "--verbose")

    assert sum("replay " in line for line in called.out.splitlines()) == 3 * 2
