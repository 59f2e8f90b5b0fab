"""Shares that tables give to levels, and the remark on tables that cannot act."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import call
from vlane import Study
from vlane.golden.schedulers.served import backlogged_shares
from vlane.sim_top.scenario.world import make_world
from vlane.sim_top.study.table_effect import effect_remark

CONTENT: dict[str, Any] = {
    "network": {"topology": "tree", "k": 4, "n": 2},
    "buffers": {"blocks": 256},
    "scheduler": {"name": "vlarb", "vlarb": {"limit_of_high_priority": 0, "low": [[0, 198], [1, 66]], "high": []}},
    "traffic": [{"sl": sl, "share": 0.5, "bytes": 2112, "pattern": "others"} for sl in (0, 1)],
    "run": {"loads": [0.95], "cycles": 12_000, "warm_up_cycles": 2000},
}
PER_VL = {"switch.crossbar": "per_vl"}


def test_programmed_shares_are_those_of_the_weights() -> None:
    """Whole packets of equal size share a backlogged link as the weights of the list say."""
    study = Study.from_dict(CONTENT)
    settings = make_world(study.model, study.base).settings
    shares = backlogged_shares("vlarb", {0: 33, 1: 33}, data_vls=2, writes=settings.writes, **settings.parameters)

    assert shares[0] == pytest.approx(0.75, abs=0.01)
    assert sum(shares.values()) == pytest.approx(1)


def test_table_that_cannot_act_is_reported() -> None:
    """With the default crossbar few starts have a choice. A crossbar port per VL gives the table its effect."""
    study = Study.from_dict(CONTENT)
    plain, per_vl = (each.run().levels.sort("sl") for each in (study, study.with_(PER_VL)))

    assert plain["table_programmed_share"].to_list() == pytest.approx([0.75, 0.25], abs=0.01)
    assert plain["table_contested_share"].max() < 0.05
    assert per_vl["table_contested_share"].max() > 0.15
    assert per_vl["table_measured_share"][0] > 0.505
    assert per_vl["table_measured_share"].sum() == pytest.approx(1)
    world = make_world(study.model, study.base)
    assert 'set switch.crossbar = "per_vl"' in effect_remark(world, [0.01, 0.02])
    assert effect_remark(world, [0.01, 0.2]) == effect_remark(world, []) == ""


def test_command_shows_shares_and_remark(tmp_path: Path) -> None:
    """``vlane simulate`` prints the shares, and the remark with the key to change."""
    study = Study.from_dict(CONTENT).save(tmp_path / "study.toml")
    shown = call("simulate", study, "--out", tmp_path / "out")
    document = call("simulate", study, "--out", tmp_path / "out", "--json").json()

    assert shown.status == 0, shown.err
    assert "75.0%" in shown.out
    assert any("switch.crossbar" in remark for remark in document["remarks"])


def test_scheduler_without_a_table_has_no_shares() -> None:
    """Round robin has no table, so its levels have no shares."""
    levels = Study.from_dict({**CONTENT, "scheduler": {"name": "rr"}}).run().levels

    assert levels["table_programmed_share"].is_null().all()
    assert levels["table_contested_share"].is_null().all()
