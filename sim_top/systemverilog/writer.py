"""SystemVerilog of a component, and the map of its registers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vlane.sim_top.systemverilog.cycles import circular
from vlane.sim_top.systemverilog.design import Builder, Module
from vlane.sim_top.systemverilog.functions import share_functions
from vlane.sim_top.systemverilog.loops import roll, unroll
from vlane.sim_top.systemverilog.nodes import Net
from vlane.sim_top.systemverilog.processes import join_processes
from vlane.sim_top.systemverilog.sources import recorded_places
from vlane.sim_top.systemverilog.text import Options, body_of, port_meaning
from vlane.sim_top.systemverilog.tidy import each_ref, roots, tidy, unread_bits
from vlane.sim_top.systemverilog.values import UnwritableError
from vlane.sim_top.systemverilog.wires import name_wires
from vlane.tb.machinery.native.parts import no_collection

_PARTS = """// Parts of the module above. They share its file, which Verilator's -Wall reports by default.
// verilator lint_off DECLFILENAME
"""
_END = "// verilator lint_on DECLFILENAME\n"


@dataclass(frozen=True, slots=True)
class Port:
    """Port of the top module.

    Parameters
    ----------
    name, bits : str, int
        Name and width in the text.
    is_input : bool
        Direction.
    meaning : str
        Comment of the port.
    """

    name: str
    bits: int
    is_input: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Register:
    """Place of a register in the design and in the text.

    Parameters
    ----------
    design : tuple of str
        Path of submodules in Amaranth's design, then the signal.
    text : tuple of str
        Path of instances in the text, then the net.
    low, width : int
        Bits of the net.
    depth : int
        Number of entries of a memory, or 0.
    """

    design: tuple[str, ...]
    text: tuple[str, ...]
    low: int
    width: int
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """Written design.

    Parameters
    ----------
    modules : dict of str to str
        Text of each distinct module by name, the top first.
    ports : list of Port
        Ports of the top in order.
    registers : list of Register
        All registers, for proofs of equivalence.
    wires : list of Register
        Other signals of the design that the text contains.
    unnamed : list of str
        Nets of expressions that are named by their reader, because the source has no name for them.
    instances : dict of str to list of (str, str)
        Instances in each module: name of the instance, then its module.
    memory_bits : dict of str to int
        Bits of each memory by its wrapper module.
    """

    modules: dict[str, str]
    ports: list[Port]
    registers: list[Register]
    wires: list[Register]
    unnamed: list[str]
    instances: dict[str, list[tuple[str, str]]]
    memory_bits: dict[str, int]

    def __str__(self) -> str:
        """Return all modules in one text."""
        top, *parts = self.modules.values()
        return "\n".join([top, _PARTS, *parts, _END] if parts else [top])


def written(
    make: Callable[[], Any], name: str, options: Options | None = None, meanings: Mapping[str, str] | None = None
) -> Written:
    """Return a component as SystemVerilog: one module for each distinct text, the top first.

    Parameters
    ----------
    make : callable
        Constructor of the component; it is called while source locations are recorded.
    name : str
        Name of the top module.
    options : Options, optional
        Options of the text.
    meanings : mapping of str to str, optional
        Meanings of ports of the top by name, in addition to the Members section of the component.

    Raises
    ------
    UnwritableError
        If the component contains a construct that cannot be written.
    """
    with no_collection(), recorded_places():
        top = Builder(make(), meanings or {}).top()
        return _Writer(name, options or Options()).written(top)


class _Writer:
    def __init__(self, name: str, options: Options) -> None:
        self._top, self._options = name, options
        self._prefix = options.prefix or f"{name}_"
        self._names: dict[str, str] = {}
        self._used = {name}
        self._order: list[tuple[str, str]] = []
        self._registers: list[Register] = []
        self._wires: list[Register] = []
        self._unnamed: list[str] = []
        self._instances: dict[str, list[tuple[str, str]]] = {}
        self._memory_bits: dict[str, int] = {}

    def written(self, top: Module) -> Written:
        self._module(top)
        self._map(top, (), ())
        modules = {name: body.replace("@NAME@", name) for name, body in reversed(self._order)}
        ports = [
            Port(net.name, net.width, net.kind == "input", port_meaning(net, top, self._options)) for net in top.ports
        ]
        return Written(modules, ports, self._registers, self._wires, self._unnamed, self._instances, self._memory_bits)

    def _module(self, module: Module) -> None:
        """Write a module's parts, then the module. Equal texts get one name."""
        for port in module.ports:
            if port.name == module.reset:
                _check_reset(module, port)
                port.name = module.reset = self._options.reset_port
        if module.memory is None:
            share_functions(module)
            name_wires(module, tidy(module))
            module.unused = list(unread_bits(module))
            roll(module)
        for part in module.parts:
            self._module(part.module)
        module.split = circular(module)
        unroll(module, module.split)
        join_processes(module)
        body = body_of(module, self._options)
        if body not in self._names:
            name = self._free_name(module) if module.wanted else self._top
            self._used.add(name)
            self._names[body] = name
            self._order.append((name, body))
            self._unnamed += module.unnamed
            self._instances[name] = [(part.name, part.module.name) for part in module.parts]
            if module.memory is not None:
                data = module.memory._data
                self._memory_bits[name] = data.depth * len(data[0])
        module.name = self._names[body]

    def _free_name(self, module: Module) -> str:
        """Return a name for a part: by class, then also by size or by the instance around the part."""
        short = self._without_top(module.wanted)
        wanted = [short]
        if module.memory is not None:
            memory = module.memory
            size = f"{short}_{memory._data.depth}x{len(memory._data[0])}"
            wanted = [size, f"{size}_{len(memory._read_ports)}r{len(memory._write_ports)}w"]
        elif len(module.path) > 1:
            wanted.append(f"{re.sub(r'(_[0-9]+)+$', '', module.path[-2])}_{short}")
        for name in wanted:
            if f"{self._prefix}{name}" not in self._used:
                return f"{self._prefix}{name}"
        number = 2
        while (name := f"{self._prefix}{wanted[-1]}_{number}") in self._used:
            number += 1
        return name

    def _without_top(self, wanted: str) -> str:
        """Return a part's name without words of the top at its start.

        In vlarb, ``vl_arb_banks`` becomes ``banks``; in ib_switch, ``switch_input`` becomes ``input``.
        """
        words, top = wanted.split("_"), self._top.replace("_", "")
        for number in range(len(words) - 1, 0, -1):
            start = "".join(words[:number])
            if start == top or ("_" in self._top and top.endswith(start)):
                return "_".join(words[number:])
        return wanted

    def _map(self, module: Module, design: tuple[str, ...], text: tuple[str, ...]) -> None:
        for found, named in ((self._registers, module.registers), (self._wires, module.wires)):
            for name, node in named:
                net, low = node.data
                found.append(Register((*design, name), (*text, net.name), low, node.width))
        for part in module.parts:
            if part.module.memory is None:
                self._map(part.module, (*design, part.module.path[-1]), (*text, part.name))
                continue
            data = part.module.memory._data
            place = (*text, part.name, "memory")
            self._registers.append(Register((*design, part.module.path[-1]), place, 0, len(data[0]), data.depth))


def _check_reset(module: Module, port: Net) -> None:
    """Reject logic that reads the reset, which may be asynchronous or active low in the text."""
    inner = replace(module, parts=[])
    if any(node.data[0] is port for node in each_ref(roots(inner))):
        raise UnwritableError(f"module {module.wanted}: logic that reads the reset cannot be written")
