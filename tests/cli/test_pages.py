"""HTML pages of cosimulations, studies and fabrics: self-contained, small, escaped, correct."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.pages import assert_whole
from tests.conftest import BAD, DATA, STUDY, assert_refused, call
from tests.fabric.fabrics import tree as captured_tree
from tests.fabric.fabrics import write_capture
from vlane.fabric.capture import load_fabric
from vlane.fabric.trace import trace_pairs
from vlane.fabric.waits import LANES
from vlane.golden.topologies.topology import Topology, torus, tree
from vlane.sim_top.output.network_drawing import Link, Scale, drawn_network, step_of
from vlane.sim_top.output.network_layout import grid_layout, layered, level_layout, spring_layout
from vlane.sim_top.output.page import MOST_ROWS, Cell, Column, Page, Section, Table, embedded, write

SCALE = Scale("load", 1.0, ("0", "1"), "{} %", 100.0)
NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&\"'\u202e\x1b[2J"


def links_of(topology: Topology, *, choices: int) -> list[Link]:
    """Return both directions of every cable with random values."""
    source = np.random.default_rng(1)
    ends = [(one, other) for cable in topology.cables for one, other in (cable, cable[::-1])]
    ends += [
        pair
        for host, (switch, port) in enumerate(topology.hosts)
        for pair in (((topology.switches + host, -1), (switch, port)), ((switch, port), (topology.switches + host, -1)))
    ]
    return [
        Link(one[0], one[1] + 1, other[0], other[1] + 1, tuple(source.random(choices).tolist())) for one, other in ends
    ]


def page_of(topology: Topology, file: Path, *, choices: int = 1, name: str = "switch") -> Path:
    """Write a page that contains only a network."""
    drawing = drawn_network(
        [f"{name} {number}" for number in range(topology.switches)],
        [f"{name} host {number}" for number in range(len(topology.hosts))],
        [switch for switch, _ in topology.hosts],
        links_of(topology, choices=choices),
        SCALE,
        choices=[str(number) for number in range(choices)],
        chosen=choices - 1,
        torus=topology.shape.get("size", ()),
    )
    return write(Page("network", [Section("Network", [drawing])]), file, option="--page")


def test_a_study_page_shows_every_link_in_the_colour_of_its_load(study: Path, tmp_path: Path) -> None:
    """A study's page draws each link in the colour of its mean load over seeds.

    The highest offered load is selected at first.
    """
    called = call("simulate", study, "--out", tmp_path / "out", "--rate", "HDR 4X", "--json")

    assert called.status == 0, called.err
    seen = assert_whole(tmp_path / "out" / "study.html")
    tables = [pl.read_parquet(tmp_path / "out" / "runs" / f"load0.5-seed{seed}.links.parquet") for seed in (1, 2)]
    loads = pl.concat(tables).group_by("from", "to").agg(pl.col("utilisation").sum() / 2)
    expected = {(source, target): used for source, target, used in loads.iter_rows()}
    data = seen.network()
    values = data["values"][data["chosen"]]
    drawn = {}
    for (one, port, other, far, _), value, line in zip(data["links"], values, seen.of("path", "k"), strict=True):
        ends = [data["names"][end] + (f" port {at}" if at else "") for end, at in ((one, port), (other, far))]
        drawn[tuple(ends)] = value
        assert line["class"] == f"k {step_of(value, 1.0)}"
    assert drawn == pytest.approx(expected, rel=1e-3)
    assert len(drawn) == 2 * (4 + 4)
    assert len(set(drawn.values())) > 4
    assert [held.get("value") for held in seen.of("option")] == ["0", "1"]
    assert "200 Gb/s, 64 bytes and 2.56 ns per cycle" in seen.text
    levels = next(table for table in seen.tables if "mean latency, cycles" in table[0])
    assert len(levels) == 1 + 2 * 2 * 2
    column = {name: place for place, name in enumerate(levels[0])}
    row = [float(cell.replace(",", "") or "nan") for cell in levels[1][: column["mean, ns"] + 1]]
    assert row[column["mean, ns"]] == pytest.approx(2.56 * row[column["mean latency, cycles"]], rel=0.02)


def test_a_study_of_one_load_has_a_page_without_curves(study: Path, tmp_path: Path) -> None:
    """A study of one load has a page with network and tables and no curves."""
    study.write_text(STUDY.replace("[0.2, 0.5]", "[0.5]"))

    called = call("simulate", study, "--out", tmp_path / "out", "--json")

    seen = assert_whole(tmp_path / "out" / "study.html")
    assert called.json()["pictures"] == [str(tmp_path / "out" / "study.html")]
    assert seen.of("figure", "network")
    assert not seen.of("figure", "curves")


@pytest.mark.parametrize("name", ["irregular_s1", "torus44_2qos", "two_switch", BAD])
def test_a_fabric_page_shows_the_paths_of_every_link(name: str, tmp_path: Path) -> None:
    """A fabric's page shows the number of paths over each link and every finding."""
    called = call("fabric", "check", DATA / name, "--page", tmp_path / "page", "--json")

    seen = assert_whole(tmp_path / "page" / "index.html")
    assert called.status == (name == BAD)
    trace = trace_pairs(load_fabric(DATA / name))
    pairs = trace.traffic.reshape(-1, LANES).sum(axis=1)
    data = seen.network()
    assert sorted(data["values"][0]) == sorted(pairs[trace.wiring.far >= 0].tolist())
    assert data["most"] == pairs.max()
    for value, line in zip(data["values"][0], seen.of("path", "k"), strict=True):
        assert line["class"] == f"k {step_of(value, data['most'])}"
    codes = [finding["code"] for finding in called.json()["warnings"]]
    if codes:
        findings = next(table for table in seen.tables if table[0][0] == "severity")
        assert [row[1] for row in findings[1:]] == codes
    assert ("Fails as far as checked" in seen.text) == (name == BAD)


@pytest.mark.parametrize("cabled", [True, False])
def test_a_fabric_without_a_switch_or_without_tables_has_a_page(cabled: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """A fabric without switches, or without forwarding tables, has a page.

    Without tables, links have no colour.
    """
    folder, number = tmp_path / "capture", 0x100000
    if cabled:
        folder.mkdir()
        (folder / "ibnetdiscover.txt").write_text(
            "".join(
                f'caguid=0x{here:x}\nCa 1 "H-{here:016x}" # "H{here - number}"\n'
                f'[1]({here:x}) "H-{there:016x}"[1]({there:x}) '
                f'# lid {here - number + 1} lmc 0 "H" lid {there} 4xSDR\n\n'
                for here, there in ((number, number + 1), (number + 1, number))
            )
        )
    else:
        write_capture(folder, captured_tree(2, 2))
        (folder / "opensm-lfts.dump").unlink()

    called = call("fabric", "check", folder, "--page", tmp_path / "page")

    assert called.status == 0, called.err
    seen = assert_whole(tmp_path / "page" / "index.html")
    data = seen.network()
    assert len(data["links"]) == (2 if cabled else 2 * 8)
    assert {line["class"] for line in seen.of("path", "k")} == ({"k q9"} if cabled else {"k qn"})


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """Given a file in place of the page's folder, the command is refused."""
    (tmp_path / "file").write_text("")

    assert_refused(call("fabric", "check", DATA / "two_switch", "--page", tmp_path / "file"), "--page", "folder")


def test_markup_in_names_is_escaped(tmp_path: Path) -> None:
    """Markup in names is escaped in headings, cells, labels, attributes and data."""
    file = page_of(tree(2, 2), tmp_path / "a.html", name=NASTY)
    table = Table(NASTY, [Column(NASTY, is_number=False, meaning=NASTY)], [[NASTY], [Cell(NASTY, is_number=False)]])
    cells = write(
        Page(NASTY, [Section(NASTY, [table], [NASTY])], facts=[(NASTY, NASTY)]), tmp_path / "b.html", option=""
    )

    for page in (file, cells):
        seen = assert_whole(page)
        assert not seen.of("img")
        assert "alert(1)" not in seen.script
        assert "alert(1)" in page.read_text()


def test_data_cannot_end_its_element() -> None:
    """Embedded JSON contains no character that could end the HTML element."""
    text = str(embedded([NASTY, {"<!--": "\u2028"}]))

    assert not set("<>&\u2028") & set(text)


@pytest.mark.parametrize(
    ("topology", "choices", "words"),
    [
        (tree(12, 3), 20, "The busiest 5,000 of 6,912 links are drawn."),
        (torus((8, 8, 8)), 20, "hosts and their links"),
        (tree(4, 3), 20, ""),
    ],
    ids=["432 switches", "512 switches", "48 switches"],
)
def test_large_networks_stay_below_a_megabyte(topology: Topology, choices: int, words: str, tmp_path: Path) -> None:
    """Pages of large networks stay below 750 kB, keep the busiest links and state the omission."""
    file = page_of(topology, tmp_path / "page.html", choices=choices, name="s" * 55)

    seen = assert_whole(file)
    assert file.stat().st_size < 750_000
    assert words in seen.text
    data = seen.network()
    assert data["chosen"] == len(data["values"]) - 1
    between = [
        link for link in links_of(topology, choices=choices) if max(link.source, link.target) < topology.switches
    ]
    assert max(data["values"][-1]) >= float(f"{max(link.values[-1] or 0 for link in between):.4g}")
    assert data["values"][-1] == sorted(data["values"][-1])


def test_a_large_fabric_has_a_page(tmp_path: Path) -> None:
    """The page of a fabric with 192 switches shortens its tables and names."""
    folder = write_capture(tmp_path / "capture", captured_tree(4, 4), names=lambda name: name + "x" * 100)

    called = call("fabric", "check", folder, "--page", tmp_path / "page")

    seen = assert_whole(tmp_path / "page" / "index.html")
    assert called.status == 0, called.err
    assert "rows." in seen.text
    assert max(map(len, seen.network()["names"])) <= 60
    assert len(seen.network()["links"]) == 2 * (3 * 256 + 256)


@pytest.mark.parametrize("name", ["<" * 64, "\u4e2d" * 64, "\x1b" * 64], ids=["markup", "three bytes", "escapes"])
def test_names_that_grow_when_written_leave_a_page_small(name: str, tmp_path: Path) -> None:
    """Names with characters that need several bytes keep the page below its size limit."""
    topology = tree(12, 3)
    table = Table("names", [Column("name", is_number=False)] * 3, [[name * 9] * 3] * 1000)
    drawing = drawn_network(
        [name] * topology.switches,
        [name] * len(topology.hosts),
        [switch for switch, _ in topology.hosts],
        links_of(topology, choices=20),
        SCALE,
        choices=[str(number) for number in range(20)],
        chosen=19,
    )

    file = write(Page("names", [Section("Names", [drawing, *[table] * 4])]), tmp_path / "page.html", option="")

    assert_whole(file)


def test_rows_beyond_a_page_are_counted(tmp_path: Path) -> None:
    """Rows beyond the limit of a table are counted on the page."""
    many = Table("many", [Column("n")], [[number] for number in range(2 * MOST_ROWS)], rest="the others are elsewhere")
    file = write(Page("rows", [Section("Rows", [many])]), tmp_path / "page.html", option="")

    seen = assert_whole(file)
    assert len(seen.tables[0]) == 1 + MOST_ROWS
    assert f"The first {MOST_ROWS} of 1,000 rows; the others are elsewhere." in seen.text


def test_cells_are_sorted_by_their_value(tmp_path: Path) -> None:
    """Cells are sorted by value, which is stored next to a formatted text."""
    table = Table(
        "t", [Column("time"), Column("share", form=".1f")], [[Cell("1.5 us", is_number=True, order=1500.0), 0.25]]
    )
    seen = assert_whole(write(Page("p", [Section("s", [table])]), tmp_path / "page.html", option=""))

    assert [held.get("data-v") for held in seen.of("td")] == ["1500.0", None]
    assert seen.tables[0][1] == ["1.5 us", "0.2"]
    assert all(tag != "th" or held.get("scope") == "col" for tag, held in seen.elements)


def test_trees_are_drawn_by_level_and_others_are_not() -> None:
    """Trees are drawn with one row per level and hosts below. Other graphs have no levels."""
    made = tree(3, 3)
    cables = [(one[0], other[0]) for one, other in made.cables]
    hosts = [switch for switch, _ in made.hosts]

    levels = layered(made.switches, cables, hosts)
    assert levels == [switch // 9 for switch in range(27)]
    layout = level_layout(levels, cables, hosts, with_hosts=True)

    heights = layout.switches[:, 1]
    assert len({round(float(y)) for y in heights}) == 3
    assert heights[0] > heights[9] > heights[18]
    assert (layout.hosts[:, 1] > heights.max()).all()
    assert layered(3, [(0, 1), (1, 2), (2, 0)], [0]) is None
    assert layered(2, [], [0]) is None


@pytest.mark.parametrize("kind", ["level", "grid", "depth", "ring", "spring", "two", "apart"])
def test_layouts_have_no_overlaps_and_fit_the_sheet(kind: str) -> None:
    """Given any layout, no two switches overlap and all nodes lie on the sheet."""
    ring = [(switch, (switch + 1) % 30) for switch in range(30)]
    made: dict[str, Any] = {
        "level": lambda: level_layout([0, 0, 0, 1], [(0, 3), (1, 3), (2, 3)], [0, 1, 2], with_hosts=True),
        "grid": lambda: grid_layout((5, 4), range(20), with_hosts=True),
        "depth": lambda: grid_layout((4, 4, 4), range(64), with_hosts=True),
        "ring": lambda: grid_layout((9,), range(9), with_hosts=True),
        "spring": lambda: spring_layout(30, [*ring, (0, 15)], range(30), with_hosts=True),
        "two": lambda: spring_layout(2, [(0, 1)] * 3, [0, 0, 1], with_hosts=True),
        "apart": lambda: spring_layout(6, [(0, 1), (1, 2), (3, 4)], [0, 3], with_hosts=True),
    }

    layout = made[kind]()

    places = np.concatenate([layout.switches, layout.hosts])
    assert np.isfinite(places).all()
    assert (places >= 0).all()
    assert (places[:, 0] <= layout.width).all()
    assert (places[:, 1] <= layout.height).all()
    gaps = np.linalg.norm(layout.switches[:, None] - layout.switches[None], axis=2)
    assert gaps[~np.eye(len(gaps), dtype=bool)].min() > 6
