"""Hardware switches that mark packets for congestion control, inside golden's network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, call


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "mask"),
    [
        ("tree_cc_rtl", "none"),
        pytest.param("tree_cc_inputs_rtl", "none", marks=pytest.mark.long),
        pytest.param("tree_cc_rtl", "hosts", marks=pytest.mark.long),
        pytest.param("tree_cc_inputs_rtl", "hosts", marks=pytest.mark.long),
    ],
)
def test_the_same_packets_are_marked_in_hardware(study: str, mask: str) -> None:
    """Given a hot host on a tree, hardware and golden deliver equal packets with equal FECN marks."""
    called = call(
        "cosim",
        "network",
        f"sim_top/configs/{study}.toml",
        "--rtl",
        "0,5",
        "--cycles",
        "30000",
        "--json",
        "--set",
        f"congestion.victim_mask={mask}",
        "--set",
        "congestion.marking_rate=1",
    )

    assert called.status == 0, called.err
    done = called.json()
    assert (done["mismatches"], done["bad_flits"]) == (0, 0)
    assert done["digest_golden"] == done["digest_hardware"]
    assert done["marked"] == done["golden_marked"] > 100
    assert done["cnps"] > 100
    assert done["held"] > 1000


@pytest.mark.long
def test_the_same_room_is_held_back_in_hardware() -> None:
    """Given credit starvation in two of six switches, each delivery happens in golden's cycle.

    The digest differs from a run without credit starvation.
    """
    options = ("--rtl", "0,5", "--cycles", "30000", "--json")
    starving = (
        "--set",
        "congestion.credit_mask=all",
        "--set",
        "congestion.cs_threshold=14",
        "--set",
        "congestion.cs_return_delay=[0,9]",
    )
    called = call("cosim", "network", "sim_top/configs/tree_cc_rtl.toml", *options, *starving)

    assert called.status == 0, called.err
    done = called.json()
    assert done["parameters"]["starving"]
    assert (done["mismatches"], done["bad_flits"]) == (0, 0)
    assert done["marked"] == done["golden_marked"] > 100
    free = call("cosim", "network", "sim_top/configs/tree_cc_rtl.toml", *options).json()
    assert done["digest_golden"] == done["digest_hardware"] != free["digest_golden"]


def test_a_mark_that_is_lost_or_invented_is_seen() -> None:
    """The digest covers FECN, so a changed marking threshold changes it."""
    digests = {
        call(
            "cosim",
            "network",
            "sim_top/configs/tree_cc_rtl.toml",
            "--rtl",
            "0",
            "--cycles",
            "20000",
            "--json",
            "--set",
            f"congestion.threshold={threshold}",
            "--set",
            "congestion.ccti_increase=0",
        ).json()["digest_golden"]
        for threshold in (0, 12)
    }
    assert len(digests) == 2


WRITES = """
[[congestion.port]]
switch = 0
port = 1
threshold = 15
marking_rate = 2

[[congestion.sl]]
sl = 0
ccti_increase = 2

[[congestion.write]]
cycle = 5000
threshold = 15
packet_size = 2
marking_rate = 3
victim_mask = "all"
ccti_timer = 2

[[congestion.write]]
cycle = 9000
switch = 0
port = 3
marking_rate = 0

[[congestion.write]]
cycle = 12000
switch = 0
port = 1
valid = false

[[congestion.write]]
cycle = 14000
threshold = 4
port_control = 1
cct = [[3, 0], [3, 9]]
ccti_limit = 9
"""


@pytest.mark.slow
def test_settings_are_written_in_hardware_in_the_same_cycles(tmp_path: Path) -> None:
    """Settings written to switches, ports and hosts take effect in hardware in golden's cycles.

    Each additional write changes the digest.
    """
    example = (ROOT / "sim_top/configs/tree_cc_rtl.toml").read_text()
    writes = WRITES.split("\n[[")
    digests = []
    for number in range(len(writes)):
        file = tmp_path / f"study{number}.toml"
        file.write_text(example.replace("\n[run]", "\n[[".join(writes[: number + 1]) + "\n[run]"))
        hardware = ["--rtl", "0,5"] if number == len(writes) - 1 else ["--rtl", "0"]
        called = call("cosim", "network", file, *hardware, "--cycles", "20000", "--json")
        assert called.status == 0, called.err
        done = called.json()
        assert (done["mismatches"], done["bad_flits"]) == (0, 0)
        assert done["digest_golden"] == done["digest_hardware"]
        assert done["marked"] == done["golden_marked"] > 100
        digests.append(done["digest_golden"])
    assert len(set(digests)) == len(digests)
