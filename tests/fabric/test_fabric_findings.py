"""What the check finds beside loops: weights below a packet, what is not checked, and how severe each is."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BAD, DATA, GOOD, assert_refused, call
from tests.fabric.fabrics import FILES, tree, write_capture
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.finding import CODES, ERRORS, NOTES
from vlane.schedulers.vlarb import MAX_WEIGHT, VLArbEntry
from vlane.schedulers.vlarb_shares import lane_shares, nearest_list, packets_of
from vlane.units import mtu_blocks


def weight_messages(folder: Path) -> list[str]:
    report = check_fabric(load_fabric(folder))
    return [f"{f.where}: {f.message}" for f in report.warnings if f.code == "WEIGHT_BELOW_MTU"]


def test_torus_gives_halves_where_four_to_one_was_meant() -> None:
    """32:8 with packets of 33 blocks is one packet each; one line per table, not per port."""
    towards_hosts, between = weight_messages(DATA / "torus44_2qos")

    assert towards_hosts.startswith("H0 port 1 and 63 more: packets of 2048 bytes are 33 blocks")
    assert "in the high list VL 0 gets 50.0 % of 80.0 %, VL 1 gets 50.0 % of 20.0 %" in towards_hosts
    assert towards_hosts.endswith("0:132,1:33 would give what was meant")
    assert between.startswith("T0_0 port 3 and 63 more")
    assert "0:132,1:132,2:132,3:132,4:33,5:33,6:33,7:33" in between


def test_ratio_that_cannot_be_had_is_said_with_the_nearest() -> None:
    """1 to 64 needs more than the 8 packets that a weight of 255 sends."""
    (irregular,) = weight_messages(DATA / "irregular_s1")
    (switches,) = weight_messages(DATA / "two_switch")

    assert "VL 0 gets 5.0 % of 0.7 %" in irregular
    assert irregular.endswith("no weights up to 255, one entry for each of these, come nearer")
    assert "VL 0 gets 33.3 % of 5.9 %" in switches
    assert "the nearest are 1:255,0:33: VL 1 gets 88.9 % of 94.1 %, VL 0 gets 11.1 % of 5.9 %" in switches


@pytest.mark.parametrize(("mtu", "blocks", "said"), [(512, 9, ""), (1024, 17, "66.7 %"), (4096, 65, "50.0 %")])
def test_mtu_is_the_ports_own(mtu: int, blocks: int, said: str, capture_copy: Any) -> None:
    """NeighborMTU decides: 32:8 is 4 packets to 1, 2 to 1, and 1 to 1."""
    folder = capture_copy("torus44_2qos")
    file = folder / "smpquery-portinfo.txt"
    file.write_text(re.sub(r"(NeighborMTU:\.*)\d+", rf"\g<1>{mtu}", file.read_text()))

    said_of = weight_messages(folder)

    assert mtu_blocks(mtu) == blocks
    assert bool(said_of) == bool(said)
    assert all(f"packets of {mtu} bytes are {blocks} blocks" in line for line in said_of)
    assert not said or f"VL 0 gets {said} of 80.0 %" in said_of[0]


def test_lanes_that_a_port_lacks_have_no_share(capture_copy: Any) -> None:
    """Their entries are skipped, so what remains gets its share."""
    folder = capture_copy("torus44_2qos")
    file = folder / "smpquery-portinfo.txt"
    file.write_text(re.sub(r"(OperVLs:\.*)VL0-7", r"\1VL0-3", file.read_text()))

    assert [line for line in weight_messages(folder) if "VL 4" in line] == []


def serve(entries: list[VLArbEntry], blocks: int) -> dict[int, int]:
    """Return the blocks that each lane sends in a round of the list, by the rule of the arbiter."""
    sent: dict[int, int] = {}
    for vl, weight in entries:
        while weight > 0:
            weight -= blocks
            sent[vl] = sent.get(vl, 0) + blocks
    return sent


@pytest.mark.parametrize("blocks", [1, 5, 33, 65])
@pytest.mark.parametrize("weights", [(32, 8), (4, 8, 255), (1, 1), (255, 254), (7, 0, 21), (64, 100, 64, 3)])
def test_shares_are_those_of_a_round_of_the_list(weights: tuple[int, ...], blocks: int) -> None:
    """Packet by packet, and so of the weights that are proposed."""
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
    """Nothing that whole packets can give misses the shares by less: every combination tried."""
    entries = [VLArbEntry(vl, weight) for vl, weight in enumerate(weights)]
    meant = [weight / sum(weights) for weight in weights]

    def missed(packets: tuple[int, ...]) -> float:
        return sum(abs(count / sum(packets) - share) for count, share in zip(packets, meant, strict=True))

    found = nearest_list(entries, 33)

    best = min(missed(packets) for packets in product(range(1, 9), repeat=len(weights)))
    assert not found.exact
    assert missed(tuple(packets_of(entry.weight, 33) for entry in found.entries)) == pytest.approx(best, abs=0.02)


def test_topology_alone_is_not_checked(capture_copy: Any) -> None:
    """A folder with nothing else used to hold; now it says what nobody looked at, and a strict check fails."""
    folder = capture_copy("two_switch")
    for file in folder.iterdir():
        if file.name != "ibnetdiscover.txt":
            file.unlink()

    plain, strict = call("fabric", "check", folder, "--json"), call("fabric", "check", folder, "--json", "--strict")
    shown = call("fabric", "check", folder)

    assert (plain.status, strict.status) == (0, 1)
    assert (plain.json()["ok"], strict.json()["ok"]) == (True, False)
    assert set(plain.json()["not_checked"]) == set(CODES) - {"NOT_CHECKED"}
    named = " ".join(missing["what"] for missing in plain.json()["missing"])
    for file in ("opensm-lfts.dump", "opensm-sl2vl.dump", "smpquery-vlarb.txt", "path-sl.csv", "opensm.conf"):
        assert file in named
    assert "passes the checks that ran; 0 credit loops (not checked), 0 unreachable pairs (not" in shown.out
    assert "NOT_CHECKED no opensm-lfts.dump or dump_fts.txt or ibroute.txt: not checked: CREDIT_LOOP" in shown.out


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
    """One file at a time; the second of two that say the same may be missing."""
    whole = write_capture(tmp_path / "whole", tree(2, 2), without=("smpquery-sl2vl.txt",))
    folder = write_capture(tmp_path / "part", tree(2, 2), without=(without,))

    assert check_fabric(load_fabric(whole)).not_checked == ()
    assert without in FILES
    assert code in check_fabric(load_fabric(folder)).not_checked
    assert call("fabric", "check", whole, "--strict").status == 0
    assert call("fabric", "check", folder, "--strict").status == 1


def test_ports_without_tables_are_not_checked(capture_copy: Any) -> None:
    """The file is there and does not speak of them."""
    folder = capture_copy("torus44_lash")
    text = (folder / "smpquery-vlarb.txt").read_text()
    (folder / "smpquery-vlarb.txt").write_text(text[: text.rindex("$ smpquery")])

    report = check_fabric(load_fabric(folder))

    assert report.ok
    assert not report.spotless
    assert "VL_UNSERVED" in report.not_checked
    assert any("1 cabled ports have no arbitration table" in f.where for f in report.warnings)


def test_mtu_that_nobody_knows_is_not_checked(capture_copy: Any) -> None:
    """PortInfo without the field."""
    folder = capture_copy("torus44_2qos")
    file = folder / "smpquery-portinfo.txt"
    file.write_text(file.read_text().replace("NeighborMTU", "NeighbourMTU"))

    report = check_fabric(load_fabric(folder))

    assert report.not_checked == ("WEIGHT_BELOW_MTU",)


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_every_finding_has_its_severity(name: str) -> None:
    """Errors fail, warnings fail a strict check, notes none; nothing changes without --strict."""
    plain = call("fabric", "check", DATA / name, "--json")
    strict = call("fabric", "check", DATA / name, "--json", "--strict")

    document = plain.json()
    severities = [warning["severity"] for warning in document["warnings"]]
    for warning in document["warnings"]:
        expected = "error" if warning["code"] in ERRORS else "note" if warning["code"] in NOTES else "warning"
        assert warning["severity"] == expected
    assert document["ok"] == ("error" not in severities) == (plain.status == 0)
    assert strict.json()["ok"] == (not set(severities) & {"error", "warning"}) == (strict.status == 0)
    assert document["not_checked"] == document["missing"] == []


def test_codes_of_severities_are_codes() -> None:
    """And every code is on the page."""
    page = (Path(__file__).parent.parent.parent / "docs" / "fabric.md").read_text()

    assert set(CODES) >= ERRORS | NOTES
    assert all(f"`{code}`" in page for code in CODES)


def test_unserved_lanes_are_told_together(capture_copy: Any) -> None:
    """One line for a lane, however many ports; every port in JSON."""
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
    """Show judges nothing."""
    assert_refused(call("fabric", "show", DATA / "two_switch", "--strict"), "--strict")
