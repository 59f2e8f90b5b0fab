"""Critical path of a placed module, from nextpnr's report, in the names of the source."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vlane.tb.machinery.native.rows import Port

_CARRY_INPUTS = {"FCI", "CIN"}
"""Inputs through which a carry chain continues: the chain is one level."""
_FRAME = re.compile(r"(held|out|caught|next|chain)\[(\d+)\]$")
_DERIVED = re.compile(r"\$|_(LUT4|CCU2C|PFUMX|L6MUX21|TRELLIS|SB)_")
"""Name that synthesis derived from another name or from none."""


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """Slowest path between two registers.

    Parameters
    ----------
    seed : int
        Seed of the placement.
    levels : int
        Logic depth: LUTs and wide multiplexers on the path; a carry chain counts once.
    logic_ns : float
        Delay in cells, including clock-to-output and setup.
    routing_ns : float
        Delay of wires.
    start, end : str
        First and last element of the path: registers, or ports of the module.
    through : tuple of str
        Named nets on the path in order, without start and end.
    """

    seed: int
    levels: int
    logic_ns: float
    routing_ns: float
    start: str
    end: str
    through: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Speed:
    """Clock frequency of a placed module.

    Parameters
    ----------
    fmax_mhz : tuple of float
        Estimated frequency after routing, one per seed.
    path : CriticalPath or None
        Critical path of the placement with the median frequency.
    """

    fmax_mhz: tuple[float, ...] = ()
    path: CriticalPath | None = None

    @property
    def median_mhz(self) -> float | None:
        """Median frequency over the seeds."""
        return statistics.median(self.fmax_mhz) if self.fmax_mhz else None

    @property
    def spread_mhz(self) -> float | None:
        """Difference between the largest and the smallest frequency over the seeds."""
        return round(max(self.fmax_mhz) - min(self.fmax_mhz), 2) if self.fmax_mhz else None

    def document(self) -> dict[str, Any]:
        """Return the JSON members."""
        return {
            "fmax_mhz": list(self.fmax_mhz),
            "median_fmax_mhz": self.median_mhz,
            "spread_mhz": self.spread_mhz,
            "critical_path": None if self.path is None else asdict(self.path),
        }


UNPLACED = Speed()


def worst_path(
    reports: Sequence[Mapping[str, Any]], index: int, folder: Path, ports: Sequence[Port]
) -> CriticalPath | None:
    """Return the critical path of a seed, or ``None`` if no path leads from register to register.

    Parameters
    ----------
    reports : sequence of mapping
        Reports of nextpnr, for seeds from 1 on.
    index : int
        Index of the seed's report.
    folder : Path
        Folder with the placed netlist ``placeable.json``.
    ports : sequence of Port
        Ports of the module, in the order in which the wrapper ``frame`` connects its registers to them.
    """
    clocked = [
        found["path"]
        for found in reports[index]["critical_paths"]
        if all(found[end].startswith(("posedge", "negedge")) for end in ("from", "to"))
    ]
    if not clocked:
        return None
    path = max(clocked, key=lambda steps: sum(step["delay"] for step in steps))
    logic = [step for step in path if step["type"] == "logic"]
    names = _Names(folder, ports)
    nets = [step["net"] for step in path if step["type"] == "routing"]
    start, *rest = [names.of_net(net) for net in nets] or [""]
    end = names.of_cell(path[-1]["to"]["cell"])
    wires = sum(step["delay"] for step in path if step["type"] == "routing")
    return CriticalPath(
        seed=index + 1,
        levels=sum(step["from"]["port"] not in _CARRY_INPUTS for step in logic),
        logic_ns=round(sum(step["delay"] for step in path) - wires, 2),
        routing_ns=round(wires, 2),
        start=start,
        end=end,
        through=tuple(dict.fromkeys(name for name in rest if name not in {"", start, end})),
    )


class _Names:
    """Names of the nets and registers of a placed netlist."""

    def __init__(self, folder: Path, ports: Sequence[Port]) -> None:
        netlist = json.loads((folder / "placeable.json").read_text())["modules"]["frame"]
        self._cells, self._nets = netlist["cells"], netlist["netnames"]
        self._aliases: dict[int, list[str]] = {}
        for name, net in self._nets.items():
            for place, bit in enumerate(net["bits"]):
                element = f"{name}[{place + net.get('offset', 0)}]" if len(net["bits"]) > 1 else name
                self._aliases.setdefault(bit, []).append(element)
        self._inputs = [f"{p.name}[{bit}]" for p in ports if p.is_input for bit in range(p.bits)]
        self._outputs = [f"{p.name}[{bit}]" for p in ports if not p.is_input for bit in range(p.bits)]

    def of_net(self, net: str) -> str:
        """Return the source name of a net, or "" if synthesis made the net."""
        if framed := _FRAME.match(net):
            kind, place = framed[1], int(framed[2])
            if kind == "held":
                return self._inputs[place - 1] if place else ""
            if kind != "out":
                return self._outputs[place] if place < len(self._outputs) else ""
        array, _, element = net.removesuffix("]").rpartition("[")
        if net in self._nets:
            return self._shortest(self._nets[net]["bits"][0])
        if array in self._nets:
            return self._shortest(self._nets[array]["bits"][int(element) - self._nets[array].get("offset", 0)])
        return ""

    def of_cell(self, cell: str) -> str:
        """Return the source name of a register: the net at its output."""
        if framed := re.match(r"(in|out|chain)_(\d+)$", cell):
            names = self._inputs if framed[1] == "in" else self._outputs
            return names[int(framed[2])]
        placed = self._cells.get(cell)
        if placed is None:  # nextpnr splits or packs some cells
            return _readable(re.sub(r"\$.*", "", cell))
        outputs = [pins[0] for pin, pins in placed["connections"].items() if placed["port_directions"][pin] == "output"]
        return (self._shortest(outputs[0]) if outputs else "") or _readable(cell)

    def _shortest(self, bit: int) -> str:
        """Return the best alias of a bit: without parts that synthesis made, then the shortest."""
        named = [_readable(name) for name in self._aliases.get(bit, ()) if not _DERIVED.search(name)]
        return min((name for name in named if not _FRAME.match(name)), key=lambda name: (len(name), name), default="")


def _readable(name: str) -> str:
    return name.removeprefix("block.")
