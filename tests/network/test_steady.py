"""Whether a level is saturated, how sure its mean is, and runs that go on until it is."""

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
from vlane.sim_top.study.steady import half_width, judge_backlog, latency_half_width, parts_look_apart
from vlane.study.model import read_study
from vlane.study.study import Study

CONFIGS = ROOT / "sim_top" / "configs"
RUN_FIELDS = {"seconds", "flit_hops_per_second", "peak_mib"}


def queue(load: float, *, cycles: int, seed: int, flits: int = 1, queues: int = 1) -> NDArray[np.int64]:
    """Return the parts of queues that each serve a flit per cycle, after half as many cycles of warm-up."""
    bits, part, warm = np.random.default_rng(seed), np.zeros((PARTS, 5), np.int64), cycles // 2
    for _ in range(queues):
        made = bits.poisson(load / flits, warm + cycles) * flits
        work = np.cumsum(made - 1)
        served = np.cumsum(made) - (work - np.minimum(np.minimum.accumulate(work), 0))
        part[:, MADE] += made[warm:].reshape(PARTS, -1).sum(axis=1)
        part[:, RECEIVED] += np.diff(served[warm - 1 :]).reshape(PARTS, -1).sum(axis=1)
    return part


def verdicts(load: float, *, cycles: int, runs: int, **given: int) -> tuple[float, float]:
    """Return the shares of runs that are saturated, and that cannot tell."""
    judged = [judge_backlog(queue(load, cycles=cycles, seed=seed, **given), cycles) for seed in range(runs)]
    return sum(it.saturated for it in judged) / runs, sum(not it.decided for it in judged) / runs


@pytest.mark.parametrize("load", [0.3, 0.8, 0.95, 0.98])
@pytest.mark.parametrize("cycles", [2000, 20_000])
@pytest.mark.parametrize("flits", [1, 8])
def test_a_queue_that_settles_is_not_called_saturated(load: float, cycles: int, flits: int) -> None:
    """However near to 1 its load is, and however short the run: of 100 runs at most one."""
    saturated, unsure = verdicts(load, cycles=cycles, runs=100, flits=flits)

    assert saturated <= 0.01
    if load <= 0.8 and cycles == 20_000:
        assert unsure == 0


def test_a_queue_just_below_1_is_steady_once_the_run_is_long() -> None:
    """Load 0.95: short runs mostly cannot tell, long ones do."""
    short, long = (verdicts(0.95, cycles=cycles, runs=30, flits=8)[1] for cycles in (2000, 200_000))

    assert short > 0.5
    assert long == 0


@pytest.mark.parametrize(("load", "cycles"), [(1.02, 200_000), (1.1, 20_000)])
def test_a_queue_that_is_offered_too_much_is_saturated(load: float, cycles: int) -> None:
    """2 % too much is enough, if the run is long."""
    assert verdicts(load, cycles=cycles, runs=20) == (1, 0)


@pytest.mark.parametrize(("load", "cycles"), [(0.3, 2000), (0.95, 20_000), (1.0, 20_000), (1.02, 20_000), (1.1, 2000)])
def test_the_growths_interval_holds_the_true_one(load: float, cycles: int) -> None:
    """Where backlogs are nearly independent, where they walk at random, and where they grow: 87 of 100 do."""
    judged = [judge_backlog(queue(load, cycles=cycles, seed=seed), cycles) for seed in range(100)]

    assert sum(abs(it.growth - max(0.0, load - 1)) <= it.growth_ci95 + 1e-12 for it in judged) >= 87


def test_a_run_too_short_says_that_it_cannot_tell() -> None:
    """2 % too much over 2,000 cycles: neither saturated nor steady."""
    saturated, unsure = verdicts(1.02, cycles=2000, runs=50)

    assert saturated < 0.1
    assert unsure > 0.85


def test_regular_growth_and_no_growth_are_told_without_noise() -> None:
    """Packets at equal distances leave nothing to chance; a level without traffic stands still."""
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
    """A level with a packet now and then, the last ones still on their way."""
    part = np.zeros((PARTS, 5), np.int64)
    part[::8, MADE] = part[::8, RECEIVED] = 32
    part[-1, MADE], part[-1, RECEIVED] = 96, 0

    assert not judge_backlog(part, 4000).saturated


def test_a_half_width_is_students() -> None:
    """By the textbook's table; one value alone has none."""
    assert half_width([1.0]) is None
    assert half_width([0.0, 1.0]) == pytest.approx(12.706 / 2)
    assert half_width(list(map(float, range(20)))) == pytest.approx(2.093 * np.std(range(20), ddof=1) / 20**0.5)


@pytest.mark.parametrize(("kept", "apart"), [(0.0, True), (0.9, False)])
def test_means_that_follow_each_other_are_noticed(kept: float, apart: bool) -> None:  # noqa: FBT001
    """Independent parts pass, but for 5 %; parts of which each keeps most of the one before do not."""
    passed = 0
    for seed in range(100):
        bits, value = np.random.default_rng(seed), 0.0
        part = np.zeros((PARTS, 5), np.int64)
        part[:, TIMED] = 1000
        for number in range(PARTS):
            value = kept * value + bits.normal()
            part[number, TIMED_LATENCY] = round(1000 * (100 + value))
        passed += parts_look_apart(part)

    assert passed > 88 if apart else passed < 10


def test_an_empty_part_gives_no_interval() -> None:
    """Nobody knows how sure a mean is of which a batch has no packet."""
    part = np.ones((PARTS, 5), np.int64)
    assert latency_half_width(part) == 0
    part[4:6, TIMED] = 0
    assert latency_half_width(part) is None
    assert not parts_look_apart(part)


def world_of(base: Path, document: dict[str, Any] | Study, **run: Any) -> World:
    """Return a world of a study whose run is changed."""
    study = document if isinstance(document, Study) else Study.model_validate(document)
    timed = study.run.model_validate({**study.run.model_dump(exclude_unset=True), **run})
    return make_world(study.model_copy(update={"run": timed}), base)


def dumbbell(**run: Any) -> World:
    """Return three hosts that write to one behind a cable between switches."""
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
    """Four hosts write to one, which takes a flit per cycle: below a quarter each all is steady, above it grows."""
    result, _ = simulate(dumbbell(cycles=42_000), load=load, seed=1)

    (level,) = result.per_sl
    assert (level.saturated, level.decided) == (saturated, True)
    assert (result.saturated, result.decided) == (saturated, True)
    assert level.backlog_growth == pytest.approx(max(0.0, load - 0.25), abs=0.01)


def test_links_between_switches_and_links_of_hosts_are_apart() -> None:
    """Host 0 writes to host 3 over the only cable: one of its two directions is used, and two of eight host links."""
    rows = "cycle,source,destination,sl,bytes\n" + "".join(f"{10 * at},0,3,0,256\n" for at in range(100))
    file = Path(ROOT / "build" / "unused")  # named by the study only; the rows are given below
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
    """Return all of a result that time and machine do not change."""
    return {name: value for name, value in asdict(result).items() if name not in RUN_FIELDS}


@pytest.mark.parametrize(("flits", "precision"), [(1, 0.01), (8, 0.05)])
def test_a_run_that_went_on_is_the_run_of_that_length(flits: int, precision: float, tmp_path: Path) -> None:
    """Whatever was under way, waiting or drawn when the stretch was doubled: results and tables are the same."""
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
    """No length makes the mean of a saturated level sure: the first look is enough."""
    result, _ = simulate(dumbbell(precision=0.02), load=0.5, seed=1)

    assert result.cycles == 12_000
    assert result.saturated
    assert not result.per_sl[0].precise


def test_a_precision_that_is_not_reached_is_said() -> None:
    """The stretch doubles as often as ``most_cycles`` allows, and the level is not called precise."""
    result, _ = simulate(dumbbell(precision=0.0001, most_cycles=60_000), load=0.2, seed=1)

    assert result.cycles == 2000 + 4 * 10_000
    assert [level.precise for level in result.per_sl] == [False]
    assert result.decided


def test_intervals_hold_the_mean() -> None:
    """Of runs that stopped when they were sure, most intervals hold the mean of a run a hundred times as long."""
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
    """The shipped study at its own length, and at the length at which SL 0 cannot be told yet."""
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
    """In the study: file, key, what it must be, what it was."""
    study.write_text(STUDY.replace(old, new, 1))

    assert_refused(call("simulate", study, "--out", study.parent / "out"), "small.toml", *words)


@pytest.mark.parametrize("value", ["0", "1", "-1", "nan"])
def test_bad_precision_of_the_command_line_is_refused(value: str, study: Path) -> None:
    """As in the study."""
    called = call("simulate", study, "--out", study.parent / "out", "--precision", value)

    assert_refused(called, "--precision", "above 0 and below 1")


def test_a_replay_cannot_be_made_precise(tmp_path: Path) -> None:
    """It has as many packets as its file."""
    called = call("simulate", CONFIGS / "replay_incast.toml", "--out", tmp_path, "--precision", "0.1")

    assert_refused(called, "--precision", "cannot be used without [[traffic]]")


def test_the_screen_shows_no_latency_of_a_saturated_level(tmp_path: Path) -> None:
    """Its growth instead; JSON says of each level whether it is saturated, and of the run how long it took."""
    study = tmp_path / "hot.toml"
    study.write_text(
        STUDY.replace("loads = [0.2, 0.5]", "loads = [0.9]")
        .replace("seeds = [1, 2]", "seeds = [1]")
        .replace("share = 0.5\nbytes", "share = 0.5\nhot_share = 1.0\nhot_hosts = [0]\nbytes")
    )
    shown = call_apart("simulate", study, "--out", tmp_path / "out")
    document = call("simulate", study, "--out", tmp_path / "precise", "--precision", "0.2", "--json").json()

    assert shown.status == 0, shown.err
    rows = [line for line in shown.out.splitlines() if "grows" in line]
    (run,) = document["runs"]
    assert run["saturated"] is True
    saturated = sum(level["saturated"] for level in run["per_sl"])
    assert len(rows) == 2 * saturated > 0
    assert ["yes" in row for row in rows] == [True] * saturated + [False] * saturated  # in cycles, then in ns
    assert all("precise" in level and "accepted_parts" not in level for level in run["per_sl"])
