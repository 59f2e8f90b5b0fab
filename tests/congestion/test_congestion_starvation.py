"""Credit starvation in golden by hand, cycle by cycle, and its study settings (IBS-K1 to IBS-K6)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, call
from tests.congestion.test_congestion_by_hand import AT_ONCE, BIG, network
from tests.congestion.test_congestion_refusals import GIVEN, STUDY
from vlane.credits.credit_starvation import StarvationSelect, StarvationWrite, starvation_element
from vlane.golden.switches.credit_starvation import (
    Starvation,
    new_starvation,
    note_grant,
    note_waiting,
    release_held_credit,
    set_credit_mask,
    set_return,
)
from vlane.sim_top.scenario.faults import faults_of
from vlane.sim_top.scenario.setting_writes import setting_writes
from vlane.sim_top.scenario.world import World, make_network, make_world
from vlane.study.model import read_study

HELD = replace(AT_ONCE, threshold=0, starves=True, credit_mask="all", cs_threshold=15, cs_return_delay=(0, 10))
"""A VL is over its limit from 2 waiting blocks on and then returns one block every 11 cycles."""


def test_an_input_returns_in_the_cycles_of_the_page() -> None:
    """Given two VLs and a gap of 3 cycles, credits return in the cycles of the docs page.

    VL 0 is over its limit while its packets wait, and VL 1 never is.
    """
    made = new_starvation(ports=1, maximum=(8, 8))
    set_credit_mask(made, 0, 1)
    set_return(made, 0, 15, 3)
    freed = {1: (0, 1), 2: (0, 1), 3: (1, 1), 4: (0, 1), 5: (1, 1)}

    got = {}
    for cycle in range(10):
        lane, blocks = release_held_credit(made, 0, cycle, *freed.get(cycle, (0, 0)), 1)
        if blocks:
            got[cycle] = lane, blocks
        if cycle == 0:
            note_waiting(made, 0, 0, 4)
        if cycle == 6:
            note_grant(made, 0, 0, 4)

    # VL 0 is over its limit in cycles 1 to 7: it returns in 1, after a gap in 5, and the rest in 8
    assert got == {1: (0, 1), 3: (1, 1), 5: (0, 1), 6: (1, 1), 8: (0, 1)}
    assert made.port[0].withheld == 3
    assert made.port[0].held == 0


def test_lane_below_its_limit_returns_all_withheld_credits() -> None:
    """A lane below its limit returns all withheld credits, two per cycle at speed-up 2.

    Over its limit it returns one credit per gap, and never withholds more than its buffer.
    """
    made = new_starvation(ports=1, maximum=(4, 4))
    set_credit_mask(made, 0, 1)
    set_return(made, 0, 15, 100)
    note_waiting(made, 0, 0, 4)

    over = [release_held_credit(made, 0, cycle, 0, 2, 2)[1] for cycle in range(4)]
    note_grant(made, 0, 0, 4)
    last = release_held_credit(made, 0, 4, 0, 0, 2)[1]
    free = [release_held_credit(made, 0, cycle, 0, 0, 2)[1] for cycle in range(5, 8)]

    assert (over, last, free) == ([1, 0, 0, 0], 0, [2, 2, 0])


@pytest.mark.parametrize(
    "change",
    [
        {"credit_mask": "none"},
        {"cs_threshold": 0},
        {"cs_return_delay": (3, 7)},
        {"cs_threshold": 1, "by_inputs": False},
    ],
    ids=str,
)
def test_without_mask_threshold_or_delay_nothing_is_held(change: dict[str, Any]) -> None:
    """Without mask, threshold or delay, the run equals a run without credit starvation.

    Threshold 1 (30 waiting blocks) has no effect either, because fewer blocks wait.
    """
    trace = [(0, host, 3, 0, BIG) for host in (0, 1) for _ in range(3)]

    got = network(trace, replace(HELD, **change), 400)
    usual = network(trace, replace(HELD, starves=False), 400)

    assert got.meters.digest.tolist() == usual.meters.digest.tolist()
    assert not got.out_ports.starvation.port["withheld"].any()


SETTINGS = """threshold = 2
credit_mask = "hosts"
cs_threshold = 12
cs_return_delay = [1, 40]

[[congestion.port]]
switch = 1
port = 2
cs_threshold = 4

[[congestion.write]]
cycle = 50
switch = 1
port = 2
cs_return_delay = [0, 3]

[[congestion.write]]
cycle = 100
credit_mask = "all"
cs_threshold = 3
marking_rate = 5

[[congestion.write]]
cycle = 200
switch = 1
port = 2
threshold = 9
"""


def world_of(folder: Path, text: str) -> World:
    """Return the simulated network and traffic of a study with these settings."""
    file = folder / "study.toml"
    file.write_text(STUDY.replace(GIVEN, text, 1))
    return make_world(read_study(file), folder)


def test_study_sets_and_writes_credit_starvation(tmp_path: Path) -> None:
    """A study's keys set mask, return rule and port elements, and its timed writes follow Control_Map's bit order."""
    world = world_of(tmp_path, SETTINGS)

    starvation = make_network(world, load=0.3, seed=1).out_ports.starvation
    assert isinstance(starvation, Starvation)
    hosts = {(switch << 2) + port for switch, port in world.topology.hosts}
    assert {port for port in range(16) if starvation.port[port].masked} == hosts
    assert starvation.port["threshold"].tolist() == [12] * 16
    assert starvation.port["gap"].tolist() == [20] * 16
    assert [port for port in range(16) if starvation.port[port].has_element] == [5]
    assert (starvation.port[5].element_threshold, starvation.port[5].element_gap) == (4, 20)
    select = StarvationSelect
    written = [(each.cycle, each.write) for each in setting_writes(world) if each.switch == 1]
    assert written[0] == (50, starvation_element(1, 4, (0, 3)))
    assert written[1:3] == [
        (100, StarvationWrite(select=select.CREDIT_MASK, credit_mask=0b1111)),
        (101, StarvationWrite(select=select.RETURN, threshold=3, shift=1, multiplier=40)),
    ]
    assert (written[3][0], written[3][1].marking_rate) == (102, 5)
    assert (written[4][1].control_type, written[4][1].threshold) == (0, 9)
    assert len(faults_of(world)) == len(setting_writes(world))


def test_credits_that_are_held_back_slow_the_senders_of_a_hot_spot(tmp_path: Path) -> None:
    """Given credit starvation at a hot spot, more than 1000 withheld blocks are counted.

    The digest differs from a run without credit starvation.
    """
    example = (ROOT / "sim_top/configs/tree_cc_rtl.toml").read_text().replace("cycles = 100000", "cycles = 30000")
    runs = []
    for name, keys in (("free", ""), ("held", 'credit_mask = "all"\ncs_threshold = 12\ncs_return_delay = [0, 9]\n')):
        file = tmp_path / f"{name}.toml"
        file.write_text(example.replace("threshold = 12 ", f"{keys}threshold = 12 ", 1))
        called = call("simulate", file, "--out", tmp_path / name, "--json")
        assert called.status == 0, called.err
        runs.append(called.json()["runs"][0])
    free, held = runs
    assert free["congestion"]["withheld"] == 0
    assert held["congestion"]["withheld"] > 1000
    assert held["digest"] != free["digest"]


def test_opensm_options_set_credit_starvation(tmp_path: Path) -> None:
    """OpenSM's options set mask, threshold and delay, provided Control_Map's bits 1 and 3 send them."""
    conf = (
        "congestion_control TRUE\ncc_sw_cong_setting_control_map 0x1f\ncc_sw_cong_setting_credit_mask 0x06\n"
        "cc_sw_cong_setting_credit_starvation_threshold 0x0c\n"
        "cc_sw_cong_setting_credit_starvation_return_delay 1:40\ncc_cct 3:0,3:8\n"
    )
    for text, expected in (
        (conf, (True, 6, 12, (1, 40))),
        (conf.replace("0x1f", "0x17"), (False, 6, 0, (0, 0))),
        (conf.replace("0x1f", "0x1d"), (False, 0, 12, (1, 40))),
    ):
        (tmp_path / "opensm.conf").write_text(text)
        given = world_of(tmp_path, 'opensm_conf = "opensm.conf"\n').congestion
        assert given is not None
        assert (given.starves, given.credit_mask, given.cs_threshold, given.cs_return_delay) == expected
