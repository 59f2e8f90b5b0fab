"""Plots of any column over any other, and comparison of two results, on tables with known values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import assert_refused, call
from vlane.errors import InputError
from vlane.sim_top.plots.compare import DIFFERENT, compare_levels
from vlane.sim_top.plots.curves import chosen, curves_of
from vlane.sim_top.plots.plot_curves import curve_figure, write_curves
from vlane.sim_top.study.steady import half_width
from vlane.sim_top.study.students_t import students_t


def levels(*, seeds: int = 3, shift: float = 0.0, noise: float = 1.0, stream: int = 1, **more: Any) -> pl.DataFrame:
    """Return results of two buffer sizes, loads and SLs, with SL 1 saturated at load 0.8.

    ``shift`` is added to latencies.
    """
    bits, rows = np.random.default_rng(stream), []
    for blocks in (64, 128):
        for load in (0.2, 0.8):
            for seed in range(1, seeds + 1):
                for sl in (0, 1):
                    mean = 100 * load + sl + blocks / 64 + shift + noise * bits.normal()
                    rows.append(
                        {
                            "buffers.blocks": blocks,
                            "load": load,
                            "seed": seed,
                            "sl": sl,
                            "offered": load / 2,
                            "accepted": load / 2 + 1e-3 * noise * bits.normal(),
                            "saturated": sl == 1 and load == 0.8,
                            "decided": True,
                            "backlog_growth": 1e-4 * bits.normal(),
                            "backlog_growth_ci95": 1e-3,
                            "latency_mean_cycles": mean,
                            "latency_ci95_cycles": 2.0,
                            "latency_p50_cycles": int(mean),
                            "latency_p99_cycles": int(2 * mean),
                            "accepted_parts": (load / 2 + 1e-2 * bits.normal(size=40)).tolist(),
                            "offered_parts": (load / 2 + 1e-3 * bits.normal(size=40)).tolist(),
                            "run_digest": f"{stream}/{blocks}/{load}/{seed}",
                            "word": f"<b>${seed % 2}\x1b",
                            **more,
                        }
                    )
    return pl.DataFrame(rows)


def test_a_point_is_the_mean_over_seeds_with_their_interval() -> None:
    """A point is the mean over seeds with Student's interval, and each buffer size and SL has a curve."""
    table = levels()

    curves = curves_of(table, x="load", y="accepted")

    assert [curve.label for curve in curves.curves] == [
        f"buffers.blocks {blocks}, SL {sl}" for blocks in (64, 128) for sl in (0, 1)
    ]
    rows = table.filter(pl.col("buffers.blocks") == 128, pl.col("sl") == 0, pl.col("load") == 0.8)["accepted"]
    point = curves.curves[2].points[1]
    assert (point.x, point.seeds) == (0.8, 3)
    assert point.value == pytest.approx(rows.mean())
    assert point.ci95 == pytest.approx(half_width(rows.to_list()))
    assert curves.averaged == ()


def test_averaging_starts_within_a_seed() -> None:
    """Averaged columns are averaged within each seed first, so rows of one run are not independent."""
    table = levels()

    curves = curves_of(table, x="buffers.blocks", y="accepted", by=["load"], where={"load": [0.2]})

    (curve,) = curves.curves
    means = (
        table.filter(pl.col("load") == 0.2, pl.col("buffers.blocks") == 64)
        .group_by("seed")
        .agg(pl.col("accepted").mean())["accepted"]
    )
    assert curves.averaged == ("sl",)
    assert curve.label == "load 0.2"
    assert curve.points[0].ci95 == pytest.approx(half_width(means.to_list()))


def test_one_seed_has_the_runs_own_interval_and_a_saturated_level_no_latency() -> None:
    """With one seed, a point has the run's own interval, and a saturated level has no latency."""
    table = levels(seeds=1)

    latency = curves_of(table, x="load", y="latency_mean_cycles", where={"buffers.blocks": 64})
    accepted = curves_of(table, x="load", y="accepted", where={"buffers.blocks": 64})

    assert [point.ci95 for curve in latency.curves for point in curve.points] == [2.0, 2.0, 2.0, None]
    assert [point.value is None for curve in latency.curves for point in curve.points] == [False, False, False, True]
    assert [point.saturated for curve in accepted.curves for point in curve.points] == [False, False, False, True]
    assert all(point.value is not None and point.ci95 is None for curve in accepted.curves for point in curve.points)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html"])
def test_pictures_are_written_and_the_same_again(suffix: str, tmp_path: Path) -> None:
    """Repeated plots are identical files, and markup in names is shown as text.

    Saturated latencies are marked at the edge.
    """
    table = levels(run_word="x")
    curves = curves_of(table, x="word", y="latency_mean_cycles")

    file = write_curves(curves, tmp_path / f"a{suffix}")

    content = file.read_bytes()
    assert len(content) > 5000
    assert b"\x1b" not in content or suffix == ".png"
    assert b"<b>$" not in content
    assert write_curves(curves, tmp_path / f"b{suffix}").read_bytes() == content
    assert len(content) < 1_000_000
    assert "saturated (no latency):" in [text.get_text() for text in curve_figure(curves).axes[0].texts]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--y", "acepted"], ["--y", "one of", "acepted", "did you mean accepted?"]),
        (["--x", "laod"], ["--x", "did you mean load?"]),
        (["--by", "SL"], ["--by", "did you mean sl?"]),
        (["--y", "word"], ["--y", "a column of numbers", "String"]),
        (["--y", "offered_parts"], ["--y", "a column of numbers", "List"]),
        (["--x", "offered_parts"], ["--x", "numbers or text"]),
        (["--where", "sl=7"], ["--where sl", "a value of the results (0, 1)", "not 7"]),
        (["--where", "sl=0.5"], ["--where sl", "a value of the results (0, 1)", "not 0.5"]),
        (["--where", "load=1,nan,1e999"], ["--where load", "a value of the results (0.2, 0.8)", "not 1, nan, inf"]),
        (["--where", f"seed={'9' * 400}"], ["--where seed", "a value of the results (1, 2,"]),
        (["--where", "sl=x"], ["--where sl", "a number", "x"]),
        (["--where", "saturated=1"], ["--where saturated", "true or false", "1"]),
        (["--where", "sl"], ["--where", "COLUMN=VALUE"]),
        (["--where", "sl=0", "--where", "sl=1"], ["--where sl is given twice"]),
        (["--where", "foo=1"], ["--where column", "one of"]),
        (
            ["--by", "run_digest", "--by", "sl", "--by", "latency_mean_cycles"],
            ["--by", "give 48 curves, the limit is 40"],
        ),
        (["--table", "link"], ["--table", "did you mean links?"]),
        (["--table", "links"], ["--table", "with a Parquet file: name a folder of results"]),
        (["--out", "a.pdf"], ["--out", ".png, .svg, .html", "a.pdf"]),
        (["--out", "no/such/folder.png"], ["--out: cannot write the file"]),
    ],
)
def test_a_bad_picture_is_refused(options: list[str], words: list[str], tmp_path: Path) -> None:
    """Given a bad column, the error names the option and the closest column, and writes nothing."""
    levels(seeds=6).write_parquet(tmp_path / "results.parquet")

    assert_refused(call("plot", tmp_path / "results.parquet", *options), *words)
    assert [file.name for file in tmp_path.iterdir()] == ["results.parquet"]


@pytest.mark.parametrize("content", [None, b"", b"no parquet", "other"])
def test_files_without_results_are_refused(content: Any, tmp_path: Path) -> None:
    """Given a missing, empty or foreign file instead of results, one line names the file."""
    file = tmp_path / "results.parquet"
    if content == "other":
        pl.DataFrame({"load": [1]}).write_parquet(file)
    elif content is not None:
        file.write_bytes(content)

    for path in (file, tmp_path):
        assert_refused(call("plot", path), "results.parquet")
        assert_refused(call("compare", path, path), "results.parquet")


def test_folder_is_plotted_with_points_in_json(tmp_path: Path) -> None:
    """Without ``--out``, a plot is written next to the results. Its JSON contains the points."""
    levels().write_parquet(tmp_path / "results.parquet")

    done = call("plot", tmp_path, "--y", "accepted", "--by", "word", "--where", "load=0.2", "--json").json()

    assert done["picture"] == str(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert done["averaged"] == ["buffers.blocks", "sl"]
    assert [len(curve["points"]) for curve in done["curves"]] == [1, 1]


def test_numbers_are_equal_however_they_are_written() -> None:
    """Filters match integers and floats of equal value in integer and float columns."""
    table = levels().with_columns(load=pl.col("load").replace(0.8, 1.0))

    kept = [chosen(table, {"load": 1}), chosen(table, {"sl": 0.0}), chosen(table, {"load": [1, 0.3], "sl": [0, 7.5]})]

    assert [rows.height for rows in kept] == [12, 12, 6]


def test_a_table_without_rows_has_no_picture() -> None:
    """Given a table without rows, plotting is refused."""
    for table in (pl.DataFrame(), levels().clear()):
        with pytest.raises(InputError, match="results contain no row"):
            curves_of(table, x="load", y="accepted")


def verdicts(first: pl.DataFrame, second: pl.DataFrame) -> set[str]:
    return set(compare_levels(first, second).differences["verdict"])


def test_equal_results_are_equal_and_others_of_equal_digest_too(tmp_path: Path) -> None:
    """Results with equal digests compare as equal with exit status 0."""
    table = levels()
    table.write_parquet(tmp_path / "a.parquet")

    called = call("compare", tmp_path / "a.parquet", tmp_path / "a.parquet")

    assert called.status == 0, called.err
    assert "12 runs in both, 12 of them with identical deliveries\nequal" in called.out
    assert verdicts(table, levels(seeds=2)) == {"equal"} == verdicts(table, table.filter(pl.col("sl") >= 0))


def test_noise_is_seldom_called_a_difference() -> None:
    """Of 60 pairs of independent results, at most 8 differ significantly.

    Each pair has about 40 comparisons, so uncorrected 95 % tests would flag nearly every pair.
    """
    found = [compare_levels(levels(stream=2 * pair), levels(stream=2 * pair + 1)) for pair in range(60)]

    assert sum(each.differs for each in found) <= 8
    assert sum("perhaps different" in each.differences["verdict"] for each in found) > 20


@pytest.mark.parametrize("seeds", [1, 6])
def test_a_shift_beyond_the_noise_is_a_difference(seeds: int, tmp_path: Path) -> None:
    """Given a latency shift of 15 cycles, only latencies are reported as different, with exit status 1.

    Several seeds are compared in pairs, and one seed by the runs' own intervals.
    """
    first, second = levels(seeds=seeds), levels(seeds=seeds, shift=15.0, stream=2)
    first.write_parquet(tmp_path / "a.parquet")
    second.write_parquet(tmp_path / "b.parquet")

    called = call("compare", tmp_path / "a.parquet", tmp_path / "b.parquet", "--json")

    assert called.status == 1
    document = called.json()
    different = {row["column"] for row in document["differences"] if row["verdict"] == DIFFERENT}
    assert "latency_mean_cycles" in different
    assert different <= {"latency_mean_cycles", "latency_p50_cycles", "latency_p99_cycles"}
    means = [row for row in document["differences"] if row["column"] == "latency_mean_cycles" and row["sl"] == 0]
    assert [row["difference"] for row in means] == pytest.approx([15.0] * 4, abs=3.5)
    assert not any(
        row["first"]
        for row in document["differences"]
        if row["column"][:4] == "late" and row["sl"] == 1 and row["load"] == 0.8
    )
    if seeds == 1:
        medians = [row for row in document["differences"] if row["column"] == "latency_p50_cycles"]
        assert {row["verdict"] for row in medians} == {"undecided"}
        wanted = 2.0 * 2**0.5  # both have an interval of 2, of equal degrees of freedom
        assert [row["ci95"] for row in means] == pytest.approx([wanted] * 4)


def test_a_level_that_is_surely_saturated_in_one_only_is_a_difference() -> None:
    """A level saturated in one result only is a difference. Undecided runs give no verdict."""
    first = levels(noise=0.0)
    second = first.with_columns(saturated=pl.lit(value=False), run_digest=pl.lit("other"))

    sure = compare_levels(first, second)
    unsure = compare_levels(first, second.with_columns(decided=pl.lit(value=False)))

    assert sure.differences.filter(pl.col("verdict") == DIFFERENT)["column"].unique().to_list() == ["saturated"]
    assert unsure.ok


def test_a_level_that_one_never_saw_counts_as_nothing_received() -> None:
    """A level missing from one result counts as 0 received and is reported as different."""
    first = levels(noise=1e-3)

    found = compare_levels(first, first.filter(pl.col("sl") == 0).with_columns(run_digest=pl.lit("other")))

    lost = found.differences.filter(pl.col("sl") == 1, pl.col("column") == "accepted")
    assert lost["second"].to_list() == [0.0] * 4
    assert set(lost["verdict"]) == {DIFFERENT}


def test_single_valued_parameters_are_compared() -> None:
    """A parameter with one value per result is compared across results.

    Results with several values, no common runs or duplicate runs are refused.
    """
    table = levels()
    parts = [table.filter(pl.col("buffers.blocks") == blocks) for blocks in (64, 128)]

    found = compare_levels(*parts)

    assert found.compared == {"buffers.blocks": (64, 128)}
    assert (found.runs, found.equal_runs, found.only_first) == (6, 0, 0)
    with pytest.raises(InputError, match=r"parameter buffers.blocks has several values .64, 128."):
        compare_levels(table, parts[0].drop("buffers.blocks"))
    with pytest.raises(InputError, match="results have no run in common"):
        compare_levels(table, table.with_columns(pl.col("seed") + 100))
    with pytest.raises(InputError, match=r"results contain several runs with load"):
        compare_levels(table, pl.concat([table, table]))


def test_students_t_is_the_textbooks() -> None:
    """Student's t equals the textbook's values for odd and even degrees of freedom."""
    known = {
        (1, 0.95): 12.706,
        (2, 0.99): 9.925,
        (5, 0.9): 2.015,
        (19, 0.99): 2.861,
        (38, 0.95): 2.024,
        (3, 0.999): 12.924,
        (100, 0.95): 1.984,
    }
    for (freedom, confidence), value in known.items():
        assert students_t(freedom, confidence) == pytest.approx(value, abs=6e-4)
