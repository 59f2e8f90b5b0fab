"""Cell libraries in Liberty format, with areas in gate equivalents (NAND2 = 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from vlane.errors import InputError

_GENERIC = Path(__file__).with_name("generic.lib")


@dataclass(frozen=True, slots=True)
class Liberty:
    """Cell library.

    Parameters
    ----------
    text : str
        Content of the file.
    areas : dict of str to float
        Area by cell, in the file's unit; cells without an area are omitted.
    storage : frozenset of str
        Flip-flop cells.
    unit : float
        Area of a NAND2.
    is_generic : bool
        Whether the library is vlane's generic one.
    """

    text: str
    areas: dict[str, float]
    storage: frozenset[str]
    unit: float
    is_generic: bool

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """Return the library of a file, by default a small generic library.

        Raises
        ------
        InputError
            If the file cannot be read, or lacks a NAND2 with an area or a flip-flop.
        """
        try:
            text = (path or _GENERIC).read_text()
        except (OSError, UnicodeDecodeError):
            problem = f": cannot read {path} as text"
            raise InputError("--liberty", "a Liberty file", str(path), problem=problem) from None
        bodies = _cell_bodies(text)
        found = {
            name: re.search(r"\barea\s*:\s*\"?(\d+\.?\d*(?:[eE][+-]?\d+)?)", body) for name, body in bodies.items()
        }
        areas = {name: float(area.group(1)) for name, area in found.items() if area}
        unit = next((areas[name] for name in sorted(areas) if re.match(r"(?i)NAND2", name) and areas[name] > 0), None)
        storage = frozenset(name for name, body in bodies.items() if re.search(r"\bff\s*\(", body))
        if unit is None:
            raise InputError(
                "--liberty",
                "a Liberty file with a NAND2 cell",
                str(path),
                problem=f": {path} has no NAND2 cell with an area",
            )
        if not storage:
            raise InputError(
                "--liberty", "a Liberty file with a flip-flop", str(path), problem=f": {path} has no flip-flop"
            )
        return cls(text, areas, storage, unit, path is None)

    def equivalents(self, cells: dict[str, int]) -> float:
        """Return the area in gate equivalents of cells counted by name.

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
        return round(sum(count * self.areas[name] for name, count in cells.items()) / self.unit, 1)


def _cell_bodies(text: str) -> dict[str, str]:
    """Return the text of every cell of a Liberty file, by name."""
    starts = list(re.finditer(r"\bcell\s*\(\s*\"?([^\")\s]+)\"?\s*\)", text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {start.group(1): text[start.start() : end] for start, end in zip(starts, ends, strict=False)}
