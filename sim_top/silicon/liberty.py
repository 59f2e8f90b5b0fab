"""Cell libraries in Liberty format, with areas in gate equivalents (NAND2 = 1)."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

from vlane.errors import InputError

_GENERIC = Path(__file__).with_name("generic.lib")
_CELL = re.compile(r"\bcell\s*\(\s*\"?([^\")\s]+)\"?\s*\)")
_BRACE = re.compile(r"[{}]")
_NAND2 = re.compile(r"(?:^|_)nand2(?:$|_|x)", re.IGNORECASE)
_BUFFER = re.compile(r"(?:^|_)buf(?:$|_|x)", re.IGNORECASE)
_FLIP_FLOP = re.compile(r"\bff\s*\(")
_TIMING = re.compile(r"\btiming\s*\(")
_DONT_USE = re.compile(r"\bdont_use\s*:\s*\"?true")
_DEFAULT_DONT_USE = {
    "asap7": ("*x1p*_ASAP7*", "*xp*", "SDF*", "ICG*", "DLL*"),
    "nangate": ("CLKGATE*", "FILLCELL*", "TAPCELL*", "ANTENNA*"),
    "sg13g2": ("*_lgcp_*", "*_slgcp_*", "*_sighold"),
    "sky130": ("*__probe*", "*__lpflow_*"),
}
"""Patterns of cells that are not for synthesis, by a part of the library's name in lower case."""


@dataclass(frozen=True, slots=True)
class Liberty:
    """Cell library.

    Parameters
    ----------
    text : str
        Content of the file, without the cells that must not be used.
    areas : dict of str to float
        Area by cell, in the file's unit; cells without an area are omitted.
    storage : frozenset of str
        Usable flip-flop cells.
    unit : float
        Area of the smallest NAND2.
    buffer : str
        Smallest buffer, which drives the inputs; empty if the library has no buffer or no delays.
    is_generic : bool
        Whether the library is vlane's generic one.
    """

    text: str
    areas: dict[str, float]
    storage: frozenset[str]
    unit: float
    buffer: str
    is_generic: bool

    @classmethod
    def read(cls, path: Path | None = None, dont_use: Sequence[str] = ()) -> Self:
        """Return the library of a file, by default a small generic library.

        Parameters
        ----------
        path : Path, optional
            Liberty file, plain or compressed with gzip (``.gz``).
        dont_use : sequence of str
            Patterns of cells that synthesis must not use, in addition to the cells that the file marks and to the
            defaults of known libraries.

        Raises
        ------
        InputError
            If the file cannot be read, or lacks a NAND2 with an area or a usable flip-flop.
        """
        source = path or _GENERIC
        try:
            content = source.read_bytes()
            text = (gzip.decompress(content) if source.suffix == ".gz" else content).decode()
        except (OSError, EOFError, UnicodeDecodeError):
            problem = f": cannot read {path} as text"
            raise InputError("--liberty", "a Liberty file", str(path), problem=problem) from None
        cells = _cells(text)
        areas = {name: area for name, (start, end) in cells.items() if (area := _area(text[start:end])) is not None}
        sizes = [area for name, area in areas.items() if _NAND2.search(name) and area > 0]
        if not sizes:
            raise InputError(
                "--liberty",
                "a Liberty file with a NAND2 cell",
                str(path),
                problem=f": {path} has no NAND2 cell with an area",
            )
        patterns = [*dont_use, *_default_patterns(text)]
        unused = {
            name
            for name, (start, end) in cells.items()
            if _DONT_USE.search(text, start, end) or any(fnmatchcase(name, pattern) for pattern in patterns)
        }
        storage = frozenset(
            name for name, (start, end) in cells.items() if name not in unused and _FLIP_FLOP.search(text, start, end)
        )
        if not storage:
            raise InputError(
                "--liberty", "a Liberty file with a flip-flop", str(path), problem=f": {path} has no usable flip-flop"
            )
        buffers = {name: areas[name] for name in cells.keys() - unused if name in areas and _BUFFER.search(name)}
        is_timed = _TIMING.search(text) is not None
        buffer = min(buffers, key=lambda name: (buffers[name], name), default="") if is_timed else ""
        return cls(_without(text, [cells[name] for name in unused]), areas, storage, min(sizes), buffer, path is None)

    def size(self, cells: Mapping[str, int]) -> float:
        """Return the area of cells counted by name, in the file's unit.

        Raises
        ------
        InputError
            If a cell has no area.
        """
        for name in cells:
            if name not in self.areas:
                raise InputError(
                    "--liberty", "a Liberty file with all areas", name, problem=f": cell {name} has no area"
                )
        return sum(count * self.areas[name] for name, count in cells.items())

    def equivalents(self, cells: Mapping[str, int]) -> float:
        """Return the area in gate equivalents of cells counted by name. See ``size`` for errors."""
        return round(self.size(cells) / self.unit, 1)


def _cells(text: str) -> dict[str, tuple[int, int]]:
    """Return the extent of every cell of a Liberty file, by name."""
    found = {}
    for start in _CELL.finditer(text):
        depth = 0
        for brace in _BRACE.finditer(text, start.end()):
            depth += 1 if brace.group() == "{" else -1
            if depth == 0:
                found[start.group(1)] = (start.start(), brace.end())
                break
    return found


def _area(body: str) -> float | None:
    area = re.search(r"\barea\s*:\s*\"?(\d+\.?\d*(?:[eE][+-]?\d+)?)", body)
    return float(area.group(1)) if area else None


def _default_patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of cells that a known library does not intend for synthesis."""
    name = re.search(r"\blibrary\s*\(\s*\"?([^\")\s]+)", text)
    known = name.group(1).lower() if name else ""
    return tuple(pattern for part, patterns in _DEFAULT_DONT_USE.items() if part in known for pattern in patterns)


def _without(text: str, extents: Iterable[tuple[int, int]]) -> str:
    """Return a text without some parts of it."""
    kept, at = [], 0
    for start, end in sorted(extents):
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])
