"""Saturation verdicts, confidence intervals, and runs extended until they are precise."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import ROOT, STUDY, assert_refused, call, call_apart
from vlane.golden.network.meters import LOST, MADE, PARTS, RECEIVED, TIMED, TIMED_LATENCY
from vlane.sim_top.scenario.world import World, make_world
from vlane.sim_top.study.simulate import RunResult, simulate
from vlane.sim_top.study.steady import half_width, judge_backlog, latency_half_width, latency_rises
from vlane.study.model import read_study
from vlane.study.study import Study

CONFIGS = ROOT / "sim_top" / "configs"
RUN_FIELDS = {"seconds", "flit_hops_per_second", "peak_mib"}


def queue(load: float, *, cycles: int, seed: int, flits: int = 1, queues: int = 1) -> NDArray[np.int64]:
    """Return backlog counts by part for queues that serve one flit per cycle, after a warm-up.

    The warm-up lasts half of ``cycles``.
    """
    bits, part, warm = np.random.default_rng(seed), np.zeros((PARTS, 5), np.int64), cycles // 2
    for _ in range(queues):
        made = bits.poisson(load / flits, warm + cycles) * flits
        work = np.cumsum(made - 1)
        served = np.cumsum(made) - (work - np.minimum(np.minimum.accumulate(work), 0))
        part[:, MADE] += made[warm:].reshape(PARTS, -1).sum(axis=1)
        part[:, RECEIVED] += np.diff(served[warm - 1 :]).reshape(PARTS, -1).sum(axis=1)
    return part


def verdicts(load: float, *, cycles: int, runs: int, **given: int) -> tuple[float, float]:
    """Return the share of runs judged saturated and the share of undecided runs."""
    judged = [judge_backlog(queue(load, cycles=cycles, seed=seed, **given), cycles) for seed in range(runs)]
    return sum(it.saturated for it in judged) / runs, sum(not it.decided for it in judged) / runs


@pytest.mark.parametrize("load", [0.3, 0.8, 0.95, 0.98])
@pytest.mark.parametrize("cycles", [2000, 20_000])
@pytest.mark.parametrize("flits", [1, 8])
def test_a_queue_that_settles_is_not_called_saturated(load: float, cycles: int, flits: int) -> None:
    """Given a stable queue at any load, at most 1 of 100 runs is judged saturated.

    At loads up to 0.8 over 20,000 cycles, no run is undecided.
    """
    saturated, unsure = verdicts(load, cycles=cycles, runs=100, flits=flits)

    assert saturated <= 0.01
    if load <= 0.8 and cycles == 20_000:
        assert unsure == 0


def test_a_queue_just_below_1_is_steady_once_the_run_is_long() -> None:
    """At load 0.95, most runs of 2,000 cycles are undecided, and none of 200,000 cycles."""
    short, long = (verdicts(0.95, cycles=cycles, runs=30, flits=8)[1] for cycles in (2000, 200_000))

    assert short > 0.5
    assert long == 0


@pytest.mark.parametrize(("load", "cycles"), [(1.02, 200_000), (1.1, 20_000)])
def test_a_queue_that_is_offered_too_much_is_saturated(load: float, cycles: int) -> None:
    """At loads of 1.02 and above, every sufficiently long run is judged saturated."""
    assert verdicts(load, cycles=cycles, runs=20) == (1, 0)


@pytest.mark.parametrize(("load", "cycles"), [(0.3, 2000), (0.95, 20_000), (1.0, 20_000), (1.02, 20_000), (1.1, 2000)])
def test_the_growths_interval_holds_the_true_one(load: float, cycles: int) -> None:
    """At least 87 of 100 confidence intervals of the backlog's growth contain the true growth.

    Loads cover independent, random-walk and growing backlogs.
    """
    judged = [judge_backlog(queue(load, cycles=cycles, seed=seed), cycles) for seed in range(100)]

    assert sum(abs(it.growth - max(0.0, load - 1)) <= it.growth_ci95 + 1e-12 for it in judged) >= 87


def test_run_too_short_is_undecided() -> None:
    """At load 1.02, most runs of 2,000 cycles are undecided."""
    saturated, unsure = verdicts(1.02, cycles=2000, runs=50)

    assert saturated < 0.1
    assert unsure > 0.85


def test_constant_growth_is_saturated_without_noise() -> None:
    """Given constant growth of 10 % without noise, the level is judged saturated.

    A level without traffic, and one whose excess packets are lost, are judged steady.
    """
    part = np.zeros((PARTS, 5), np.int64)
    assert judge_backlog(part, 4000).decided
    assert not judge_backlog(part, 4000).saturated
    part[:, MADE], part[:, RECEIVED] = 100, 90
    judged = judge_backlog(part, 4000)
    assert judged.saturated
    assert judged.growth == pytest.approx(0.1)
    part[:, LOST] = 10
    assert not judge_backlog(part, 4000).saturated


def test_few_packets_in_flight_at_the_end_are_no_growth() -> None:
    """Given sparse packets, the last of which are still in flight, the level is not saturated."""
    part = np.zeros((PARTS, 5), np.int64)
    part[::8, MADE] = part[::8, RECEIVED] = 32
    part[-1, MADE], part[-1, RECEIVED] = 96, 0

    assert not judge_backlog(part, 4000).saturated


def test_a_half_width_is_students() -> None:
    """The half-width is Student's for 2 and 20 values, and undefined for one value."""
    assert half_width([1.0]) is None
    assert half_width([0.0, 1.0]) == pytest.approx(12.706 / 2, rel=1e-4)
    assert half_width(list(map(float, range(20)))) == pytest.approx(
        2.09302 * np.std(range(20), ddof=1) / 20**0.5, rel=1e-4
    )


def correlated(kept: float, runs: int) -> list[NDArray[np.int64]]:
    """Return the latencies of runs by part: stationary first-order autoregressions around 100 cycles."""
    bits = np.random.default_rng(3)
    made = []
    for _ in range(runs):
        part, value = np.zeros((PARTS, 5), np.int64), bits.normal() / (1 - kept * kept) ** 0.5
        part[:, TIMED] = 10_000
        for number in range(PARTS):
            value = kept * value + bits.normal()
            part[number, TIMED_LATENCY] = round(10_000 * (100 + value))
        made.append(part)
    return made


@pytest.mark.parametrize("kept", [0.0, 0.4, 0.6, 0.8])
def test_interval_of_correlated_parts_holds_the_mean(kept: float) -> None:
    """At least 93 % of the intervals contain the true mean, also if neighbouring parts are correlated.

    Student's interval of 20 independent batches contains it in 60 % of the runs at a factor of 0.8. Runs whose window
    is too short get no interval; at a factor of 0.4 these are at most 1 %.
    """
    runs = correlated(kept, 400)
    widths = [(part, latency_half_width(part)) for part in runs]
    given = [(part, width) for part, width in widths if width is not None]

    held = [abs(part[:, TIMED_LATENCY].sum() / part[:, TIMED].sum() - 100) <= width for part, width in given]
    assert sum(held) >= 0.93 * len(held)
    assert len(held) >= (0.99 if kept <= 0.4 else 0.6) * len(runs)


def test_random_walk_gets_no_interval() -> None:
    """Given parts that hardly change from one to the next, no interval is reported."""
    part = np.zeros((PARTS, 5), np.int64)
    part[:, TIMED], part[:, TIMED_LATENCY] = 100, 100 * np.arange(100, 100 + PARTS)

    assert latency_half_width(part) is None


def test_rising_latency_is_noticed() -> None:
    """A latency that rises in the first quarter of the window shows a short warm-up, and constant noise does not.

    The test is one-sided at 1 %: at most 3 of 100 runs without a rise are reported.
    """
    flat = correlated(0.2, 100)
    rising = [part.copy() for part in flat]
    for part in rising:
        part[: PARTS // 4, TIMED_LATENCY] -= 10_000 * np.linspace(10, 2, PARTS // 4).astype(np.int64)

    assert sum(map(latency_rises, flat)) <= 3
    assert sum(map(latency_rises, rising)) >= 95


def test_filling_network_is_not_saturated() -> None:
    """Given a backlog that grows in the first half of the window only, saturation is not decided."""
    part = np.zeros((PARTS, 5), np.int64)
    part[:, MADE], part[:, RECEIVED] = 100, 100
    part[: PARTS // 2, RECEIVED] -= np.linspace(50, 0, PARTS // 2).astype(np.int64)
    judged = judge_backlog(part, 4000)

    assert (judged.saturated, judged.decided, judged.is_slowing) == (False, False, True)


def test_an_empty_part_gives_no_interval() -> None:
    """Given a part without packets, no confidence interval is reported."""
    part = np.ones((PARTS, 5), np.int64)
    assert latency_half_width(part) == 0
    part[4:6, TIMED] = 0
    assert latency_half_width(part) is None


def world_of(base: Path, document: dict[str, Any] | Study, **run: Any) -> World:
    """Return the world of a study with changed ``run`` keys."""
    study = document if isinstance(document, Study) else Study.model_validate(document)
    timed = study.run.model_validate({**study.run.model_dump(exclude_unset=True), **run})
    return make_world(study.model_copy(update={"run": timed}), base)


def dumbbell(**run: Any) -> World:
    """Return three hosts that send to a fourth over one cable between two switches."""
    return world_of(
        Path(),
        {
            "network": {"topology": "dumbbell", "left": 3, "right": 1},
            "buffers": {"blocks": 64},
            "traffic": [{"sl": 0, "hot_share": 1.0, "hot_hosts": [3]}],
            "run": {"loads": [0.2], "cycles": 12_000, "warm_up_cycles": 2000},
        },
        **run,
    )


@pytest.mark.parametrize(("load", "saturated"), [(0.15, False), (0.23, False), (0.26, True), (0.4, True)])
def test_the_link_that_all_share_saturates(load: float, saturated: bool) -> None:  # noqa: FBT001
    """Four hosts that share one destination saturate it above a load of 0.25 each.

    The measured growth is the excess over 0.25.
    """
    result, _ = simulate(dumbbell(cycles=42_000), load=load, seed=1)

    (level,) = result.per_sl
    assert (level.saturated, level.decided) == (saturated, True)
    assert (result.saturated, result.decided) == (saturated, True)
    assert level.backlog_growth == pytest.approx(max(0.0, load - 0.25), abs=0.01)


def test_utilisation_of_host_links_is_separate() -> None:
    """Utilisation of links between switches and of host links is reported separately.

    Host 0 sends to host 3, using one of two switch links and two of eight host links.
    """
    rows = "cycle,source,destination,sl,bytes\n" + "".join(f"{10 * at},0,3,0,256\n" for at in range(100))
    file = Path(ROOT / "build" / "unused")  # only named by the study; the rows follow below
    world = dumbbell()
    study = Study.model_validate(
        {
            "network": {"topology": "dumbbell", "left": 3, "right": 1},
            "buffers": {"blocks": 64},
            "trace": {"file": file.name},
            "run": {"cycles": 2000, "warm_up_cycles": 0},
        }
    )
    packets = np.array([list(map(int, row.split(","))) for row in rows.splitlines()[1:]], np.int64)
    result, _ = simulate(replace(world, study=study, replayed=packets), load=1.0, seed=1)

    assert result.link_utilisation_max == pytest.approx(0.2)
    assert result.link_utilisation_mean == pytest.approx(0.1)
    assert result.host_link_utilisation_max == pytest.approx(0.2)
    assert result.host_link_utilisation_mean == pytest.approx(2 * 0.2 / 8)


def told(result: RunResult) -> dict[str, Any]:
    """Return a result without times and machine data."""
    return {name: value for name, value in asdict(result).items() if name not in RUN_FIELDS}


@pytest.mark.parametrize(("flits", "precision"), [(1, 0.01), (8, 0.05)])
def test_extended_run_equals_a_run_of_the_final_length(flits: int, precision: float, tmp_path: Path) -> None:
    """A run extended for precision equals a run of the final length in results and tables."""
    document = {
        "network": {"topology": "tree", "k": 2, "n": 2},
        "buffers": {"blocks": 64},
        "measure": {"flows": True},
        "traffic": [{"sl": sl, "share": 0.5, "bytes": [64, 64 * flits]} for sl in (0, 1)],
        "run": {"loads": [0.4], "cycles": 903, "warm_up_cycles": 101},
    }
    grown, tables = simulate(world_of(tmp_path, document, precision=precision), load=0.4, seed=3, trace=True)

    assert grown.cycles > 903
    assert (grown.cycles - 101) % (903 - 101) == 0
    assert all(level.precise for level in grown.per_sl)
    plain, others = simulate(world_of(tmp_path, document, cycles=grown.cycles), load=0.4, seed=3, trace=True)
    expected = told(plain)
    for level in expected["per_sl"]:
        assert level["precise"] is None
        level["precise"] = True
    assert told(grown) == expected
    assert all(tables[name].equals(others[name]) for name in others)
    for level in grown.per_sl:
        assert level.latency_ci95_cycles is not None
        assert level.latency_mean_cycles is not None
        assert level.latency_ci95_cycles <= precision * level.latency_mean_cycles


def test_a_run_ends_when_every_level_is_saturated() -> None:
    """Given only saturated levels, a run with a precision target ends at its first check."""
    result, _ = simulate(dumbbell(precision=0.02), load=0.5, seed=1)

    assert result.cycles == 12_000
    assert result.saturated
    assert not result.per_sl[0].precise


def test_short_run_without_warm_up_cannot_tell(tmp_path: Path) -> None:
    """Given 2,000 cycles from an empty tree at load 0.7, no level is called saturated, and all report the warm-up.

    The levels are steady in longer runs.
    """
    document = {
        "network": {"topology": "tree", "k": 4, "n": 3},
        "buffers": {"blocks": 256},
        "traffic": [{"sl": sl, "share": 0.5, "bytes": 2112, "pattern": "others"} for sl in (0, 1)],
        "run": {"loads": [0.7], "cycles": 2000, "warm_up_cycles": 0},
    }
    short = [simulate(world_of(tmp_path, document), load=0.7, seed=seed)[0] for seed in range(1, 11)]
    long, _ = simulate(world_of(tmp_path, document, cycles=100_000, warm_up_cycles=10_000), load=0.7, seed=1)
    levels = [level for run in short for level in run.per_sl]

    assert not any(level.saturated for level in levels)
    assert sum(not level.warmed_up for level in levels) >= 15
    assert all(level.latency_ci95_cycles is None and not level.decided for level in levels if not level.warmed_up)
    assert [(level.saturated, level.warmed_up) for level in long.per_sl] == [(False, True)] * 2


def test_precision_not_reached_is_reported() -> None:
    """A run that reaches ``most_cycles`` first is reported as not precise."""
    result, _ = simulate(dumbbell(precision=0.0001, most_cycles=60_000), load=0.2, seed=1)

    assert result.cycles == 2000 + 4 * 10_000
    assert [level.precise for level in result.per_sl] == [False]
    assert result.decided


def test_intervals_hold_the_mean() -> None:
    """At least 16 of 20 intervals of precise runs contain the mean of a run 100 times as long."""
    long, _ = simulate(dumbbell(cycles=1_000_000), load=0.2, seed=100)
    (truth,) = (level.latency_mean_cycles for level in long.per_sl)
    held = 0
    for seed in range(20):
        result, _ = simulate(dumbbell(cycles=7000, precision=0.02), load=0.2, seed=seed)
        (level,) = result.per_sl
        assert level.precise
        held += abs((level.latency_mean_cycles or 0) - (truth or 0)) <= (level.latency_ci95_cycles or 0)

    assert held >= 16


@pytest.mark.slow
@pytest.mark.parametrize(("load", "saturated"), [(0.2, set()), (0.7, {1}), (0.8, {0, 1})])
def test_the_trees_small_packets_saturate_first(load: float, saturated: set[int]) -> None:
    """Given the shipped tree study, SL 1 saturates at load 0.7 and SL 0 at 0.8.

    A run of 30,000 cycles leaves SL 0 undecided at these loads.
    """
    study = read_study(CONFIGS / "tree43_ib.toml")
    result, _ = simulate(world_of(CONFIGS, study), load=load, seed=1)
    short, _ = simulate(world_of(CONFIGS, study, cycles=30_000), load=load, seed=1)

    assert {level.sl for level in result.per_sl if level.saturated} == saturated
    assert result.decided
    assert {level.sl for level in short.per_sl if level.saturated} == saturated & {1}
    assert (not short.per_sl[0].decided) == (load > 0.2)
    if load == 0.8:
        growth = {level.sl: level.backlog_growth for level in result.per_sl}
        assert growth[1] == pytest.approx(0.073, abs=0.003)
        assert growth[0] > 0.005


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("cycles = 3000", "cycles = 3000\nprecision = 0.0", ["run.precision", "above 0", "0"]),
        ("cycles = 3000", "cycles = 3000\nprecision = 1.0", ["run.precision", "below 1", "1"]),
        ("cycles = 3000", "cycles = 3000\nmost_cycles = 9000", ["most_cycles", "cannot be used without precision"]),
        (
            "cycles = 3000",
            "cycles = 3000\nprecision = 0.1\nmost_cycles = 2999",
            ["most_cycles", "at least cycles, 3000", "2999"],
        ),
    ],
)
def test_bad_precision_is_refused(old: str, new: str, words: list[str], study: Path) -> None:
    """Given a precision out of range or conflicting keys in a study, the error names file and key."""
    study.write_text(STUDY.replace(old, new, 1))

    assert_refused(call("simulate", study, "--out", study.parent / "out"), "small.toml", *words)


@pytest.mark.parametrize("value", ["0", "1", "-1", "nan"])
def test_bad_precision_of_the_command_line_is_refused(value: str, study: Path) -> None:
    """Given ``--precision`` out of range, the command is refused."""
    called = call("simulate", study, "--out", study.parent / "out", "--precision", value)

    assert_refused(called, "--precision", "above 0 and below 1")


def test_a_replay_cannot_be_made_precise(tmp_path: Path) -> None:
    """Given ``--precision`` for a replay, whose length is fixed by its file, the command is refused."""
    called = call("simulate", CONFIGS / "replay_incast.toml", "--out", tmp_path, "--precision", "0.1")

    assert_refused(called, "--precision", "cannot be used without [[traffic]]")


def test_the_screen_shows_no_latency_of_a_saturated_level(tmp_path: Path) -> None:
    """For a saturated level, the screen shows its growth instead of a latency.

    JSON contains the verdict of each level and of the run.
    """
    study = tmp_path / "hot.toml"
    study.write_text(
        STUDY.replace("loads = [0.2, 0.5]", "loads = [0.9]")
        .replace("seeds = [1, 2]", "seeds = [1]")
        .replace("share = 0.5\nbytes", "share = 0.5\nhot_share = 1.0\nhot_hosts = [0]\nbytes")
    )
    shown = call_apart("simulate", study, "--out", tmp_path / "out", "--verbose")
    document = call("simulate", study, "--out", tmp_path / "precise", "--precision", "0.2", "--json").json()

    assert shown.status == 0, shown.err
    rows = [line for line in shown.out.splitlines() if "grows" in line]
    (run,) = document["runs"]
    assert run["saturated"] is True
    saturated = sum(level["saturated"] for level in run["per_sl"])
    assert len(rows) == 3 * saturated > 0
    # in the summary, then in cycles, then in ns
    assert ["yes" in row for row in rows] == [True] * 2 * saturated + [False] * saturated
    assert all("precise" in level and "accepted_parts" not in level for level in run["per_sl"])
