"""Output folders of ibdiagnet and dumps of OpenSM, read as they are."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BAD, DATA, GOOD, call
from tests.fabric.ibdiagnet import write_ibdiagnet, write_opensm
from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import check_fabric
from vlane.fabric.dump import Remarks
from vlane.fabric.dumps.db_csv import read_db_csv
from vlane.fabric.dumps.net_dump import read_net_dump
from vlane.fabric.dumps.path_sls import read_path_records
from vlane.fabric.dumps.subnet_lst import read_subnet_lst
from vlane.fabric.model import Fabric


def with_conf(folder: Path, name: str) -> Path:
    """Add the options file of a capture to the files of ibdiagnet, which have none."""
    shutil.copy(DATA / name / "opensm.conf", folder)
    return folder


def assert_same_nodes(found: Fabric, expected: Fabric) -> None:
    for guid, node in expected.nodes.items():
        same = found.nodes[guid]
        assert (same.name, same.kind, same.links, same.lids) == (node.name, node.kind, node.links, node.lids)
        assert {port: same.rates.get(port) for port in node.rates} == node.rates
    assert found.nodes.keys() == expected.nodes.keys()


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_folder_of_ibdiagnet_checks_like_the_text_dumps(name: str, tmp_path: Path) -> None:
    """Given one fabric as ibdiagnet's files and as text dumps, all tables, findings and counts are equal."""
    dumps = load_fabric(DATA / name)
    folder = with_conf(write_ibdiagnet(dumps, tmp_path / "ibdiagnet2"), name)

    fabric = load_fabric(folder)

    assert fabric.topology_file == "ibdiagnet2.db_csv"
    assert_same_nodes(fabric, dumps)
    assert fabric.lfts == dumps.lfts
    assert dict(fabric.sl2vl) == dict(dumps.sl2vl)
    assert fabric.vlarb == dumps.vlarb
    assert dict(fabric.path_sls) == dict(dumps.path_sls)
    assert fabric.port_infos == dumps.port_infos
    ours, theirs = check_fabric(fabric), check_fabric(dumps)
    assert ours.coverage == theirs.coverage
    assert ours.warnings == theirs.warnings
    assert ours.loops == theirs.loops


@pytest.mark.parametrize("topology", ["ibdiagnet2.lst", "ibdiagnet2.net_dump"])
@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_cables_come_from_another_file_without_table_links(name: str, topology: str, tmp_path: Path) -> None:
    """Given a db_csv without LINKS, as some versions write it, cables come from the list or the net_dump."""
    dumps = load_fabric(DATA / name)
    files = ("ibdiagnet2.db_csv", "ibdiagnet2.fdbs", "ibdiagnet2.slvl", "ibdiagnet2.psl", topology)
    folder = with_conf(write_ibdiagnet(dumps, tmp_path / "out", links=False, files=files), name)

    fabric = load_fabric(folder)

    assert fabric.topology_file == topology
    assert_same_nodes(fabric, dumps)
    assert check_fabric(fabric).warnings == check_fabric(dumps).warnings
    assert any("has no LMC" in note for note in fabric.notes)


@pytest.mark.parametrize("name", [*GOOD, BAD])
def test_files_of_opensm_check_like_the_text_dumps(name: str, tmp_path: Path) -> None:
    """Given OpenSM's own files, subnet list, routes, SL2VL dump and path records, the findings are equal."""
    dumps = load_fabric(DATA / name)
    folder = write_opensm(dumps, tmp_path / name)
    for file in (
        "opensm-subnet.lst",
        "opensm.fdbs",
        "opensm-sl2vl.dump",
        "opensm.conf",
        "smpquery-vlarb.txt",
        "smpquery-portinfo.txt",
    ):
        shutil.copy(DATA / name / file, folder)

    fabric = load_fabric(folder)

    assert_same_nodes(fabric, dumps)
    assert fabric.lfts == dumps.lfts
    assert dict(fabric.path_sls) == dict(dumps.path_sls)
    assert check_fabric(fabric).warnings == check_fabric(dumps).warnings


def test_command_takes_the_folder_of_ibdiagnet(tmp_path: Path) -> None:
    """Given an output folder with the files that ibdiagnet always writes, the check names what they lack."""
    folder = write_ibdiagnet(
        load_fabric(DATA / "torus44_lash"),
        tmp_path / "ibdiagnet2",
        files=("ibdiagnet2.db_csv", "ibdiagnet2.net_dump", "ibdiagnet2.fdbs", "ibdiagnet2.lst"),
    )

    checked = call("fabric", "check", folder, "--json")

    document = checked.json()
    assert checked.status == (0 if document["ok"] else 1)
    assert re.match(
        r"fails as far as checked \(0 of \d+ finding classes in full, 0 of 992 pairs\)", document["verdict"]
    )
    assert document["warnings"][0]["message"].endswith("(the SL or lane of some packets is assumed)")
    assert [each["what"].split(" (")[0] for each in document["missing"]] == [
        "no SL2VL rows",
        "no path SLs",
        "no opensm.conf",
        "PortInfo of 125 of 128 cabled ports: H1 port 1 and 124 more",
    ]
    assert document["coverage"]["CREDIT_LOOP"] == {"element": "pairs", "checked": 0, "present": 992}


DB = """START_NODES
NodeDesc,NumPorts,NodeType,NodeGUID,DeviceID
"leaf ""1"", rack 2",2,2,0x0b1,0
"node01 mlx5_0",1,1,0x0a1,4129
"Mellanox Technologies Aggregation Node",1,1,0x0a2,53001
END_NODES

START_PORTS
NodeGuid,PortNum,LID,LMC,LinkWidthActv,LinkSpeedActv,PortState,OpVLs,NMTU,VLHighLimit
0x0b1,0,1,0,0,0,0,0,0,0
0x0b1,1,0,0,2,16777216,4,3,5,16
0x0b1,2,0,0,2,65536,4,N/A,5,0
0x0a1,1,3,1,2,16777216,4,3,5,N/A
0x0a2,1,65535,0,16,1024,2,1,4,0
END_PORTS

START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
0x0b1,1,0x0a1,1
0x0a2,1,0x0b1,2
END_LINKS
"""


def db_file(tmp_path: Path, text: str = DB) -> Path:
    (tmp_path / "ibdiagnet2.db_csv").write_text(text)
    return tmp_path / "ibdiagnet2.db_csv"


def test_tables_of_db_csv_mean_what_portinfo_says(tmp_path: Path) -> None:
    """Codes of lanes, MTU, width and extended speed are decoded, and N/A stays unknown."""
    found = read_db_csv(db_file(tmp_path))

    switch, host, other = found.nodes[0xB1], found.nodes[0xA1], found.nodes[0xA2]
    assert switch.name == 'leaf ""1"", rack 2'
    assert (switch.rates, host.rates, other.rates) == ({1: "XDR 4X", 2: "FDR10 4X"}, {1: "XDR 4X"}, {1: "HDR 2X"})
    assert (switch.lids, host.lids, host.lmc, other.lids) == ({0: 1}, {1: 3}, {1: 1}, {})
    assert (host.is_host, other.is_host, other.device) == (True, False, "aggregation node")
    assert {(port.guid, port.number): tuple(info) for port, info in found.port_infos.items()} == {
        (0xB1, 1): (4, 4096, 16),
        (0xA1, 1): (4, 4096, None),
        (0xA2, 1): (1, 2048, 0),
    }


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("END_LINKS", "", "table LINKS must be closed by END_LINKS, not cut off"),
        ("0x0a2,1,0x0b1,2\n", "0x0a2,1,0x0b1,1\n", "far end of port"),
        ("0x0a2,1,0x0b1,2\n", "0x0a2,1,0x0c1,2\n", "NodeGuid2 must be a GUID of table NODES, not 0x0c1"),
        ("0x0b1,1,0x0a1,1\n", "0x0b1,3,0x0a1,1\n", "PortNum1 must be 1 to 2, not 3"),
        ("0x0a1,1,3,1,2", "0x0a1,1,3,9,2", "LMC must be 0 to 7, not 9"),
        ("0x0a1,1,3,1,2", "0x0a1,1,3,1", "number of cells in a row of table PORTS must be 10, not 9"),
        ("PortNum1,", "Port1,", "table LINKS has no column PortNum1"),
    ],
)
def test_impossible_rows_of_db_csv_are_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    """Given an impossible row, the refusal names its line, the column and the range."""
    assert old in DB

    with pytest.raises(InputError) as refused:
        read_db_csv(db_file(tmp_path, DB.replace(old, new, 1)))

    assert words in str(refused.value)
    assert refused.value.line > 0


def test_table_of_an_appended_file_replaces_the_earlier_one(tmp_path: Path) -> None:
    """Given two runs in one file, the rows of the later one are used, and the check says so."""
    db_file(tmp_path, DB + DB.replace("0x0a1,1,3,1,2,16777216,4,3,5,N/A", "0x0a1,1,5,0,2,16777216,4,3,5,N/A"))

    remarks = Remarks()

    found = read_db_csv(tmp_path / "ibdiagnet2.db_csv", remarks)

    assert (found.nodes[0xA1].lids, found.nodes[0xA1].lmc) == ({1: 5}, {1: 0})
    assert remarks.replaced == {"ibdiagnet2.db_csv": (1, 1, "table NODES")}


COLUMNS = (
    "  #     : IB# : Sta : PhysSta : MTU : LWA : LSA : FEC mode : Retran : Neighbor Guid : N# : NLID : "
    "Neighbor Description\n"
)
NET_DUMP = f"""# Running version   : "IBDIAGNET 2.10.0"
"MF0;spine:MQM9700/U1", Mellanox, 0xb2, LID 2
{COLUMNS}  1/1/1 : 1   : ACT : LINK UP : 5   : 4x  : 100 : RS       : NO-RTR : 0xb1 : 1/2/1 : 1 : "leaf : 1"
  1/1/2 : 2   : DOWN : POLLING : N/A : N/A : N/A : N/A : N/A :      :       :   :

"leaf : 1", Mellanox, 0xb1, LID 1
{COLUMNS}  1/1/1 : 1   : ACT : LINK UP : 5   : 4x  : 100 : RS       : NO-RTR : 0xa1 : 1 : 3 : "node01 mlx5_0"
  1/2/1 : 3   : ACT : LINK UP : 5   : 4x  : 100 : RS  : NO-RTR : 0xb2 : 1/1/1 : 2 : "MF0;spine:MQM9700/U1"
"""


def test_labels_of_ports_are_resolved(tmp_path: Path) -> None:
    """Given far ports by their label on the cage, as Quantum-2 prints them, the cable ends at the right number."""
    (tmp_path / "ibdiagnet2.net_dump").write_text(NET_DUMP)

    nodes = read_net_dump(tmp_path / "ibdiagnet2.net_dump").nodes

    assert {(guid, port): tuple(far) for guid, node in nodes.items() for port, far in node.links.items()} == {
        (0xB2, 1): (0xB1, 3),
        (0xB1, 3): (0xB2, 1),
        (0xB1, 1): (0xA1, 1),
        (0xA1, 1): (0xB1, 1),
    }
    assert nodes[0xB1].name == "leaf : 1"
    assert nodes[0xA1].lids == {1: 3}
    assert nodes[0xB1].rates == {1: "NDR 4X", 3: "NDR 4X"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("LID:0004", "LID:ffff", ""),
        ("{ SW Ports:08", "{ XX Ports:08", "a description of both ends of a cable"),
        ("PN:05 } { SW", "PN:09 } { SW", "PN must be 1 to 0x8, not 09"),
        ("LOG=ACT", "LOG=DWN", ""),
    ],
)
def test_subnet_list_is_checked(old: str, new: str, words: str, tmp_path: Path) -> None:
    """Lines of other forms and ports out of range are refused, and links that are down are ignored."""
    text = (DATA / "two_switch" / "opensm-subnet.lst").read_text()
    (tmp_path / "opensm-subnet.lst").write_text(text.replace(old, new))

    if words:
        with pytest.raises(InputError, match=words):
            read_subnet_lst(tmp_path / "opensm-subnet.lst")
    elif "DWN" in new:
        with pytest.raises(InputError, match="no cable found"):
            read_subnet_lst(tmp_path / "opensm-subnet.lst")
    else:
        assert 1 not in read_subnet_lst(tmp_path / "opensm-subnet.lst").nodes[0x100002].lids


def test_long_line_of_a_subnet_list_is_refused_at_once(tmp_path: Path) -> None:
    """Given half a line many times over, the time to read it stays proportional to its length."""
    line = (DATA / "two_switch" / "opensm-subnet.lst").read_text().split("PHY")[0]
    (tmp_path / "opensm-subnet.lst").write_text(line * 2000)

    with pytest.raises(InputError, match="a description of both ends of a cable"):
        read_subnet_lst(tmp_path / "opensm-subnet.lst")


def test_path_records_of_opensm_are_read_by_source(tmp_path: Path) -> None:
    """Given sections by source port, unreachable LIDs are left out, and rows above the first section are refused."""
    text = 'Channel Adapter 0x0a1, base LID 3, "a", port 1\n# LID  : SL : MTU : RATE\n0x0004 : 2  : 4   : 3\n'
    (tmp_path / "a").write_text(f"{text}0x0005 : UNREACHABLE\n")
    (tmp_path / "b").write_text("0x0004 : 2  : 4   : 3\n")

    assert dict(read_path_records(tmp_path / "a")) == {(3, 4): 2}
    with pytest.raises(InputError, match="a row or a heading"):
        read_path_records(tmp_path / "b")


def test_private_tables_of_ibdiagnet_are_skipped(tmp_path: Path) -> None:
    """Given several private forwarding tables, the first is used, and a note says so."""
    dumps = load_fabric(DATA / "two_switch")
    folder = with_conf(write_ibdiagnet(dumps, tmp_path / "out"), "two_switch")
    text = (folder / "ibdiagnet2.fdbs").read_text()
    text = text.replace("LID    : Port", "PLFT_NUM: 0\nLID    : Port")
    (folder / "ibdiagnet2.fdbs").write_text(
        f"{text}PLFT_NUM: 1\nLID    : Port : Hops : Optimal\n0x0001 : 007 : 1 : no\n"
    )

    report = call("fabric", "check", folder, "--json").json()

    assert report["unreachable_pairs"] == 0
    note: dict[str, Any] = next(each for each in report["warnings"] if each["code"] == "PART_SKIPPED")
    assert note["message"] == "1 private forwarding tables (PLFT) other than 0 are skipped"
    assert note["severity"] == "note"
