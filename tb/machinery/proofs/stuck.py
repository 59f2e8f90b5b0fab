"""Stuck-at faults of a proven design: every register, memory read and output of its hardware held at 0 and at 1.

The text of the design gets a multiplexer at each site. A select input, the same in all cycles, activates one fault.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

COVERED = "stuck"
"""Label of the cover of a violation under a fault; the number of the fault follows."""
_SELECT = "\\stuck_select"
_MODULE = re.compile(
    r'(?m)^(?:attribute \\generator "[^"\n]*"\n)?attribute \\src "([^"\n]*?):\d+"\n(?:attribute .*\n)*module (\S+)\n'
)
_HARDWARE = re.compile(r"(?:^|/)(hdl/\S+)$")
_CELL = re.compile(r"(?m)^  cell (\S+) (\S+)\n((?:    .*\n)*)  end\n")
_WIRE = re.compile(r"(?m)^((?:  attribute .*\n)*)  wire width (\d+)(?: (input|output) (\d+) )? (\S+)\n")
_STATE = re.compile(r"\$(?:a|s|ad|al)?dff\w*")
_FLAVOR = re.compile(r'parameter \\FLAVOR "(\w+)"')


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Stuck-at fault.

    Parameters
    ----------
    module : str
        Source file of the module that drives the signal; empty for an output of the proven component.
    signal : str
        Path of the signal in the component, with ``#`` in place of numbers.
    value : int
        0, or 1 for all bits.
    """

    module: str
    signal: str
    value: int

    def __str__(self) -> str:
        return f"{self.signal} at {self.value}" + (f" ({self.module})" if self.module else " (output)")


@dataclass(frozen=True, slots=True)
class _Site:
    module: str
    signal: str
    bits: int
    driven: str
    """Wire that the fault drives."""
    faulty: str
    """Module of the design that holds the multiplexer."""


class FaultyDesign:
    """A proven design with a multiplexer at each site of a fault.

    Parameters
    ----------
    design : str
        The design and its properties, in RTLIL with source lines.
    outputs : collection of str
        Names of the outputs of the proven component.

    Attributes
    ----------
    faults : tuple of Fault
        Faults by number, from 1: two for each site. Sites that differ only in numbers of the path have equal faults.

    Raises
    ------
    ValueError
        If a module below the top one has assertions.
    """

    def __init__(self, design: str, outputs: Collection[str]) -> None:
        starts = [(found.start(), found) for found in _MODULE.finditer(design)]
        ends = [start for start, _ in starts[1:]] + [len(design)]
        self._parts = {found[2]: design[start:end] for (start, found), end in zip(starts, ends, strict=True)}
        self._head = design[: starts[0][0]] if starts else design
        sources = {found[2]: _HARDWARE.search(found[1]) for _, found in starts}
        self._files = {name: found[1] for name, found in sources.items() if found}
        self._cells = {
            name: [(kind, cell, body) for kind, cell, body in _CELL.findall(text)] for name, text in self._parts.items()
        }
        for name in self._parts:
            if name != "\\top" and self._checks(name, "assert"):
                raise ValueError(f"{name}: assertions below the top module")
        self._outputs = frozenset(outputs)
        self._sites: list[_Site] = []
        self._faulted = {name: self._with_faults(name, text) for name, text in self._parts.items()}
        self.faults = tuple(Fault(site.module, site.signal, value) for site in self._sites for value in (0, 1))
        self._bits = max(1, len(self.faults).bit_length())

    def _checks(self, module: str, flavor: str) -> list[str]:
        """Return the bodies of a module's checks of a flavor."""
        bodies = [body for kind, _, body in self._cells[module] if kind == "$check"]
        return [body for body in bodies if (found := _FLAVOR.search(body)) and found[1] == flavor]

    def _with_faults(self, name: str, text: str) -> str:
        wires = {wire: (int(bits), attributes) for attributes, bits, _, _, wire in _WIRE.findall(text)}
        for kind, cell, body in self._cells[name]:
            ports: list[tuple[str, str, str]] = []
            if name in self._files and _STATE.fullmatch(kind):
                ports = [("\\Q", self._files[name], "")]
            elif name in self._files and kind.startswith("$memrd"):
                ports = [("\\DATA", self._files[name], _parameter(body, "MEMID"))]
            elif kind in self._files and name not in self._files:
                ports = [(f"\\{port}", "", port) for port in self._outputs if f"    connect \\{port} " in body]
            changed = body
            for port, module, called in sorted(ports):
                target = re.search(rf"(?m)^    connect {re.escape(port)} (\S+)(?: \[[\d:]+\])?$", changed)
                if not target or target[1] not in wires:
                    continue
                driven = target[1]
                bits = wires[driven][0]
                path = name.removeprefix("\\top").lstrip(".")
                signal = ".".join(filter(None, (path if module else cell.lstrip("\\"), called or driven.lstrip("\\"))))
                number = len(self._sites)
                self._sites.append(_Site(module, re.sub(r"\d+", "#", re.sub(r"\$\d+", "", signal)), bits, driven, name))
                changed = changed.replace(target[0], f"    connect {port} \\stuck_site_{number}")
            if changed != body:
                text = text.replace(f"  cell {kind} {cell}\n{body}", f"  cell {kind} {cell}\n{changed}", 1)
        return text

    def _module(self, name: str, select: str) -> str:
        """Return a module with the multiplexers of its sites, and the select input."""
        text, added = self._faulted[name], ""
        values = {found[5]: found[1] for found in _WIRE.finditer(text)}
        for number, site in enumerate(self._sites):
            if site.faulty == name:
                lines = values[site.driven].splitlines(keepends=True)
                added += self._multiplexer(number, site, "".join(line for line in lines if "\\init" in line))
        text = _registers_only(text)
        inner = [kind for kind, _, _ in self._cells[name] if kind in self._parts]
        for kind in dict.fromkeys(inner):
            text = re.sub(
                rf"(?m)^(  cell {re.escape(kind)} \S+\n)",
                rf"\1    connect {re.escape(_SELECT)} {re.escape(_SELECT)}\n".replace("\\\\", "\\\\"),
                text,
            )
        port = ""
        if name != "\\top":
            ports = [int(number) for _, _, direction, number, _ in _WIRE.findall(text) if direction]
            port = f" input {max(ports, default=-1) + 1} "
        added = f"  wire width {self._bits}{port} {_SELECT}\n{added}" + (select if name == "\\top" else "")
        declared = "".join(found[0] for found in _WIRE.finditer(added))
        begin, end = text.index("\n", text.index(f"module {name}\n")) + 1, text.rindex("\nend")
        return f"{text[:begin]}{declared}{text[begin:end]}\n{_WIRE.sub('', added)}{text[end:]}"

    def _multiplexer(self, number: int, site: _Site, init: str) -> str:
        bits, wire = site.bits, f"\\stuck_site_{number}"
        text = f"{init}  wire width {bits} {wire}\n"
        value = wire
        for at in (0, 1):
            fault = f"{self._bits}'{2 * number + at + 1:0{self._bits}b}"
            text += (
                f"  wire width 1 {wire}_at_{at}\n  wire width {bits} {wire}_value_{at}\n"
                f"  cell $eq {wire}_eq_{at}\n    parameter \\A_SIGNED 0\n    parameter \\B_SIGNED 0\n"
                f"    parameter \\A_WIDTH {self._bits}\n    parameter \\B_WIDTH {self._bits}\n"
                f"    parameter \\Y_WIDTH 1\n"
                f"    connect \\A {_SELECT}\n    connect \\B {fault}\n    connect \\Y {wire}_at_{at}\n  end\n"
                f"  cell $mux {wire}_mux_{at}\n    parameter \\WIDTH {bits}\n    connect \\A {value}\n"
                f"    connect \\B {bits}'{str(at) * bits}\n    connect \\S {wire}_at_{at}\n"
                f"    connect \\Y {wire}_value_{at}\n  end\n"
            )
            value = f"{wire}_value_{at}"
        return f"{text}  connect {site.driven} {value}\n"

    def stuck(self, number: int) -> str:
        """Return the design and its properties with one permanent fault."""
        select = f"  connect {_SELECT} {self._bits}'{number:0{self._bits}b}\n"
        return self._head + "".join(self._module(name, select) for name in self._parts)

    def watched(self, numbers: Collection[int]) -> str:
        """Return the design with one arbitrary fault, and for each fault a cover of a violated assertion."""
        pairs = [(_connection(body, "EN"), _connection(body, "A")) for body in self._checks("\\top", "assert")]
        text = (
            f"  cell $anyconst \\stuck_any\n    parameter \\WIDTH {self._bits}\n    connect \\Y {_SELECT}\n  end\n"
            "  wire width 1 \\stuck_violated\n"
        )
        wide = len(pairs)
        for name, kind, a, b in (
            ("not", "$not", "{ " + " ".join(holds for _, holds in pairs) + " }", ""),
            ("and", "$and", "{ " + " ".join(enabled for enabled, _ in pairs) + " }", "\\stuck_not"),
        ):
            text += (
                f"  wire width {wide} \\stuck_{name}\n  cell {kind} \\stuck_{name}_cell\n    parameter \\A_SIGNED 0\n"
            )
            text += f"    parameter \\A_WIDTH {wide}\n    parameter \\Y_WIDTH {wide}\n    connect \\A {a}\n"
            if b:
                text += f"    parameter \\B_SIGNED 0\n    parameter \\B_WIDTH {wide}\n    connect \\B {b}\n"
            text += f"    connect \\Y \\stuck_{name}\n  end\n"
        text += (
            f"  cell $reduce_or \\stuck_or\n    parameter \\A_SIGNED 0\n    parameter \\A_WIDTH {wide}\n"
            "    parameter \\Y_WIDTH 1\n    connect \\A \\stuck_and\n    connect \\Y \\stuck_violated\n  end\n"
        )
        for number in sorted(numbers):
            text += (
                f"  wire width 1 \\stuck_is_{number}\n  cell $eq \\stuck_eq_{number}\n    parameter \\A_SIGNED 0\n"
                f"    parameter \\B_SIGNED 0\n    parameter \\A_WIDTH {self._bits}\n"
                f"    parameter \\B_WIDTH {self._bits}\n"
                f"    parameter \\Y_WIDTH 1\n    connect \\A {_SELECT}\n"
                f"    connect \\B {self._bits}'{number:0{self._bits}b}\n    connect \\Y \\stuck_is_{number}\n  end\n"
                f'  cell $check ${9_000_000 + number}\n    parameter \\FORMAT "{COVERED}.{number}"\n'
                "    parameter \\ARGS_WIDTH 0\n    parameter signed \\PRIORITY 32'0\n    parameter \\TRG_ENABLE 0\n"
                '    parameter \\TRG_WIDTH 0\n    parameter \\TRG_POLARITY 0\n    parameter \\FLAVOR "cover"\n'
                f"    connect \\EN \\stuck_is_{number}\n    connect \\ARGS {{  }}\n    connect \\TRG {{  }}\n"
                "    connect \\A \\stuck_violated\n  end\n"
            )
        whole = self._head + "".join(self._module(name, text) for name in self._parts)
        return _without_claims(whole)


def _registers_only(text: str) -> str:
    """Return a module without initial values of wires. Registers keep their initial values."""
    registers = set(re.findall(r"(?m)^    connect \\Q (\S+)", text))

    def kept(match: re.Match[str]) -> str:
        lines = match[0].splitlines(keepends=True)
        return "".join(line for line in lines if match[5] in registers or "attribute \\init" not in line)

    return _WIRE.sub(kept, text)


def _without_claims(design: str) -> str:
    """Return a design without assertions, covers of premises, and assumptions about earlier cycles."""

    def kept(match: re.Match[str]) -> str:
        label = _parameter(match[3], "FORMAT")
        flavor = _FLAVOR.search(match[3])
        if match[1] != "$check" or not flavor or label.startswith(f"{COVERED}."):
            return match[0]
        return "" if flavor[1] in {"assert", "cover"} or label.startswith("past.") else match[0]

    return _CELL_WITH_SOURCE.sub(kept, design)


_CELL_WITH_SOURCE = re.compile(r"(?m)(?:^  attribute .*\n)*^  cell (\S+) (\S+)\n((?:    .*\n)*)  end\n")


def _parameter(body: str, name: str) -> str:
    found = re.search(rf'parameter \\{name} "(.*)"', body)
    return found[1].lstrip("\\") if found else ""


def _connection(body: str, port: str) -> str:
    found = re.search(rf"(?m)^    connect \\{port} (.*)$", body)
    assert found
    return found[1]
