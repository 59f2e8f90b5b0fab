"""Flat netlists of a component and of each instance in the component, with free inputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from vlane.tb.machinery.native.model import to_rtlil
from vlane.tb.machinery.native.rows import Port
from vlane.tb.machinery.native.yosys import run_commands

FLATTEN = "read_rtlil design.il; hierarchy -top {top}; proc; flatten; memory_collect; opt -full; opt_clean -purge; "
"""Commands that flatten a component; the names of cells and signals still contain their instances."""

_FLAT, _CUT, _CHOSEN = "flat.il", "cut.il", "chosen.txt"
# Nets are single bits, so an unread bit is no output, and no input is bundled with an output.
_CUT_OUT = (
    f"read_rtlil {_FLAT}; hierarchy -top {{top}}; splitnets -ports; select -read {_CHOSEN}; "
    f"submod -copy -name cut; select -clear; delete {{top}}; rename cut {{top}}; hierarchy -top {{top}}; "
    f"write_rtlil {_CUT}; write_json cut.json"
)
_POWERED_ON = f"read_rtlil {_CUT}; hierarchy -top {{top}}; {{values}}write_rtlil on.il; write_json on.json"
_FLATTENED_NAME = re.compile(r"\\([^\\]+?)\.(?=[\\$])")
_run = partial(run_commands, "flattened")

Path = tuple[str, ...]
"""Instance names, outermost first."""


@dataclass(frozen=True, slots=True)
class Netlist:
    """A flat netlist.

    Parameters
    ----------
    text : str
        One module in yosys' RTLIL.
    ports : tuple of Port
        Ports of the module.
    is_whole : bool
        Whether the netlist is the whole component.
    """

    text: str
    ports: tuple[Port, ...]
    is_whole: bool


class Flattened:
    """A component flattened to one netlist.

    Parameters
    ----------
    component : Component
        Hardware. A component with memories can be elaborated only once.
    top : str
        Name of its module.
    """

    def __init__(self, component: Any, top: str) -> None:
        files = {"design.il": to_rtlil(component, top, emit_src=False)}
        folder = _run(files, top, f"{FLATTEN}write_json flat.json; write_rtlil {_FLAT}", result=_FLAT)
        module = json.loads((folder / "flat.json").read_text())["modules"][top]
        self._top = top
        self._whole = Netlist((folder / _FLAT).read_text(), _ports(module), is_whole=True)
        self._paths = _paths(module)
        self._initial_values = _initial_values(module)
        self._cut: dict[Path, Netlist] = {}

    def around(self, cell: str) -> Iterator[Netlist]:
        """Yield the netlists that contain a cell: its instance, the instances around it, and the component.

        Signals that drive an instance from outside are inputs, signals read outside are outputs. A property of an
        instance for all inputs therefore also holds inside the component. The optimizer creates cells without an
        instance in the name. Such cells belong to the innermost instance with a name for the output, or else to the
        common instance of all reading cells.
        """
        path = self._paths.get(cell, ())
        while path:
            if path not in self._cut:
                self._cut[path] = self._cut_out(path)
            yield self._cut[path]
            path = path[:-1]
        yield self._whole

    def _cut_out(self, path: Path) -> Netlist:
        chosen = (cell for cell, own in self._paths.items() if own[: len(path)] == path)
        files = {_FLAT: self._whole.text, _CHOSEN: "".join(f"{self._top}/{cell}\n" for cell in chosen)}
        folder = _run(files, self._top, _CUT_OUT, result="cut.json")
        module = json.loads((folder / "cut.json").read_text())["modules"][self._top]
        # A register that drives a port of the cut has lost its power-on value.
        values = "".join(
            f"setattr -set init 1'{value} {self._top}/w:{name.removeprefix(chr(92))}; "
            for name, value in self._at_power_on(module).items()
        )
        files = {_CUT: (folder / _CUT).read_text()}
        folder = _run(files, self._top, _POWERED_ON.replace("{values}", values), result="on.json")
        module = json.loads((folder / "on.json").read_text())["modules"][self._top]
        return Netlist((folder / "on.il").read_text(), _ports(module), is_whole=False)

    def _at_power_on(self, module: Mapping[str, Any]) -> dict[str, str]:
        """Return the register-driven nets of a cut with known power-on values, and the values."""
        names = {bit: name for name, net in module["netnames"].items() for bit in net["bits"]}
        return {
            names[bit]: value
            for cell, stored in self._initial_values.items()
            if cell in module["cells"]
            for bit, value in zip(module["cells"][cell]["connections"]["Q"], stored, strict=True)
            if value != "x"
        }


def path_of_net(name: str, net: Mapping[str, Any]) -> Path:
    """Return the instance path of a signal before flattening, and the signal's name, which may contain points."""
    if "hdlname" in net["attributes"]:
        return tuple(net["attributes"]["hdlname"].split(" "))
    return (name,)


def _ports(module: Mapping[str, Any]) -> tuple[Port, ...]:
    """Return the ports of a module that are not empty.

    Raises
    ------
    RuntimeError
        If a port is an inout.
    """
    for name, port in module["ports"].items():
        if port["direction"] == "inout":
            raise RuntimeError(f"port {name} is an inout: it is driven from both sides")
    return tuple(
        Port(name, len(port["bits"]), is_input=port["direction"] == "input")
        for name, port in module["ports"].items()
        if port["bits"]
    )


def _initial_values(module: Mapping[str, Any]) -> dict[str, str]:
    """Return the power-on values of every register's bits, lowest bit first, with ``x`` if undefined."""
    initial: dict[int, str] = {}
    for net in module["netnames"].values():
        values = net["attributes"].get("init", "")
        initial |= {bit: value for bit, value in zip(net["bits"], reversed(values), strict=False) if value != "x"}
    return {
        name: "".join(initial.get(bit, "x") for bit in cell["connections"]["Q"])
        for name, cell in module["cells"].items()
        if cell["type"].startswith(("$dff", "$sdff", "$adff", "$aldff"))
    }


def _paths(module: Mapping[str, Any]) -> dict[str, Path]:
    """Return the instance path of every cell for which it is known."""
    cells = module["cells"]
    paths: dict[str, Path] = {}
    named = _named_bits(module)
    for name, cell in cells.items():
        if name.startswith("$flatten"):
            paths[name] = tuple(_FLATTENED_NAME.findall(name))
        elif not name.startswith("$"):
            paths[name] = tuple(name.split(".")[:-1])
        elif found := [named[bit] for bit in _bits(cell, "output") if bit in named]:
            paths[name] = max(found, key=len)
    readers: dict[int, set[str]] = {}
    for name, cell in cells.items():
        for bit in _bits(cell, "input"):
            readers.setdefault(bit, set()).add(name)
    left = [name for name in cells if name not in paths]
    before = len(left) + 1
    while len(left) < before:  # iterate: the path of a cell follows from those of all cells that read it
        before = len(left)
        for name in left:
            around = {reader for bit in _bits(cells[name], "output") for reader in readers.get(bit, ())}
            if around and around <= paths.keys():
                paths[name] = _common_prefix(paths[reader] for reader in around)
        left = [name for name in left if name not in paths]
    return paths


def _named_bits(module: Mapping[str, Any]) -> dict[int, Path]:
    """Return, for each bit, the innermost instance with a name from the source."""
    found: dict[int, Path] = {}
    for name, net in module["netnames"].items():
        if not name.startswith("$"):
            path = path_of_net(name, net)[:-1]
            for bit in net["bits"]:
                if len(path) >= len(found.get(bit, ())):
                    found[bit] = path
    return found


def _bits(cell: Mapping[str, Any], direction: str) -> Iterator[int]:
    for port, its_direction in cell["port_directions"].items():
        if its_direction == direction:
            yield from (bit for bit in cell["connections"][port] if isinstance(bit, int))  # a constant bit is a string


def _common_prefix(paths: Iterable[Path]) -> Path:
    """Return the common prefix of all paths."""
    shared: list[str] = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)
