"""Faults of a study: stalled links, rewritten forwarding tables and lost FCPs, to the cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import assert_refused, call
from vlane.sim_top.scenario.faults import check_faults
from vlane.sim_top.scenario.world import make_world
from vlane.sim_top.study.simulate import simulate
from vlane.study.model import read_study

STUDY = """[network]
topology = "edges"
file = "cables.txt"

[buffers]
blocks = 8

[trace]
file = "packets.csv"

[run]
cycles = 400
warm_up_cycles = 0
"""
_FLITS, _BORN = 3, 100


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return a study of one switch and three hosts, with one packet of three flits."""
    file = tmp_path / "lone.toml"
    file.write_text(STUDY)
    (tmp_path / "cables.txt").write_text("host H*\nS1 H1\nS1 H2\nS1 H3\n")
    (tmp_path / "packets.csv").write_text(f"cycle,source,destination,sl,bytes\n{_BORN},0,1,0,{64 * _FLITS}\n")
    return file


def _delivered(study: Path, fault: str) -> int | None:
    """Return the cycle in which the packet's last flit was received, or ``None``."""
    study.write_text(STUDY + fault)
    world = make_world(read_study(study), study.parent)
    check_faults(world)
    _, tables = simulate(world, load=1.0, seed=1, trace=True)
    cycles = tables["trace"]["delivered_cycle"].to_list()
    return cycles[0] if cycles else None


@pytest.mark.slow
def test_stalled_link_delays_packets_that_have_not_started(study: Path) -> None:
    """Given a stalled link, a packet that has not started waits for the stall's remaining cycles.

    A packet that has started is not delayed.
    """
    alone = _delivered(study, "")
    assert alone is not None
    starts = alone - 1 - (_FLITS - 1)  # one cycle on the link, then two more flits
    waits = []
    for since in range(starts - 12, starts + 4):
        came = _delivered(study, f"\n[[stall]]\ncycle = {since}\ncycles = 10\nswitch = 0\nport = 2\n")
        assert came is not None
        waits.append(came - alone)

    assert waits == [max(0, since + 10 - starts) if since <= starts else 0 for since in range(starts - 12, starts + 4)]
    assert max(waits) == 10
    assert _delivered(study, f"\n[[stall]]\ncycle = {starts}\ncycles = 10\nswitch = 0\nport = 3\n") == alone


@pytest.mark.slow
def test_a_rewritten_entry_holds_for_heads_that_arrive_in_its_cycle_or_later(study: Path) -> None:
    """A rewritten entry applies to heads that arrive in its cycle or later.

    The head arrives four cycles before the packet could start.
    """
    alone = _delivered(study, "")
    assert alone is not None
    arrives = alone - 1 - (_FLITS - 1) - 4

    came = {
        cycle: _delivered(study, f"\n[[rewrite]]\ncycle = {cycle}\nswitch = 0\nlid = 2\nport = 255\n")
        for cycle in range(arrives - 2, arrives + 3)
    }

    assert came == {cycle: None if cycle <= arrives else alone for cycle in came}


@pytest.mark.slow
def test_rerouted_packet_is_received_by_the_other_host(study: Path) -> None:
    """Given a forwarding entry rewritten to another port, the trace lists the host that received."""
    study.write_text(STUDY + "\n[[rewrite]]\ncycle = 5\nswitch = 0\nlid = 2\nport = 3\n")
    world = make_world(read_study(study), study.parent)

    _, tables = simulate(world, load=1.0, seed=1, trace=True)

    assert tables["trace"]["destination"].to_list() == [2]


@pytest.mark.slow
def test_a_run_leaves_the_study_s_tables_as_they_were(study: Path) -> None:
    """A run with rewrites leaves the study's forwarding tables unchanged for the next run."""
    study.write_text(STUDY + "\n[[rewrite]]\ncycle = 5\nswitch = 0\nlid = 2\nport = 255\n")
    world = make_world(read_study(study), study.parent)
    before = world.routes.lft.copy()

    simulate(world, load=1.0, seed=1)

    assert (world.routes.lft == before).all()


@pytest.mark.slow
def test_lost_limit_is_repeated_after_a_period(study: Path) -> None:
    """Given a lost FCP, the waiting packet starts after the FCP of the next period.

    Two packets of 4 blocks fill the buffer of 8 blocks, so the third packet depends on the lost FCP.
    """
    (study.parent / "packets.csv").write_text(
        "cycle,source,destination,sl,bytes\n" + "".join(f"{_BORN},0,1,0,256\n" for _ in range(4))
    )
    link = '[link]\ncredits = "fcp"\nfcp_blocks = 1\nfcp_period_cycles = 150\n[buffers]'
    ends = []
    for loss in ("", "\n[[loss]]\ncycle = 0\ncycles = 290\nswitch = 0\nport = 1\n"):
        study.write_text(STUDY.replace("[buffers]", link) + loss)
        world = make_world(read_study(study), study.parent)
        check_faults(world)
        _, tables = simulate(world, load=1.0, seed=1, trace=True)
        ends.append(tables["trace"]["delivered_cycle"].to_list())

    told, lost = ends
    assert len(told) == len(lost) == 4
    assert told[:2] == lost[:2]
    assert told[2] < 150
    assert lost[2] > 300


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("[[loss]]\ncycle = 1\ncycles = 5\nswitch = 0\nport = 1", ["loss", "cannot be used with link.credits returns"]),
        (
            '[link]\ncredits = "fcp"\n[[loss]]\ncycle = 1\ncycles = 99000\nswitch = 0\nport = 1',
            ["loss.0.cycles", "stuck_cycles, 100000", "link.fcp_period_cycles, 1024", "99000"],
        ),
        ("[[stall]]\ncycle = 1\ncycles = 5\nswitch = 1\nport = 1", ["stall.0.switch", "0 to 0", "1"]),
        (
            "[[stall]]\ncycle = 1\ncycles = 5\nswitch = 0\nport = 4",
            ["stall.0.port", "port of switch 0 with a cable", "4"],
        ),
        ("[[stall]]\ncycle = 1\ncycles = 0\nswitch = 0\nport = 1", ["stall.0.cycles", "0"]),
        ("[[stall]]\ncycle = 1\ncycles = 100000\nswitch = 0\nport = 1", ["stall.0.cycles", "stuck_cycles", "100000"]),
        ("[[stall]]\ncycle = 1\nswitch = 0\nport = 1", ["stall.0.cycles", "is missing", "missing"]),
        ("[[stall]]\ncycle = 400\ncycles = 5\nswitch = 0\nport = 1", ["stall.0.cycle", "below", "400"]),
        (2 * "[[stall]]\ncycle = 1\ncycles = 60000\nswitch = 0\nport = 1\n", ["stall.1.cycles", "all stalls", "60000"]),
        ("[[rewrite]]\ncycle = 1\nswitch = 0\nlid = 4\nport = 1", ["rewrite.0.lid", "1 to 3", "4"]),
        ("[[rewrite]]\ncycle = 1\nswitch = 0\nlid = 1\nport = 9", ["rewrite.0.port", "with a cable", "9"]),
        (
            2 * "[[rewrite]]\ncycle = 1\nswitch = 0\nlid = 1\nport = 2\n",
            ["rewrite.1.cycle", "switch 0 has another rewrite in cycle 1", "1"],
        ),
    ],
)
def test_impossible_faults_are_refused(fault: str, words: list[str], study: Path) -> None:
    """Given an impossible fault, the command prints one line and writes nothing."""
    study.write_text(f"{STUDY}\n{fault}\n")

    assert_refused(call("simulate", study, "--out", study.parent / "out"), *words)
    assert not (study.parent / "out").exists()
