"""Switches in hardware that mark packets for congestion control, inside golden's network."""

from __future__ import annotations

import pytest

from tests.conftest import call


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "mask"),
    [
        ("tree_cc_rtl", "none"),
        ("tree_cc_inputs_rtl", "none"),
        pytest.param("tree_cc_rtl", "hosts", marks=pytest.mark.long),
        pytest.param("tree_cc_inputs_rtl", "hosts", marks=pytest.mark.long),
    ],
)
def test_the_same_packets_are_marked_in_hardware(study: str, mask: str) -> None:
    """A hot host on a tree: every delivery with its FECN, and the marks of every switch in hardware."""
    called = call(
        "cosim", "network", f"sim_top/configs/{study}.toml", "--rtl", "0,5", "--cycles", "30000", "--json",
        "--set", f"congestion.victim_mask={mask}", "--set", "congestion.marking_rate=1",
    )  # fmt: skip

    assert called.status == 0, called.err
    done = called.json()
    assert (done["mismatches"], done["bad_flits"]) == (0, 0)
    assert done["digest_golden"] == done["digest_hardware"]
    assert done["marked"] == done["golden_marked"] > 100
    assert done["cnps"] > 100
    assert done["held"] > 1000


def test_a_mark_that_is_lost_or_invented_is_seen() -> None:
    """The digest is of FECN too: another threshold in golden alone makes another one."""
    digests = {
        call(
            "cosim", "network", "sim_top/configs/tree_cc_rtl.toml", "--rtl", "0", "--cycles", "20000", "--json",
            "--set", f"congestion.threshold={threshold}", "--set", "congestion.ccti_increase=0",
        ).json()["digest_golden"]
        for threshold in (0, 12)
    }  # fmt: skip
    assert len(digests) == 2
