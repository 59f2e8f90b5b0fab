"""Tracing of pairs as arrays, against a plain model that follows each pair."""

from __future__ import annotations

import random
import re
from pathlib import Path
from unittest import mock

import networkx as nx
import pytest

from tests.conftest import BAD, DATA, GOOD
from tests.fabric.fabrics import FILES, torus, tree, write_capture
from tests.fabric.plain_fabric import PlainTrace, plain_trace
from vlane.fabric import lost, trace
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.loops import components, credit_loops
from vlane.fabric.model import Fabric, Kind
from vlane.fabric.path_table import NO_SL
from vlane.fabric.sl2vl_tables import SL2VLTables
from vlane.fabric.trace import Trace, trace_pairs

PLANS = {"tree": lambda: tree(2, 3), "torus": lambda: torus((4, 3), 2), "mesh": lambda: torus((4, 3), 2, wrap=False)}


def waits_of(made: Trace) -> dict[trace.Hop, set[trace.Hop]]:
    waits: dict[trace.Hop, set[trace.Hop]] = {}
    for held, wanted in zip(*(hops.tolist() for hops in made.waits.pairs()), strict=True):
        waits.setdefault(made.hop(held), set()).add(made.hop(wanted))
    return waits


def assert_same(fabric: Fabric, made: Trace, plain: PlainTrace) -> None:
    assert (made.sls, made.assumed) == (plain.sls, plain.assumed)
    assert made.pairs == sum(plain.sls.values())
    assert (made.unsure, made.lost.unknown) == (len(plain.unsure), plain.unknown)
    assert [each[:2] for each in made.lost.named()] == [each[:2] for each in plain.unreachable]
    for ours, theirs in zip(made.lost.named(), plain.unreachable, strict=True):
        assert ours.reason.startswith(theirs[2]), (ours, theirs)
    ways = waits_of(made)
    plain.waits = {hop: ws for hop, ws in plain.waits.items() if fabric.nodes[hop[0].guid].kind is Kind.SWITCH}
    if any("forever" in reason for _, _, reason in plain.unreachable):
        assert all(wanted <= ways[held] for held, wanted in plain.waits.items())
        return
    bare = {(*made.wiring.port(source), made.wiring.port(out).number) for source, out in made.bare}
    assert bare == {(guid, source, to) for guid, source, to in plain.bare if fabric.sl2vl}
    used = {made.hop(number): int(pairs) for number, pairs in enumerate(made.traffic.tolist()) if pairs}
    assert used == plain.traffic
    unsure = {made.hop(number): int(pairs) for number, pairs in enumerate(made.unsure_traffic.tolist()) if pairs}
    assert unsure == plain.unsure_traffic
    assert ways == plain.waits


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_captures_are_followed_as_the_plain_model_does(name: str) -> None:
    """For each capture, traffic, waits and SLs equal the plain model's."""
    fabric = load_fabric(DATA / name)

    assert_same(fabric, trace_pairs(fabric), plain_trace(fabric))


def spoil(folder: Path, source: random.Random) -> None:
    """Add missing entries, wrong ports, dropped levels and missing rows to a capture."""
    file = folder / "opensm-lfts.dump"
    lines = file.read_text().splitlines()
    rows = [number for number, line in enumerate(lines) if line.startswith("0x") and "Channel" in line]
    for number in source.sample(rows, source.randrange(6)):
        port = source.choice([0, 1, 2, 3, 7, 200, 255])
        lines[number] = f"{lines[number][:7]}{port:03d}{lines[number][10:]}"
    file.write_text("\n".join(lines) + "\n")
    file = folder / "opensm-sl2vl.dump"
    lines = file.read_text().splitlines()
    rows = [number for number, line in enumerate(lines) if re.match(r"\d+ +\d+ +:", line)]
    for number in source.sample(rows, source.randrange(6)):
        head, lanes = lines[number].split(" : ")
        lines[number] = f"{head} : {lanes.replace('1 ', '15', 1) if source.random() < 0.5 else '15 ' * 16}"
    for number in sorted(source.sample(rows, source.randrange(4)), reverse=True):
        del lines[number]
    file.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", PLANS)
def test_spoiled_fabrics_are_followed_as_the_plain_model_does(name: str, seed: int, tmp_path: Path) -> None:
    """For spoiled fabrics, traces and credit loops equal those of the plain model.

    The number of pairs followed together varies.
    """
    source = random.Random(seed)  # noqa: S311
    plan = PLANS[name]()
    rows = [source.randrange(4) for _ in range(997)]
    folder = write_capture(
        tmp_path / name,
        plan,
        without=tuple(source.sample(FILES, 2)),
        levels=source.choice([1, 3, 8]),
        row=lambda switch, source, to, sl: rows[(switch * 31 + source * 7 + to * 3 + sl) % 997],
    )
    spoil(folder, source)
    fabric = load_fabric(folder)
    for guid in source.sample(sorted(fabric.lfts), source.choice([0, 0, 1, 2])):
        del fabric.lfts[guid]
    for pair in list(fabric.path_sls)[:: source.choice([1 << 20, 3, 7])][1:]:
        fabric.path_sls.put(*pair, NO_SL)

    with mock.patch.object(trace, "_AT_ONCE", source.choice([1, 50, 10**6])), mock.patch.object(trace, "_LONG", 4):
        made = trace_pairs(fabric)

    assert_same(fabric, made, plain_trace(fabric))
    graph = nx.DiGraph([(held, wanted) for held, all_wanted in waits_of(made).items() for wanted in all_wanted])
    knots = [knot for knot in nx.strongly_connected_components(graph) if len(knot) > 1]
    loops = credit_loops(made)
    assert len(loops) == len(knots)
    for loop in loops:
        assert all(graph.has_edge(*edge) for edge in zip(loop, (*loop[1:], loop[0]), strict=True))
        assert any(set(loop) <= knot for knot in knots)


@pytest.mark.parametrize("seed", range(40))
def test_components_are_those_of_networkx(seed: int) -> None:
    """Given random graphs, sparse to dense and with self-loops, the components equal those of networkx."""
    source = random.Random(seed)  # noqa: S311
    nodes = source.randrange(1, 40)
    edges = [(source.randrange(nodes), source.randrange(nodes)) for _ in range(source.randrange(3 * nodes))]
    graph = nx.DiGraph(edges)

    found = list(components({node: list(graph[node]) for node in graph if len(graph[node])}))

    assert sorted(map(sorted, found)) == sorted(map(sorted, nx.strongly_connected_components(graph)))


def test_components_of_a_long_path_need_no_recursion() -> None:
    """Given a cycle of 100,000 nodes, one component holds all nodes."""
    assert [len(each) for each in components({node: [(node + 1) % 100_000] for node in range(100_000)})] == [100_000]


def test_ring_is_found_and_named(tmp_path: Path) -> None:
    """A forwarding loop of two switches is found after few steps and named."""
    plan = torus((9, 9), 1)
    folder = write_capture(tmp_path / "ring", plan)
    file = folder / "opensm-lfts.dump"
    lid = 1 + 81 + 40
    tables = file.read_text().split("Unicast")
    for switch, port in ((0, 2), (1, 3)):
        tables[1 + switch] = re.sub(rf"(0x{lid:04x}) \d+", rf"\1 {port:03d}", tables[1 + switch])
    file.write_text("Unicast".join(tables))

    with mock.patch.object(trace._Tracer, "_leave", autospec=True, side_effect=trace._Tracer._leave) as steps:
        made = trace_pairs(load_fabric(folder))

    assert {each.dlid for each in made.lost.named()} == {lid}
    assert all("circulates forever through S" in each.reason for each in made.lost.named())
    assert made.lost.count > 0
    assert steps.call_count < 300


def test_pairs_beyond_the_list_are_counted(tmp_path: Path) -> None:
    """Beyond the list's limit, lost pairs are counted and summarised."""
    folder = write_capture(tmp_path / "tree", tree(2, 3), row=lambda *_: 0)
    text = (folder / "opensm-lfts.dump").read_text()
    (folder / "opensm-lfts.dump").write_text(re.sub(r"(0x\w{4}) \d\d\d # Ch", r"\1 255 # Ch", text))

    with mock.patch.object(lost, "LISTED", 5):
        report = check_fabric(load_fabric(folder))

    assert report.unreachable_pairs == 8 * 7
    assert len(report.unreachable) == 5
    lines = [finding for finding in report.warnings if finding.code == "UNREACHABLE"]
    assert len(lines) == 4
    assert lines[0].message == "14 pairs do not arrive: S0 has no entry for LID 14 and 7 more LIDs"


def test_adapters_without_a_switch_are_followed_too(tmp_path: Path) -> None:
    """Adapters connected without a switch, and switches without adapters, are traced."""
    lines = (
        'Ca\t1 "H-01"\t# "A"\n[1](2) \t"H-03"[1]\t# lid 1 lmc 2 "B" lid 9 4xSDR\n'
        'Ca\t1 "H-03"\t# "B"\n[1](4) \t"H-01"[1]\t# lid 9 lmc 0 "A" lid 1 4xSDR\n'
    )
    (tmp_path / "ibnetdiscover.txt").write_text(lines)
    fabric = load_fabric(tmp_path)
    made = trace_pairs(fabric)
    assert made.sls == {0: 5}
    assert_same(fabric, made, plain_trace(fabric))
    assert not any("lfts" in note for note in fabric.notes)

    (tmp_path / "ibnetdiscover.txt").write_text('Switch\t8 "S-01"\t\t# "S1" base port 0 lid 3 lmc 0\n')
    report = check_fabric(load_fabric(tmp_path))
    assert (report.ok, report.path_sls) == (True, {})


@pytest.mark.parametrize("name", PLANS)
def test_generated_fabrics_are_what_they_are_meant_to_be(name: str, tmp_path: Path) -> None:
    """Generated trees and meshes have no credit loop, a torus has one, and every pair arrives."""
    report = check_fabric(load_fabric(write_capture(tmp_path / name, PLANS[name]())))

    assert (report.unreachable_pairs, report.unserved) == (0, ())
    assert bool(report.loops) == (name == "torus")
    assert report.not_checked == ()


def test_what_holds_for_the_fabric_is_worked_out_once(tmp_path: Path) -> None:
    """Without PortInfo, the number of lanes is computed only once for the whole fabric."""
    folder = write_capture(tmp_path / "torus", torus((8, 8), 1), without=("smpquery-portinfo.txt",))
    fabric = load_fabric(folder)

    with mock.patch.object(SL2VLTables, "different", autospec=True, side_effect=SL2VLTables.different) as asked:
        report = check_fabric(fabric)

    assert asked.call_count <= 1
    assert report.loops
    assert report.unreachable_pairs == 0


def test_equal_rows_and_tables_are_shared(tmp_path: Path) -> None:
    """Equal rows and tables are stored once."""
    folder = write_capture(tmp_path / "tree", tree(3, 3), row=lambda _switch, _source, to, sl: to + sl)
    fabric = load_fabric(folder)

    assert len(fabric.sl2vl) == sum(node.ports * (node.ports + 1) for node in fabric.of_kind(Kind.SWITCH)) + 27
    assert len(fabric.sl2vl.rows) == 4
    assert len({id(table) for table in fabric.vlarb.values()}) == 1
    assert all(isinstance(table, bytes) for table in fabric.lfts.values())


def test_compact_tables_hold_what_the_text_says(tmp_path: Path) -> None:
    """Compact tables contain the rows, ports and levels of the text files."""
    source = random.Random(5)  # noqa: S311
    plan = tree(2, 3)
    rows = [[source.randrange(16) for _ in range(16)] for _ in range(40)]
    folder = write_capture(
        tmp_path / "tree",
        plan,
        vls=16,
        levels=7,
        without=("smpquery-sl2vl.txt",),
        row=lambda switch, source, to, sl: rows[(switch + 3 * source + 5 * to) % 40][sl],
    )
    fabric = load_fabric(folder)

    plain: dict[tuple[int, int, int], tuple[int, ...]] = {}
    guid, host = 0, False
    for line in (folder / "opensm-sl2vl.dump").read_text().splitlines():
        if head := re.match(r"(\w).* (0x\w+), base", line):
            host = head.group(1) == "C"
            guid = int(head.group(2), 16) - host
        elif line[:1].isdigit():
            places, lanes = line.split(" : ")
            at, to = map(int, places.split())
            plain[guid, at, to or 1] = tuple(map(int, lanes.split()))
    assert dict(fabric.sl2vl) == plain
    levels = {}
    for line in (folder / "path-sl.csv").read_text().splitlines()[1:]:
        slid, dlid, sl = map(int, line.split(",")[:3])
        levels[slid, dlid] = sl
    assert dict(fabric.path_sls) == levels
    assert (1, 1) not in fabric.path_sls
    assert (2**24, 0) not in fabric.path_sls
    for switch, table in enumerate(fabric.lfts[guid] for guid in sorted(fabric.lfts)):
        assert [table[1 + 12 + host] for host in range(8)] == [plan.route(switch, host) for host in range(8)]
