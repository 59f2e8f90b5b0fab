"""``vlane vlarb explain``: shares against golden's egress, waits against their bound, levels that starve, the page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.pages import assert_whole
from tests.conftest import DATA, assert_refused, call
from vlane.planning.vlarb_waits import longest_wait
from vlane.schedulers.vlarb import VLArbEntry, VLArbTable
from vlane.sim_top.fabric.vlarb_explained import saturated_shares


def test_shares_are_those_of_the_lists() -> None:
    """Worked by hand: whole packets, the limit, a lane that nobody names."""
    entries = (VLArbEntry(0, 33), VLArbEntry(1, 66))
    assert saturated_shares(VLArbTable(entries, (), 255), {0: 33, 1: 33}, data_vls=2) == {0: 1 / 3, 1: 2 / 3}
    assert saturated_shares(VLArbTable(entries, (), 255), {0: 20, 1: 33}, data_vls=2) == {0: 40 / 106, 1: 66 / 106}
    limited = VLArbTable((VLArbEntry(0, 1),), (VLArbEntry(1, 1),), 1)
    assert saturated_shares(limited, {0: 32, 1: 32}, data_vls=2) == {0: 2 / 3, 1: 1 / 3}
    assert saturated_shares(limited, {0: 32, 1: 32, 2: 1}, data_vls=3)[2] == 0
    starving = VLArbTable((VLArbEntry(0, 1),), (VLArbEntry(1, 1),), 255)
    assert saturated_shares(starving, {0: 32, 1: 32}, data_vls=2) == {0: 1, 1: 0}
    assert saturated_shares(VLArbTable((), (), 0), {0: 1}, data_vls=1) == {0: 0}


def test_levels_of_a_fabric_are_explained_by_kinds_of_ports() -> None:
    """Two kinds: hosts and switches have other tables; all ports with cables are there once."""
    done = call("vlarb", "explain", "--fabric", DATA / "two_switch", "--sls", "0,1,2,3", "--json").json()

    assert len(done["ports"]) == 2
    names = [name for group in done["ports"] for name in group["ports"]]
    assert len(names) == len(set(names)) == 12
    for group in done["ports"]:
        table = VLArbTable(group["high"], group["low"], group["limit_of_high_priority"])
        assert [level["sl"] for level in group["levels"]] == [0, 1, 2, 3]
        assert sum(level["share"] for level in group["levels"]) == pytest.approx(1)
        for level in group["levels"]:
            assert level["share_least"] <= level["share"] <= level["share_most"]
            assert level["rate_gbps"] == pytest.approx(100 * level["share"])
            blocks = longest_wait(table, level["vls"][0], most=dict.fromkeys(range(4), 33))
            assert level["wait_bound_us"] == pytest.approx(blocks * 5.12 / 1000)


def test_levels_that_get_no_turn_are_told(tmp_path: Path) -> None:
    """A high list without limit starves the low one; the page says so first."""
    fabric = tmp_path / "fabric"
    shutil.copytree(DATA / "two_switch", fabric)
    conf = fabric / "opensm.conf"
    conf.write_text(conf.read_text().replace("qos_swe_high_limit 10", "qos_swe_high_limit 255"))
    asked = ["vlarb", "explain", "--fabric", fabric, "--sls", "0,1,2,3"]

    done = call(*asked, "--json").json()
    switches = next(group for group in done["ports"] if group["limit_of_high_priority"] == 255)
    assert [(level["served"], level["wait_bound_us"] is None) for level in switches["levels"]] == [
        (True, False),
        (True, False),
        (False, True),
        (False, True),
    ]
    told = call(*asked, "--page", tmp_path / "page")
    assert told.status == 0
    assert "SL 2: packets of this level get no turn here" in told.out
    page = tmp_path / "page" / "index.html"
    assert_whole(page)
    assert "Level 2, 3 gets no turn at some ports" in page.read_text()
    assert "no bound" in told.out
    assert "no bound" in page.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sls", "0,16"], ["--sls", "0 to 15", "16"]),
        (["--sls", "x"], ["--sls", "numbers"]),
        (["--rate", "fast"], ["--rate"]),
        (["--page", "{file}"], ["--page"]),
    ],
)
def test_bad_options_are_one_line(tmp_path: Path, options: list[str], words: list[str]) -> None:
    """Exit status 2."""
    file = tmp_path / "file"
    file.touch()
    given = [word.format(file=file) for word in options]
    assert_refused(call("vlarb", "explain", "--fabric", DATA / "two_switch", *given), *words)


def test_a_capture_without_tables_is_refused(tmp_path: Path) -> None:
    """Naming the file that it lacks."""
    fabric = tmp_path / "fabric"
    shutil.copytree(DATA / "two_switch", fabric)
    (fabric / "smpquery-vlarb.txt").unlink()
    assert_refused(call("vlarb", "explain", "--fabric", fabric), "--fabric", "smpquery-vlarb.txt")
