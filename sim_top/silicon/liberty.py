"""Libraries of cells in the Liberty format: areas in gate equivalents, a NAND2 being 1."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from vlane.errors import InputError

_GENERIC = Path(__file__).with_name("generic.lib")


@dataclass(frozen=True, slots=True)
class Liberty:
    """A library of cells.

    Parameters
    ----------
    text : str
        The file.
    areas : dict of str to float
        Area of every cell that has one, in the file's unit.
    storage : frozenset of str
        Cells that are flip-flops.
    unit : float
        Area of a NAND2.
    is_generic : bool
        Whether it is ours.
    """

    text: str
    areas: dict[str, float]
    storage: frozenset[str]
    unit: float
    is_generic: bool

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """Return the library in a file; without one, a small generic library.

        Raises
        ------
        InputError
            If it cannot be read, or has no NAND2 with an area, or no flip-flop.
        """
        try:
            text = (path or _GENERIC).read_text()
        except (OSError, UnicodeDecodeError):
            raise InputError("--liberty", "a Liberty file", str(path)) from None
        bodies = _cell_bodies(text)
        found = {
            name: re.search(r"\barea\s*:\s*\"?(\d+\.?\d*(?:[eE][+-]?\d+)?)", body) for name, body in bodies.items()
        }
        areas = {name: float(area.group(1)) for name, area in found.items() if area}
        unit = next((areas[name] for name in sorted(areas) if re.match(r"(?i)NAND2", name) and areas[name] > 0), None)
        storage = frozenset(name for name, body in bodies.items() if re.search(r"\bff\s*\(", body))
        if unit is None:
            raise InputError("--liberty", "a Liberty file with a NAND2 cell that has an area", str(path))
        if not storage:
            raise InputError("--liberty", "a Liberty file with a flip-flop", str(path))
        return cls(text, areas, storage, unit, path is None)

    def equivalents(self, cells: dict[str, int]) -> float:
        """Return the area of cells, counted by name, in gate equivalents.

        Raises
        ------
        InputError
            If one of them has no area.
        """
        for name in cells:
            if name not in self.areas:
                raise InputError("--liberty", "a Liberty file with an area of every cell that is used", name)
        return round(sum(count * self.areas[name] for name, count in cells.items()) / self.unit, 1)


def _cell_bodies(text: str) -> dict[str, str]:
    """Return the text of every cell of a Liberty file by its name."""
    starts = list(re.finditer(r"\bcell\s*\(\s*\"?([^\")\s]+)\"?\s*\)", text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {start.group(1): text[start.start() : end] for start, end in zip(starts, ends, strict=False)}
