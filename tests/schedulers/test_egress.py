"""``vlane egress`` on one output port: timing, credits, departures and refusals, by scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import assert_refused, call, long_but
from vlane.schedulers.registry import SCHEDULERS

_VALUES = {list[int]: [10, 20, 30], list[list[int]]: [[0, 30], [1, 5], [0, 30], [2, 80]]}
_TABLES = "".join(
    [
        f"[{each.name}]\n{key} = {_VALUES[kind]}\n"
        for each in SCHEDULERS.values()
        if each.section and each.maps
        for key, (kind, _) in each.section.keys.items()
    ]
    + ["[sl2vl]\nrow = [2, 0, 1, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15]\n"]
)


@pytest.mark.slow
def test_egress_models_agree_and_write_departures(table: Path, arrivals: Path, tmp_path: Path) -> None:
    """Golden and hardware send the same packets in the same cycles under limited credits.

    The departures file lists the same packets as the JSON document counts.
    """
    room = tmp_path / "credits.csv"
    room.write_text("cycle,vl,blocks\n0,1,300\n2000,1,20000\n")
    out = tmp_path / "departures.csv"

    called = call(
        "egress",
        "--table",
        table,
        "--arrivals",
        arrivals,
        "--credits",
        room,
        "--model",
        "both",
        "--departures",
        out,
        "--json",
    )

    done = called.json()
    assert called.status == 0
    assert done["equal"] is True
    assert done["departures"] == str(out)
    lines = out.read_text().splitlines()
    assert lines[0] == "cycle,vl,bytes,list"
    assert sum(lane["packets"] for lane in done["per_vl"]) == len(lines) - 1 == 400
    assert {line.split(",")[3] for line in lines[1:]} == {"high", "low", "vl15"}
    assert sum(lane["share"] for lane in done["per_vl"]) == pytest.approx(1)


def test_egress_timing_is_the_documented_one(table: Path, tmp_path: Path) -> None:
    """A packet may start in its arrival cycle and occupies the link for its started 64-byte blocks."""
    file = tmp_path / "few.csv"
    file.write_text("cycle,vl,bytes\n10,2,65\n10,2,64\n10,15,129\n40,0,64\n")

    done = call("egress", "--table", table, "--arrivals", file, "--list", "--json").json()

    assert done["departures"] == [
        {"cycle": 10, "vl": 15, "bytes": 129, "list": "vl15"},
        {"cycle": 13, "vl": 2, "bytes": 65, "list": "low"},
        {"cycle": 15, "vl": 2, "bytes": 64, "list": "low"},
        {"cycle": 40, "vl": 0, "bytes": 64, "list": "high"},
    ]
    assert {lane["vl"]: lane["max_wait_cycles"] for lane in done["per_vl"]} == {0: 0, 2: 5, 15: 0}


def test_unserved_packets_are_left_behind(table: Path, tmp_path: Path) -> None:
    """Packets on a lane that no list serves, or without credit, are counted as left behind."""
    file, room = tmp_path / "few.csv", tmp_path / "room.csv"
    file.write_text("cycle,vl,bytes\n0,3,64\n0,0,128\n0,1,64\n")
    room.write_text("cycle,vl,blocks\n5,0,1\n")

    done = call("egress", "--table", table, "--arrivals", file, "--credits", room, "--list", "--json").json()

    assert [d["vl"] for d in done["departures"]] == [1]
    assert {lane["vl"]: lane["left_behind"] for lane in done["per_vl"]} == {0: 1, 1: 0, 3: 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cycle,vl,bytes\n-1,0,64\n", [":2:", "cycle", "-1"]),
        ("cycle,vl,bytes\n1,16,64\n", [":2:", "vl", "0 to 15", "16"]),
        ("cycle,vl,bytes\n1,0,0\n", [":2:", "bytes", "1 to 4224", "0"]),
        ("cycle,vl,bytes\n1,0,5000\n", [":2:", "bytes", "5000"]),
        ("cycle,vl,bytes\n1,0\n", [":2:", "number of cells in the row must be 3, not 2"]),
        ("cycle,vl\n1,0\n", [":1:", "header"]),
        ("cycle,vl,bytes\n1,x,64\n", [":2:", "vl", "x"]),
        ("", ["empty"]),
    ],
)
def test_bad_arrivals_are_refused(text: str, words: list[str], table: Path, tmp_path: Path) -> None:
    """Given an arrivals file with an invalid row, the command names file, line and field."""
    file = tmp_path / "bad.csv"
    file.write_text(text)

    assert_refused(call("egress", "--table", table, "--arrivals", file), "bad.csv", *words)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", long_but({"dtable", "wrr"}, list(SCHEDULERS)[1:]))
def test_every_scheduler_agrees_with_its_hardware(scheduler: str, arrivals: Path, tmp_path: Path) -> None:
    """For each scheduler with a lane map, golden and hardware depart packets in equal cycles."""
    table, room = tmp_path / "table.toml", tmp_path / "credits.csv"
    table.write_text(_TABLES)
    room.write_text("cycle,vl,blocks\n0,1,300\n2000,1,20000\n")

    called = call(
        "egress",
        "--scheduler",
        scheduler,
        "--table",
        table,
        "--arrivals",
        arrivals,
        "--credits",
        room,
        "--model",
        "both",
        "--list",
        "--json",
    )

    done = called.json()
    assert called.status == 0, called.err
    assert done["equal"] is True
    assert done["parameters"]["requesters"] == 3
    assert sum(lane["packets"] for lane in done["per_vl"]) == 400
    assert {departure["list"] for departure in done["departures"]} == {"none", "vl15"}


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", long_but({"vlarb"}, ["vlarb", "dtable"]))
def test_line_rate_forms_agree_with_their_hardware(scheduler: str, table: Path, arrivals: Path, tmp_path: Path) -> None:
    """For each line-rate form, golden and hardware depart packets in equal cycles.

    A line-rate form also runs while the link is busy, needs the packets behind the heads, and must come to rest before
    idle time is skipped.
    """
    room = tmp_path / "credits.csv"
    room.write_text("cycle,vl,blocks\n0,1,300\n2000,1,20000\n")
    if scheduler == "dtable":
        table.write_text("[dtable]\nentries = [[0, 30], [1, 5], [0, 30], [2, 80], [3, 1]]\n")

    called = call(
        "egress",
        "--scheduler",
        scheduler,
        "--table",
        table,
        "--arrivals",
        arrivals,
        "--credits",
        room,
        "--param",
        "form=line_rate",
        "--model",
        "both",
        "--json",
    )

    done = called.json()
    assert called.status == 0, called.err
    assert done["equal"] is True
    assert sum(lane["packets"] for lane in done["per_vl"]) == 400


@pytest.mark.parametrize(("scheduler", "latency"), [("vlarb", 7), ("dtable", 10)])
def test_an_idle_line_rate_form_grants_after_its_latency(scheduler: str, latency: int, tmp_path: Path) -> None:
    """An idle line-rate form grants after its documented latency, however long it was idle.

    The latency also applies to a packet that arrives while the link is busy.
    """
    table, file = tmp_path / "table.toml", tmp_path / "few.csv"
    table.write_text(
        "[vlarb]\nhigh = []\nlow = [[0, 9], [1, 9], [2, 9]]\nlimit_of_high_priority = 0\n"
        "[dtable]\nentries = [[0, 66], [1, 66], [2, 66]]\n"
    )
    file.write_text("cycle,vl,bytes\n10,1,4224\n12,2,64\n100000,0,64\n")

    done = call(
        "egress",
        "--scheduler",
        scheduler,
        "--table",
        table,
        "--arrivals",
        file,
        "--param",
        "form=line_rate",
        "--list",
        "--json",
    ).json()

    starts = [(departure["cycle"], departure["vl"]) for departure in done["departures"]]
    assert starts == [(10 + latency, 1), (10 + latency + 66, 2), (100_000 + latency, 0)]


def test_a_line_rate_table_has_no_map(arrivals: Path, tmp_path: Path) -> None:
    """Given a lane map with a line-rate form, whose requesters are the lanes, the table is refused."""
    table = tmp_path / "table.toml"
    table.write_text(_TABLES)

    called = call(
        "egress", "--scheduler", "dtable", "--table", table, "--arrivals", arrivals, "--param", "form=line_rate"
    )

    assert_refused(called, "table.toml", "sl2vl cannot be used with form line_rate")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_table_file_must_be_there(scheduler: str, arrivals: Path) -> None:
    """Given a missing table file, the command names the unreadable file."""
    called = call("egress", "--scheduler", scheduler, "--table", "none.toml", "--arrivals", arrivals)

    assert_refused(called, "none.toml", "cannot be read")


def test_turns_without_a_grant_take_their_cycles(tmp_path: Path) -> None:
    """Given weight 1 and a packet of 66 blocks, the packet starts after 65 turns without a grant.

    Time does not skip over turns in which the deficit only accumulates.
    """
    table, file = tmp_path / "table.toml", tmp_path / "one.csv"
    table.write_text("[dtable]\nentries = [[0, 1]]\n")
    file.write_text("cycle,vl,bytes\n10,0,4224\n10,1,64\n")

    done = call("egress", "--scheduler", "dtable", "--table", table, "--arrivals", file, "--list", "--json").json()

    assert done["departures"] == [{"cycle": 10 + 65, "vl": 0, "bytes": 4224, "list": "none"}]
    assert {lane["vl"]: lane["left_behind"] for lane in done["per_vl"]} == {0: 0, 1: 1}


def test_cycles_of_the_shared_tag_unit_are_not_skipped(tmp_path: Path) -> None:
    """Given a shared tag unit and two heads, the first packet leaves one cycle later.

    The unit computes one tag per cycle, and time does not skip these cycles.
    """
    table, file = tmp_path / "table.toml", tmp_path / "two.csv"
    table.write_text("[scfq]\nweight = [1, 1]\n")
    file.write_text("cycle,vl,bytes\n10,0,64\n10,1,64\n")

    done = call("egress", "--scheduler", "scfq", "--table", table, "--arrivals", file, "--list", "--json").json()

    assert [(departure["cycle"], departure["vl"]) for departure in done["departures"]] == [(11, 0), (12, 1)]
    assert {lane["vl"]: lane["left_behind"] for lane in done["per_vl"]} == {0: 0, 1: 0}


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [("wfq", ["--scheduler", "vlarb, dtable, drr, scfq, rr", "wfq"]), ("drr", ["table.toml", "drr", "missing"])],
)
def test_scheduler_must_be_known_and_have_its_table(
    scheduler: str, words: list[str], table: Path, arrivals: Path
) -> None:
    """Given an unknown scheduler or a table file without its section, the command is refused."""
    assert_refused(call("egress", "--scheduler", scheduler, "--table", table, "--arrivals", arrivals), *words)
