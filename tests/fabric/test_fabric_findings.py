"""Findings besides credit loops: weights below a packet, unchecked properties, severities."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BAD, DATA, GOOD, assert_refused, call
from tests.fabric.fabrics import FILES, torus, tree, write_capture
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.finding import ABOUT_CAPTURE, CODES, ERRORS, NOTES
from vlane.schedulers.vlarb import MAX_WEIGHT, VLArbEntry
from vlane.schedulers.vlarb_shares import lane_shares, nearest_list, packets_of
from vlane.units import mtu_blocks


def weight_messages(folder: Path) -> list[str]:
    report = check_fabric(load_fabric(folder))
    return [f"{f.where}: {f.message}" for f in report.warnings if f.code == "WEIGHT_BELOW_MTU"]


def test_torus_gives_halves_where_four_to_one_was_meant() -> None:
    """Weights 32 and 8 with packets of 33 blocks are reported as shares of one half each.

    The report has one line per table.
    """
    towards_hosts, between = weight_messages(DATA / "torus44_2qos")

    assert towards_hosts.startswith("H0 port 1 and 63 more: packets of 2048 bytes are 33 blocks")
    assert (
        "in the high list VL 0 gets 50.0 % (configured: 80.0 %), VL 1 gets 50.0 % (configured: 20.0 %)" in towards_hosts
    )
    assert towards_hosts.endswith("0:132,1:33 gives the configured shares")
    assert between.startswith("T0_0 port 3 and 63 more")
    assert "0:132,1:132,2:132,3:132,4:33,5:33,6:33,7:33" in between


def test_ratio_that_cannot_be_had_is_said_with_the_nearest() -> None:
    """Given a share that weights up to 255 cannot reach, the nearest weights are proposed."""
    (irregular,) = weight_messages(DATA / "irregular_s1")
    (switches,) = weight_messages(DATA / "two_switch")

    assert "VL 0 gets 5.0 % (configured: 0.7 %)" in irregular
    assert irregular.endswith("no weights up to 255, with one entry for each lane, are nearer to the configured shares")
    assert "VL 0 gets 33.3 % (configured: 5.9 %)" in switches
    assert "VL 1 gets 88.9 % (configured: 94.1 %), VL 0 gets 11.1 % (configured: 5.9 %)" in switches
    assert "the nearest are 1:255,0:33: VL 1" in switches


@pytest.mark.parametrize(("mtu", "blocks", "said"), [(512, 9, ""), (1024, 17, "66.7 %"), (4096, 65, "50.0 %")])
def test_mtu_is_the_ports_own(mtu: int, blocks: int, said: str, capture_copy: Any) -> None:
    """The MTU of each port decides: weights 32 and 8 mean 4:1, 2:1 or 1:1 packets."""
    folder = capture_copy("torus44_2qos")
    file = folder / "smpquery-portinfo.txt"
    file.write_text(re.sub(r"(NeighborMTU:\.*)\d+", rf"\g<1>{mtu}", file.read_text()))

    said_of = weight_messages(folder)

    assert mtu_blocks(mtu) == blocks
    assert bool(said_of) == bool(said)
    assert all(f"packets of {mtu} bytes are {blocks} blocks" in line for line in said_of)
    assert not said or f"VL 0 gets {said} (configured: 80.0 %)" in said_of[0]


def test_lanes_that_a_port_lacks_have_no_share(capture_copy: Any) -> None:
    """Entries of lanes beyond OperVLs get no share."""
    folder = capture_copy("torus44_2qos")
    file = folder / "smpquery-portinfo.txt"
    file.write_text(re.sub(r"(OperVLs:\.*)VL0-7", r"\1VL0-3", file.read_text()))

    assert [line for line in weight_messages(folder) if "VL 4" in line] == []


def serve(entries: list[VLArbEntry], blocks: int) -> dict[int, int]:
    """Return the blocks each lane sends in one round of a list, by the arbiter's rule."""
    sent: dict[int, int] = {}
    for vl, weight in entries:
        while weight > 0:
            weight -= blocks
            sent[vl] = sent.get(vl, 0) + blocks
    return sent


@pytest.mark.parametrize("blocks", [1, 5, 33, 65])
@pytest.mark.parametrize("weights", [(32, 8), (4, 8, 255), (1, 1), (255, 254), (7, 0, 21), (64, 100, 64, 3)])
def test_shares_are_those_of_a_round_of_the_list(weights: tuple[int, ...], blocks: int) -> None:
    """Computed shares equal the shares of one simulated round, also for proposed weights."""
    entries = [VLArbEntry(number % 3, weight) for number, weight in enumerate(weights)]
    sent = serve(entries, blocks)
    shares = lane_shares(entries, blocks)

    assert {share.vl: share.given for share in shares} == pytest.approx(
        {vl: count / sum(sent.values()) for vl, count in sent.items()}
    )
    nearest = nearest_list(entries, blocks)
    sent = serve(list(nearest.entries), blocks)
    assert {share.vl: share.given for share in nearest.shares} == pytest.approx(
        {vl: count / sum(sent.values()) for vl, count in sent.items()}
    )
    assert all(0 < entry.weight <= MAX_WEIGHT for entry in nearest.entries)
    if nearest.exact:
        assert all(share.given == pytest.approx(share.meant) for share in nearest.shares)


@pytest.mark.parametrize("weights", [(32, 1), (255, 4, 8), (200, 70, 3), (5, 250, 250)])
def test_nearest_weights_are_nearest(weights: tuple[int, ...]) -> None:
    """No combination of whole packets has a smaller deviation than the proposed weights."""
    entries = [VLArbEntry(vl, weight) for vl, weight in enumerate(weights)]
    meant = [weight / sum(weights) for weight in weights]

    def missed(packets: tuple[int, ...]) -> float:
        return sum(abs(count / sum(packets) - share) for count, share in zip(packets, meant, strict=True))

    found = nearest_list(entries, 33)

    best = min(missed(packets) for packets in product(range(1, 9), repeat=len(weights)))
    assert not found.exact
    assert missed(tuple(packets_of(entry.weight, 33) for entry in found.entries)) == pytest.approx(best, abs=0.02)


def test_topology_alone_is_not_checked(capture_copy: Any) -> None:
    """Given a folder with the topology only, nothing is checked: the verdict says so, and a strict check fails."""
    folder = capture_copy("two_switch")
    for file in folder.iterdir():
        if file.name != "ibnetdiscover.txt":
            file.unlink()

    plain, strict = call("fabric", "check", folder, "--json"), call("fabric", "check", folder, "--json", "--strict")
    shown = call("fabric", "check", folder)

    assert (plain.status, strict.status) == (0, 1)
    assert (plain.json()["ok"], strict.json()["ok"]) == (True, False)
    assert set(plain.json()["not_checked"]) == set(CODES) - ABOUT_CAPTURE
    assert {(each["checked"], each["present"] > 0) for each in plain.json()["coverage"].values()} == {(0, True)}
    named = " ".join(missing["what"] for missing in plain.json()["missing"])
    for file in ("opensm-lfts.dump", "opensm-sl2vl.dump", "smpquery-vlarb.txt", "path-sl.csv", "opensm.conf"):
        assert file in named
    classes = len(CODES) - len(ABOUT_CAPTURE)
    assert f"holds as far as checked (0 of {classes} finding classes in full, 0 of 12 pairs)" in shown.out
    assert "; 0 credit loops (not checked), 0 unreachable pairs (not checked), 0 unserved lanes (not" in shown.out
    assert "NOT_CHECKED no forwarding tables (opensm-lfts.dump, dump_fts.txt, ibroute.txt, " in shown.out


@pytest.mark.parametrize(
    ("without", "code"),
    [
        ("smpquery-vlarb.txt", "STARVATION"),
        ("smpquery-portinfo.txt", "WEIGHT_BELOW_MTU"),
        ("path-sl.csv", "CREDIT_LOOP"),
        ("opensm.conf", "VLARB_DIFFERS"),
    ],
)
def test_missing_file_leaves_its_findings_unchecked(without: str, code: str, tmp_path: Path) -> None:
    """Given one missing file, its findings are listed as not checked.

    A second file with the same contents may be missing.
    """
    plan = torus((4,), 1) if without == "path-sl.csv" else tree(2, 2)  # SLs matter only where links form a cycle
    whole = write_capture(tmp_path / "whole", plan, without=("smpquery-sl2vl.txt",))
    folder = write_capture(tmp_path / "part", plan, without=(without,))

    assert check_fabric(load_fabric(whole)).not_checked == ()
    assert without in FILES
    assert code in check_fabric(load_fabric(folder)).not_checked
    assert call("fabric", "check", whole, "--strict").status == 0
    assert call("fabric", "check", folder, "--strict").status == 1


def test_ports_without_tables_are_not_checked(capture_copy: Any) -> None:
    """Given ports without arbitration tables, VL_UNSERVED is listed as not checked."""
    folder = capture_copy("torus44_lash")
    text = (folder / "smpquery-vlarb.txt").read_text()
    (folder / "smpquery-vlarb.txt").write_text(text[: text.rindex("$ smpquery")])

    report = check_fabric(load_fabric(folder))

    assert report.ok
    assert not report.spotless
    assert "VL_UNSERVED" in report.not_checked
    assert any("arbitration lists of 1 of 128 cabled ports: H31 port 1" in f.where for f in report.warnings)
    assert report.coverage["VLARB_DIFFERS"] == ("cabled ports", 127, 128)


def test_mtu_that_nobody_knows_is_not_checked(capture_copy: Any) -> None:
    """Given an unknown MTU, WEIGHT_BELOW_MTU is listed as not checked."""
    folder = capture_copy("torus44_2qos")
    file = folder / "smpquery-portinfo.txt"
    known = check_fabric(load_fabric(folder))
    file.write_text(file.read_text().replace("NeighborMTU", "NeighbourMTU"))

    report = check_fabric(load_fabric(folder))

    assert known.coverage["WEIGHT_BELOW_MTU"] == ("cabled ports", 3, 128)
    assert report.coverage == known.coverage | {"WEIGHT_BELOW_MTU": ("cabled ports", 0, 128)}


MISSING = {
    "irregular_s1": ["PortInfo of 93 of 96 cabled ports"],
    "two_switch": ["PortInfo of 9 of 12 cabled ports"],
    "torus44_2qos": ["opensm.conf routing_engine torus-2QoS", "PortInfo of 125 of 128 cabled ports"],
    "torus44_lash": ["PortInfo of 125 of 128 cabled ports"],
    "tree43_ftree": ["path SLs of 3,832 of 4,032 pairs", "PortInfo of 381 of 384 cabled ports"],
    BAD: ["path SLs of 990 of 992 pairs", "PortInfo of 93 of 96 cabled ports"],
}
"""Parts that the captures lack: PortInfo was captured of three ports, path SLs of two captures in part."""


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_every_finding_has_its_severity(name: str) -> None:
    """Errors fail a check, warnings fail only a strict check, and notes never fail."""
    plain = call("fabric", "check", DATA / name, "--json")
    strict = call("fabric", "check", DATA / name, "--json", "--strict")

    document = plain.json()
    severities = [warning["severity"] for warning in document["warnings"]]
    for warning in document["warnings"]:
        expected = "error" if warning["code"] in ERRORS else "note" if warning["code"] in NOTES else "warning"
        assert warning["severity"] == expected
    assert document["ok"] == ("error" not in severities) == (plain.status == 0)
    assert strict.json()["ok"] == (not set(severities) & {"error", "warning"}) == (strict.status == 0)
    assert [part["what"].split(":")[0] for part in document["missing"]] == MISSING[name]


def test_codes_of_severities_are_codes() -> None:
    """Every code with a severity exists, and ``docs/fabric.md`` lists every code."""
    page = (Path(__file__).parent.parent.parent / "docs" / "fabric.md").read_text()

    assert set(CODES) >= ERRORS | NOTES
    assert all(f"`{code}`" in page for code in CODES)


def test_unserved_lanes_are_told_together(capture_copy: Any) -> None:
    """Unserved lanes are reported in one line per lane, while JSON lists every port."""
    folder = capture_copy("torus44_lash")
    for file, old, new in (
        ("opensm.conf", "0:64,1:64", "0:64,1:0"),
        ("smpquery-vlarb.txt", "WEIGHT: |0x40|0x40|", "WEIGHT: |0x40|0x0 |"),
    ):
        (folder / file).write_text((folder / file).read_text().replace(old, new))

    document = call("fabric", "check", folder, "--json").json()

    lines = [warning for warning in document["warnings"] if warning["code"] == "VL_UNSERVED"]
    assert len(document["unserved_vls"]) > 10
    assert len(lines) == 1
    assert f"and {len(document['unserved_vls']) - 1} more" in lines[0]["where"]


def test_strict_is_an_option_of_check_alone() -> None:
    """``--strict`` is an option of ``check`` only."""
    assert_refused(call("fabric", "show", DATA / "two_switch", "--strict"), "--strict")
