"""Source files of a foreign design: options, file lists, VHDL."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vlane.documents.textfile import whole_text
from vlane.errors import InputError, missing_value
from vlane.tb.machinery.native.children import child_environment

_MOST_DEEP = 16
"""Largest nesting depth of file lists."""
_VHDL = (".vhd", ".vhdl")
_SECONDS = 300


@dataclass(frozen=True)
class Sources:
    """Files of a design with the options of their compilation.

    Parameters
    ----------
    files : tuple of Path
        Files in reading order.
    includes, libraries : tuple of Path
        Folders of include files, and folders in which missing modules are searched.
    defines : tuple of str
        Macros, ``NAME`` or ``NAME=VALUE``.
    """

    files: tuple[Path, ...]
    includes: tuple[Path, ...] = ()
    libraries: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()

    @property
    def flags(self) -> list[str]:
        """Flags of the preprocessor."""
        folders = dict.fromkeys([*self.includes, *(file.parent for file in self.files)])
        return [*(f"-D{each}" for each in self.defines), *(f"-I{folder.resolve()}" for folder in folders)]

    def with_library_file(self, module: str) -> Sources | None:
        """Return the sources with the library file of a missing module, or ``None`` if no folder has the file."""
        for folder in self.libraries:
            for suffix in (".sv", ".v"):
                file = folder / f"{module}{suffix}"
                if file not in self.files and file.is_file():
                    return Sources((*self.files, file), self.includes, self.libraries, self.defines)
        return None


def read_sources(
    files: Sequence[Path],
    *,
    lists: Sequence[Path] = (),
    includes: Sequence[Path] = (),
    libraries: Sequence[Path] = (),
    defines: Sequence[str] = (),
) -> Sources:
    """Return the sources that options of the command line name. File lists come before ``files``.

    Raises
    ------
    InputError
        If a file list cannot be read or has an unknown option, if a folder does not exist, or if there are no files.
    """
    found: dict[str, list[str]] = {"file": [], "include": [], "library": [], "define": []}
    for each in lists:
        for kind, value in _listed(each, Path(), 0):
            found[kind].append(value)
    found["file"] += map(str, files)
    found["include"] += map(str, includes)
    found["library"] += map(str, libraries)
    found["define"] += defines
    for option, kind in (("-I", "include"), ("-y", "library")):
        for name in found[kind]:
            if not Path(name).is_dir():
                raise InputError(option, "an existing folder", name, problem=f": no such folder: {name}")
    for define in found["define"]:
        name = define.partition("=")[0]
        if not name.isidentifier():
            raise InputError("-D", "NAME or NAME=VALUE", define)
    if not found["file"]:
        raise missing_value("--dut", "name the Verilog file of --top")
    paths = {kind: tuple(map(Path, found[kind])) for kind in ("file", "include", "library")}
    return Sources(paths["file"], paths["include"], paths["library"], tuple(found["define"]))


def _listed(file: Path, base: Path, depth: int) -> Iterator[tuple[str, str]]:
    """Yield (kind, value) of a file list: files, ``+incdir+``, ``+define+``, -I, -D, -y, -v, -f and -F."""
    if depth > _MOST_DEEP:
        problem = f": files are nested more than {_MOST_DEEP} deep"
        raise InputError("-f", f"nested at most {_MOST_DEEP} deep", "deeper", source=str(file), problem=problem)
    kinds = {"-I": "include", "-D": "define", "-y": "library", "-v": "file"}
    for number, line in enumerate(whole_text(file, "file list").splitlines(), 1):
        try:
            words = shlex.split(line.partition("//")[0], comments=True)
        except ValueError as error:
            raise InputError("-f", "", "", problem=f": {error}", source=str(file), line=number) from None
        waiting = iter(words)
        for word in waiting:
            option, value = word[:2], word[2:]
            if word.startswith("+"):
                name, *values = word[1:].split("+")
                if name not in {"incdir", "define"}:
                    raise _unknown(word, file, number)
                kind = "include" if name == "incdir" else "define"
                yield from ((kind, _at(each, base, kind)) for each in values if each)
            elif option in kinds or option in {"-f", "-F"}:
                value = value or next(waiting, "")
                if not value:
                    raise InputError(
                        option, "followed by a value", "nothing", source=str(file), line=number, problem="needs a value"
                    )
                if option in {"-f", "-F"}:
                    nested = Path(_at(value, base, "file"))
                    yield from _listed(nested, nested.parent if option == "-F" else base, depth + 1)
                else:
                    yield kinds[option], _at(value, base, kinds[option])
            elif word.startswith("-"):
                raise _unknown(word, file, number)
            else:
                yield "file", _at(word, base, "file")


def _at(value: str, base: Path, kind: str) -> str:
    return value if kind == "define" else str(base / os.path.expandvars(value))


def _unknown(word: str, file: Path, line: int) -> InputError:
    known = "files, -I, -D, -y, -v, -f, -F, +incdir+ and +define+"
    problem = f": unknown option {word} (known: {known})"
    return InputError("-f", known, word, problem=problem, source=str(file), line=line)


def verilog_of_vhdl(sources: Sources, top: str) -> str | None:
    """Return the Verilog that GHDL synthesises from VHDL sources, or ``None`` for sources without VHDL.

    Raises
    ------
    InputError
        If GHDL is not installed or rejects the sources, or if VHDL and Verilog are mixed.
    """
    vhdl = [file for file in sources.files if file.suffix.lower() in _VHDL]
    if not vhdl:
        return None
    if len(vhdl) != len(sources.files):
        other = next(file for file in sources.files if file not in vhdl)
        raise InputError(
            "--dut", "VHDL only or Verilog only", str(other), problem=f": VHDL and Verilog are mixed: {other}"
        )
    environment = child_environment()
    ghdl = shutil.which("ghdl", path=environment["PATH"])
    if ghdl is None:
        problem = ": VHDL needs GHDL, which is not installed (apt-get install ghdl)"
        raise InputError("--dut", "Verilog or SystemVerilog", "VHDL", source=str(vhdl[0]), problem=problem)
    with tempfile.TemporaryDirectory() as folder:
        command = [ghdl, "--synth", "--std=08", "--out=verilog", *(str(file.resolve()) for file in vhdl), "-e", top]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise InputError("--dut", "valid VHDL", said, source=str(vhdl[0]), problem=f": GHDL: {said}")
    return done.stdout
