"""Modules of the written SystemVerilog: ports, assignments, processes, memories and instances."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from amaranth.hdl import Signal, Value
from amaranth.hdl._ir import Design, Fragment, Instance, PortDirection
from amaranth.hdl._mem import MemoryInstance
from amaranth.lib.wiring import FlippedSignature, In

from vlane.sim_top.systemverilog.layouts import layout_note
from vlane.sim_top.systemverilog.names import Names
from vlane.sim_top.systemverilog.nodes import Net, Node, const, cut, ref
from vlane.sim_top.systemverilog.statements import Folder, Set, Statement, values_of
from vlane.sim_top.systemverilog.values import Translator, UnwritableError


@dataclass(slots=True)
class Assignment:
    """Continuous assignment. ``count`` repetitions if its nodes contain the loop variable."""

    set: Set
    place: Any
    count: int = 0


@dataclass(slots=True)
class Process:
    """Registers of one ``always_ff``.

    Parameters
    ----------
    resets : list of Set
        Values after reset; empty for registers without reset.
    body : list of Statement
        Statements at a clock edge without reset.
    place : object
        Source location.
    """

    resets: list[Set]
    body: list[Statement]
    place: Any


@dataclass(slots=True)
class Part:
    """Instance of another module.

    Parameters
    ----------
    module : Module
        Instantiated module.
    name : str
        Instance name.
    connections : list of (Net, Node)
        Port of the module, and the connected expression; a ``ref`` for an output.
    place : object
        Source location.
    """

    module: Any
    name: str
    connections: list[tuple[Net, Node]]
    place: Any = None
    count: int = 0


@dataclass(slots=True)
class Module:
    """Module before it becomes text.

    Parameters
    ----------
    wanted : str
        Suffix of the module's name; empty for the top.
    component : object
        Amaranth component, for comments.
    ports : list of Net
        Ports in order.
    clock, reset : str
        Names of clock and reset, or empty.
    """

    wanted: str
    component: Any
    names: Names
    ports: list[Net] = field(default_factory=list)
    nets: list[Net] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    clock: str = ""
    reset: str = ""
    name: str = ""
    registers: list[tuple[str, Node]] = field(default_factory=list)
    """Registers: name in the Amaranth design, and where it is written."""
    wires: list[tuple[str, Node]] = field(default_factory=list)
    """Other signals: name in the Amaranth design, and where it is written."""
    path: tuple[str, ...] = ()
    memory: MemoryInstance | None = None
    functions: list[Any] = field(default_factory=list)
    """Functions of ``functions.share_functions``."""
    unused: list[Node] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    """Nets of expressions that are named by their reader, because the source has no name for them."""
    split: set[Net] = field(default_factory=set)
    """Vectors that depend on their own bits."""
    through: dict[Net, set[Net]] | None = None
    """Inputs that each output depends on within the cycle, once computed."""


def members_of(component: Any) -> dict[int, tuple[str, bool]]:
    """Return name and direction (input) of a component's members, by id of the signal."""
    found = {}
    for path, member, value in component.signature.flatten(component):
        value = Value.cast(value)
        if isinstance(value, Signal) and len(value):
            found[id(value)] = "_".join(map(str, path)), member.flow == In
    return found


def meanings_of(component: Any) -> dict[str, str]:
    """Return the meaning of a component's ports by name, from the Members sections of it and its interfaces."""
    found = members_section(type(component))
    for name, member in component.signature.members.items():
        if member.is_signature:
            nested = member.signature.flip() if isinstance(member.signature, FlippedSignature) else member.signature
            places = [f"{name}_{'_'.join(map(str, at))}" for at in product(*map(range, member.dimensions))]
            for place in places if member.dimensions else [name]:
                found.update({f"{place}_{inner}": text for inner, text in members_section(type(nested)).items()})
        elif member.dimensions:
            for at in product(*map(range, member.dimensions)):
                found["_".join(map(str, (name, *at)))] = found.get(name, "")
    return found


def members_section(documented: type) -> dict[str, str]:
    """Return the meanings in the Members section of a class, by name."""
    text = inspect.getdoc(documented) or ""
    section = re.search(r"Members\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+|\Z)", text, re.DOTALL)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.group(1).splitlines() if section else []:
        if head := re.match(r"([\w, ]+) : ", line):
            names = [name.strip() for name in head.group(1).split(",")]
            found.update(dict.fromkeys(names, ""))
        elif line.startswith(" "):
            for name in names:
                found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def component_of(fragment: Any) -> Any:
    """Return the component that a fragment was elaborated from, or ``None``."""
    return next((each for each in reversed(fragment.origins or ()) if hasattr(each, "signature")), None)


class Builder:
    """Builder of the modules of a design.

    Parameters
    ----------
    component : wiring.Component
        Component, not yet elaborated.
    meanings : mapping of str to str
        Meanings of ports of the component, in addition to those in its docstring.
    """

    def __init__(self, component: Any, meanings: Mapping[str, str]) -> None:
        self._meanings = meanings
        ports = {}
        for path, member, value in component.signature.flatten(component):
            value = Value.cast(value)
            if len(value):
                direction = PortDirection.Input if member.flow == In else PortDirection.Output
                name = "_".join(map(str, path))
                if name in ports:
                    raise UnwritableError(f"two ports are named {name}")
                ports[name] = value, direction
        self._design: Design = Fragment.get(component, None).prepare(ports=ports)
        self._driven: dict[int, set[int]] = {}
        self._drivers(self._design.fragment)

    def top(self) -> Module:
        """Return the module of the component, with its parts."""
        return self._module(self._design.fragment, "", (), {})

    def _drivers(self, fragment: Any) -> set[int]:
        """Record, for each fragment, the ids of the signals that it and its parts drive."""
        here: set[int] = set()
        if isinstance(fragment, MemoryInstance):
            here.update(id(signal) for port in fragment._read_ports for signal in port._data._lhs_signals())
        elif type(fragment) is Fragment:
            for stmts in fragment.statements.values():
                here.update(id(signal) for signal in stmts._lhs_signals())
            for sub, _, _ in fragment.subfragments:
                here |= self._drivers(sub)
        elif isinstance(fragment, Instance):
            raise UnwritableError(f"instance of {fragment.type} cannot be written as SystemVerilog")
        self._driven[id(fragment)] = here
        return here

    def _module(self, fragment: Any, wanted: str, path: tuple[str, ...], given: dict[int, str]) -> Module:
        """Return the module of a fragment. ``given`` names the signals of the instantiating module by id."""
        component, info = component_of(fragment), self._design.fragments[fragment]
        module = Module(wanted, component, Names(), path=path)
        nodes = self._nets(fragment, module, given)

        def node_of(signal: Signal) -> Node:
            """Return a signal's node, a constant for an input of a memory without a driver."""
            return nodes.get(id(signal)) or const(signal.init, len(signal))

        translator = Translator(node_of)
        translator.count(value for stmts in fragment.statements.values() for value in values_of(stmts))
        folder = Folder(translator)
        for domain, stmts in fragment.statements.items():
            if domain == "comb":
                self._combinational(module, folder, stmts, nodes)
            else:
                self._clocked(module, folder, fragment.domains[domain], stmts, nodes)
                for signal in stmts._lhs_signals():
                    if len(signal):
                        module.registers.append((info.signal_names[signal], nodes[id(signal)]))
        registers = {id(s) for d, each in fragment.statements.items() if d != "comb" for s in each._lhs_signals()}
        module.wires = [
            (info.signal_names[signal], nodes[id(signal)])
            for signal in info.used_signals
            if len(signal) and id(signal) not in registers
        ]
        driven = self._driven[id(fragment)]
        module.assignments += [
            Assignment(Set(nodes[id(signal)], const(signal.init, len(signal))), signal.src_loc)
            for signal in info.used_signals
            if len(signal)
            and id(signal) not in driven
            and self._design.signal_lca[signal] is fragment
            and nodes[id(signal)].data[0].kind != "input"
        ]  # fmt: skip - the condition is one sentence
        numbers: dict[str, int] = defaultdict(int)
        for number, (sub, name, place) in enumerate(fragment.subfragments):
            if isinstance(sub, MemoryInstance):
                for port in sub._read_ports:
                    if port._domain != "comb":
                        for signal in port._data._lhs_signals():
                            module.registers.append((info.signal_names[signal], nodes[id(signal)]))
                memory = self._memory(sub, module, name or "memory", translator, place)
                memory.module.path = (*path, self._design.fragments[sub].name[-1])
                module.parts.append(memory)
            elif type(sub) is Fragment:
                inner = component_of(sub)
                kind = snake(type(inner).__name__ if inner is not None else str(name or "part"))
                numbers[kind] += 1
                actual = self._design.fragments[sub].name[-1]
                child = self._module(
                    sub, kind, (*path, actual), {key: node.data[0].name for key, node in nodes.items()}
                )
                plain = module.names.unique(f"u_{name}" if name else f"u_{kind}_{number}")
                inside = self._port_signals(sub)
                connections = [(net, nodes[id(signal)]) for net, signal in zip(child.ports, inside, strict=True)]
                module.parts.append(Part(child, plain, connections, place))
        return module

    def _port_signals(self, fragment: Any) -> list[Signal]:
        """Return the signals of a fragment's ports: clock, reset, members in order, then others."""
        info, own = self._design.fragments[fragment], members_of(c) if (c := component_of(fragment)) is not None else {}
        if fragment is self._design.fragment:
            found = [signal for _, signal, _ in self._design.ports if len(signal)]
            rank = {id(signal): number for number, signal in enumerate(found)}
        else:
            rank = {key: number for number, key in enumerate(own)}
            found = [s for s in info.used_signals if len(s) and self._design.signal_lca[s] is not fragment]
        clocks = {"clk": -2, "rst": -1}
        return sorted(
            found, key=lambda s: clocks.get(s.name, rank.get(id(s), 1 << 20)) if id(s) not in own else rank[id(s)]
        )

    def _nets(self, fragment: Any, module: Module, given: dict[int, str]) -> dict[int, Node]:
        """Name the signals of a fragment. Return their nodes by id."""
        info, component = self._design.fragments[fragment], component_of(fragment)
        own = members_of(component) if component is not None else {}
        meanings = meanings_of(component) if component is not None else {}
        meanings |= {} if module.path else self._meanings
        nodes: dict[int, Node] = {}
        driven = self._driven[id(fragment)]
        domains = {id(d.clk): "clk" for d in fragment.domains.values()}
        domains |= {id(d.rst): "rst" for d in fragment.domains.values() if d.rst is not None}
        outside = {id(signal): name for name, signal, _ in self._design.ports} if not module.path else {}
        for signal in self._port_signals(fragment):
            name = (
                domains.get(id(signal)) or outside.get(id(signal)) or (own[id(signal)][0] if id(signal) in own else "")
            )
            name = name or given.get(id(signal), signal.name)
            is_input = id(signal) not in driven and (not module.path or self._design.signal_lca[signal] is not fragment)
            if not module.path and id(signal) in own:
                is_input = own[id(signal)][1]
            kind = "input" if is_input else "output"
            layout = layout_note(signal)
            meaning = " ".join(filter(None, (meanings.get(name, ""), f"Layout: {layout}." if layout else "")))
            net = Net(module.names.unique(name, f"{name}_port"), len(signal), kind, meaning)
            module.ports.append(net)
            nodes[id(signal)] = ref(net)
            if name in {"clk", "rst"} and id(signal) in domains:
                module.clock, module.reset = (net.name, module.reset) if name == "clk" else (module.clock, net.name)
        registers = {id(s) for d, each in fragment.statements.items() if d != "comb" for s in each._lhs_signals()}
        inner: dict[int, str] = {}
        for sub, name, _ in fragment.subfragments:
            for origin in sub.origins or ():
                if hasattr(origin, "signature"):
                    for key, (path, _) in members_of(origin).items():
                        inner.setdefault(key, f"{name}_{path}" if name else path)
        local = [signal for signal in info.used_signals if len(signal) and id(signal) not in nodes]
        plain = {id(s): (own[id(s)][0] if id(s) in own else inner.get(id(s), s.name)) for s in local}
        for name, group in module.names.families(local, plain, registers):
            layout = layout_note(group[0])
            if layout and len(group) > 1:
                layout = f"{len(group)} x {layout}"
            kind = "register" if id(group[0]) in registers else "logic"
            net = Net(name, sum(map(len, group)), kind, layout)
            module.nets.append(net)
            low = 0
            for signal in group:
                nodes[id(signal)] = ref(net, low, len(signal))
                low += len(signal)
        return nodes

    @staticmethod
    def _combinational(module: Module, folder: Folder, stmts: Any, nodes: dict[int, Node]) -> None:
        seen: dict[int, tuple[Signal, list[Any]]] = {}
        for stmt in stmts:
            for signal in stmt._lhs_signals():
                seen.setdefault(id(signal), (signal, []))[1].append(stmt)
        for signal, mine in seen.values():
            for low, high in folder.ranges(mine, signal):
                value = folder.folded(mine, signal, low, high, const(signal.init >> low, high - low))
                target = cut(nodes[id(signal)], low, high - low)
                module.assignments.append(Assignment(Set(target, value), mine[0].src_loc))

    @staticmethod
    def _clocked(module: Module, folder: Folder, domain: Any, stmts: Any, nodes: dict[int, Node]) -> None:
        if domain.clk_edge != "pos" or domain.async_reset:
            raise UnwritableError(f"domain {domain.name}: only rising edges and synchronous resets are supported")
        for targets, mine in grouped(stmts):
            resets = [
                Set(nodes[id(signal)], const(signal.init, len(signal)))
                for signal in targets
                if domain.rst is not None and not signal.reset_less and len(signal)
            ]
            body = folder.clocked(mine, {id(signal) for signal in targets})
            module.processes.append(Process(resets, body, mine[0].src_loc))

    def _memory(self, memory: MemoryInstance, module: Module, name: str, values: Translator, place: Any) -> Part:
        """Return the instance of a memory's wrapper."""
        wrapper = Module(f"{snake(name)}_memory".replace("memory_memory", "memory"), None, Names(), memory=memory)
        connections: list[tuple[Net, Node]] = []

        def port(label: str, width: int, node: Node, meaning: str, kind: str = "input") -> None:
            net = Net(label, width, kind, meaning)
            wrapper.ports.append(net)
            connections.append((net, node))

        domains = {p._domain for p in (*memory._read_ports, *memory._write_ports)} - {"comb"}
        if len(domains) > 1:
            raise UnwritableError(f"memory {name} has ports in several clock domains")
        if domains:
            port("clk", 1, values.of(memory.domains[domains.pop()].clk), "Clock, rising edge.")
            wrapper.clock = "clk"
        many = len(memory._write_ports) > 1
        for number, write in enumerate(memory._write_ports):
            at = f"write_{number}" if many else "write"
            lanes = f"Write enable{', one bit for each lane of the word' if len(write._en) > 1 else ''}."
            port(f"{at}_enable", len(write._en), values.of(write._en), lanes)
            port(
                f"{at}_address",
                max(1, len(write._addr)),
                values.of(write._addr, max(1, len(write._addr))),
                "Written entry.",
            )
            port(f"{at}_data", len(write._data), values.of(write._data), "Written word.")
        many = len(memory._read_ports) > 1
        for number, read in enumerate(memory._read_ports):
            at = f"read_{number}" if many else "read"
            if read._domain != "comb":
                port(f"{at}_enable", 1, values.of(read._en), "Read enable; without it the data keep their value.")
            port(
                f"{at}_address", max(1, len(read._addr)), values.of(read._addr, max(1, len(read._addr))), "Read entry."
            )
            timing = "in the same cycle" if read._domain == "comb" else "one cycle later"
            port(f"{at}_data", len(read._data), values.of(read._data), f"Read word, {timing}.", "output")
        return Part(wrapper, module.names.unique(f"u_{name}"), connections, place)


def grouped(stmts: Any) -> Iterator[tuple[list[Signal], list[Any]]]:
    """Yield registers that one process assigns, with its statements, in the order of the source.

    Registers that a statement assigns together are in one process, except that registers without reset are separate.
    """
    group: dict[tuple[int, bool], tuple[int, bool]] = {}

    def root(key: tuple[int, bool]) -> tuple[int, bool]:
        while group.setdefault(key, key) != key:
            key = group[key]
        return key

    signals: dict[int, Signal] = {}
    plain: dict[bool, tuple[int, bool]] = {}
    for stmt in stmts:
        targets = list(stmt._lhs_signals())
        signals |= {id(signal): signal for signal in targets}
        for signal in targets:
            key = id(signal), bool(signal.reset_less)
            first = next((id(s), bool(s.reset_less)) for s in targets if s.reset_less == signal.reset_less)
            if len(targets) == 1 and not hasattr(stmt, "cases"):
                first = plain.setdefault(key[1], key)
            group[root(key)] = root(first)
    members: dict[tuple[int, bool], list[Signal]] = defaultdict(list)
    for signal in signals.values():
        members[root((id(signal), bool(signal.reset_less)))].append(signal)
    for targets in members.values():
        ids = {id(signal) for signal in targets}
        yield targets, [stmt for stmt in stmts if any(id(s) in ids for s in stmt._lhs_signals())]


def snake(name: str) -> str:
    """Return a name in snake case without numbers at its end: ``VLArbBanks`` becomes ``vl_arb_banks``."""
    name = re.sub(r"(_\d+)+$", "", re.sub(r"\W+", "_", name).strip("_"))
    parts = re.findall(r"[A-Z]+\d+[A-Z]+(?![a-z])|[A-Z]+(?=[A-Z][a-z]{2})|[A-Z][a-z]+|[A-Z]+|[a-z\d]+", name)
    return "_".join(parts).lower()
