"""Refusals due to the paths of packets, and the names used in them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import BAD, DATA, STUDY, Called, assert_refused, call, long_but
from tests.network.networks import made, pairs_with_traffic
from vlane.errors import InputError
from vlane.golden.schedulers.served import served_lanes
from vlane.golden.topologies.edge_list import read_edges
from vlane.golden.topologies.routing import dimension_order
from vlane.golden.topologies.topology import torus
from vlane.golden.traffic.classes import TrafficClass

_FABRIC = 'topology = "fabric"\nfolder = "{}"'
_TREE = 'topology = "tree"\nk = 2\nn = 2'
_TABLES = {
    "vlarb": "[vlarb]\nhigh = [[0, {}]]\nlow = [[1, {}]]\nlimit_of_high_priority = 255\n",
    "dtable": "[dtable]\nentries = [[0, {}], [1, {}]]\n",
    "drr": "[drr]\nquantum = [{}, {}]\n",
    "scfq": "[scfq]\nweight = [{}, {}]\n",
}
_GIVES = {"vlarb": "a weight in one of its lists", "dtable": "a weight", "drr": "a quantum", "scfq": "a weight"}


def _circle(called: Called) -> tuple[str, list[str]]:
    """Return the first line and the remaining lines of a refusal."""
    assert (called.status, called.out) == (2, "")
    first, *links = called.err.splitlines()
    return first, links


def test_the_circle_is_printed_whole_by_names_and_numbers(study: Path) -> None:
    """A cycle of links is reported link by link with names, and each link starts where the previous ends.

    The routes are min-hop in an irregular network.
    """
    study.write_text(STUDY.replace(_TREE, _FABRIC.format(DATA / BAD)))

    first, links = _circle(call("simulate", study, "--out", study.parent / "out"))

    assert first == (
        f"vlane: {study}:1: routes: {len(links)} channels (link and VL) wait for each other in a cycle, "
        "which can deadlock"
    )
    assert len(links) >= 3
    switches = []
    for link in links:
        begin, _, end = link.removeprefix("  ").partition(" -> ")
        assert begin.startswith("switch ")
        assert end.endswith(", VL 0")
        switches.append((begin.split(" port")[0], end.split(" port")[0]))
    assert [end for _, end in switches] == [begin for begin, _ in (*switches[1:], switches[0])]
    assert switches[0][0].endswith(")")
    assert not (study.parent / "out").exists()


def test_a_long_circle_is_not_cut(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cycle of 40 links is reported completely."""
    flat = dimension_order(torus((40,)), 1)
    flat.vl[:], flat.nic_vl[:] = 0, 0
    monkeypatch.setattr("vlane.sim_top.scenario.world.dimension_order", lambda *_, **__: flat)
    study.write_text(
        STUDY.replace(_TREE, 'topology = "torus"\nsize = [40]')
        .replace("share = 0.5\n", "", 1)
        .replace("[[traffic]]\nsl = 1\nshare = 0.5\nbytes = [64, 512]\n", "")
    )

    _, links = _circle(call("simulate", study, "--out", study.parent / "out"))

    assert len(links) == len(set(links)) == 40


def test_details_of_a_refusal_stay_and_are_harmless() -> None:
    """Details of a refusal survive pickling and a change of location, with control characters escaped."""
    error = InputError("routes", "whole", "not", details=["switch 1 (\x1b[2J) port 1", "x" * 500])

    for same in (error, pickle.loads(pickle.dumps(error)), error.at("file", 3)):  # noqa: S301 - its own
        assert same.details == ("switch 1 (\\x1b[2J) port 1", "x" * 500)
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("verb", [("simulate",), ("cosim", "network")], ids=" ".join)
@pytest.mark.parametrize("name", _TABLES)
def test_a_lane_with_traffic_that_no_entry_serves_is_refused(name: str, verb: tuple[str, ...], study: Path) -> None:
    """Given traffic on a VL without a weight, the error names table, VL, SL and a port before any run."""
    (study.parent / "t.toml").write_text(_TABLES[name].format(4, 0))
    text = STUDY.replace("blocks = 64", "blocks = 64\nminimum_blocks = 8\nlargest_blocks = 8")
    study.write_text(text + f'[scheduler]\nname = "{name}"\ntable = "t.toml"\n')
    options = ("--out", study.parent / "out") if verb == ("simulate",) else ("--rtl", "0")

    called = call(*verb, study, *options)

    assert_refused(called, "t.toml: scheduler.table", f"does not give VL 1 {_GIVES[name]}", "of SL 1", "port")
    assert not (study.parent / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", long_but(["dtable"], ["dtable", "drr", "scfq"]))
def test_tables_name_levels_where_a_level_has_two_lanes(name: str, study: Path) -> None:
    """With datelines, an SL's two VLs are one requester, which is refused without a weight."""
    torus_of_lines = STUDY.replace(_TREE, 'topology = "torus"\nsize = [3]').replace("cycles = 3000", "cycles = 700")
    study.write_text(torus_of_lines + f'[scheduler]\nname = "{name}"\ntable = "t.toml"\n')
    (study.parent / "t.toml").write_text(_TABLES[name].format(4, 2))
    served = call("simulate", study, "--out", study.parent / "out")
    (study.parent / "t.toml").write_text(_TABLES[name].format(4, 0))
    unserved = call("simulate", study, "--out", study.parent / "other")

    assert served.status == 0, served.err
    assert_refused(unserved, "t.toml: scheduler.table", f"does not give VL 2 {_GIVES[name]}", "of SL 1", "port")


@pytest.mark.slow
def test_a_lane_without_traffic_needs_no_entry(study: Path) -> None:
    """A VL without traffic needs no weight."""
    (study.parent / "t.toml").write_text(_TABLES["vlarb"].format(4, 0))
    traffic = STUDY.replace("sl = 1\n", "sl = 0\n").replace("cycles = 3000", "cycles = 700")
    study.write_text(traffic + '[scheduler]\nname = "vlarb"\ntable = "t.toml"\n')

    assert call("simulate", study, "--out", study.parent / "out").status == 0


def _captured(study: Path, folder: Path, traffic: str) -> Called:
    text = STUDY[: STUDY.index("[[traffic]]")].replace(_TREE, _FABRIC.format(folder)).replace("3000", "700")
    text = text.replace("blocks = 64", "blocks = 256").replace("[0.2, 0.5]", "[0.2]").replace("[1, 2]", "[1]")
    study.write_text(f'{text}[scheduler]\nname = "vlarb"\n{traffic}')
    return call("simulate", study, "--out", study.parent / "out")


def _spoiled(folder: Path, command: str) -> None:
    """Remove VL 0 from both lists of one port's captured table."""
    file = folder / "smpquery-vlarb.txt"
    before, header, after = file.read_text().partition(command)
    assert header
    own, mark, rest = after.partition("\n$ ")
    lines = own.splitlines()
    for at, line in enumerate(lines):
        if line.startswith("WEIGHT"):
            vls = lines[at - 1].split("|")
            cells = line.split("|")
            lines[at] = "|".join("0x0 " if vl.strip() == "0x0" else cell for vl, cell in zip(vls, cells, strict=True))
    file.write_text(before + header + "\n".join(lines) + mark + rest)


def test_captured_tables_are_looked_at_where_packets_pass(study: Path, capture_copy: Any) -> None:
    """A captured table without VL 0 is refused if packets of VL 0 leave at its port."""
    folder = capture_copy("two_switch")
    whole = _captured(study, folder, "[[traffic]]\nsl = 0\n")
    assert whole.status == 0, whole.err
    text = (folder / "smpquery-vlarb.txt").read_text()
    command = next(line for line in text.splitlines() if line.startswith("$ ") and "vlarb" in line)
    _spoiled(folder, command)
    (study.parent / "out" / "manifest.json").unlink()

    spoiled = _captured(study, folder, "[[traffic]]\nsl = 0\n")

    assert_refused(spoiled, str(folder), "captured table of", "(", "does not give VL 0", "of SL 0 use it there")


def test_only_pairs_that_have_packets_count() -> None:
    """Only pairs of hosts with packets before the end of the run are checked."""
    net = made(
        torus((4,)), dimension_order(torus((4,)), 1), lanes=2, cycles=100, trace=[(5, 0, 1, 0, 64), (200, 2, 3, 0, 64)]
    )

    assert np.argwhere(pairs_with_traffic(net)).tolist() == [[0, 1]]  # the other packet is generated after the end


@pytest.mark.parametrize(
    ("traffic", "pairs"),
    [
        (TrafficClass(0, 0.5, 64, 64), [[True] * 3] * 3),
        (TrafficClass(0, 0.5, 64, 64, pattern="others"), [[x != y for x in range(3)] for y in range(3)]),
        (TrafficClass(0, 0.5, 64, 64, pattern=(1, -1, 0)), [[0, 1, 0], [0, 0, 0], [1, 0, 0]]),
        (
            TrafficClass(0, 0.5, 64, 64, pattern=(1, -1, 0), hot_share=0.5, hot_hosts=(2,)),
            [[0, 1, 1], [0, 0, 0], [1, 0, 1]],
        ),
        (TrafficClass(0, 0.5, 64, 64, hot_share=1.0, hot_hosts=(2,)), [[0, 0, 1]] * 3),
    ],
    ids=["uniform", "others", "table", "table_and_hot", "all_hot"],
)
def test_pairs_of_a_class_are_those_it_may_draw(traffic: TrafficClass, pairs: list[list[int]]) -> None:
    """A class is checked for exactly the pairs of hosts it may draw."""
    topology = torus((3,))
    net = made(topology, dimension_order(topology, 1), lanes=2, classes=[traffic], cycles=100)

    assert pairs_with_traffic(net).tolist() == np.array(pairs, np.bool_).tolist()


@pytest.mark.parametrize("form", ["", pytest.param("line_rate", marks=pytest.mark.long)])
def test_served_lanes_are_those_with_a_weight(form: str) -> None:
    """Served lanes are those with a positive weight in a list."""
    writes = [(1, 0, 1, 5), (1, 1, 2, 0), (0, 0, 3, 1)]

    assert served_lanes("vlarb", range(4), data_vls=4, entries=4, form=form, writes=writes) == {1, 3}


def test_a_map_that_gives_a_lane_to_nobody_leaves_it_unserved() -> None:
    """Round robin serves all lanes, except lanes mapped to no requester."""
    assert served_lanes("rr", range(3), data_vls=3, requesters=0) == {0, 1, 2}
    assert served_lanes("rr", range(3), data_vls=3, requesters=2, writes=[(1, 1, 2, 0)]) == {0, 2}


@pytest.mark.parametrize(
    ("lmc", "routing", "words"),
    [
        (2, "dmodk", "network.lmc must be 0 to 1 (a host reaches 2 roots), not 2"),
        (1, "updown", "network.lmc must be 0 with routing updown, not 1"),
        (1, "valiant", "network.lmc must be 0 with routing valiant, not 1"),
        (8, "dmodk", "network.lmc must be at most 7, not 8"),
    ],
)
def test_an_lmc_without_paths_of_its_own_is_refused(lmc: int, routing: str, words: str, study: Path) -> None:
    """Given an LMC with more LIDs than distinct paths, the study is refused."""
    study.write_text(STUDY.replace(_TREE, f'{_TREE}\nlmc = {lmc}\nrouting = "{routing}"'))

    assert_refused(call("simulate", study, "--out", study.parent / "out"), words)


@pytest.mark.slow
def test_links_and_flows_keep_the_names_of_an_edge_list(study: Path) -> None:
    """Tables of links and flows contain an edge list's names next to the numbers."""
    (study.parent / "net.txt").write_text("host H*\nleaf-A H1\nleaf-A H2\nleaf-A \x1b[2Jroot\n\x1b[2Jroot Hé\n")
    text = STUDY.replace(_TREE, 'topology = "edges"\nfile = "net.txt"').replace("cycles = 3000", "cycles = 700")
    study.write_text(text + "[measure]\nflows = true\n")

    called = call("simulate", study, "--out", study.parent / "out")

    assert called.status == 0, called.err
    runs = study.parent / "out" / "runs"
    links = pl.read_parquet(runs / "load0.5-seed1.links.parquet").filter(pl.col("vl") == 0)
    assert links.select("from", "from_name", "to", "to_name").rows() == [
        ("switch 0 port 1", "leaf-A", "host 0", "H1"),
        ("switch 0 port 2", "leaf-A", "host 1", "H2"),
        ("switch 0 port 3", "leaf-A", "switch 1 port 1", "\\x1b[2Jroot"),
        ("switch 1 port 1", "\\x1b[2Jroot", "switch 0 port 3", "leaf-A"),
        ("switch 1 port 2", "\\x1b[2Jroot", "host 2", "Hé"),
        ("host 0", "H1", "switch 0 port 1", "leaf-A"),
        ("host 1", "H2", "switch 0 port 2", "leaf-A"),
        ("host 2", "Hé", "switch 1 port 2", "\\x1b[2Jroot"),
    ]
    flows = pl.read_parquet(runs / "load0.5-seed1.flows.parquet")
    names = dict(enumerate(("H1", "H2", "Hé")))
    for side in ("source", "destination"):
        assert flows[f"{side}_name"].to_list() == [names[host] for host in flows[side]]
    assert read_edges(study.parent / "net.txt").switch_names == ("leaf-A", "\x1b[2Jroot")


def test_networks_without_names_have_none(study: Path) -> None:
    """Without names, the name columns exist and are empty."""
    study.write_text(STUDY.replace("cycles = 3000", "cycles = 700"))

    assert call("simulate", study, "--out", study.parent / "out").status == 0
    links = pl.read_parquet(study.parent / "out" / "runs" / "load0.5-seed1.links.parquet")
    assert links["from_name"].null_count() == links["to_name"].null_count() == len(links) > 0
    assert links["from_name"].dtype == pl.String
