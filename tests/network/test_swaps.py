"""Table swaps of egress schedulers under traffic: exact cycles, hardware, refusals."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import vlane
from tests.conftest import assert_refused, call
from vlane.sim_top.cosim import network_hardware
from vlane.sim_top.scenario.faults import check_faults
from vlane.sim_top.scenario.swaps import TableSwap, swaps_of, writes_of_swap
from vlane.sim_top.scenario.world import make_world
from vlane.sim_top.study.simulate import simulate
from vlane.study.model import read_study

FLITS, PACKETS = 4, 30
LONE = """[network]
topology = "edges"
file = "cables.txt"

[buffers]
blocks = 400

[scheduler]
name = "vlarb"
table = "table.toml"

[trace]
file = "packets.csv"

[run]
cycles = 900
warm_up_cycles = 0
"""
OTHER = "switch = 0\nports = [3]\nhigh = [[1, 255]]\nlow = [[0, 1]]\nlimit_of_high_priority = 255\n"
STALL = "\n[[stall]]\ncycle = 50\ncycles = 500\nswitch = 0\nport = 3\n"
"""Stall long enough for all packets to wait for the link to the third host."""
SWAP = f"\n[[swap]]\ncycle = 40\n{OTHER}"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Return one switch with three hosts: hosts 0 and 1 send to host 2 on VLs 0 and 1."""
    file = tmp_path / "lone.toml"
    file.write_text(LONE)
    (tmp_path / "cables.txt").write_text("host H*\nS1 H1\nS1 H2\nS1 H3\n")
    (tmp_path / "table.toml").write_text("[vlarb]\nhigh = [[0, 255]]\nlow = [[1, 1]]\nlimit_of_high_priority = 255\n")
    rows = [f"{100 + packet},{sl},2,{sl},{64 * FLITS}" for packet in range(PACKETS) for sl in (0, 1)]
    (tmp_path / "packets.csv").write_text("\n".join(["cycle,source,destination,sl,bytes", *rows, ""]))
    return file


def _received(study: Path, swap: str) -> list[tuple[int, int]]:
    """Return the SL and the start cycle on the last link of each packet."""
    study.write_text(LONE + swap)
    world = make_world(read_study(study), study.parent)
    check_faults(world)
    _, tables = simulate(world, load=1.0, seed=1, trace=True)
    rows = tables["trace"].sort("delivered_cycle").select("sl", "delivered_cycle").rows()
    return [(sl, cycle - FLITS) for sl, cycle in rows]


@pytest.mark.slow
def test_the_exchange_is_in_the_first_free_cycle_and_its_packet_is_of_the_old_table(study: Path) -> None:
    """The swap happens in the first free cycle, and that cycle's packet follows the old table.

    For any request within the time of three packets, VL 0 sends one more packet and VL 1 then sends all of its packets.
    """
    alone = _received(study, STALL)
    assert [sl for sl, _ in alone] == PACKETS * [0] + PACKETS * [1]
    starts = [cycle for _, cycle in alone]
    assert starts == list(range(starts[0], starts[0] + 2 * PACKETS * FLITS, FLITS))

    for cycle in range(starts[3], starts[6]):
        old = sum(start < cycle for start in starts) + 1
        sls = [sl for sl, _ in _received(study, STALL + SWAP.replace("40", str(cycle)))]
        assert sls == [0] * old + [1] * PACKETS + [0] * (PACKETS - old), cycle


@pytest.mark.slow
def test_a_link_at_rest_exchanges_at_once(study: Path) -> None:
    """On an idle link, the swap happens immediately, so the new table decides from the first packet."""
    assert [sl for sl, _ in _received(study, SWAP + STALL)] == PACKETS * [1] + PACKETS * [0]


@pytest.mark.slow
def test_writes_during_a_pending_exchange_are_refused_in_the_run(study: Path) -> None:
    """Given writes while a swap is pending, the run is refused and file, line and key are named."""
    second = "\n[[swap]]\ncycle = {}\n" + OTHER
    study.write_text(LONE + STALL + second.format(60) + second.format(540))

    words = [
        "lone.toml:34: swap.1.cycle",
        "its writes begin in cycle 537, while the previous exchange is still pending",
    ]
    assert_refused(call("simulate", study, "--out", study.parent / "out"), *words)
    with pytest.raises(vlane.InputError, match=r"lone.toml:34: swap.1.cycle"):
        vlane.Study.read(study).run()

    study.write_text(LONE + STALL + second.format(60) + second.format(554))
    assert call("simulate", study, "--out", study.parent / "out").status == 0


def test_lists_are_as_long_as_the_longest_table_and_the_last_write_is_before_the_swap(study: Path) -> None:
    """Lists get the length of the longest table, and writes end one cycle before the swap.

    One entry is written per cycle, so the writes of two swaps in one cycle follow each other.
    """
    long = "switch = 0\nports = [1]\nlow = [[0, 1], [1, 1], [0, 1]]\nlimit_of_high_priority = 0\n"
    study.write_text(LONE + SWAP + f"\n[[swap]]\ncycle = 40\n{long}" + "\n[[swap]]\ncycle = 48\n" + long)
    world = make_world(read_study(study), study.parent)
    check_faults(world)

    swaps = swaps_of(world)

    assert world.settings.parameters["entries"] == 3
    assert [(each.number, each.begins, each.cycle) for each in swaps] == [(0, 26, 40), (1, 33, 40), (2, 41, 48)]
    assert [each.ports for each in swaps] == [(2,), (0,), (0,)]
    written = writes_of_swap(swaps[2], "vlarb")
    assert sorted(written) == list(range(41, 49))
    assert [write["schedule_ports"] for _, write in sorted(written.items())[:-1]] == [1] * 7
    assert written[48] == {"swap": 1}


@pytest.mark.slow
def test_a_study_of_python_has_swaps(study: Path) -> None:
    """A study in Python changes swaps by dotted keys. Without ports, all cabled ports swap."""
    study.write_text(LONE + STALL + SWAP.replace("ports = [3]\n", ""))
    made = vlane.Study.read(study)

    digests = [
        made.with_(changes).run().runs["digest"].item()
        for changes in ({}, {"swap.0.cycle": 600}, {"swap.0.ports": [1]}, {"swap": []})
    ]

    assert len(set(digests[:3])) == 3
    assert digests[2] == digests[3]


@pytest.mark.parametrize(
    ("swap", "words"),
    [
        (SWAP.replace("switch = 0", "switch = 1"), ["lone.toml:21: swap.0.switch", "0 to 0", "1"]),
        (SWAP.replace("switch = 0", "switch = 99"), ["lone.toml:21: swap.0.switch", "0 to 0", "99"]),
        (SWAP.replace("[3]", "[3, 4]"), ["swap.0.ports.1", "port of switch 0 with a cable", "4"]),
        (SWAP.replace("[3]", "[3, 3]"), ["swap.0.ports.1", "port 3 is listed twice", "3"]),
        (SWAP.replace("[3]", "[]"), ["swap.0.ports", "at least 1"]),
        (SWAP.replace("40", "900"), ["lone.toml:20: swap.0.cycle", "below the run's cycles, 900", "900"]),
        (SWAP.replace("40", "2"), ["swap.0.cycle", "at least 3, the number of its writes", "2"]),
        (2 * SWAP, ["swap.1.ports", "switch 0 has another swap in cycle 40", "3"]),
        (SWAP + SWAP.replace("40", "43"), ["swap.1.cycle", "at least 44", "after the swap in cycle 40", "43"]),
        (SWAP.replace("limit_of_high_priority = 255\n", ""), ["swap.0.limit_of_high_priority is missing"]),
        (SWAP.replace("255\n", "256\n"), ["swap.0.limit_of_high_priority", "255", "256"]),
        (SWAP.replace("[1, 255]", "[16, 255]"), ["lone.toml:23: swap.0.high[0] VL", "0 to 15", "16"]),
        (f"{SWAP}entries = [[0, 1]]\n", ["swap.0.entries", "cannot be used with scheduler.name vlarb"]),
        (SWAP.replace("high =", "hihg ="), ["swap.0.hihg", "unknown key", "did you mean high?"]),
        (SWAP.replace("low = [[0, 1]]\n", ""), ["swap.0", "does not give VL 0 a weight", "port 3"]),
        (
            SWAP.replace("[[1, 255]]", "[[1, 255], [1, 1]]") + "\n[scheduler.parameters]\nentries = 1\n",
            ["swap.0", "the instance allows 1 (entries per list)", "2 values"],
        ),
    ],
)
def test_impossible_swaps_are_refused(swap: str, words: list[str], study: Path) -> None:
    """Given an impossible swap, the command prints one line and writes nothing."""
    study.write_text(LONE + swap)

    assert_refused(call("simulate", study, "--out", study.parent / "out"), *words)
    assert not (study.parent / "out").exists()


@pytest.mark.parametrize("scheduler", ["drr", "rr"])
def test_schedulers_of_one_table_have_no_swap(scheduler: str, study: Path) -> None:
    """Given a scheduler with a single table, swaps are refused and suitable schedulers are named."""
    (study.parent / "table.toml").write_text("[drr]\nquantum = [1, 1]\n")
    study.write_text(LONE.replace('"vlarb"', f'"{scheduler}"') + SWAP)

    assert_refused(
        call("simulate", study, "--out", study.parent / "out"), "scheduler.name", "vlarb or dtable with swap", scheduler
    )


ROW = """[network]
topology = "edges"
file = "cables.txt"
[link]
flight_cycles = 2
LINK
[buffers]
blocks = 16
minimum_blocks = 8
largest_blocks = 4
[run]
loads = [0.75]
cycles = 6000
warm_up_cycles = 1000
[[traffic]]
sl = 0
share = 0.6
bytes = [64, 256]
[[traffic]]
sl = 1
share = 0.4
bytes = 64
burst = 3
[[stall]]
cycle = 900
cycles = 9
switch = 1
port = 2
[[rewrite]]
cycle = 2500
switch = 1
lid = 4
port = 255
[[rewrite]]
cycle = 2700
switch = 1
lid = 4
port = 2
[scheduler]
"""
FCP = 'credits = "fcp"\nfcp_blocks = 8\nfcp_period_cycles = 400\n'


def _row(folder: Path, scheduler: str, link: str) -> Path:
    """Return three switches in a row with random table swaps every few packets."""
    source, cycle = random.Random(5), 100  # noqa: S311 - repeatable
    name, _, form = scheduler.partition(" ")

    def entries(count: int) -> list[list[int]]:
        return [[source.randrange(2), source.choice((1, 3, 9, 30))] for _ in range(count)]

    (folder / "cables.txt").write_text("host H*\nS1 S2\nS2 S3\nS1 H1\nS1 H2\nS2 H3\nS3 H4\nS3 H5\n")
    (folder / "table.toml").write_text(
        "[vlarb]\nhigh = [[0, 4]]\nlow = [[0, 9], [1, 9]]\nlimit_of_high_priority = 1\n"
        "[dtable]\nentries = [[0, 5], [1, 9], [0, 20]]\n"
    )
    text = ROW.replace("LINK", link) + f'name = "{name}"\ntable = "table.toml"\n'
    text += f'parameters = {{ form = "{form}" }}\n' if form else ""
    while cycle < 5800:
        keys = {"entries": [*entries(4), [0, 40], [1, 40]]}
        if name == "vlarb":
            keys = {"high": entries(source.randint(0, 3)), "low": [*entries(2), [0, 2], [1, 1]]}
            keys["limit_of_high_priority"] = source.choice((0, 1, 2))  # type: ignore[assignment]
        text += f"[[swap]]\ncycle = {cycle}\nswitch = {source.randrange(3)}\n"
        text += "".join(f"{key} = {value}\n" for key, value in keys.items())
        cycle += source.randint(40, 90)
    file = folder / "row.toml"
    file.write_text(text)
    return file


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheduler", "link", "rtl"),
    [
        ("vlarb exact", "", "1"),
        pytest.param("vlarb exact", FCP, "all", marks=pytest.mark.long),
        pytest.param("vlarb line_rate", "", "1", marks=pytest.mark.long),
        pytest.param("vlarb line_rate", FCP, "all", marks=pytest.mark.long),
        pytest.param("dtable", "", "all", marks=pytest.mark.long),
        pytest.param("dtable line_rate", "", "1", marks=pytest.mark.long),
    ],
)
def test_deliveries_are_the_same_while_tables_are_exchanged_in_hardware(
    scheduler: str, link: str, rtl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With dozens of swaps, hardware switches deliver each packet in golden's cycle.

    Delaying the hardware's swap causes a mismatch.
    """
    late_by, study = 8 if link else 1, _row(tmp_path, scheduler, link)
    whole = call("cosim", "network", study, "--set", "swap=[]", "--rtl", rtl, "--json").json()

    called = call("cosim", "network", study, "--rtl", rtl, "--json")

    assert called.status == 0, called.err
    done = called.json()
    assert done["digest_golden"] == done["digest_hardware"] != whole["digest_golden"]
    assert (done["bad_flits"], done["dropped"]) == (0, done["golden_dropped"])
    assert done["deliveries"] > 5000

    def late(swap: TableSwap, name: str) -> dict[int, Any]:
        return {cycle + late_by * ("swap" in write): write for cycle, write in writes_of_swap(swap, name).items()}

    monkeypatch.setattr(network_hardware, "writes_of_swap", late)
    assert call("cosim", "network", study, "--rtl", rtl, "--json").json()["mismatches"] == 1
