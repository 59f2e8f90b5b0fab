"""The congestion study: flows held by its settings, figures over seeds, cases of its map."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import call
from vlane.rates import LinkClock
from vlane.sim_top.scenario.congestion_settings import congestion_settings, flows_held
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.study_congestion import STUDY
from vlane.sim_top.studies.study_congestion_cases import INCREASES, TIMERS, cases

CONFIGS = Path(__file__).parent.parent.parent / "sim_top" / "configs"


@pytest.mark.parametrize(
    ("part", "scenario", "variant", "held"),
    [("main", "dumbbell", "", (125, 129)), ("shares", "ft36", "many_flows", (525, 513))],
)
def test_how_many_flows_the_settings_hold(part: str, scenario: str, variant: str, held: tuple[int, int]) -> None:
    """Each study's settings hold the number of flows computed by hand, by timer and by CCT.

    By timer: 10 x 200 cycles x 2 for packets of 32 blocks.
    """
    labels = {"scenario": scenario, "control": "cc", "variant": variant}
    (case,) = [case for case in cases(part, quick=True) if case.labels == labels]

    settings = congestion_settings(case.study.study, CONFIGS)

    assert settings is not None
    assert flows_held(settings, sl=0, blocks=32) == held


def test_marking_rate_and_shift_first_count() -> None:
    """A Marking_Rate of 1 halves the flows held by timer, and shifting first may remove the gap."""
    (case,) = [case for case in cases("main", quick=True) if [*case.labels.values()] == ["dumbbell", "cc", ""]]
    settings = congestion_settings(case.study.study, CONFIGS)
    assert settings is not None

    changed = type(settings)(**{**vars(settings), "marking_rate": 1, "shift_first": True, "ccti_limit": 64})

    assert flows_held(changed, sl=0, blocks=32) == (62, 1 + (32 >> 3) * 84 // 32)
    assert flows_held(changed, sl=0, blocks=4) == (500, 1)


def test_run_reports_how_many_flows_are_held(tmp_path: Path) -> None:
    """A run with congestion control reports how many flows its settings hold."""
    short = ("--set", "run.cycles=500", "--set", "run.warm_up_cycles=0")
    text = (CONFIGS / "tree_cc_rtl.toml").read_text()
    off = tmp_path / "off.toml"
    off.write_text(re.sub(r"\[congestion\].*?(?=\[run\])", "", text, flags=re.DOTALL))

    on_said = call("simulate", CONFIGS / "tree_cc_rtl.toml", "--out", tmp_path / "on", *short).err
    off_said = call("simulate", off, "--out", tmp_path / "off", *short).err

    assert "flows to one host" in on_said
    assert "by CCTI_Timer and CCTI_Increase" in on_said
    assert "flows to one host" not in off_said


def test_every_case_is_one_of_its_own() -> None:
    """Cases of a part have distinct labels and networks, and the map covers each increase and timer."""
    for part in ("main", "shares", "map"):
        labels = [tuple(case.labels.values()) for case in cases(part, quick=False)]
        assert len(labels) == len(set(labels))
        assert len(labels) == len({case.digest for case in cases(part, quick=False)})
    variants = {case.labels["variant"] for case in cases("map", quick=False)}
    assert {f"ccti_increase={i} ccti_timer={t}" for i in INCREASES for t in TIMERS} <= variants


def test_ratios_are_formed_per_seed() -> None:
    """Ratios are formed from runs of equal seed, and the figure contains one ratio per seed."""
    made = [
        ("free", 1, 0, 0.5, None),
        ("free", 2, 0, 0.25, None),
        ("cc", 1, 0, 0.5, None),
        ("cc", 1, 16, 0.125, 0.9),
        ("cc", 2, 0, 0.125, None),
        ("cc", 2, 16, 0.25, 0.7),
    ]
    rows = pl.DataFrame(
        [
            {
                "scenario": "dumbbell",
                "control": control,
                "variant": "",
                "seed": seed,
                "sl": sl,
                "accepted": accepted,
                "fairness": fairness,
                "cnp_share": 0.25 if control == "cc" else None,
                "lost": 0,
            }
            for control, seed, sl, accepted, fairness in made
        ]
    )

    found = {
        figure.name.split(",")[0] + figure.name.rpartition(":")[2]: [*figure.values]
        for figure in STUDY.figures("main", Measured(rows, LinkClock(100.0)))
    }

    assert found["victims over those without hot spot congestion control"] == [1.0, 0.5]
    assert found["hot link used congestion control"] == [1.0, 2.0]
    assert found["Jain's index of contributors congestion control"] == [0.9, 0.7]
