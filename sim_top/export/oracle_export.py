"""Export of an oracle: golden as a C library, its header, a DPI-C package and a page (``docs/oracle.md``)."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vlane.documents.files import usable_folder
from vlane.errors import InputError
from vlane.golden.oracle.by_name import ORACLES
from vlane.golden.oracle.native import oracle_code
from vlane.parameters import Parameters
from vlane.sim_top.blocks import Block
from vlane.sim_top.export.file_heads import FileHead, command_line
from vlane.sim_top.export.file_set import write_together
from vlane.sim_top.export.oracle_names import check_oracle_name
from vlane.sim_top.export.oracle_text import cpp_source, header, package, page

_FLAGS = (
    "-std=c++20",
    "-O2",
    "-fwrapv",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-Wall",
    "-Wextra",
    "-Wno-parentheses",
    "-Wno-unused-variable",
    "-Wno-unused-function",
    "-Wno-unused-parameter",
    "-Wno-unused-but-set-variable",
    "-Wno-sign-compare",
    "-Werror",
)
"""Unused names are allowed, because golden has parameters that some forms of a block do not use."""
_LINK_FLAGS = ("-shared", "-nodefaultlibs", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--build-id=none")
"""The library depends only on the C library."""


def export_oracle(
    block: Block, parameters: Parameters, folder: Path, *, name: str | None = None, force: bool = False
) -> tuple[list[Path], list[dict[str, Any]]]:
    """Write the oracle of a block as a C library, all files or none. Equal exports give equal files.

    Parameters
    ----------
    block : Block
        Block to export.
    parameters : Parameters
        Checked parameters of the instance.
    folder : Path
        Output folder.
    name : str, optional
        Prefix of files, functions and types; by default the block's name with suffix ``_oracle``.
    force : bool
        Whether to overwrite files whose content differs.

    Returns
    -------
    list of Path
        Header, source, shared library, static library, package, page.
    list of dict
        Ports: name, direction, bits, elements and meaning.

    Raises
    ------
    InputError
        If the name is not usable, there is no C++ compiler, the folder is not usable, or a file would be overwritten
        without ``force``.
    """
    name = f"{block.name}_oracle" if name is None else check_oracle_name("--name", name)
    if os.path.lexists(folder):  # a missing folder is created once all contents exist
        usable_folder(folder, option="--out")
    shape, make = ORACLES[block.name]
    made = make(shape(**parameters))
    native = oracle_code(made)
    head = FileHead(
        f"{block.title}, golden oracle",
        parameters,
        command_line(block, parameters, {"--name": None if name == f"{block.name}_oracle" else name}, "oracle"),
    )
    texts = {
        f"{name}.h": header(name, made.inputs, made.outputs),
        f"{name}.cpp": cpp_source(name, made.inputs, made.outputs, native, parameters, version("vlane")),
        f"{name}.sv": package(name, made.inputs, made.outputs),
        f"{name}.md": page(name, block.name, made.inputs, made.outputs, parameters),
    }
    headed = {file: head.on(file, text) for file, text in texts.items()}
    libraries = _link(name, headed[f"{name}.h"], headed[f"{name}.cpp"])
    files: dict[str, str | bytes] = {f"{name}.h": headed[f"{name}.h"], **libraries, **headed}
    ports = [
        {"name": p.name, "direction": way, "bits": p.width, "elements": p.count, "meaning": p.meaning}
        for way, several in (("input", made.inputs), ("output", made.outputs))
        for p in several
    ]
    return write_together(folder, files, option="--out", force=force), ports


def _link(name: str, header_text: str, source: str) -> dict[str, bytes]:
    """Return a shared and a static library by file name."""
    compiler, archiver = _tool("CXX", "c++", "g++"), _tool("AR", "ar", "binutils")
    shared, static = f"lib{name}.so", f"lib{name}.a"
    try:
        made = tempfile.TemporaryDirectory(prefix="vlane_")
    except OSError as error:
        reason = error.strerror or "unusable"
        raise InputError("TMPDIR", "a writable folder", reason, problem=f": cannot write: {reason}") from None
    with made as work:
        at = Path(work)
        (at / f"{name}.h").write_text(header_text)
        (at / f"{name}.cpp").write_text(source)
        _run("CXX", [*compiler, *_FLAGS, "-c", f"{name}.cpp", "-o", f"{name}.o"], at)
        _run("CXX", [*compiler, *_LINK_FLAGS, f"{name}.o", "-o", shared, "-lc"], at)
        _run("AR", [*archiver, "rcsD", static, f"{name}.o"], at)
        return {file: (at / file).read_bytes() for file in (shared, static)}


def _tool(variable: str, usual: str, package_name: str) -> list[str]:
    """Return the command that an environment variable names, or the usual command."""
    given = os.environ.get(variable, "")
    try:
        words = shlex.split(given) or [usual]
    except ValueError as error:
        problem = f": not a valid shell command: {given} ({error})"
        raise InputError(variable, "a valid shell command", given, problem=problem) from None
    try:
        subprocess.run([*words, "--version"], capture_output=True, check=False)
    except OSError:
        got = words[0]
        problem = f": {got} is not installed; try {usual} (apt-get install {package_name})"
        raise InputError(variable, "an installed program", got, problem=problem) from None
    return words


def _run(variable: str, command: Sequence[str], where: Path) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise InputError(
            variable,
            "a tool that succeeds",
            f"exit status {done.returncode}",
            problem=f": {command[0]} failed with exit status {done.returncode}",
            details=(done.stdout + done.stderr).splitlines()[-20:],
        )
