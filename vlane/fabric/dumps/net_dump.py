"""Reader of ``ibdiagnet2.net_dump``: a table of the ports of each switch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vlane.errors import InputError
from vlane.fabric.dump import Dump, Remarks
from vlane.fabric.model import Kind, Node, Port
from vlane.fabric.topology import MAX_LID, MAX_PORT, Topology, connect, device_of, lid_of
from vlane.rates import lane_generation

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = re.compile(r'"(.*)", [^,"]{0,64}, 0x([0-9a-fA-F]{1,16}), LID ([0-9]{1,5})\s*$')
_COLUMNS = ("#", "IB#", "Sta", "LWA", "LSA", "Neighbor Guid", "N#", "NLID", "Neighbor Description")


def read_net_dump(path: Path, remarks: Remarks | None = None) -> Topology:
    """Return switches, cables and adapters. The file has no LMC, so LMC 0 is assumed.

    The number of an adapter's ports is the number of the highest cabled port. Columns are found by name, because they
    differ between versions of ibdiagnet.

    Raises
    ------
    InputError
        For a row outside the table of a switch, a missing column, a port or LID out of range, and a far port without a
        row.
    """
    dump = Dump(path, remarks)
    reader = _Reader(dump)
    for line in dump:
        text = line.strip()
        if found := _HEAD.match(text):
            reader.switch(*found.groups())
        elif text.startswith("#") and "IB#" in text:
            reader.columns = [cell.strip() for cell in text.split(" :")]
            if missing := [name for name in _COLUMNS if name not in reader.columns]:
                names = ", ".join(missing)
                must = f"a row with the columns {', '.join(_COLUMNS)}"
                dump.refuse("heading", must, f"one without {names}", problem=f"has no column {names}")
        elif text.startswith("#") or dump.is_noise(line):
            continue
        else:
            reader.row(text)
    if not reader.nodes:
        problem = ": no switch found; expected a net_dump of ibdiagnet"
        must = "a net_dump with at least one switch"
        raise InputError("content", must, "a file without switches", source=str(path), problem=problem)
    reader.join()
    return Topology(reader.nodes, notes=(f"{path.name} has no LMC: one LID per port is assumed",))


class _Reader:
    """Parser state: switches and rows. Far ends are resolved after the last row."""

    def __init__(self, dump: Dump) -> None:
        self._dump = dump
        self.nodes: dict[int, Node] = {}
        self.columns: list[str] = []
        self._current: Node | None = None
        self._rows: list[tuple[int, Port, dict[str, str]]] = []
        self._labels: dict[tuple[int, str], int] = {}

    def switch(self, name: str, guid: str, lid: str) -> None:
        """Read the heading of a switch."""
        node = Node(int(guid, 16), Kind.SWITCH, name, 1)
        if node.guid in self.nodes:
            self._dump.replace(name, differs=True)
            self._rows = [row for row in self._rows if row[1].guid != node.guid]
        if lid_of(int(lid)) is not None:
            node.lids[0] = self._dump.number("LID", lid, 1, MAX_LID)
        self.nodes[node.guid] = self._current = node

    def row(self, text: str) -> None:
        """Read the row of a port."""
        node = self._current
        cells = text.split(" :", len(self.columns) - 1)
        if node is None or not self.columns or len(cells) < self.columns.index("Sta") + 1:
            self._dump.refuse("line", "a complete row below the heading of a switch and a heading of columns", text)
        values = dict(zip(self.columns, (cell.strip() for cell in cells), strict=False))
        number = self._dump.number("IB#", values["IB#"], 1, MAX_PORT)
        node.ports = max(node.ports, number)
        self._labels[node.guid, values["#"]] = number
        if values["Sta"] not in ("DOWN", "DWN") and values.get("Neighbor Guid"):
            self._rows.append((self._dump.line, Port(node.guid, number), values))

    def join(self) -> None:
        """Connect the ports of all rows."""
        for line, here, values in self._rows:
            self._dump.line = line
            guid = self._dump.number("Neighbor Guid", values["Neighbor Guid"], 1, (1 << 64) - 1)
            label = values.get("N#", "")
            is_switch = guid in self.nodes and self.nodes[guid].kind is Kind.SWITCH
            number = self._labels.get((guid, label)) if is_switch else None
            if number is None:
                number = self._dump.number("N#", label, 1, MAX_PORT)
            if is_switch and number > self.nodes[guid].ports:
                self._dump.refuse("N#", f"a port number of {self.nodes[guid].name}", label)
            self._adapter(guid, number, values)
            rate = _rate(values)
            for end, far in ((here, Port(guid, number)), (Port(guid, number), here)):
                connect(self.nodes[end.guid], end.number, far, self._dump.refuse)
                if rate:
                    self.nodes[end.guid].rates[end.number] = rate

    def _adapter(self, guid: int, number: int, values: dict[str, str]) -> None:
        name = values.get("Neighbor Description", "").removeprefix('"').removesuffix('"')
        node = self.nodes.setdefault(guid, Node(guid, Kind.CA, name, 1))
        if node.kind is Kind.SWITCH:
            return
        node.device = device_of(name)
        node.ports = max(node.ports, number)
        lid = values.get("NLID", "")
        if lid_of(self._dump.number("NLID", lid or "0", 0, 0xFFFF)) is not None:
            node.lids[number] = self._dump.number("NLID", lid, 1, MAX_LID)


def _rate(values: dict[str, str]) -> str:
    lanes = values.get("LWA", "").removesuffix("x")
    generation = lane_generation(values.get("LSA", ""))
    return f"{generation} {lanes}X" if generation and lanes.isdigit() else ""
