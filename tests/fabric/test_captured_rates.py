"""Rates of captured cables in simulations: each cable has its own, relative to the fastest one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import call
from vlane.sim_top.scenario.world import World, make_world
from vlane.study.model import read_study

STUDY = """
[network]
topology = "fabric"
folder = "two_switch"

[buffers]
blocks = 256

[scheduler]
name = "rr"

[run]
loads = [0.5]
seeds = [1]
cycles = 4000
warm_up_cycles = 1000

[[traffic]]
sl = 0
share = 1.0
bytes = 512
pattern = "others"
"""
FULL = 1 << 16


def captured(folder: Path, *changes: tuple[str, str], study: str = STUDY) -> Path:
    """Write other rates into a capture, write a study of the capture, and return the study."""
    file = folder / "ibnetdiscover.txt"
    text = file.read_text().replace("4xSDR", "4xEDR")
    for name, rate in changes:
        text = "\n".join(
            line.replace("4xEDR", rate) if f'"{name}"' in line or f"({name})" in line else line
            for line in text.split("\n")
        )
    file.write_text(text)
    (folder.parent / "study.toml").write_text(study)
    return folder.parent / "study.toml"


def accepted(document: Any) -> float:
    """Return the flits per cycle and host of the first run's first level."""
    (run,) = document["runs"]
    return float(run["accepted"])


def world_of(study: Path) -> World:
    return make_world(read_study(study), study.parent)


def test_slower_cables_have_their_own_rate(capture_copy: Any) -> None:
    """Given EDR cables, one SDR host and one of FDR, the two have 8 and 54.5 Gb/s of 100."""
    world = world_of(
        captured(capture_copy("two_switch"), ("H1", "4xSDR"), ("100003", "4xSDR"), ("H3", "4xFDR"), ("100007", "4xFDR"))
    )

    paces = {world.topology.show_host(world.topology.hosts.index(end)): form.pace for end, form in world.cables.items()}
    assert paces == {"host 1 (H1)": round(FULL * 12.5), "host 3 (H3)": round(FULL * 100 / (600 / 11))}


def test_runs_and_remarks_name_the_captured_rates(capture_copy: Any, tmp_path: Path) -> None:
    """Given a host on an SDR cable, the run reports the rate, and the host takes no more than its link carries."""
    study = captured(capture_copy("two_switch"), ("H1", "4xSDR"), ("100003", "4xSDR"))

    ran = call("simulate", study, "--out", tmp_path / "out", "--json")

    assert ran.status == 0, ran.err
    assert "cables captured at SDR 4X have 0.08 of the rate: host 1 (H1)" in ran.err
    uneven = ran.json()
    captured(tmp_path / "two_switch")
    even = call("simulate", study, "--out", tmp_path / "even", "--json").json()
    assert accepted(uneven) < 0.6 * accepted(even)


def test_equal_cables_of_another_rate_are_named(capture_copy: Any, tmp_path: Path) -> None:
    """Given cables of one rate that differs from the study's, times use the study's rate, and a note reports this."""
    study = captured(
        capture_copy("two_switch"),
        ("S0", "4xHDR"),
        ("S1", "4xHDR"),
        ("H0", "4xHDR"),
        ("H1", "4xHDR"),
        ("H2", "4xHDR"),
        ("H3", "4xHDR"),
    )

    ran = call("simulate", study, "--out", tmp_path / "out")
    rated = call("simulate", study, "--rate", "HDR 4X", "--out", tmp_path / "rated")

    assert world_of(study).cables == {}
    assert "the fastest cables were captured at HDR 4X, 200 Gb/s" in ran.err
    assert "captured" not in rated.err


def test_unknown_rates_are_named(capture_copy: Any, tmp_path: Path) -> None:
    """Given a cable whose rate the tool could not print, it has the rate of the fastest, which is said."""
    study = captured(capture_copy("two_switch"), ("H1", "4x???"), ("100003", "4x???"))

    ran = call("simulate", study, "--out", tmp_path / "out")

    assert world_of(study).cables == {}
    assert "cables of unknown rate (none named) are taken as EDR 4X: host 1 (H1)" in ran.err


def test_cable_of_the_study_replaces_the_captured_rate(capture_copy: Any) -> None:
    """Given a [[cable]] with a rate, the rate holds. A [[cable]] with only a flight keeps the captured rate."""
    given = STUDY + "\n[[cable]]\nhosts = [1]\nrelative_rate = 0.5\n\n[[cable]]\nhosts = [3]\nflight_cycles = 9\n"
    changes = (("H1", "4xSDR"), ("100003", "4xSDR"), ("H3", "4xSDR"), ("100007", "4xSDR"))

    world = world_of(captured(capture_copy("two_switch"), *changes, study=given))

    forms = {world.topology.hosts.index(end): (form.flight_cycles, form.pace) for end, form in world.cables.items()}
    assert forms == {1: (1, 2 * FULL), 3: (9, round(12.5 * FULL))}


@pytest.mark.parametrize("rate", ["1xSDR", "4xSDR"])
def test_switches_in_hardware_refuse_different_rates(rate: str, capture_copy: Any) -> None:
    """Given a slower cable, a cosimulation with switches in hardware refuses the capture and names the cable."""
    study = captured(capture_copy("two_switch"), ("H1", rate), ("100003", rate))

    refused = call("cosim", "network", study, "--rtl", "0", "--cycles", "100")

    assert refused.status == 2
    assert "cables of different rates" in refused.err
