"""Dumps as the tools print them in the field: other forms of headings, diagnostics, appended and damaged files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, call
from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import FabricReport, check_fabric
from vlane.fabric.dump import Remarks
from vlane.fabric.dumps.ibnetdiscover import read_ibnetdiscover
from vlane.fabric.dumps.lfts import read_lfts
from vlane.fabric.dumps.name_map import read_name_map
from vlane.fabric.model import Fabric, Kind, Port

DUMPS = (
    "ibnetdiscover.txt",
    "opensm-lfts.dump",
    "smpquery-sl2vl.txt",
    "smpquery-vlarb.txt",
    "smpquery-portinfo.txt",
    "path-sl.csv",
)
DIAGNOSTICS = (
    "ibwarn: [4711] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1,3)",
    "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,2 Attr 0x11:0) bad status 110; Connection timed out",
    "smpquery: iberror: failed: operation vlarb: port info query failed",
    "/usr/sbin/smpquery: iberror: failed: operation NodeInfo: node info query failed",
    "-W- Fail to find node with guid:0x2",
)


def edit(file: Path, old: str, new: str, count: int = 1) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, count))


def nodes_of(tmp_path: Path, text: str) -> Any:
    (tmp_path / "ibnetdiscover.txt").write_text(text)
    return read_ibnetdiscover(tmp_path / "ibnetdiscover.txt").nodes


def partial_report(folder: Path) -> tuple[Fabric, FabricReport]:
    fabric = load_fabric(folder, partial=True)
    return fabric, check_fabric(fabric)


def of_code(report: FabricReport, code: str) -> list[str]:
    return [f"{finding.where}: {finding.message}" for finding in report.warnings if finding.code == code]


def test_headings_and_external_ports_of_grouped_output_are_passed(tmp_path: Path) -> None:
    """Given ``ibnetdiscover -g`` output, nodes and cables equal those of the plain output."""
    plain = (DATA / "two_switch" / "ibnetdiscover.txt").read_text()
    grouped = plain.replace("\n\nvendid", "\n\nChassis 1 (guid 0xb0)\nHostname: \n\n# Spine Nodes\nvendid", 1)
    grouped = grouped.replace("\nCa\t", "\nNon-Chassis Nodes\n\nCa\t", 1)
    grouped = grouped.replace('[5]\t"S-0000000000200001"[5]', '[5][ext 12]\t"S-0000000000200001"[5][ext 3]')
    grouped = grouped.replace('"S-0000000000200000"[1]', '"S-0000000000200000"[1][ext 7]')
    grouped = re.sub(r"(switchguid=.*)", r"\1\t# ISR2012 Spine 1 Chip 1", grouped)

    assert grouped.count("[ext ") >= 3
    assert nodes_of(tmp_path, grouped) == nodes_of(tmp_path, plain)


def test_cables_without_a_switch_are_read(tmp_path: Path) -> None:
    """Given an adapter cabled to an adapter and another to a router, as the tool prints them, both are cables."""
    nodes = nodes_of(
        tmp_path,
        'Ca\t2 "H-00000000000000a1"\t\t# "a mlx5_0"\n'
        '[1](a2) \t"H-00000000000000b1"[1] (b2) \t\t# lid 1 lmc 0 "b mlx5_0" lid 2 4xEDR\n'
        '[2](a3) \t"R-00000000000000c1"[1] (c2) \t\t# lid 3 lmc 0 "router" lid 4 4xHDR\n\n'
        'Ca\t1 "H-00000000000000b1"\t\t# "b mlx5_0"\n'
        '[1](b2) \t"H-00000000000000a1"[1] (a2) \t\t# lid 2 lmc 0 "a mlx5_0" lid 1 4xEDR\n\n'
        'rtguid=0xc1\nRt\t1 "R-00000000000000c1"\t\t# "router"\n'
        '[1](c2) \t"H-00000000000000a1"[2] (a3) \t\t# lid 4 lmc 0 "a mlx5_0" lid 3 4xHDR\n',
    )

    assert {(guid, at): tuple(far) for guid, node in nodes.items() for at, far in node.links.items()} == {
        (0xA1, 1): (0xB1, 1),
        (0xB1, 1): (0xA1, 1),
        (0xA1, 2): (0xC1, 1),
        (0xC1, 1): (0xA1, 2),
    }
    assert nodes[0xC1].kind is Kind.ROUTER
    assert nodes[0xA1].rates == {1: "EDR 4X", 2: "HDR 4X"}


@pytest.mark.parametrize(
    ("described", "device"),
    [
        ('devid=0x1017\nCa\t1 "H-00000000000000a9"\t# "Mellanox Technologies Aggregation Node"', "aggregation node"),
        ('devid=0xcf09\nCa\t1 "H-00000000000000a9"\t# "an renamed"', "aggregation node"),
        ('devid=0x1017\nCa\t1 "H-00000000000000a9"\t# "SUN IB QDR GW switch gw1 Bridge 0"', "gateway"),
        ('devid=0x1017\nCa\t1 "H-00000000000000a9"\t# "node09 mlx5_0"', ""),
    ],
)
def test_adapters_of_devices_are_no_hosts(described: str, device: str, capture_copy: Any) -> None:
    """Given an aggregation node or a gateway, it is a node of its own kind: not a host, in show and in simulations."""
    folder = capture_copy("two_switch")
    with (folder / "ibnetdiscover.txt").open("a") as file:
        file.write(f'\n{described}\n[1](a9) \t"S-0000000000200001"[8]\t\t# lid 9 lmc 0 "S1" lid 3 4xHDR\n')
    edit(
        folder / "ibnetdiscover.txt",
        '[5]\t"S-0000000000200000"[5]',
        '[8]\t"H-00000000000000a9"[1](a9) \t\t# "x" lid 9 4xHDR\n[5]\t"S-0000000000200000"[5]',
    )

    shown = call("fabric", "show", folder, "--json").json()

    assert load_fabric(folder).nodes[0xA9].device == device
    assert (shown["hosts"], shown["devices"]) == ((4, 1) if device else (5, 0))
    text = call("fabric", "show", folder).out
    assert ("adapters of devices" in text) == bool(device)


@pytest.mark.parametrize("file", DUMPS)
@pytest.mark.parametrize("diagnostic", DIAGNOSTICS)
def test_diagnostics_of_the_tools_are_passed_anywhere(file: str, diagnostic: str, capture_copy: Any) -> None:
    """Given a diagnostic before, between and after the lines of a dump, the tables are the same, and a note says so."""
    folder = capture_copy("two_switch")
    expected = load_fabric(folder)
    lines = (folder / file).read_text().splitlines()
    middle = len(lines) // 2
    noisy = [diagnostic, *lines[:middle], diagnostic, *lines[middle:], diagnostic]
    (folder / file).write_text("\n".join(noisy) + "\n")

    fabric, report = partial_report(folder)

    for name in ("nodes", "lfts", "vlarb", "port_infos"):
        assert getattr(fabric, name) == getattr(expected, name)
    assert dict(fabric.sl2vl) == dict(expected.sl2vl)
    assert dict(fabric.path_sls) == dict(expected.path_sls)
    assert len(of_code(report, "TOOL_DIAGNOSTIC")) == 1
    assert of_code(report, "TOOL_DIAGNOSTIC")[0].startswith(f"{file}:1: the tool reported: ")
    assert of_code(report, "UNREADABLE") == []


def test_diagnostic_with_the_commas_of_a_row_is_passed(capture_copy: Any) -> None:
    """Given path SLs in three columns and a diagnostic with two commas, the pairs stay the same."""
    folder = capture_copy("two_switch")
    expected = load_fabric(folder).path_sls
    rows = [f"{slid},{dlid},{sl}" for (slid, dlid), sl in expected.items()]
    assert DIAGNOSTICS[1].count(",") == 2
    (folder / "path-sl.csv").write_text("\n".join(["slid,dlid,sl", *rows[:3], DIAGNOSTICS[1], *rows[3:]]) + "\n")

    fabric, report = partial_report(folder)

    assert dict(fabric.path_sls) == dict(expected)
    assert of_code(report, "UNREADABLE") == []
    assert len(of_code(report, "TOOL_DIAGNOSTIC")) == 1


def test_replaced_descriptions_of_nodes_differ_only_if_they_do(capture_copy: Any) -> None:
    """Given a topology appended to itself, no node differs, and a changed rate is one difference."""
    file = capture_copy("two_switch") / "ibnetdiscover.txt"
    text = file.read_text()
    file.write_text(text + text)
    same = of_code(partial_report(file.parent)[1], "BLOCK_REPLACED")
    file.write_text(text + text.replace(" 4xSDR", " 4xDDR", 1))
    other = of_code(partial_report(file.parent)[1], "BLOCK_REPLACED")

    assert "6 elements are described twice (first: S1), 0 of them with differences" in same[0]
    assert "6 elements are described twice (first: S1), 1 of them with differences" in other[0]


def test_empty_file_is_unreadable_in_plain_words(capture_copy: Any) -> None:
    """Given an empty file of lists, the finding says that the file is empty."""
    folder = capture_copy("two_switch")
    (folder / "smpquery-vlarb.txt").write_text("")

    assert of_code(partial_report(folder)[1], "UNREADABLE") == [
        "smpquery-vlarb.txt: content: the file is empty: this part is left out"
    ]


def test_failed_query_during_discovery_is_not_checked(capture_copy: Any) -> None:
    """Given a query that timed out in ibnetdiscover, nodes may be missing: the paths are not checked in full."""
    folder = capture_copy("two_switch")
    file = folder / "ibnetdiscover.txt"
    file.write_text(f"{DIAGNOSTICS[1]}\n{file.read_text()}")

    _, report = partial_report(folder)

    assert {"CREDIT_LOOP", "UNREACHABLE", "VL_UNSERVED"} <= set(report.not_checked)
    assert any("1 failed query" in text and "may be missing" in text for text in of_code(report, "NOT_CHECKED"))


def test_ports_without_tables_or_lanes_are_passed(capture_copy: Any) -> None:
    """Given a base port 0, a port that is down, and a query without an answer, they change nothing."""
    folder = capture_copy("two_switch")
    expected = load_fabric(folder)
    with (folder / "smpquery-vlarb.txt").open("a") as file:
        file.write("$ smpquery vlarb 2 0\n# No VLArbitration tables (BSP0): Lid 2 port 0\n")
        file.write(f"$ smpquery vlarb 2 7\n{DIAGNOSTICS[2]}\n")
    with (folder / "smpquery-portinfo.txt").open("a") as file:
        file.write("$ smpquery portinfo 2 7\n# Port info: Lid 2 port 7\nNeighborMTU:...?(0)\nOperVLs:...No change\n")
        file.write("$ smpquery portinfo 2 8\n# Port info: Lid 2 port 8\nOperVLs:.........?(9)\n")

    fabric = load_fabric(folder)

    assert (fabric.vlarb, fabric.port_infos) == (expected.vlarb, expected.port_infos)


ROUTES = {"1": "0", "2": "0,1", "3": "0,1,5", "4": "0,1,2", "5": "0,1,5,1", "6": "0,1,6,2"}
"""Directed route from H0 to the owner of each LID of the capture ``two_switch``."""


@pytest.mark.parametrize(
    "form",
    [
        "DR path slid 0; dlid 0; {route}",
        "DR path slid 65535; dlid 65535; {route}",
        "Lid {lid} Gid fe80::1:2",
        "Lid 2 DR path slid 2; dlid 65535; {tail}",
    ],
)
@pytest.mark.parametrize("file", ["smpquery-sl2vl.txt", "smpquery-vlarb.txt", "smpquery-portinfo.txt"])
def test_directed_routes_name_the_same_ports_as_lids(file: str, form: str, capture_copy: Any) -> None:
    """Given queries by directed route, from the node that ran ibnetdiscover or from a LID, the tables are the same."""
    folder = capture_copy("two_switch")
    expected = load_fabric(folder)
    assert "# Initiated from node 0000000000100000 " in (folder / "ibnetdiscover.txt").read_text()

    def routed(found: re.Match[str]) -> str:
        lid = found.group(2)
        tail = {"1": "0,1", "2": "0"}.get(lid, f"0{ROUTES[lid][3:]}")
        return f"{found.group(1)} {form.format(lid=lid, route=ROUTES[lid], tail=tail)}"

    text = (folder / file).read_text()
    (folder / file).write_text(re.sub(r"(# (?:SL2VL table:|VLArbitration tables:|Port info:)) Lid (\d+)", routed, text))

    fabric = load_fabric(folder)

    assert fabric.vlarb == expected.vlarb
    assert fabric.port_infos == expected.port_infos
    assert dict(fabric.sl2vl) == dict(expected.sl2vl)


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("DR path slid 0; dlid 0; 0,1", "directed route must be from a known node"),
        ("Lid 2 DR path slid 2; dlid 65535; 0,4", "no cable at S0 port 4"),
        ("Lid 0", "LID must be an assigned LID"),
        ("Lid 77", "LID must be assigned to a port in ibnetdiscover.txt, not 77"),
    ],
)
def test_ports_that_cannot_be_resolved_are_left_out(heading: str, words: str, capture_copy: Any) -> None:
    """Given a heading of a port that nobody can identify, its table is left out, and the others are used."""
    folder = capture_copy("two_switch")
    edit(folder / "ibnetdiscover.txt", "# Initiated from node", "# Started at")
    edit(folder / "smpquery-vlarb.txt", "tables: Lid 2", f"tables: {heading}")

    fabric, report = partial_report(folder)

    assert len(fabric.vlarb) == 11
    assert words in of_code(report, "UNREADABLE")[0]
    assert report.coverage["VLARB_DIFFERS"] == ("cabled ports", 11, 12)


@pytest.mark.parametrize("lid", ["0", "65535"])
def test_port_without_a_lid_is_unusable_and_the_rest_is_checked(lid: str, capture_copy: Any) -> None:
    """Given one adapter in Init, its pairs are not checked, all others are, and a strict check fails."""
    folder = capture_copy("two_switch")
    edit(folder / "ibnetdiscover.txt", "lid 6 lmc 0", f"lid {lid} lmc 0")
    lines = (folder / "path-sl.csv").read_text().splitlines(keepends=True)
    (folder / "path-sl.csv").write_text("".join(line for line in lines if not re.match(r"6,|\d,6,", line)))

    _, report = partial_report(folder)

    assert report.ok
    assert report.coverage["CREDIT_LOOP"] == ("pairs", 6, 12)
    assert any(text.startswith("1 adapter port has no LID: H3 port 1") for text in of_code(report, "NOT_CHECKED"))
    assert call("fabric", "check", folder, "--strict").status == 1
    assert re.search(r"ports without a LID │ +H3 port 1", call("fabric", "show", folder).out)


def test_design_without_any_lid_is_shown(tmp_path: Path) -> None:
    """Given a hand-written topology without LIDs and comments, it is shown, and nothing of it is checked."""
    text = (DATA / "two_switch" / "ibnetdiscover.txt").read_text()
    text = re.sub(r"(?m)^(\[\d\].*?\])(\([0-9a-f]+\))?\s*#.*$", r"\1", text).replace("lid 2 lmc", "lid 0 lmc")
    (tmp_path / "ibnetdiscover.txt").write_text(re.sub(r"lid \d+ lmc", "lid 0 lmc", text))

    shown, checked = call("fabric", "show", tmp_path, "--json").json(), call("fabric", "check", tmp_path, "--json")

    assert (shown["switches"], shown["hosts"], shown["links"]) == (2, 4, 6)
    assert checked.json()["coverage"]["CREDIT_LOOP"] == {"element": "pairs", "checked": 0, "present": 12}


CHANGES: dict[str, Callable[[str], str]] = {
    "ibnetdiscover.txt": lambda text: text.replace('"H2"', '"H2 new"'),
    "opensm-lfts.dump": lambda text: text.replace("0x0005 005", "0x0005 006", 1),
    "opensm-sl2vl.dump": lambda text: text.replace("0   1   : 0 ", "0   1   : 1 ", 1),
    "smpquery-sl2vl.txt": lambda text: text.replace("ports: in  0, out  1: | 0|", "ports: in  0, out  1: | 1|", 1),
    "smpquery-vlarb.txt": lambda text: text.replace("WEIGHT: |0x10|", "WEIGHT: |0x11|", 1),
    "smpquery-portinfo.txt": lambda text: text.replace("VL0-7", "VL0-3"),
    "path-sl.csv": lambda text: text.replace("1,4,0,", "1,4,1,", 1),
    "saquery-path.txt": lambda text: text.replace("sl......................0x0", "sl......................0x1", 1),
}


@pytest.mark.parametrize("file", CHANGES)
def test_later_block_of_an_appended_dump_is_used(file: str, capture_copy: Any, tmp_path: Path) -> None:
    """Given two outputs in one file, the later description of each element is used, with a warning."""
    folder, alone = capture_copy("two_switch"), tmp_path / "alone"
    shutil.copytree(folder, alone)
    for each in (folder, alone):
        for other in {
            "smpquery-sl2vl.txt": ["opensm-sl2vl.dump"],
            "opensm-sl2vl.dump": ["smpquery-sl2vl.txt"],
            "saquery-path.txt": ["path-sl.csv"],
        }.get(file, []):
            (each / other).unlink()
    text = (folder / file).read_text()
    changed = CHANGES[file](text)
    assert changed != text
    (alone / file).write_text(changed)
    (folder / file).write_text(text + changed)

    fabric, report = partial_report(folder)
    expected = load_fabric(alone)

    for name in ("nodes", "lfts", "vlarb", "port_infos"):
        assert getattr(fabric, name) == getattr(expected, name)
    assert dict(fabric.sl2vl) == dict(expected.sl2vl)
    assert dict(fabric.path_sls) == dict(expected.path_sls)
    (warning,) = of_code(report, "BLOCK_REPLACED")
    assert warning.startswith(f"{file}: ")
    assert load_fabric(folder).lfts == expected.lfts


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("ibnetdiscover.txt", '[5]\t"S-0000000000200001"[5]\t', '[5]\t"S-0000000000200001"[6]\t', "far end of port"),
        (
            "opensm-lfts.dump",
            "0x0005 005 #",
            "0x0005 006 #",
            "port of LID 5 must be 5, as in an earlier row of the table",
        ),
        ("opensm-sl2vl.dump", "0   1   : 0 ", "0   1   : 1 ", "row of input 0 and output 1 must be equal"),
        ("smpquery-sl2vl.txt", "ports: in  0, out  1: | 0|", "ports: in  0, out  1: | 1|", "row of input 0 and output"),
        ("smpquery-portinfo.txt", "OperVLs:.........................VL0-7", "OperVLs:..VL0-3", "OperVLs must be 8"),
        ("path-sl.csv", "1,4,0,", "1,4,1,", "sl of 1 to 4 must be 0, as in an earlier row"),
    ],
)
def test_rows_of_one_block_that_contradict_each_other_are_refused(
    file: str, old: str, new: str, words: str, capture_copy: Any
) -> None:
    """Given two different rows of one place in one table, nobody can tell which holds: the table is not used."""
    folder = capture_copy("two_switch")
    if file == "smpquery-sl2vl.txt":
        (folder / "opensm-sl2vl.dump").unlink()
    text = (folder / file).read_text()
    row = next(line for line in text.split("\n") if line.startswith(old))
    (folder / file).write_text(text.replace(f"{row}\n", f"{row}\n{row.replace(old, new)}\n", 1))

    with pytest.raises(InputError) as refused:
        load_fabric(folder)

    assert words in str(refused.value)
    assert refused.value.line > 0
    _, report = partial_report(folder)
    assert len(of_code(report, "UNREADABLE")) == 1
    assert not report.spotless


@pytest.mark.parametrize("file", ["opensm-lfts.dump", "opensm-sl2vl.dump", "smpquery-sl2vl.txt"])
def test_doubled_rows_are_harmless(file: str, capture_copy: Any) -> None:
    """Given every row of a dump twice, the tables are the same."""
    folder = capture_copy("two_switch")
    expected = load_fabric(folder)
    lines = (folder / file).read_text().splitlines(keepends=True)
    rows = ("0x", "ports:", *"0123456789")
    (folder / file).write_text(
        "".join(line * (2 if line.startswith(rows) and "dumped" not in line else 1) for line in lines)
    )

    fabric = load_fabric(folder)

    assert fabric.lfts == expected.lfts
    assert dict(fabric.sl2vl) == dict(expected.sl2vl)


MULTICAST = """Multicast mlids [0xc000-0xc3ff] of switch Lid 2 guid 0x0000000000200000 (S0):
            0                   1
     Ports: 0 1 2 3 4 5 6 7 8 9 0
 MLid
0xc000        x x     x
0xc001          x     x
2 valid mlids dumped
"""
ROUTER = "Unicast lids [0x0-0x6] of router Lid 9 guid 0x0000000000300000 (R):\n0x0001 007 : (x)\n1 valid lids dumped\n"


@pytest.mark.parametrize(
    ("text", "kind"), [(MULTICAST, "multicast forwarding tables"), (ROUTER, "forwarding tables of routers")]
)
def test_tables_that_no_check_uses_are_skipped_with_a_note(text: str, kind: str, capture_copy: Any) -> None:
    """Given multicast or router tables among unicast tables, the reader skips them with a note."""
    folder = capture_copy("two_switch")
    expected = load_fabric(folder)
    file = folder / "opensm-lfts.dump"
    head, tail = file.read_text().split("Unicast lids", 1)
    file.write_text(f"{head}{text}Unicast lids{tail}{text}")

    fabric, report = partial_report(folder)

    assert fabric.lfts == expected.lfts
    assert of_code(report, "PART_SKIPPED") == [f"opensm-lfts.dump: 2 {kind} are skipped"]
    assert load_fabric(folder).lfts == expected.lfts


def test_tables_of_several_ranges_of_lids_are_joined(tmp_path: Path) -> None:
    """Given ``ibroute`` asked for one range of LIDs after the other, the table holds both, without a warning."""
    rows = "{0} guid 0x1 (S):\n0x{1:04x} 001 : (x)\n1 valid lids dumped\n"
    text = "Unicast lids [0x1-0x10] of switch Lid 2" + rows.format("", 5)
    text += "Unicast lids [0x11-0x20] of switch Lid 2" + rows.format("", 0x12)
    (tmp_path / "ibroute.txt").write_text(text)
    remarks = Remarks()

    (table,) = read_lfts(tmp_path / "ibroute.txt", remarks).values()

    assert (table[5], table[0x12], len(table)) == (1, 1, 0x13)
    assert remarks.replaced == {}


@pytest.mark.parametrize(
    ("file", "old", "new", "class_"),
    [
        ("opensm-lfts.dump", "0x0005 005 #", "0x0005 x05 #", "CREDIT_LOOP"),
        ("smpquery-vlarb.txt", "WEIGHT: |0x40|", "WEIGHT: |0xzz|", "VLARB_DIFFERS"),
        ("smpquery-portinfo.txt", "# Port info: Lid 2 port 1", "# Port info: Lid 2 port x", "MAX_OP_VLS_EXCEEDED"),
        ("path-sl.csv", "1,4,0,", "1,4,99,", "UNREACHABLE"),
    ],
)
def test_fabric_with_one_unreadable_part_is_checked_for_the_rest(
    file: str, old: str, new: str, class_: str, capture_copy: Any
) -> None:
    """Given one damaged line, the check names it, counts the classes that need it as not checked, and does the rest."""
    folder = capture_copy("two_switch")
    edit(folder / file, old, new)

    plain, strict = call("fabric", "check", folder, "--json"), call("fabric", "check", folder, "--strict")

    document = plain.json()
    assert (plain.status, strict.status) == (0, 1)
    assert document["unreadable"][0]["file"] == file
    assert class_ in document["not_checked"]
    assert document["coverage"][class_]["checked"] < document["coverage"][class_]["present"]
    with pytest.raises(InputError):
        load_fabric(folder)


def test_damaged_topology_falls_back_to_another_file(capture_copy: Any) -> None:
    """Given a cut ibnetdiscover.txt next to OpenSM's subnet list, the list gives nodes and cables, with a warning."""
    folder = capture_copy("two_switch")
    text = (folder / "ibnetdiscover.txt").read_text()
    (folder / "ibnetdiscover.txt").write_text(text[: len(text) // 2])

    fabric, report = partial_report(folder)

    assert fabric.topology_file == "opensm-subnet.lst"
    assert len(fabric.nodes) == 6
    assert of_code(report, "UNREADABLE")[0].startswith("ibnetdiscover.txt:")
    (folder / "opensm-subnet.lst").unlink()
    with pytest.raises(InputError, match="ibnetdiscover"):
        load_fabric(folder, partial=True)


def rename_all(folder: Path) -> None:
    """Give all switches one description, and all adapters another."""
    for file in ("ibnetdiscover.txt", "opensm-sl2vl.dump"):
        text = (folder / file).read_text()
        (folder / file).write_text(re.sub(r'"H\d"', '"ConnectX7"', re.sub(r'"S\d"', '"SwitchIB"', text)))


def test_nodes_with_one_description_are_told_apart(capture_copy: Any) -> None:
    """Given equal descriptions, text names LID and GUID, and JSON all ports of a finding with both."""
    folder = capture_copy("two_switch")
    rename_all(folder)
    edit(folder / "opensm-lfts.dump", "0x0005 005 #", "0x0005 001 #")

    document, text = call("fabric", "check", folder, "--json").json(), call("fabric", "check", folder).out

    assert "delivered to ConnectX7 (LID 1, GUID 0x100000) port 1" in text
    lost = next(each for each in document["warnings"] if each["code"] == "UNREACHABLE")
    assert (lost["slid"], lost["dlid"]) == (1, 5) or lost["dlid"] == 5
    assert lost["ports"] == [{"node": "ConnectX7", "guid": "0x100000", "lid": 1, "port": 1}]
    weights = next(each for each in document["warnings"] if each["code"] == "WEIGHT_BELOW_MTU")
    assert weights["where"] == "SwitchIB (LID 2, GUID 0x200000) port 1 and 7 more"
    assert len(weights["ports"]) == 8
    assert {(port["lid"], port["guid"]) for port in weights["ports"]} == {(2, "0x200000"), (3, "0x200001")}
    missing = next(each for each in document["missing"] if "PortInfo" in each["what"])
    assert len(missing["ports"]) == 9


def test_names_of_a_map_replace_descriptions(capture_copy: Any, tmp_path: Path) -> None:
    """Given a node-name-map in the folder, or by option, findings and tables use its names."""
    folder = capture_copy("two_switch")
    rename_all(folder)
    edit(folder / "opensm-lfts.dump", "0x0005 005 #", "0x0005 001 #")
    (folder / "node-name-map").write_text(
        '# rack 1\n0x0000000000100000 "node 1 (left)"  # replaced\n0x99 "elsewhere"\n'
    )
    (tmp_path / "other").write_text('0x100000 "node one"\n')

    assert "delivered to node 1 (left) port 1" in call("fabric", "check", folder).out
    assert "delivered to node one port 1" in call("fabric", "check", folder, "--node-name-map", tmp_path / "other").out


@pytest.mark.parametrize(
    ("line", "words"),
    [("hello", "a GUID and a name in quotes"), ('0x1 "a"\n0x1 "b"', "name of 0x1 must be a, as in an earlier line")],
)
def test_name_map_is_checked(line: str, words: str, tmp_path: Path) -> None:
    """Given a line of another form or two names of one node, the refusal names the line."""
    (tmp_path / "map").write_text(line + "\n")

    with pytest.raises(InputError, match=re.escape(words)) as refused:
        read_name_map(tmp_path / "map")

    assert refused.value.line > 0


def test_finding_places_every_port() -> None:
    """Given any finding about ports, its ports are the ports of the fabric that the text counts."""
    fabric = load_fabric(DATA / "torus44_2qos")

    report = check_fabric(fabric)

    for finding in report.warnings:
        for port in finding.ports:
            assert isinstance(port, Port)
            assert fabric.locate(port).lid is not None
        if found := re.search(r"and (\d+) more$", finding.where):
            assert len(finding.ports) == int(found.group(1)) + 1
