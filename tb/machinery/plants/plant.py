"""Planted bugs, and the loader that replaces a line of a module's source."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import PurePosixPath
from types import CodeType, ModuleType
from typing import Any


@dataclass(frozen=True, slots=True)
class Plant:
    """Planted bug of one line.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens, unique for the block.
    statement : str
        Description of the wrong behaviour, as a sentence.
    file : str
        Path of the file from the root of the repository, below ``hdl``.
    line : str
        Original line without indentation; it occurs exactly once in the file.
    instead : str
        Line that replaces it.
    instance : str
        Smallest instance whose proof detects the bug.
    parameters : mapping
        Parameters of the smallest instance whose lockstep detects the bug, as changes to those of the block's mutants.
    cycles : int
        Length of the lockstep in cycles.
    """

    name: str
    statement: str
    file: str
    line: str
    instead: str
    instance: str = "small"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cycles: int = 20_000


def with_planted_line(source: str, line: str, instead: str) -> str:
    """Return a module's source with one line replaced.

    Raises
    ------
    ValueError
        If the line does not occur exactly once.
    """
    lines = source.splitlines()
    found = [number for number, each in enumerate(lines) if each.strip() == line]
    if len(found) != 1:
        raise ValueError(f"the line must occur exactly once in the source, but occurs {len(found)} times: {line}")
    indent = lines[found[0]][: -len(line)]
    return "\n".join([*lines[: found[0]], indent + instead, *lines[found[0] + 1 :]]) + "\n"


def install(file: str, line: str, instead: str) -> None:
    """Install an import hook that loads a file's module with one line replaced. The module must not be loaded yet."""
    sys.meta_path.insert(0, _Finder(file, line, instead))


class _Finder(MetaPathFinder):
    def __init__(self, file: str, line: str, instead: str) -> None:
        self.module = ".".join(("vlane", *PurePosixPath(file).with_suffix("").parts))
        self.change = line, instead

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's specification with the replacing loader, or ``None`` for any other module."""
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.origin:
            spec.loader = _Loader(fullname, spec.origin, self.change)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, change: tuple[str, str]) -> None:
        super().__init__(fullname, path)
        self.change = change

    def get_code(self, fullname: str) -> CodeType:
        """Return the compiled code of the changed module, bypassing Python's bytecode cache."""
        path = self.get_filename(fullname)
        text = self.get_data(path).decode()
        return compile(with_planted_line(text, *self.change), path, "exec")
