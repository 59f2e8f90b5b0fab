"""Reader of ``ibdiagnet2.db_csv``: a file of CSV tables, each between ``START_NAME`` and ``END_NAME``.

The reader uses NODES, PORTS, LINKS and VL_ARBITRATION_TABLE. Columns are found by name, because order and number differ
between versions of ibdiagnet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vlane.documents.textfile import number
from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.fabric.dumps.portinfo import PortInfo
from vlane.fabric.model import Kind, Node, Port, ProgrammedVLArb
from vlane.fabric.topology import MAX_LID, MAX_PORT, Topology, connect, device_of, lid_of
from vlane.schedulers.vlarb import MAX_ENTRIES, VLArbEntry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MARK = re.compile(r"(START|END)_([A-Z0-9_]{1,80})\s*$")
_COLUMNS = {
    "NODES": ("NodeDesc", "NumPorts", "NodeType", "NodeGUID", "DeviceID"),
    "PORTS": (
        "NodeGuid",
        "PortNum",
        "LID",
        "LMC",
        "LinkWidthActv",
        "LinkSpeedActv",
        "PortState",
        "OpVLs",
        "NMTU",
        "VLHighLimit",
    ),
    "LINKS": ("NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2"),
    "VL_ARBITRATION_TABLE": ("NodeGUID", "PortNum", "Priority", "VL", "Weight"),
}
_OPTIONAL = frozenset(
    {"DeviceID", "LMC", "LinkWidthActv", "LinkSpeedActv", "PortState", "OpVLs", "NMTU", "VLHighLimit"}
)
_UNKNOWN = ("", "N/A", "NA", "ERR")
_KINDS = {1: Kind.CA, 2: Kind.SWITCH, 3: Kind.ROUTER}
_WIDTHS = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
_SPEEDS = {
    1: "SDR",
    2: "DDR",
    4: "QDR",
    1 << 8: "FDR",
    2 << 8: "EDR",
    4 << 8: "HDR",
    8 << 8: "NDR",
    1 << 16: "FDR10",
    1 << 24: "XDR",
}
"""Generation by LinkSpeedActv: bytes of LinkSpeedActive, LinkSpeedExtActive, vendor speed and LinkSpeedExtActive2.

Source: ``IBLinkSpeed`` of ibdiagnet's library ibdm.
"""
_LANES = {1: 1, 2: 2, 3: 4, 4: 8, 5: 15}
_MTUS = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
_LISTS = {"high": "high", "1": "high", "low": "low", "0": "low"}


@dataclass
class DbCsv:
    """Tables of the file.

    Parameters
    ----------
    tables : set of str
        Names of the tables found.
    nodes : dict of int to Node
        Nodes by GUID, with cables if the file has LINKS.
    port_infos : dict of Port to PortInfo
        Lanes and MTU of ports with a known OpVLs.
    vlarb : dict of Port to ProgrammedVLArb
        Arbitration lists by port.
    """

    tables: set[str] = field(default_factory=set)
    nodes: dict[int, Node] = field(default_factory=dict)
    port_infos: dict[Port, PortInfo] = field(default_factory=dict)
    vlarb: dict[Port, ProgrammedVLArb] = field(default_factory=dict)

    def topology(self) -> Topology | None:
        """Return nodes and cables, or ``None`` if NODES, PORTS or LINKS is missing."""
        return Topology(self.nodes) if {"NODES", "PORTS", "LINKS"} <= self.tables else None


def read_db_csv(path: Path, remarks: Remarks | None = None) -> DbCsv:
    """Return the tables about the fabric.

    Raises
    ------
    InputError
        For a table without a required column, a row of another length, a value out of range, an unknown node, and an
        unclosed table, unless the remarks permit leaving the row out. Always for a file without any of these tables.
    """
    dump = Dump(path, remarks)
    reader = _Reader(dump)
    for line in dump:
        try:
            reader.line(line)
        except InputError as error:
            dump.leave_out(error)
    try:
        reader.end()
    except InputError as error:
        dump.leave_out(error)
    if not reader.made.tables:
        problem = f": none of the tables {', '.join(_COLUMNS)} found; expected a db_csv of ibdiagnet"
        must = f"a db_csv with the tables {', '.join(_COLUMNS)}"
        raise InputError("file", must, "a file without them", source=str(path), problem=problem)
    return reader.made


class _Reader:
    """Parser state: complete tables and the current table."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self.made = DbCsv()
        self._table, self._width = "", 0
        self._places: tuple[int, ...] = ()
        self._lists: dict[Port, dict[str, list[VLArbEntry]]] = {}
        self._pending: list[tuple[int, str, dict[str, str]]] = []
        self._handlers: dict[str, Callable[[dict[str, str]], None]] = {
            "NODES": self._node,
            "PORTS": self._port,
            "LINKS": self._cable,
            "VL_ARBITRATION_TABLE": self._entry,
        }

    def line(self, line: str) -> None:
        """Read a line: a mark, the columns of a table, or a row."""
        if line.startswith(("START_", "END_")) and (found := _MARK.match(line)):
            self._mark(found.group(1) == "START", found.group(2))
        elif not self._table or not line or line.isspace():
            return
        elif not self._width:
            self._header(line)
        else:
            row = self._row(line)
            if self._table == "NODES" or self.made.nodes:
                self._handlers[self._table](row)
            else:  # every other table refers to NODES, which comes first in all known versions
                self._pending.append((self._dump.line, self._table, row))

    def end(self) -> None:
        """Read the rows of all tables with references to nodes."""
        if self._table:
            error = InputError(
                f"table {self._table}",
                f"closed by END_{self._table}",
                "cut off",
                source=str(self._dump.path),
                line=self._dump.line,
            )
            self._dump.leave_out(error)
        for line, table, row in self._pending:
            self._dump.line = line
            try:
                self._handlers[table](row)
            except InputError as error:
                self._dump.leave_out(error)
        for port, lists in self._lists.items():
            high, low = tuple(lists["high"]), tuple(lists["low"])
            self.made.vlarb[port] = ProgrammedVLArb(high, low, len(high), len(low))

    def _mark(self, is_start: bool, name: str) -> None:  # noqa: FBT001
        if is_start:
            if self._table:
                previous = self._table
                self._begin(name)
                self._dump.refuse(f"table {previous}", f"closed by END_{previous}", f"START_{name}")
            self._begin(name)
        elif self._table == name:
            self._table = ""

    def _begin(self, name: str) -> None:
        self._table, self._width = (name if name in _COLUMNS else ""), 0
        if self._table and name in self.made.tables:
            self._dump.replace(f"table {name}", differs=True)
            self._forget(name)
        if self._table:
            self.made.tables.add(name)

    def _forget(self, name: str) -> None:
        """Remove the content of a repeated table. A repeated NODES begins another output."""
        self._pending = [each for each in self._pending if each[1] != name]
        nodes = self.made.nodes.values()
        if name == "NODES":
            self.made, self._lists, self._pending = DbCsv(), {}, []
        elif name == "VL_ARBITRATION_TABLE":
            self._lists = {}
        elif name == "LINKS":
            for node in nodes:
                node.links.clear()
        else:
            self.made.port_infos.clear()
            for node in nodes:
                node.lids.clear()
                node.lmc.clear()
                node.rates.clear()

    def _header(self, line: str) -> None:
        names = {name.strip().lower(): place for place, name in enumerate(line.split(","))}
        wanted = _COLUMNS[self._table]
        missing = [name for name in wanted if name.lower() not in names and name not in _OPTIONAL]
        if missing:
            table, self._table = self._table, ""
            self.made.tables.discard(table)
            absent = ", ".join(missing)
            must, problem = f"a table with columns {absent}", f"has no column {absent}"
            self._dump.refuse(f"table {table}", must, "one without them", problem=problem)
        self._places = tuple(names.get(name.lower(), -1) for name in wanted)
        self._width = line.count(",") + 1

    def _row(self, line: str) -> dict[str, str]:
        """Return the required cells. A description may contain quotes and commas, and ends at the last quote."""
        if line.startswith('"') and (end := line.rfind('"')) > 0:
            cells = [line[1:end], *line[end + 2 :].split(",")]
        else:
            cells = line.split(",")
        if len(cells) != self._width:
            self._dump.refuse(f"number of cells in a row of table {self._table}", str(self._width), len(cells))
        columns = zip(_COLUMNS[self._table], self._places, strict=True)
        return {name: cells[place].strip() if place >= 0 else "" for name, place in columns}

    def _number(self, row: dict[str, str], name: str, least: int, most: int) -> int:
        return self._dump.number(name, row[name], least, most)

    def _known(self, row: dict[str, str], name: str, values: dict[int, int]) -> int:
        """Return the value for a code, or 0 for an unknown or missing code."""
        return 0 if row[name] in _UNKNOWN else values.get(number(row[name]) or 0, 0)

    def _node(self, row: dict[str, str]) -> None:
        kind = _KINDS.get(self._number(row, "NodeType", 1, 3), Kind.CA)
        guid = self._number(row, "NodeGUID", 1, (1 << 64) - 1)
        made = Node(guid, kind, row["NodeDesc"], self._number(row, "NumPorts", 1, MAX_PORT))
        if kind is Kind.CA:
            made.device = device_of(made.name, number(row["DeviceID"]) or 0)
        before = self.made.nodes.setdefault(guid, made)
        if before != made:
            problem = f": type, ports or description ({row['NodeDesc']}) differ from an earlier row"
            self._dump.refuse(f"node {guid:#x}", "described as in its earlier row", row["NodeDesc"], problem=problem)

    def _end(self, row: dict[str, str], guid_name: str, port_name: str, least: int) -> tuple[Node, int]:
        guid = self._number(row, guid_name, 0, (1 << 64) - 1)
        node = self.made.nodes.get(guid)
        if node is None:
            self._dump.refuse(guid_name, "a GUID of table NODES", row[guid_name])
        return node, self._number(row, port_name, least, node.ports)

    def _port(self, row: dict[str, str]) -> None:
        node, port = self._end(row, "NodeGuid", "PortNum", 0)
        if (node.kind is Kind.SWITCH) == (port == 0) and lid_of(self._number(row, "LID", 0, 0xFFFF)) is not None:
            lid, lmc = self._number(row, "LID", 1, MAX_LID), self._number(row, "LMC", 0, 7) if row["LMC"] else 0
            if node.lids.setdefault(port, lid) != lid:
                self._dump.refuse("LID", f"{node.lids[port]}, as in another row of the port", lid)
            node.lmc[port] = lmc
        width = self._known(row, "LinkWidthActv", _WIDTHS)
        speed = _SPEEDS.get(number(row["LinkSpeedActv"]) or 0, "")
        if width and speed and port:
            node.rates[port] = f"{speed} {width}X"
        lanes = self._known(row, "OpVLs", _LANES)
        if lanes and row["PortState"] != "1":
            limit = None if row["VLHighLimit"] in _UNKNOWN else self._number(row, "VLHighLimit", 0, 255)
            self.made.port_infos[Port(node.guid, port)] = PortInfo(lanes, self._known(row, "NMTU", _MTUS), limit)

    def _cable(self, row: dict[str, str]) -> None:
        here, there = self._end(row, "NodeGuid1", "PortNum1", 1), self._end(row, "NodeGuid2", "PortNum2", 1)
        for (node, port), (far, far_port) in ((here, there), (there, here)):
            connect(node, port, Port(far.guid, far_port), self._dump.refuse)

    def _entry(self, row: dict[str, str]) -> None:
        node, port = self._end(row, "NodeGUID", "PortNum", 0)
        name = _LISTS.get(row["Priority"].lower())
        if name is None:
            self._dump.refuse("Priority", "High or Low", row["Priority"])
        entry = VLArbEntry(self._number(row, "VL", 0, 15), self._number(row, "Weight", 0, 255))
        entries = self._lists.setdefault(Port(node.guid, port), {"high": [], "low": []})[name]
        if len(entries) == MAX_ENTRIES:
            place = f"{name} list of {node.name} port {port}"
            problem = f"has more than {MAX_ENTRIES} entries"
            self._dump.refuse(place, f"a list of at most {MAX_ENTRIES} entries", "longer", problem=problem)
        entries.append(entry)
