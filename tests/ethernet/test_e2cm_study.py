"""The E2CM study: summary files, cases, and one scenario in hardware."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import call, long_but
from vlane.ethernet.e2cm_prober import E2CMProberParameters
from vlane.ethernet.ecm_cp import ECMCPParameters
from vlane.ethernet.ecm_rp import ECMRPParameters
from vlane.golden.ethernet.events import Running
from vlane.golden.ethernet.network import Options, Scheme, new_ethernet
from vlane.hdl.ethernet.ecm_rp import ECMRP
from vlane.sim_top.studies import by_name, sitting, study_e2cm_cases
from vlane.sim_top.studies.e2cm_runs import EthernetRun, made_run
from vlane.sim_top.studies.e2cm_scenarios import scenario_named
from vlane.sim_top.studies.study_e2cm import STUDY
from vlane.sim_top.studies.study_e2cm_cases import PARTS, VARIANTS, cases
from vlane.tb.ethernet.replays import SourceReplay
from vlane.tb.machinery.native.lockstep import run_lockstep
from vlane.tb.machinery.native.model import compile_model

_ONE = ("--only", "scenario=legacy", "--only", "flow_control=pause")


def run(out: Path, *options: str | Path) -> Any:
    return call("study", "e2cm", "--quick", "--json", "--out", out, *_ONE, *options)


def _shorter(part: str, quick: bool) -> list[Any]:  # noqa: FBT001 - as the study has it
    return [replace(each, description=replace(each.description, seconds=0.02)) for each in cases(part, quick)]


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the study's runs to 20 ms."""
    short = replace(STUDY, cases=_shorter)
    monkeypatch.setattr("vlane.sim_top.studies.study_e2cm.STUDY", short)
    assert by_name.study_by_name("e2cm") is short


@pytest.mark.slow
@pytest.mark.usefixtures("_short")
def test_runs_of_another_model_are_kept_by_the_summary_and_taken_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The summary stores each run of the study, and ``--resume`` makes no stored run again."""
    first = run(tmp_path).json()
    assert (first["runs"], first["runs_wanted"]) == (5, 40)
    table = pl.read_parquet(tmp_path / "summary.parquet")
    assert table["digest"].n_unique() == 5
    assert table.filter(pl.col("scheme") == "none")["lowering"].sum() == 0
    assert table.filter(pl.col("scheme") == "ecm")["lowering"].sum() > 0
    assert (table["messages"] == table["completed"]).all()

    def must_not(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(sitting, "made_by_processes", lambda tasks, _: (must_not() for _ in tasks))
    again = run(tmp_path, "--resume").json()
    assert again["figures"] == first["figures"]


@pytest.mark.slow
@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("is_same", [True, False])
def test_incomplete_case_of_another_golden_is_checked_by_digest(
    tmp_path: Path,
    is_same: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Given stored runs of a different golden version, one run is repeated and the digests compared."""
    options = (
        "study",
        "e2cm",
        "--json",
        "--out",
        tmp_path,
        *_ONE,
        "--only",
        "traffic=bernoulli",
        "--only",
        "scheme=ecm",
    )
    file = tmp_path / "summary.parquet"
    call(*options, "--only", "seed=1,2,3", "--jobs", "2")
    whole = pl.read_parquet(file)
    digest = pl.col("digest") if is_same else pl.lit("0" * 16).alias("digest")
    whole.filter(pl.col("seed") < 3).with_columns(pl.lit("another").alias("model"), digest).write_parquet(file)
    made = call(*options, "--only", "seed=1,2,3", "--resume")
    after = pl.read_parquet(file)
    assert after.drop("seconds").equals(whole.drop("seconds"))
    assert ("results of the current golden differ" in made.err) is not is_same


def test_every_case_has_labels_of_its_own_and_its_digest() -> None:
    """All cases of the study have distinct labels and digests, and at least five seeds."""
    found = [case for part in PARTS for case in cases(part, quick=False)]
    assert len({tuple(case.labels.values()) for case in found}) == len(found)
    assert len({case.digest for case in found}) == len(found)  # two parts that share a run would overwrite its labels
    assert len({case.digest for case in cases("main", quick=False)}) == 100
    assert all(len(case.seeds) >= 5 for case in cases("main", quick=False))


@pytest.mark.parametrize("variant", VARIANTS)
def test_blocks_take_the_settings_of_every_variant(variant: str) -> None:
    """For each variant of the sensitivity study, all blocks accept the settings.

    Otherwise a set point with too wide a feedback would be refused in the middle of the study.
    """
    options = next(case for case in cases("sensitivity", quick=True) if case.labels["variant"] == variant)
    given = options.description.options
    assert ECMCPParameters(**given.cp).weight == ECMRPParameters(**given.rp).weight
    assert E2CMProberParameters(**given.prober).weight == ECMRPParameters(**given.rp).weight


@pytest.mark.slow
def test_blocks_of_a_scenario_in_hardware_decide_as_the_network_does(tmp_path: Path) -> None:
    """Given a scenario with its blocks in hardware, every logged decision agrees with golden."""
    found = call("study", "e2cm", "--part", "hardware", "--quick", "--json", "--out", tmp_path).json()
    assert found["holds"] is True
    decided = [each for each in found["figures"] if each["name"].startswith("decisions")]
    assert len(decided) == 16
    assert all(each["ours"] > 100 for each in decided)


@pytest.mark.slow
@pytest.mark.parametrize("column", long_but({7, 10}, [7, 8, 9, 10]))
def test_wrong_logged_decision_is_reported(column: int) -> None:
    """Given a logged decision with one wrong field, the replay in hardware reports a mismatch.

    Tested fields are the permission, the limiter, its rate and its tag.
    """
    scenario = scenario_named("legacy")
    net = new_ethernet(
        scenario.fabric,
        Scheme(),
        Options(),
        load=np.array(scenario.load),
        shares=scenario.shares,
        mean_frames=1,
        stop_seconds=0.004,
        seed=1,
        logged_nodes=[0],
        log_room=1 << 16,
    )
    running = Running(net)
    running.until(0.004)
    log = running.net.log.entry[: int(running.net.log.used[0])].copy()
    parameters = ECMRPParameters(flows=8, seed=int(net.limiters.seeds[0]))
    model = compile_model(ECMRP(parameters), "ecm_rp")
    wrong = []
    for change in (0, 1):
        log[-1, column] ^= change
        replay = SourceReplay(parameters, log, cycles=78_125, inputs=model.inputs, outputs=model.outputs)
        with model:
            assert run_lockstep(model, replay).mismatch is None
        assert replay.decisions == len(log) > 100
        wrong.append(replay.wrong)
    assert wrong == [0, 1]


def test_rows_of_a_run_count_completed_and_dropped_messages() -> None:
    """Given an overloaded node, rows of hot flows count dropped frames and incomplete messages."""
    given = EthernetRun("mixed_out", Scheme(points=False, probing="none", pause=False), 5.0, 0.02)
    digest, cycles, _, rows = made_run(given, 1)
    assert digest == made_run(given, 1)[0] != made_run(given, 2)[0]
    assert cycles >= 390_625
    hot = rows[:10]
    assert [row["name"] for row in hot] == [f"node {number} to 11" for number in range(1, 11)]
    assert sum(row["dropped"] for row in hot) > 0
    assert sum(row["completed"] for row in hot) < sum(row["messages"] for row in hot)
    assert rows[10]["completed"] == rows[10]["messages"]
    assert sum(row["rate"] for row in hot) == pytest.approx(1.0, rel=0.02)


def test_a_changed_scenario_is_another_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given changed shares or loads of a scenario, its cases get a new digest.

    So a summary never keeps runs of an older scenario.
    """
    before = cases("main", quick=False)[0].digest
    scenario = scenario_named("legacy")
    other = replace(scenario, shares=scenario.shares[::-1].copy())
    assert other.digest != scenario.digest == replace(scenario).digest
    assert replace(scenario, load=(0.5,) * 7).digest != scenario.digest
    monkeypatch.setattr(study_e2cm_cases, "scenario_named", lambda name: replace(scenario, name=name, load=(0.5,) * 7))
    assert cases("main", quick=False)[0].digest != before
