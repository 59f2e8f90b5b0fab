"""Verilator's code coverage of a component: lines, branches and toggles of its Verilog reached by a run.

Every bit of a named signal counts twice: rising and falling. Memory words do not count, because their contents are
observed where they are read. Equal parts count separately, each under its own path.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.model import MODEL_FLAGS, CompiledModel, compile_library, component_ports, to_verilog
from vlane.tb.machinery.native.sources import source_line
from vlane.tb.machinery.native.wrapper import DRIVER, driver_text, wrapper_text

KINDS = ("line", "branch", "toggle")
EDGES = ("0->1", "1->0")
"""Edges of a bit; each is a toggle."""
_FLAGS = ("--coverage-line", "--coverage-toggle", "--coverage-underscore", "--coverage-max-width", f"{1 << 20}")
_WRITER = """
#include "verilated_cov.h"

extern "C" void vlane_write_coverage(void* device, const char* file) {
    static_cast<Device*>(device)->context->coveragep()->write(file);
}
"""
_POINT = re.compile(r"^C '(.*)' (\d+)$", re.MULTILINE)
_BYTE = re.compile(r"__0([0-9A-Fa-f]{2})")
_UNNAMED = re.compile(r"\$|_\d+_")
"""Names of unnamed terms, as Amaranth and yosys generate them."""
_ARTEFACT = "$auto$verilog_backend"
"""Marker that yosys writes into blocks without other inputs, for simulators that would never run them."""
_SOURCE = re.compile(r'\(\* src = "([^"]*)" \*\) ?')
_DECLARED = re.compile(r"^  (?:input|output|wire|reg) (?:\[\d+:\d+\] )?\\?(\S+?) ?(?: = .*)?;$")
"""A line that declares a signal; memories have indices after the name."""
_CONDITION = re.compile(r"(?:if \(|= )\\?(?P<name>[^\s\[\]()?]+) ?(?:\[(?P<bit>\d+)\])? ?(?:\)|\? )")
_TAKEN = {"if": "1", "elsif": "1", "cond_then": "1", "else": "0", "cond_else": "0"}
"""Value of the condition with which a branch is taken."""


class Bit(NamedTuple):
    """Bit of a signal.

    Parameters
    ----------
    path : str
        Instance names joined by points; empty at the top.
    signal : str
        Name of the signal.
    number : int
        Index of the bit, from 0.
    """

    path: str
    signal: str
    number: int

    @property
    def name(self) -> str:
        """Path and name of the signal, joined by points."""
        return f"{self.path}.{self.signal}".lstrip(".")


@dataclass(frozen=True, slots=True)
class Point:
    """Coverage point: a line, a branch or an edge of a bit.

    Parameters
    ----------
    kind : str
        One of ``KINDS``.
    path : str
        Instance names joined by points.
    name : str
        For a toggle, the bit and its edge (``held[2]:0->1``); otherwise the Verilog text.
    source : str
        Python source line, if known.
    bit : Bit or None
        Bit that decides whether the point is reached: a toggle's bit, or a branch's condition; otherwise ``None``.
    needed : str
        Value of that bit with which the branch is taken, ``0`` or ``1``; empty for toggles.
    count : int
        Number of times that the run reached the point.
    """

    kind: str
    path: str
    name: str
    source: str
    bit: Bit | None
    needed: str
    count: int

    @property
    def edge(self) -> str:
        """Edge of a toggle, one of ``EDGES``, or "" for other points."""
        return self.name.rpartition(":")[2] if self.kind == "toggle" else ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.kind, ".".join(filter(None, (self.path, self.name))), self.source)))


class CoveredModel(CompiledModel):
    """Compiled model that also counts how often each line, branch and toggle of its Verilog is reached."""

    def __init__(self, library: Path, ports: Any, text: str, top: str) -> None:
        super().__init__(library, ports)
        self._lines, self._top = text.splitlines(), top
        self._code.vlane_write_coverage.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self._first = self._counts()

    def restart(self, wave: Path | None = None) -> None:
        """Restart from power-on and clear the counts."""
        super().restart(wave)
        self._first = self._counts()

    def points(self) -> list[Point]:
        """Return every point with the number of times it was reached since the restart.

        The initialization of signals at power-on does not count as an edge.
        """
        found = []
        for words, count in self._counts().items():
            point = self._point(dict(_fields(words)), count)
            if point is not None:
                found.append(replace(point, count=count - self._first[words]) if point.kind == "toggle" else point)
        return found

    def _counts(self) -> dict[str, int]:
        """Return Verilator's counts, by its description of each point."""
        with TemporaryDirectory() as folder:
            file = Path(folder) / "coverage.dat"
            self._code.vlane_write_coverage(self._device, os.fsencode(file))
            text = file.read_text(errors="surrogateescape")
        return {words: int(count) for words, count in _POINT.findall(text)}

    @cached_property
    def _declared(self) -> dict[int, tuple[str, str]]:
        """Signal declared on each line of the Verilog, with its Python source line."""
        found = {}
        source = ""
        for number, line in enumerate(self._lines, start=1):
            declared = _DECLARED.match(line)
            if declared:
                found[number] = declared[1], source
            only = _SOURCE.fullmatch(line.strip())
            source = source_line(only[1]) if only else ""
        return found

    def _point(self, words: dict[str, str], count: int) -> Point | None:
        """Return a coverage point, or ``None`` if it does not count."""
        number, kind = int(words["l"]), words["t"]
        path = _plain(words["h"]).removeprefix(f"TOP.{DRIVER}.{self._top}").lstrip(".")
        if kind == "toggle":
            name = _plain(words["o"])
            if _UNNAMED.match(name) or number not in self._declared:
                return None
            signal, source = self._declared[number]
            index = name.removeprefix(signal).rpartition(":")[0].strip("[]")
            return Point(kind, path, name, source, Bit(path, signal, int(index or 0)), "", count)
        line = self._lines[number - 1]
        if _ARTEFACT in line or number in self._declared or "initial begin" in line:
            return None
        source = " ".join(dict.fromkeys(map(source_line, _SOURCE.findall(line))))
        line = _SOURCE.sub("", line)
        condition = _CONDITION.search(line)
        needed = _TAKEN.get(words["o"], "")
        decides = Bit(path, condition["name"], int(condition["bit"] or 0)) if condition and needed else None
        return Point(kind, path, f"{words['o']}: {' '.join(line.split())}", source, decides, needed, count)


def compile_covered(component: Any, top: str) -> CoveredModel:
    """Compile a component to a model with code coverage, cached by content.

    Verilator receives the Verilog without source locations but with unchanged line numbers, so moving Python lines does
    not recompile.
    """
    text, ports = to_verilog(component, top, sources=True), component_ports(component)
    wrapper = wrapper_text(ports, traced=False) + _WRITER
    flags = (*MODEL_FLAGS, *_FLAGS, *verilator.flags_for(text))
    plain = _SOURCE.sub("", text)
    library = compile_library(plain + driver_text(ports, top), wrapper, DRIVER, flags=flags, name=top)
    return CoveredModel(library, ports, text, top)


def _fields(words: str) -> Iterator[tuple[str, str]]:
    for word in words.split("\x01")[1:]:
        name, _, value = word.partition("\x02")
        yield name, value


def _plain(name: str) -> str:
    """Return a name as in the Verilog source."""
    return _BYTE.sub(lambda byte: chr(int(byte[1], 16)), name)
