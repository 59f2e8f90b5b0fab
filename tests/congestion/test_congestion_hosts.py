"""Congestion settings of single hosts in a study: precedence and effect on runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.conftest import ROOT, call
from tests.congestion.test_congestion_refusals import GIVEN, STUDY
from vlane.golden.network.congestion import Congestion, NICSettings
from vlane.sim_top.scenario.congestion_settings import congestion_settings, flows_held
from vlane.sim_top.scenario.world import make_world
from vlane.study.congestion import geometric_cct
from vlane.study.model import read_study

LEVELS = """[[congestion.sl]]
sl = 1
ccti_timer = 20
ccti_increase = 2
"""
HOSTS = """[[congestion.host]]
hosts = [2]
sl = 1
ccti_min = 3

[[congestion.host]]
hosts = [0, 2]
ccti_timer = 5
ccti_limit = 9

[[congestion.host]]
hosts = [3]
port_control = 1
cct = [[0, 0], [1, 7]]
ccti_limit = 1
"""


def settings(folder: Path, text: str) -> Congestion:
    """Return the congestion settings a study with these tables gives golden."""
    file = folder / "study.toml"
    file.write_text(STUDY.replace(GIVEN, f"{GIVEN}{text}\n", 1))
    found = congestion_settings(read_study(file), folder)
    assert found is not None
    return found


def test_settings_of_a_host_override_common_settings(tmp_path: Path) -> None:
    """Settings of a host override common settings, and settings of its SLs override both.

    The order of the tables in the file does not matter.
    """
    given = settings(tmp_path, LEVELS + HOSTS)

    usual, table = (10, 1, 0, 0), geometric_cct()
    assert given.levels == [usual, (20, 2, 0, 0), *[usual] * 14]
    of_0 = NICSettings(
        port_control=0, ccti_limit=9, levels=[(5, 1, 0, 0), (5, 2, 0, 0), *[(5, 1, 0, 0)] * 14], table=table
    )
    of_2 = NICSettings(
        port_control=0, ccti_limit=9, levels=[(5, 1, 0, 0), (5, 2, 0, 3), *[(5, 1, 0, 0)] * 14], table=table
    )
    of_3 = NICSettings(port_control=1, ccti_limit=1, levels=given.levels, table=[(0, 0), (1, 7)])
    assert given.hosts == {0: of_0, 2: of_2, 3: of_3}


def test_the_host_that_holds_the_fewest_flows_counts(tmp_path: Path) -> None:
    """The number of flows held is the minimum over hosts, separately by timer and by CCT length."""
    given = settings(tmp_path, HOSTS.replace("ccti_limit = 9\n", ""))

    by_timer, by_cct = flows_held(given, sl=0, blocks=8)

    assert by_timer == 5 * given.tick_cycles // 8
    assert by_cct == 1 + (8 * 7 >> 1) // 8


def test_host_tables_add_to_an_opensm_file(tmp_path: Path) -> None:
    """Given settings from an OpenSM file, tables of single hosts add to them."""
    (tmp_path / "opensm.conf").write_text(
        "congestion_control TRUE\ncc_ca_cong_setting_control_map 0xffff\ncc_ca_cong_setting_ccti_timer 0 7\n"
        "cc_ca_cong_setting_ccti_increase 0 2\ncc_cct 3:0,3:8\n"
    )
    text = STUDY.replace(GIVEN, 'opensm_conf = "opensm.conf"\n[[congestion.host]]\nhosts = [1]\nsl = 0\nccti_min = 1\n')
    (tmp_path / "study.toml").write_text(text)

    given = make_world(read_study(tmp_path / "study.toml"), tmp_path).congestion

    assert given is not None
    assert given.levels[0] == (7, 2, 0, 0)
    assert given.hosts[1].levels[0] == (7, 2, 0, 1)
    assert given.hosts[1].table == [(3, 0), (3, 8)]


@pytest.mark.slow
def test_host_that_never_throttles_gets_more(tmp_path: Path) -> None:
    """Given one hot-spot sender that never throttles, its share is at least twice the others'.

    A write that restores the common setting in cycle 100 equalises the shares.
    """
    example = (ROOT / "sim_top/configs/tree_cc_rtl.toml").read_text().replace("cycles = 100000", "cycles = 40000")
    apart = "[[congestion.host]]\nhosts = [1]\nsl = 0\nccti_increase = 0\n\n"
    again = "[[congestion.write]]\ncycle = 100\nhosts = [1]\nsl = 0\nccti_increase = 1\n\n"
    got = []
    for name, parts in (("none", ""), ("apart", apart), ("again", apart + again)):
        file = tmp_path / f"{name}.toml"
        file.write_text(example.replace("[run]", f"{parts}[measure]\nflows = true\n\n[run]", 1))
        out = tmp_path / name
        assert call("simulate", file, "--out", out, "--json", "--trace").status == 0
        got.append(flits_to_hot_host(out))

    usual, changed, back = got
    assert max(usual.values()) < 1.5 * min(usual.values())
    assert changed[1] > 2 * max(changed[host] for host in (2, 3, 4, 5))
    assert max(back.values()) < 1.5 * min(back.values())


def flits_to_hot_host(out: Path) -> dict[int, int]:
    """Return the number of flits each host sent to host 0 on SL 0."""
    (file,) = (out / "runs").glob("*.trace.parquet")
    rows = pl.read_parquet(file).filter((pl.col("destination") == 0) & (pl.col("sl") == 0) & (pl.col("bth") < 2))
    return dict(rows.group_by("source").agg(pl.col("flits").sum()).rows())
