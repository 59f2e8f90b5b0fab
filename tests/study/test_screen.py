"""Screen output of ``vlane simulate`` (summary, narrow terminals, progress) and marks of pictures."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from tests.conftest import STUDY, call_apart
from tests.study.test_plot_study import full, level, run
from vlane import Study
from vlane.rates import LinkClock
from vlane.sim_top.cli.simulate_tables import MOST_ROWS, print_summary
from vlane.sim_top.plots import plot_study
from vlane.sim_top.study.progress import BEAT_SECONDS, Heartbeat
from vlane.sim_top.study.result_frames import MadeRun
from vlane.sim_top.study.run_store import RunKey

NUMBER = re.compile(r"\d[\d,.]*")
LOADS = (0.1, 0.2, 0.5, 0.9)


def test_summary_has_a_row_per_point_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    """The summary of 60 points with two levels and two seeds has a row per point and level.

    It has at most 150 lines of 80 columns.
    """
    results = [run(0.2, level(20.0 + seed), level(30.0, sl=1), seed=seed) for seed in (1, 2)]
    runs = [
        MadeRun(
            RunKey(0.2, result.seed, str(blocks), {"run.cycles": 900, "buffers.blocks": blocks}),
            result,
            LinkClock(100.0),
        )
        for blocks in range(32, 92)
        for result in results
    ]
    print_summary(runs, is_replay=False, most=MOST_ROWS)

    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if re.match(r" *\d+  +0\.2 ", line)]
    assert len(rows) == 120
    assert len(lines) <= 150
    assert max(map(len, lines)) <= 80
    assert lines[0] == "run.cycles=900"
    assert lines[2].split()[:5] == ["blocks", "load", "SL", "seeds", "offered"]
    assert rows[0] == ["32", "0.2", "0", "2", "0.1000", "0.0800", "21.5", "6.4", "99"]


def test_no_digit_is_cut_at_80_columns(study: Path) -> None:
    """A terminal of 80 columns shows every number of a wide terminal, in the summary and with ``--verbose``."""
    study.write_text(STUDY.replace("seeds = [1, 2]", "seeds = [1]").replace("cycles = 3000", "cycles = 1000"))
    shown = []
    for columns in ("80", "300"):
        done = call_apart("simulate", study, "--out", study.parent / "out", "--verbose", columns=columns)
        assert done.status == 0, done.err
        shown.append(NUMBER.findall(done.out))
        assert "…" not in done.out
    assert shown[0] == shown[1]


def test_long_run_shows_signs_of_life(caplog: pytest.LogCaptureFixture) -> None:
    """A run logs its cycle and the remaining time at least every five seconds, and not more often."""
    times = iter([0.0, 1.0, BEAT_SECONDS, BEAT_SECONDS + 1, 2 * BEAT_SECONDS])
    heart = Heartbeat("load 0.5, seed 1", now=lambda: next(times))
    with caplog.at_level(logging.INFO, "vlane.study"):
        for cycle in (100, 1000, 1200, 2000):
            heart.beat(cycle, 10_000)

    assert [record.getMessage() for record in caplog.records] == [
        "load 0.5, seed 1: cycle 1,000 of 10,000, about 45 s left",
        "load 0.5, seed 1: cycle 2,000 of 10,000, about 40 s left",
    ]


def test_progress_of_a_program_is_shown_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``Study.run`` shows finished runs and the remaining time on stderr with ``progress=True``, otherwise nothing."""
    study = Study.from_dict(
        {
            "network": {"topology": "tree", "k": 2, "n": 2},
            "traffic": [{"sl": 0}],
            "run": {"loads": [0.1, 0.2], "cycles": 600, "warm_up_cycles": 100},
        }
    )
    monkeypatch.setattr(logging.getLogger("vlane"), "handlers", [])  # commands of other tests show messages
    study.run()
    assert capsys.readouterr().err == ""
    study.run(progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert [line[:6] for line in lines] == ["1 of 2", "2 of 2"]
    assert lines[0].endswith("left")


def test_every_load_and_level_has_a_mark() -> None:
    """With one level and all loads but one saturated, every load has a visible mark and axes have two tick labels."""
    runs = [run(LOADS[0], level(20.0)), *(full(load) for load in LOADS[1:])]
    figure = plot_study._picture(runs, "title", LinkClock(100.0))
    figure.draw_without_rendering()
    for axes in figure.axes:
        if "right" in axes.get_label() or not axes.get_lines():
            continue
        low, high = axes.get_xlim()
        places = [float(x) for line in axes.get_lines() for x in line.get_xdata()]
        marks = [float(artist.get_xdata()[0]) for artist in axes.artists if hasattr(artist, "get_xdata")]
        assert low < min(LOADS)
        assert max(LOADS) < high
        assert set(LOADS) <= {round(x, 3) for x in (*places, *marks)}
        for axis in (axes.xaxis, axes.yaxis):
            span = sorted(axis.get_view_interval())
            labels = [tick.label1.get_text() for tick in axis.get_major_ticks() if span[0] <= tick.get_loc() <= span[1]]
            assert len([label for label in labels if label]) >= 2
