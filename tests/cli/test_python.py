"""Python interface: executable examples of its page, and InputError for every refusal."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import vlane
from tests.conftest import BAD, DATA, GOOD, ROOT
from vlane.errors import InputError

PAGE = ROOT / "docs" / "python.md"


def test_examples_of_the_page_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All code blocks of ``docs/python.md`` run in order."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for name in ("tests", "sim_top"):
        (tmp_path / name).symlink_to(ROOT / name)
    names: dict[str, Any] = {}

    with contextlib.chdir(tmp_path):
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - the page is ours

    assert len(blocks) > 4
    assert names["results"].parameters == ["buffers.blocks"]
    assert (tmp_path / "accepted.png").read_bytes().startswith(b"\x89PNG")
    assert "WEIGHT_BELOW_MTU" in capsys.readouterr().out


def test_page_documents_every_public_name() -> None:
    """The page documents every public name and no others."""
    told = set(re.findall(r"vlane\.([A-Za-z_]+)", PAGE.read_text()))

    assert set(vlane.__all__) - {"FabricReport"} <= told
    assert all(hasattr(vlane, name) for name in told - {"fabric", "NAME"})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: vlane.Study.example("tree43"), "example must be one of .* did you mean tree43_"),
        (lambda: vlane.Study.read("no.toml"), r"no.toml: study file cannot be read"),
        (lambda: vlane.Study.from_dict([]), "content must be a mapping of sections, not list"),  # type: ignore[arg-type]
        (lambda: vlane.Study.from_dict({}), "network is missing"),
        (lambda: vlane.component("vlab"), "BLOCK must be one of .* did you mean vlarb?"),
        (lambda: vlane.component("rr", data_vls="4"), "data_vls must be a whole number, not 4"),
        (lambda: vlane.component("rr", data_vls=99), "data_vls must be 2 to 32, not 99"),
        (lambda: vlane.component("vlarb", form="fast"), "form must be one of"),
        (lambda: vlane.plan_dtable({"entries": 32}), "dtable_plan.gmtu_blocks is missing"),
        (lambda: vlane.plan_dtable({"entries": 33, "gmtu_blocks": 4}), "dtable_plan.entries must be 32, 64 or 128"),
        (lambda: vlane.read_tables("no.toml"), "no.toml: table file cannot be read"),
        (lambda: vlane.Results.read("no"), "no: results cannot be read"),
        (lambda: vlane.Fabric.read("no"), "no"),
        (lambda: vlane.Fabric.read(DATA / "two_switch").paths(source="H9"), "source must be the LID or the name"),
        (lambda: vlane.Fabric.read(DATA / "two_switch").paths(destination=True), "destination must be the LID"),
        (lambda: vlane.Fabric.read(DATA / "two_switch").study(loads=[2]), "run.loads.0 must be at most 1"),
    ],
)
def test_bad_input_is_one_error(make: Any, words: str) -> None:
    """Bad input to any function raises an InputError with a single line."""
    with pytest.raises(vlane.InputError, match=words):
        make()


def test_a_component_of_another_form_has_its_defaults() -> None:
    """Choosing another form of a component returns another type."""
    assert type(vlane.component("vlarb", form="line_rate")).__name__ != type(vlane.component("vlarb")).__name__


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_single_paths_are_those_of_the_check(name: str) -> None:
    """Paths followed one by one in Python agree with the fabric check's counts on every link and lane."""
    fabric = vlane.Fabric.read(DATA / name)
    trace = trace_of(fabric)

    paths, hops = fabric.paths(), fabric.hops()

    assert (~paths["arrives"]).sum() == fabric.check().unreachable_pairs
    assert dict(paths["sl"].value_counts().rows()) == trace.sls
    used = {(row[0], row[1], row[2]): row[3] for row in hops.group_by("node", "port", "vl").len().rows()}
    nodes = fabric.captured.nodes
    expected = {}
    for number in trace.traffic.nonzero()[0].tolist():
        hop = trace.hop(number)
        expected[nodes[hop.port.guid].name, hop.port.number, hop.vl] = int(trace.traffic[number])
    assert used == expected
    arrived = paths.filter("arrives")
    ends = hops.group_by("slid", "dlid").agg(pl.col("hop").max()).join(arrived, on=["slid", "dlid"])
    assert (ends["hop"] == ends["switches"]).all()


def trace_of(fabric: vlane.Fabric) -> Any:
    """Return the paths of all pairs as the fabric check follows them."""
    from vlane.fabric.trace import trace_pairs  # noqa: PLC0415 - the other program

    return trace_pairs(fabric.captured)


def test_paths_that_end_or_go_round_do_not_arrive(capture_copy: Any) -> None:
    """Given a missing entry and a forwarding loop, both programs report the affected paths as lost."""
    folder = capture_copy("two_switch")
    fabric = vlane.Fabric.read(folder)
    first, second = sorted(fabric.captured.lfts)
    tables = {guid: bytearray(fabric.captured.lfts[guid]) for guid in (first, second)}
    there = fabric.paths().filter(pl.col("switches") == 2)["dlid"][0]
    cables = {far.guid: port for port, far in fabric.captured.nodes[first].links.items()}
    back = {far.guid: port for port, far in fabric.captured.nodes[second].links.items()}
    lids = fabric.paths()["dlid"].unique().sort().to_list()
    tables[first][there], tables[second][there] = cables[second], back[first]
    other = next(lid for lid in lids if lid != there)
    tables[first][other] = 255

    fabric.captured.lfts.update({guid: bytes(table) for guid, table in tables.items()})

    lost = fabric.paths().filter(~pl.col("arrives"))
    assert set(lost["dlid"]) == {there, other}
    assert len(lost) == fabric.check().unreachable_pairs > 0


def test_tables_of_a_fabric_equal_the_capture() -> None:
    """The tables of a fabric contain the captured entries, limits and rows."""
    fabric = vlane.Fabric.read(DATA / "irregular_s1")
    tables = fabric.tables

    port = sorted(fabric.captured.vlarb)[0]
    name, table = fabric.captured.nodes[port.guid].name, fabric.captured.table_of(port)
    own = tables.vlarb.filter(pl.col("node") == name, pl.col("port") == port.number)
    assert own.filter(pl.col("list") == "high").select("vl", "weight").rows() == [(e.vl, e.weight) for e in table.high]
    assert own.filter(pl.col("list") == "low").select("vl", "weight").rows() == [(e.vl, e.weight) for e in table.low]
    assert set(own["limit_of_high_priority"]) == {table.limit_of_high_priority}
    assert tables.sl2vl.height == 16 * len(fabric.captured.sl2vl)
    (guid, source, to), row = next(iter(fabric.captured.sl2vl.items()))
    here = (pl.col("node") == fabric.captured.nodes[guid].name, pl.col("input") == source, pl.col("output") == to)
    assert tables.sl2vl.filter(*here).sort("sl")["vl"].to_list() == list(row)
    assert tables.lft.height == sum(len(lft) - lft.count(255) for lft in fabric.captured.lfts.values())


@pytest.mark.parametrize("name", ["irregular_s1", "two_switch"])
def test_a_fabric_is_a_study(name: str) -> None:
    """A captured fabric converts to a study that passes its checks."""
    study = vlane.Fabric.read(DATA / name).study(loads=[0.1, 0.2], changes={"run.cycles": 20_000})

    study.check()

    assert study.model.run.loads == [0.1, 0.2]
    assert study.base == DATA.resolve()


def test_studies_are_values() -> None:
    """Studies compare and hash by value, cannot be modified, and report a path that cannot be written."""
    one, other = (vlane.Study.example("tree43_ib").with_({"run.seeds": [1, 2]}) for _ in range(2))

    assert one == other
    assert hash(one) == hash(other)
    assert one != one.with_({"run.seeds": [3]})
    assert "run.seeds=[1, 2]" in repr(one)
    one.to_dict()["run"]["seeds"].append(9)
    one.changes["run.seeds"].append(9)
    assert one == other
    with pytest.raises(AttributeError):
        one.model = None  # type: ignore[misc,assignment]  # the point of the test
    with pytest.raises(InputError, match="path: cannot write the file"):
        one.save(DATA)
