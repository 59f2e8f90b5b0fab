"""Unusual captures: hostile names, lines of a million characters, unreadable files."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.pages import assert_whole
from tests.conftest import DATA, assert_refused, call
from tests.fabric.fabrics import tree, write_capture
from vlane.documents.textfile import TextFile
from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.dumps.ibnetdiscover import read_ibnetdiscover
from vlane.fabric.dumps.lfts import read_lfts
from vlane.fabric.dumps.opensm_conf import read_opensm_conf
from vlane.fabric.dumps.path_sls import read_path_csv, read_saquery
from vlane.fabric.dumps.portinfo import read_portinfo
from vlane.fabric.dumps.sl2vl import read_opensm_sl2vl, read_smpquery_sl2vl
from vlane.fabric.dumps.vlarb_dump import read_smpquery_vlarb
from vlane.fabric.lids import LidBook
from vlane.sim_top.cosim.cosim_vlarb import TableResult
from vlane.sim_top.cosim.report import write_page
from vlane.sim_top.output.page import short
from vlane.tb.machinery.native.coverage import Coverage

HOSTILE = (
    '" lid 9 "',
    'x" base port 0 lid 9 lmc 0',
    '"',
    "",
    "#",
    "guid 0x1",
    "' guid 0xdead ('",
    "] of switch",
    "\udcff\udc80",
    "<script>alert(1)</script>",
    "\x1b[2J\x1b]0;owned\x07",
    "a\x0bb\x0cc\x1cd\x85e\u2028f",
    "\u202eevil",
    "[red]x[/red]",
    "\u03a9 \u4e2d",
    ', base LID 1, "',
    "lid 3 lmc 7",
)
"""Node descriptions: whatever 64 bytes somebody wrote into a node."""

FILES = {
    "ibnetdiscover.txt": 10,
    "opensm-lfts.dump": 2,
    "opensm-sl2vl.dump": 4,
    "smpquery-sl2vl.txt": 3,
    "smpquery-vlarb.txt": 3,
    "smpquery-portinfo.txt": 2,
    "path-sl.csv": 1,
    "saquery-path.txt": 2,
}
"""How many lines of the small capture come before a line of the kind that the reader looks for."""

LINES: list[tuple[str, Callable[[int], str]]] = [
    ("ibnetdiscover.txt", lambda n: "Switch" + " " * n + "x"),
    ("ibnetdiscover.txt", lambda n: 'Switch 8 "S-1"' + " " * n + "x"),
    ("ibnetdiscover.txt", lambda n: 'Switch 8 "S-1" # "' + '" "' * (n // 3)),
    ("ibnetdiscover.txt", lambda n: 'Switch 8 "S-1" #' + " " * n + "x"),
    ("ibnetdiscover.txt", lambda n: "Switch 8 " + '"S-1" # ' * (n // 8)),
    ("ibnetdiscover.txt", lambda n: "[1](" + "a" * n),
    ("ibnetdiscover.txt", lambda n: '[1] "S-1"[1](' + "a" * n),
    ("ibnetdiscover.txt", lambda n: '[1] "S-1"[1]' + " " * n + "x"),
    ("opensm-lfts.dump", lambda n: "Unicast lids [" + "] of switch " * (n // 12)),
    ("opensm-lfts.dump", lambda n: "Unicast lids [0] of switch " + "guid 0" * (n // 6)),
    ("opensm-lfts.dump", lambda n: "Unicast lids [0-1] of switch " + "[] of switch guid" * (n // 17)),
    ("opensm-lfts.dump", lambda n: "0x0001" + " " * n + "x"),
    ("opensm-lfts.dump", lambda n: "0x0001 001" + " " * n + "x"),
    ("opensm-sl2vl.dump", lambda n: 'Switch 0x1, base LID 1, "' + '"' * n + "x"),
    ("opensm-sl2vl.dump", lambda n: "0" + " " * n + "x"),
    ("opensm-sl2vl.dump", lambda n: "0 1" + " " * n + "x"),
    ("opensm-sl2vl.dump", lambda n: "0 1 :" + " 1" * (n // 2)),
    ("opensm-sl2vl.dump", lambda n: "#" + "-" * n + "x"),
    ("smpquery-sl2vl.txt", lambda n: "ports: in" + " " * n + "x"),
    ("smpquery-sl2vl.txt", lambda n: "ports: in 0, out 1: |" + "| " * (n // 2) + "x"),
    ("smpquery-sl2vl.txt", lambda n: "ports: in 0, out 1: |" + "1|" * (n // 2)),
    ("smpquery-sl2vl.txt", lambda n: "#" + " " * n + "x"),
    ("smpquery-vlarb.txt", lambda n: "VL" + " " * n + "x"),
    ("smpquery-vlarb.txt", lambda n: "VL : |" + "| " * (n // 2) + "x"),
    ("smpquery-vlarb.txt", lambda n: "VL : |" + "0|" * (n // 2) + "99|"),
    ("smpquery-portinfo.txt", lambda n: "OperVLs:" + "." * n + "x"),
    ("smpquery-portinfo.txt", lambda n: "OperVLs:" + ".VL0" * (n // 4)),
    ("path-sl.csv", lambda n: "," * n),
    ("path-sl.csv", lambda n: "1" * n + ",1,1,1,1"),
    ("saquery-path.txt", lambda n: "a" * n),
    ("saquery-path.txt", lambda n: "a." * (n // 2)),
    ("saquery-path.txt", lambda n: "slid" + "." * n),
]


def reader(name: str) -> Callable[[Path], Any]:
    folder = DATA / "two_switch"
    lids = LidBook(read_ibnetdiscover(folder / "ibnetdiscover.txt").nodes, folder)
    return {
        "ibnetdiscover.txt": read_ibnetdiscover,
        "opensm-lfts.dump": read_lfts,
        "opensm-sl2vl.dump": lambda path: read_opensm_sl2vl(path, lids),
        "smpquery-sl2vl.txt": lambda path: read_smpquery_sl2vl(path, lids),
        "smpquery-vlarb.txt": lambda path: read_smpquery_vlarb(path, lids),
        "smpquery-portinfo.txt": lambda path: read_portinfo(path, lids),
        "path-sl.csv": read_path_csv,
        "saquery-path.txt": read_saquery,
    }[name]


def refusal(name: str, line: str, tmp_path: Path) -> tuple[float, InputError]:
    """Return the CPU seconds of reading a file with an inserted line, and the resulting error."""
    lines = (DATA / "two_switch" / name).read_text().splitlines()[: FILES[name]]
    (tmp_path / name).write_text("\n".join([*lines, line, line, "an end that no reader takes"]) + "\n")
    read = reader(name)
    start = time.process_time()
    with pytest.raises(InputError) as refused:
        read(tmp_path / name)
    return time.process_time() - start, refused.value


@pytest.mark.parametrize(("name", "line"), LINES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(LINES)])
def test_no_line_costs_more_than_its_length(name: str, line: Callable[[int], str], tmp_path: Path) -> None:
    """Doubling the length of a line at most triples its CPU time, and the error stays short."""
    seconds, _ = refusal(name, line(200_000), tmp_path)

    twice, said = refusal(name, line(400_000), tmp_path)

    assert twice < 3 * max(seconds, 0.1)
    assert len(str(said)) < 500 + len(str(tmp_path))


@pytest.mark.parametrize("name", FILES)
def test_line_of_megabytes_is_refused(name: str, tmp_path: Path) -> None:
    """Given a line of megabytes, the file is refused without reading it completely."""
    _, said = refusal(name, " " * 4_000_000, tmp_path)

    assert "line is longer than 1048576 bytes" in str(said)
    assert said.line == FILES[name] + 1


@pytest.mark.parametrize("value", ["0:1," + " " * 300_000 + "x", "0:1," * 100_000, "x" * 300_000, "-" * 300_000])
def test_long_option_is_read_as_opensm_walks_it(value: str, capture_copy: Any) -> None:
    """Very long options are parsed, and messages about them are shortened."""
    folder = capture_copy("two_switch")
    with (folder / "opensm.conf").open("a") as file:
        file.write(f"qos_swe_vlarb_high {value}\nqos_swe_sl2vl {value}\nqos_high_limit {value}\n")
    configured = read_opensm_conf(folder / "opensm.conf")

    report = check_fabric(load_fabric(folder))

    assert len(configured.options) > 3
    assert all(len(finding.message) < 2000 for finding in report.warnings)


def test_lines_end_at_line_feeds_alone(tmp_path: Path) -> None:
    """Lines end only at line feeds, and a preceding carriage return is removed."""
    (tmp_path / "a").write_bytes(b"one\x0b\x0c\x1c\xc2\x85\xe2\x80\xa8still one\r\ntwo \xff\n\nfour")

    file = TextFile(tmp_path / "a")

    assert list(file) == ["one\x0b\x0c\x1c\x85\u2028still one", "two \udcff", "", "four"]
    assert file.line == 4


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_text_is_the_same_in_pieces_of_any_size(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text is equal for any size of the pieces read, even within a character or line end."""
    text = "\u03a9\u4e2d one\n\ntwo\r\n" + "\U0001f600" * 9 + "\nlast"
    (tmp_path / "a").write_text(text, encoding="utf-8", newline="")
    monkeypatch.setattr("vlane.documents.textfile._PIECE", size)
    monkeypatch.setattr(TextFile, "refuse", lambda *_, **__: None)

    assert list(TextFile(tmp_path / "a")) == text.replace("\r", "").split("\n")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture with hostile names of nodes and folder."""
    folder = tmp_path_factory.mktemp("names") / "\x1b[31mfabric"
    return write_capture(folder, tree(2, 3), names=hostile_name)


def hostile_name(name: str) -> str:
    """Return a node name with one of the hostile descriptions."""
    return name + HOSTILE[(int(name[1:]) + (12 if name.startswith("H") else 0)) % len(HOSTILE)]


def test_names_may_hold_anything(hostile: Path, tmp_path: Path) -> None:
    """Hostile names change neither LIDs nor links nor tables of a fabric."""
    plain = load_fabric(write_capture(tmp_path / "plain", tree(2, 3)))

    fabric = load_fabric(hostile)

    for guid, node in fabric.nodes.items():
        same = plain.nodes[guid]
        assert (node.lids, node.lmc, node.links) == (same.lids, same.lmc, same.links)
        assert node.name == hostile_name(same.name)
    assert fabric.lfts == plain.lfts
    assert dict(fabric.sl2vl) == dict(plain.sl2vl)


def test_names_are_shown_harmless(hostile: Path) -> None:
    """On the screen, names contain only printable characters, and JSON is valid UTF-8."""
    file = hostile / "opensm-lfts.dump"
    before = file.read_bytes()
    file.write_bytes(before.replace(b"0x000d 001", b"0x000d 255"))
    try:
        shown, checked = call("fabric", "show", hostile), call("fabric", "check", hostile)
        document = call("fabric", "check", hostile, "--json")
    finally:
        file.write_bytes(before)

    assert shown.status == 0
    assert checked.status == document.status == 1
    for out in (shown.out, checked.out):
        assert all(line.isprintable() for line in out.split("\n"))
        assert out.encode("utf-8")
    assert "UNREACHABLE" in checked.out
    assert document.json()["unreachable"]
    assert "\\udc" not in document.out


def test_names_go_harmless_into_pages(hostile: Path, tmp_path: Path) -> None:
    """Names are escaped in a cosimulation's page."""
    where = [f"{node.name} port 1" for node in load_fabric(hostile).nodes.values()]
    tables = [TableResult(place, [(0, 1)], [], 0, [], []) for place in where]
    result: Any = SimpleNamespace(
        tables=tables,
        rules=[],
        coverage=Coverage({}, [], {}, 1, judged=True),
        mismatches=0,
        mismatch="",
        cycles=1,
        decisions=1,
        cycles_per_second=1.0,
        engine="native",
        simulator="none",
        seed=0,
        parameters={},
    )

    page = write_page(result, tmp_path / "page", title=hostile.name, wave=None).read_text(encoding="utf-8")

    seen = assert_whole(tmp_path / "page" / "index.html")
    assert len(seen.of("script")) == 1
    assert "&lt;script&gt;" in page


def test_names_go_harmless_into_the_page_of_the_fabric(hostile: Path, tmp_path: Path) -> None:
    """Names are escaped in tables, drawing and data of the fabric's page."""
    called = call("fabric", "check", hostile, "--page", tmp_path / "page")

    assert called.status == 0, called.err
    seen = assert_whole(tmp_path / "page" / "index.html")
    names = {short(node.name) for node in load_fabric(hostile).nodes.values()}
    assert set(seen.network()["names"]) == names
    assert "<script>" in "".join(names)
    assert "alert" not in seen.script


def test_bytes_that_are_no_text_stand_as_escapes(tmp_path: Path) -> None:
    """Given names and a folder with control characters, refusals and findings show them escaped."""
    folder = write_capture(tmp_path / "a\x1b[2J", tree(2, 2), names=lambda name: f"{name}\udcff\x1b[2J")
    text = (folder / "opensm-lfts.dump").read_bytes()
    (folder / "opensm-lfts.dump").write_bytes(text[: text.rindex(b"Unicast")])

    checked, planned = call("fabric", "check", folder), call("voqsw", "--fabric", folder, "--sls", "4", "--vls", "4")

    assert "forwarding tables of 1 of 4 switches: S3\\xff\\x1b[2J" in checked.out
    assert_refused(planned, "S3\\xff\\x1b[2J", "a\\x1b[2J")
    assert planned.err.strip().isprintable()


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("ibnetdiscover.txt", "Switch\t8", "Switch\t999999999", ["ibnetdiscover.txt:10", "ports", "1 to 254"]),
        ("ibnetdiscover.txt", "Switch\t8", "Switch\t" + "9" * 5000, ["ibnetdiscover.txt:10", "a node"]),
        ("ibnetdiscover.txt", 'Switch\t8 "S-', 'Switch\t8 "S-1111', ["ibnetdiscover.txt:10", "a node"]),
        ("opensm-lfts.dump", "0x0001 ", "0x10001 ", ["opensm-lfts.dump:2", "row"]),
        ("opensm-lfts.dump", "0x0001 001", "0x0001 256", ["opensm-lfts.dump:2", "port", "0 to 255", "256"]),
        ("opensm-lfts.dump", "0x0001 001", "0x0001 1\xff1", ["opensm-lfts.dump:2", "row"]),
        ("opensm-sl2vl.dump", "0   1   : 0", "0   1   : 16", ["opensm-sl2vl.dump:4", "VL of SL0", "0 to 15"]),
        ("opensm-sl2vl.dump", "0   1   :", "0   99999999 :", ["opensm-sl2vl.dump:4", "out port", "0 to 8"]),
        ("smpquery-vlarb.txt", "0x40", "0x100000000000000000", ["smpquery-vlarb.txt", "WEIGHT", "0 to 255"]),
        ("smpquery-portinfo.txt", "OperVLs:", "OperVLs:.VL0-15 ", ["smpquery-portinfo.txt", "OperVLs"]),
        ("path-sl.csv", "1,4,", "1,49152,", ["path-sl.csv:2", "dlid", "1 to 49151"]),
    ],
)
def test_impossible_values_are_refused_with_line_and_field(
    file: str, old: str, new: str, words: list[str], capture_copy: Any
) -> None:
    """Given an impossible value, a plan is refused, and a check leaves the part out: both name line and field."""
    folder = capture_copy("two_switch")
    (folder / "opensm-subnet.lst").unlink()
    text = (folder / file).read_bytes()
    assert old.encode() in text
    (folder / file).write_bytes(text.replace(old.encode(), new.encode("latin-1"), 1))

    assert_refused(call("voqsw", "--fabric", folder, "--sls", "4", "--vls", "4"), *words)
    checked, strict = call("fabric", "check", folder), call("fabric", "check", folder, "--strict")
    if file == "ibnetdiscover.txt":
        assert_refused(checked, *words)
    else:
        assert strict.status == 1
        assert all(word in next(line for line in checked.out.split("\n") if "UNREADABLE" in line) for word in words)


@pytest.mark.parametrize("name", [*FILES, "opensm.conf"])
def test_folder_or_nothing_in_place_of_a_file_is_refused(name: str, capture_copy: Any) -> None:
    """Given an empty file or a folder in place of a file, the capture is refused."""
    folder = capture_copy("two_switch")
    if name == "saquery-path.txt":
        (folder / "path-sl.csv").unlink()
    (folder / name).write_bytes(b"\n \n")
    with pytest.raises(InputError, match=r"text|empty"):
        load_fabric(folder)
    (folder / name).unlink()
    (folder / name).mkdir()

    with pytest.raises(InputError) as refused:
        load_fabric(folder)

    assert name in str(refused.value)
