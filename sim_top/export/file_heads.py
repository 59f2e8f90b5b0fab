"""What every exported file begins with: licence, what it is, parameters, and the command that makes it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

from vlane.sim_top.blocks import Block

COPYRIGHT = "Copyright (c) 2026, the vlane authors"
_AROUND = {
    ".md": ("<!--\n", "", "-->\n\n"),
    ".h": ("/*\n", " * ", " */\n\n"),
    ".py": ("", "# ", "\n"),
    ".core": ("CAPI=2:\n", "# ", ""),
}
_SLASHES = ("", "// ", "\n")


@dataclass(frozen=True, slots=True)
class FileHead:
    """The head of the files of one export; it holds no date and no path, so equal exports are equal files.

    Parameters
    ----------
    title : str
        What was exported, one line.
    parameters : mapping
        Of the instance.
    command : str
        The command that makes the files again.
    """

    title: str
    parameters: Mapping[str, Any]
    command: str

    def on(self, file: str, content: str) -> str:
        """Return a file's content with its head, in the comments of its kind."""
        given = ", ".join(f"{name} = {value}" for name, value in self.parameters.items())
        lines = [
            "SPDX-License-Identifier: BSD-2-Clause",
            COPYRIGHT,
            "",
            self.title,
            f"Parameters: {given}",
            f"Generator: vlane {version('vlane')}",
            f"Made by: {self.command}",
        ]
        first, prefix, last = _AROUND.get(PurePath(file).suffix, _SLASHES)
        return first + "".join(f"{prefix}{line}".rstrip() + "\n" for line in lines) + last + content


def command_line(block: Block, parameters: Mapping[str, Any], options: Mapping[str, str | None], what: str = "") -> str:
    """Return the command that exports an instance into the current folder; options that are ``None`` are left out.

    ``what`` is exported of the block, if not its Verilog.
    """
    usual = {**block.defaults(), **block.shape.fit_form(parameters)}
    words = ["vlane", "export", *([what] if what else []), block.name, "--out", "."]
    for name, value in parameters.items():
        if value != usual[name]:
            words += ["--param", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    for option, given in options.items():
        words += [] if given is None else [option, given]
    return shlex.join(words)
