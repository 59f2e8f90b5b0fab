"""Captured fabrics: parsing, findings of the check, and OpenSM's treatment of its options."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BAD, DATA, GOOD
from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import FabricReport, check_fabric
from vlane.fabric.dumps.ibnetdiscover import read_ibnetdiscover
from vlane.fabric.dumps.lfts import read_lfts
from vlane.fabric.dumps.opensm_conf import read_opensm_conf
from vlane.fabric.dumps.path_sls import read_path_csv, read_saquery
from vlane.fabric.dumps.sl2vl import read_opensm_sl2vl, read_smpquery_sl2vl
from vlane.fabric.finding import CODES
from vlane.fabric.lids import LidBook
from vlane.fabric.model import Kind

SHOWN = {
    "irregular_s1": (8, 32, 48, 8, 1, {0: 992}),
    "torus44_2qos": (16, 32, 64, 8, 2, {0: 752, 1: 112, 2: 112, 3: 16}),
    "torus44_lash": (16, 32, 64, 8, 1, {0: 520, 1: 472}),
    "tree43_ftree": (48, 64, 192, 4, 1, {0: 4032}),
    "two_switch": (2, 4, 6, 8, 2, {0: 12}),
    BAD: (8, 32, 48, 8, 1, {0: 992}),
}
CASES = {
    found.group(1): found.group(2)
    for found in re.finditer(
        r"##### case (\w+): opensm.conf:\n(.*?)(?=##### |\Z)", (DATA / "qosconf_cases.txt").read_text(), re.DOTALL
    )
}


def codes(report: FabricReport) -> set[str]:
    """Return the codes without those of weights and of parts that the captures lack, whatever is changed in them."""
    return {finding.code for finding in report.warnings} - {"WEIGHT_BELOW_MTU", "NOT_CHECKED"}


def edit(file: Path, old: str, new: str, count: int = -1) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, count))


@pytest.mark.parametrize("name", SHOWN)
def test_capture_holds_what_was_captured(name: str) -> None:
    """Each capture has the numbers of switches, hosts, links and tables of its generator."""
    fabric = load_fabric(DATA / name)
    report = check_fabric(fabric)

    switches, hosts, links, data_vls, tables, sls = SHOWN[name]
    assert len(fabric.of_kind(Kind.SWITCH)) == switches
    assert len(fabric.of_kind(Kind.CA)) == hosts
    assert fabric.cables == links
    assert fabric.data_vls == data_vls
    assert len(fabric.distinct_tables()) == tables
    assert report.path_sls == sls


@pytest.mark.parametrize("name", GOOD)
def test_good_fabric_has_no_loop_and_serves_every_lane(name: str) -> None:
    """The five good captures have no credit loop, reach all hosts and serve every lane.

    Warnings do not fail the check.
    """
    report = check_fabric(load_fabric(DATA / name))

    assert report.ok
    assert (report.loops, report.unreachable, report.unserved) == ((), (), ())


def test_min_hop_fallback_has_a_credit_loop_that_closes() -> None:
    """In the bad capture, each link of the credit loop leads to the switch of the next link."""
    fabric = load_fabric(DATA / BAD)

    report = check_fabric(fabric)

    assert not report.ok
    assert len(report.loops) == 1
    loop = report.loops[0]
    assert len(loop) >= 3
    for held, wanted in zip(loop, (*loop[1:], loop[0]), strict=True):
        assert fabric.nodes[held.port.guid].links[held.port.number].guid == wanted.port.guid
    assert codes(report) == {"CREDIT_LOOP", "ROUTING_FALLBACK"}
    assert any("path SLs of 990 of 992 pairs" in line for line in report.assumptions)


def test_warnings_of_good_fabrics_are_the_known_ones() -> None:
    """Good captures have only their known warnings.

    The torus has limit 255 and two lanes towards adapters, and three captures have small weights.
    """
    found = {name: {f.code for f in check_fabric(load_fabric(DATA / name)).warnings} - {"NOT_CHECKED"} for name in GOOD}

    assert found == {
        "torus44_2qos": {"STARVATION", "WEIGHT_BELOW_MTU", "VLARB_NARROWED"},
        "irregular_s1": {"WEIGHT_BELOW_MTU"},
        "two_switch": {"WEIGHT_BELOW_MTU"},
        "torus44_lash": set(),
        "tree43_ftree": set(),
    }
    assert set(CODES) >= {"STARVATION", "VLARB_NARROWED", "CREDIT_LOOP"}


@pytest.mark.parametrize("name", SHOWN)
def test_dump_fts_and_lfts_dump_say_the_same(name: str) -> None:
    """Forwarding tables read from the formats of three tools are equal."""
    dump = read_lfts(DATA / name / "opensm-lfts.dump")

    assert read_lfts(DATA / name / "dump_fts.txt") == dump
    if (DATA / name / "ibroute.txt").exists():
        assert read_lfts(DATA / name / "ibroute.txt") == dump


def test_saquery_text_and_csv_say_the_same() -> None:
    """Path SLs read from ``saquery`` text and from CSV are equal."""
    folder = DATA / "two_switch"

    assert read_saquery(folder / "saquery-path.txt") == read_path_csv(folder / "path-sl.csv")


@pytest.mark.parametrize("name", SHOWN)
def test_smpquery_and_opensm_agree_on_sl2vl(name: str) -> None:
    """OpenSM's dump and ``smpquery`` give equal SL2VL rows."""
    nodes = load_fabric(DATA / name)
    lids = LidBook(nodes.nodes, DATA / name / "ibnetdiscover.txt")
    dumped = read_opensm_sl2vl(DATA / name / "opensm-sl2vl.dump", lids)

    read_back = read_smpquery_sl2vl(DATA / name / "smpquery-sl2vl.txt", lids)

    assert {key: dumped[key] for key in read_back} == read_back
    assert not any("differ" in note for note in nodes.notes)


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (["opensm-lfts.dump", "dump_fts.txt", "opensm.fdbs"], "no forwarding tables"),
        (["path-sl.csv", "saquery-path.txt"], "every pair takes SL 0"),
        (["smpquery-vlarb.txt"], "arbitration is not checked"),
        (["opensm.conf"], "limits are 0"),
        (["smpquery-portinfo.txt"], "data lanes"),
        (["opensm-sl2vl.dump", "smpquery-sl2vl.txt"], "VL = SL modulo"),
    ],
)
def test_missing_optional_file_is_said(capture_copy: Any, missing: list[str], said: str) -> None:
    """Given a missing optional file, the report states the assumption, and the check succeeds."""
    folder = capture_copy("two_switch")
    for name in missing:
        (folder / name).unlink()

    report = check_fabric(load_fabric(folder))

    assert any(said in line for line in report.assumptions)
    assert report.ok


def test_limit_comes_from_the_configuration_by_port_type() -> None:
    """Limits are taken from ``opensm.conf`` by type of port, since this simulator always reads back 0."""
    fabric = load_fabric(DATA / "two_switch")

    limits = {
        fabric.nodes[ports[0].guid].kind: table.limit_of_high_priority
        for table, ports in fabric.distinct_tables().items()
    }

    assert limits == {Kind.CA: 0, Kind.SWITCH: 10}


def _case_tables(text: str) -> dict[str, list[tuple[int, int]]]:
    """Return the lists OpenSM programmed, parsed from a recorded case."""
    lists: dict[str, list[tuple[int, int]]] = {"Low": [], "High": []}
    current, vls = "", [0]
    for line in text.splitlines():
        if found := re.match(r"# (Low|High) priority", line):
            current = found.group(1)
        elif line.startswith("VL    :"):
            vls = [int(cell, 16) for cell in line.split("|")[1:-1]]
        elif line.startswith("WEIGHT:"):
            lists[current] += zip(vls, (int(cell, 16) for cell in line.split("|")[1:-1]), strict=True)
    return lists


@pytest.mark.parametrize("name", CASES)
def test_options_become_what_opensm_programmed(name: str, tmp_path: Path) -> None:
    """For six recorded runs of OpenSM, options give the entries that OpenSM programmed.

    The options include masked, wrapped, truncated and malformed entries.
    """
    text = CASES[name]
    options = "".join(line.strip() + "\n" for line in text.split("===")[0].splitlines())
    (tmp_path / "opensm.conf").write_text(options)
    caps = re.search(r"LowCap (\d+) HighCap (\d+)", text)
    vl_cap = re.search(r"VLCap:\.*VL0-(\d+)", text)
    row = re.search(r"ports: in  0, out  5: \|(.*)\|", text)
    assert caps is not None
    assert vl_cap is not None
    assert row is not None
    vls = int(vl_cap.group(1)) + 1

    configured = read_opensm_conf(tmp_path / "opensm.conf").configured(Kind.SWITCH)

    programmed = _case_tables(text)
    assert list(configured.programmed_list(configured.low, cap=int(caps.group(1)), vls=vls)) == programmed["Low"]
    assert list(configured.programmed_list(configured.high, cap=int(caps.group(2)), vls=vls)) == programmed["High"]
    assert configured.programmed_row(vls) == tuple(int(cell) for cell in row.group(1).split("|"))


def _spoil(folder: Path, case: str) -> None:
    """Change the small capture as if OpenSM had received a recorded case's options."""
    text = CASES[case]
    options = "".join(line.strip() + "\n" for line in text.split("===")[0].splitlines())
    (folder / "opensm.conf").write_text(options)
    body = text[text.index("# VLArbitration") :].strip()
    blocks = (folder / "smpquery-vlarb.txt").read_text().split("$ smpquery vlarb ")[1:]
    heads = [re.search(r"# VLArbitration tables: Lid \d+ port \d+ ", block) for block in blocks]
    (folder / "smpquery-vlarb.txt").write_text(
        "".join(
            "$ smpquery vlarb x\n" + re.sub(r"# VLArbitration tables: Lid \d+ port \d+ ", head.group(0), body) + "\n"
            for head in heads
            if head
        )
    )
    row = re.search(r"\|.*\|$", text[text.index("ports: in") :].splitlines()[0])
    assert row is not None
    for name in ("smpquery-sl2vl.txt", "opensm-sl2vl.dump"):
        file = folder / name
        if name == "opensm-sl2vl.dump":
            file.unlink()
            continue
        file.write_text(re.sub(r"\|( ?\d+\|){16}$", row.group(0), file.read_text(), flags=re.MULTILINE))
        file.write_text(file.read_text().replace(f"SL: {row.group(0)}", "SL: | 0|"))
    oper = re.search(r"OperVLs:.*", text)
    assert oper is not None
    file = folder / "smpquery-portinfo.txt"
    file.write_text(re.sub(r"OperVLs:.*", oper.group(0), file.read_text()))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("default", set()),
        (
            "overflow",
            {"VL_MASKED", "WEIGHT_WRAPPED", "ENTRIES_DROPPED", "LIMIT_REPLACED", "MAX_VLS_IGNORED", "SL2VL_MASKED"},
        ),
        ("max_op_vls_2", {"OPER_VLS_EXCEEDED", "SL2VL_MASKED"}),
        ("formatting", {"ENTRY_MALFORMED", "SL2VL_SHORT"}),
    ],
)
def test_surprises_of_opensm_are_reported(case: str, expected: set[str], capture_copy: Any) -> None:
    """Each recorded surprise of OpenSM is reported with its code, and no other code."""
    folder = capture_copy("two_switch")
    _spoil(folder, case)

    report = check_fabric(load_fabric(folder))

    assert codes(report) - {"VL_UNSERVED"} == expected, report.warnings


def test_programmed_table_that_opensm_would_not_make_is_reported(capture_copy: Any) -> None:
    """Given a programmed table that OpenSM would not make of its options, the difference is reported."""
    folder = capture_copy("irregular_s1")
    edit(folder / "smpquery-vlarb.txt", "WEIGHT: |0x4 |0x8 |", "WEIGHT: |0x5 |0x8 |", 1)

    report = check_fabric(load_fabric(folder))

    assert codes(report) == {"VLARB_DIFFERS"}
    (differs,) = (finding for finding in report.warnings if finding.code == "VLARB_DIFFERS")
    assert "entry 0 is VL 0 weight 5, but OpenSM programs VL 0 weight 4" in differs.message


def test_lane_with_traffic_and_no_entry_is_unserved(capture_copy: Any) -> None:
    """Given traffic on a lane without an entry, the check fails and names port and lane."""
    folder = capture_copy("torus44_lash")
    edit(folder / "opensm.conf", "0:64,1:64", "0:64,1:0")
    edit(folder / "smpquery-vlarb.txt", "WEIGHT: |0x40|0x40|", "WEIGHT: |0x40|0x0 |")

    report = check_fabric(load_fabric(folder))

    assert not report.ok
    assert {u.vl for u in report.unserved} == {1}
    assert codes(report) == {"VL_UNSERVED"}


def test_dropped_sl_makes_pairs_unreachable(capture_copy: Any) -> None:
    """Given VL 15 in an SL2VL row in use, the affected pairs are reported as unreachable."""
    folder = capture_copy("two_switch")
    (folder / "opensm-sl2vl.dump").unlink()
    edit(folder / "smpquery-sl2vl.txt", "ports: in  5, out  1: | 0|", "ports: in  5, out  1: |15|")

    report = check_fabric(load_fabric(folder))

    assert not report.ok
    assert all("drops SL 0" in pair.reason for pair in report.unreachable)
    assert "UNREACHABLE" in codes(report)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("0x0005 005 # Channel Adapter portguid 0x0000000000100005: 'H2'\n", "", "no entry for LID 5"),
        ("0x0005 005 #", "0x0005 007 #", "has no cable"),
        ("0x0005 005 #", "0x0005 001 #", "delivered to H0"),
        ("0x0005 001 #", "0x0005 005 #", "circulates forever"),
    ],
)
def test_misrouted_pair_is_unreachable(old: str, new: str, reason: str, capture_copy: Any) -> None:
    """Missing entries, dead ends, wrong hosts and forwarding loops are reported with separate reasons."""
    folder = capture_copy("two_switch")
    edit(folder / "opensm-lfts.dump", old, new, 1)

    report = check_fabric(load_fabric(folder))

    assert not report.ok
    assert {reason in pair.reason for pair in report.unreachable} == {True}
    assert {pair.dlid for pair in report.unreachable} == {5}


def test_unbounded_limit_names_the_lanes_that_starve(capture_copy: Any) -> None:
    """Given limit 255, the lanes of the low list that may starve are named."""
    folder = capture_copy("irregular_s1")
    edit(folder / "opensm.conf", "qos_high_limit 10", "qos_high_limit 255")

    report = check_fabric(load_fabric(folder))

    assert report.ok
    assert codes(report) == {"STARVATION"}
    starved = next(finding for finding in report.warnings if finding.code == "STARVATION")
    assert "VL 2, 3, 4, 5, 6, 7 of the low list may starve behind VL 0, 1" in starved.message
    assert len(starved.ports) == 96


def test_qos_switched_off_is_said(capture_copy: Any) -> None:
    """Given options without ``qos TRUE``, the report states that QoS is off."""
    folder = capture_copy("two_switch")
    edit(folder / "opensm.conf", "qos TRUE", "qos FALSE")

    assert codes(check_fabric(load_fabric(folder))) == {"QOS_OFF"}


@pytest.mark.parametrize(
    ("file", "keep"),
    [
        ("ibnetdiscover.txt", 0.5),
        ("opensm-lfts.dump", 0.5),
        ("dump_fts.txt", 0.93),
        ("opensm-sl2vl.dump", 0.7),
        ("smpquery-sl2vl.txt", 0.402),
        ("smpquery-vlarb.txt", 0.6),
        ("saquery-path.txt", 0.3),
        ("path-sl.csv", 0.5),
    ],
)
def test_truncated_dump_is_refused_with_its_line(file: str, keep: float, capture_copy: Any) -> None:
    """A truncated file is refused with its name and line."""
    folder = capture_copy("two_switch")
    text = (folder / file).read_text()
    (folder / file).write_text(text[: int(len(text) * keep)])
    for other in {"dump_fts.txt": ["opensm-lfts.dump"], "saquery-path.txt": ["path-sl.csv"]}.get(file, []):
        (folder / other).unlink()

    with pytest.raises(InputError) as refused:
        load_fabric(folder)

    assert refused.value.source.endswith(file)
    assert refused.value.line > 0


def test_cable_described_from_one_end_is_refused(capture_copy: Any) -> None:
    """Given a cable listed at one end only, the file is refused with its line."""
    folder = capture_copy("two_switch")
    edit(folder / "ibnetdiscover.txt", '[6]\t"S-0000000000200001"[6]\t\t# "S1" lid 3 4xSDR\n', "")

    with pytest.raises(InputError, match="described from one end only") as refused:
        read_ibnetdiscover(folder / "ibnetdiscover.txt")

    assert refused.value.line == 14


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_ibdmchk_gives_the_same_verdict(name: str, tmp_path: Path) -> None:
    """Where ``ibdmchk`` is installed, its verdict on credit loops equals the check's."""
    program = shutil.which("ibdmchk")
    if program is None:
        pytest.skip("ibdmchk is not installed (Debian package ibutils)")
    fabric = load_fabric(DATA / name)
    (tmp_path / "empty.mcfdbs").write_text("")
    owners = {lid: port for lid, port in fabric.port_of_lid().items() if fabric.nodes[port.guid].kind is Kind.CA}
    sls = [
        f"0x{owners[slid].guid:016x} {dlid} {fabric.path_sls.get((slid, dlid), 0)}\n"
        for slid in owners
        for dlid in owners
        if slid != dlid
    ]
    rows = [
        f"0x{guid:016x} {source} {to} " + " ".join(f"0x{row[i]:x}{row[i + 1]:x}" for i in range(0, 16, 2)) + "\n"
        for (guid, source, to), row in sorted(fabric.sl2vl.items())
        if fabric.nodes[guid].kind is Kind.SWITCH
    ]
    (tmp_path / "psl").write_text("".join(sls))
    (tmp_path / "slvl").write_text("".join(rows))

    said = subprocess.run(
        [
            program,
            "-s",
            str(DATA / name / "opensm-subnet.lst"),
            "-f",
            str(DATA / name / "opensm.fdbs"),
            "-m",
            str(tmp_path / "empty.mcfdbs"),
            "-c",
            str(tmp_path / "psl"),
            "-d",
            str(tmp_path / "slvl"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    ).stdout

    loops = "loop" in said.lower() and "no credit loops found" not in said.lower()
    assert loops == bool(check_fabric(fabric).loops), said


@pytest.mark.parametrize(
    ("file", "old", "new", "must"),
    [
        ("smpquery-vlarb.txt", "Lid 2 port 1 ", "Lid 2 port 99 ", "0 to 8"),
        ("smpquery-portinfo.txt", "Lid 2 port 1", "Lid 2 port 9", "0 to 8"),
        ("smpquery-sl2vl.txt", "ports: in  0, out  1:", "ports: in  0, out 200:", "0 to 8"),
        ("smpquery-sl2vl.txt", "Lid 2", "Lid 77", "in ibnetdiscover"),
        ("ibnetdiscover.txt", "lid 3 lmc 0", "lid 49152 lmc 0", "1 to"),
        ("ibnetdiscover.txt", "lid 3 lmc 0", "lid 5 lmc 0", "LID 5 must be unique, not assigned to S1 and H2"),
        ("ibnetdiscover.txt", "Switch\t8", "Switch\t\u0668", "a node"),
        ("opensm-lfts.dump", "6 lids dumped", "9" * 5000 + " lids dumped", "row or a heading"),
        ("path-sl.csv", "1,4,0,", "1,4,16,", "0 to 15"),
    ],
)
def test_impossible_dump_is_refused(file: str, old: str, new: str, must: str, capture_copy: Any) -> None:
    """Given ports beyond a node, unknown LIDs or malformed numbers, the file is refused."""
    folder = capture_copy("two_switch")
    edit(folder / file, old, new, 1)

    with pytest.raises(InputError, match=must) as refused:
        load_fabric(folder)

    assert refused.value.source.endswith(file)


@pytest.mark.parametrize(
    ("options", "limit", "refused"),
    [
        ("qos_high_limit 300", 0, 1),
        ("qos_high_limit 255\nqos_swe_high_limit 999", 255, 1),
        ("qos_high_limit 0x10", 16, 0),
        ("qos_swe_high_limit 0377", 255, 0),
        ("qos_high_limit -1", 0, 0),
        ("qos_high_limit 7\nqos_swe_high_limit -1", 7, 0),
        ("qos_high_limit 7\nqos_swe_high_limit (null)", 0, 0),
        ("qos_high_limit '4'", 4, 0),
        ("qos_high_limit 4x", 4, 0),
        ("qos_high_limit 4294967300", 4, 0),
        ("qos_high_limit " + "9" * 5000, 0, 0),
        ("qos_high_limit \u00b2", 0, 0),
        ("qos\tTRUE\nqos_swe_high_limit\t7", 7, 0),
    ],
)
def test_limit_is_read_as_opensm_reads_it(options: str, limit: int, refused: int, tmp_path: Path) -> None:
    """A limit is read by C's strtol, range-checked, and otherwise falls back to the general option and 0."""
    (tmp_path / "opensm.conf").write_text(options + "\n")

    configured = read_opensm_conf(tmp_path / "opensm.conf").configured(Kind.SWITCH)

    assert configured.limit() == limit
    assert len(configured.refused_limits()) == refused


def test_lane_beyond_operational_ones_is_unserved(capture_copy: Any) -> None:
    """Given traffic on a lane beyond OperVLs, the lane is reported as unserved."""
    folder = capture_copy("torus44_lash")
    text = (folder / "smpquery-portinfo.txt").read_text()
    (folder / "smpquery-portinfo.txt").write_text(re.sub(r"OperVLs:.*", "OperVLs:........VL0", text))

    report = check_fabric(load_fabric(folder))

    assert not report.ok
    assert {u.vl for u in report.unserved} == {1}


def test_switched_off_qos_programs_no_limit(capture_copy: Any) -> None:
    """Without exactly ``qos TRUE``, no option is expected on a port."""
    folder = capture_copy("torus44_2qos")
    edit(folder / "opensm.conf", "qos TRUE", "qos true")

    assert codes(check_fabric(load_fabric(folder))) == {"QOS_OFF"}


def test_more_lanes_than_allowed_is_said(capture_copy: Any) -> None:
    """Given more operational lanes than max_op_vls, the report warns."""
    folder = capture_copy("irregular_s1")
    edit(folder / "opensm.conf", "qos TRUE", "qos TRUE\nmax_op_vls 2")

    assert "MAX_OP_VLS_EXCEEDED" in codes(check_fabric(load_fabric(folder)))


def test_missing_sl2vl_rows_are_said(capture_copy: Any) -> None:
    """Missing SL2VL rows in use are reported as an assumption."""
    folder = capture_copy("two_switch")
    (folder / "opensm-sl2vl.dump").unlink()
    text = (folder / "smpquery-sl2vl.txt").read_text()
    (folder / "smpquery-sl2vl.txt").write_text(text[: text.index("$ smpquery sl2vl 3 1")])

    report = check_fabric(load_fabric(folder))

    assert any("SL2VL rows in use are missing" in line for line in report.assumptions)
