"""A planted bug, and the loader that puts it in place of the line of the source."""

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
    """A bug of one line.

    Parameters
    ----------
    name : str
        Lower-case words joined by hyphens, unique for the block.
    statement : str
        What the block does wrong, in a sentence.
    file : str
        The file from the root of the repository, below ``hdl``.
    line : str
        The line, without its indent; it is there once.
    instead : str
        What stands there instead.
    instance : str
        Name of the smallest instance whose proof can show it.
    parameters : mapping
        Of the smallest instance whose lockstep shows it, apart from those of the block's mutants.
    cycles : int
        Of the lockstep.
    """

    name: str
    statement: str
    file: str
    line: str
    instead: str
    instance: str = "small"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cycles: int = 20_000


def planted(source: str, line: str, instead: str) -> str:
    """Return a source in which one line is another one.

    Raises
    ------
    ValueError
        If the line is not there exactly once.
    """
    lines = source.splitlines()
    found = [number for number, each in enumerate(lines) if each.strip() == line]
    if len(found) != 1:
        raise ValueError(f"the line must be there once, and is there {len(found)} times: {line}")
    indent = lines[found[0]][: -len(line)]
    return "\n".join([*lines[: found[0]], indent + instead, *lines[found[0] + 1 :]]) + "\n"


def install(file: str, line: str, instead: str) -> None:
    """Let the module of a file be loaded with one line that is another one; it must not have been loaded yet."""
    sys.meta_path.insert(0, _Finder(file, line, instead))


class _Finder(MetaPathFinder):
    def __init__(self, file: str, line: str, instead: str) -> None:
        self.module = ".".join(("vlane", *PurePosixPath(file).with_suffix("").parts))
        self.change = line, instead

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's specification with a loader that changes its line; no other module's."""
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
        """Return the changed module, compiled; what Python keeps of it compiled is passed by."""
        path = self.get_filename(fullname)
        text = self.get_data(path).decode()
        return compile(planted(text, *self.change), path, "exec")
