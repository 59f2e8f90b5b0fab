"""Headers of exported files: licence, title, parameters, and the command that regenerates the file."""

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
    # An XML comment must not contain the two hyphens of an option.
    ".xml": ('<?xml version="1.0" encoding="UTF-8"?>\n<?vlane\n', "", "?>\n"),
    ".toml": ("", "# ", "\n"),
}
_SLASHES = ("", "// ", "\n")


@dataclass(frozen=True, slots=True)
class FileHead:
    """Header of the files of one export. It has no date and no path, so equal exports give equal files.

    Parameters
    ----------
    title : str
        One-line description of the exported object.
    parameters : mapping
        Parameters of the instance.
    command : str
        Command that regenerates the files.
    """

    title: str
    parameters: Mapping[str, Any]
    command: str

    def on(self, file: str, content: str) -> str:
        """Return a file's content with the header as comments of the file type."""
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
    """Return the command that exports an instance into the current folder.

    Parameters
    ----------
    block, parameters
        Block and parameters of the instance.
    options : mapping
        Values of further options; an empty text for a flag, ``None`` for an option that is left out.
    what : str
        Exported object if it is not SystemVerilog, for example ``oracle``.
    """
    usual = {**block.defaults(), **block.shape.fit_form(parameters)}
    words = ["vlane", "export", *([what] if what else []), block.name, "--out", "."]
    for name, value in parameters.items():
        if value != usual[name]:
            words += ["--param", f"{name}={str(value).lower() if isinstance(value, bool) else value}"]
    for option, given in options.items():
        words += [] if given is None else [option, given] if given else [option]
    return shlex.join(words)
