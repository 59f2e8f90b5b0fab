"""Compilation of a Verilated class and its wrapper as one C++ file, without make.

A small model compiles in half the time: the headers are read once, and no makefile, archive or script is needed.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_LIST = re.compile(r"^(VM_\w+) \+= \\\n((?:[ \t]+\S+ \\\n)*)", re.MULTILINE)
_SWITCH = re.compile(r"^(VM_(?:COVERAGE|TIMING|TRACE\w*)) = [01]$", re.MULTILINE)
"""Features, which matter only to a generated main program: without them, all models share precompiled headers."""
_SOURCES = ("VM_CLASSES_FAST", "VM_CLASSES_SLOW", "VM_SUPPORT_FAST", "VM_SUPPORT_SLOW")
_RUNTIME = ("VM_GLOBAL_FAST", "VM_GLOBAL_SLOW")
_UNIT = "unit.cpp"
_USUAL = "-O1"
"""Optimisation level of most models: the runtime's headers are precompiled for this level."""


class ProgramError(RuntimeError):
    """A program ended with an error. The text is the end of its output."""


def run_program(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run a program in a folder.

    Raises
    ------
    ProgramError
        If the program's exit status is not 0.
    """
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProgramError((done.stdout + done.stderr)[-4000:])


def compile_unit(
    folder: Path, wrapper: str, library: str, options: Sequence[str], environment: Mapping[str, str]
) -> None:
    """Compile the C++ that Verilator wrote, with a wrapper, to a library.

    Parameters
    ----------
    folder : Path
        Folder of Verilator's output.
    wrapper, library : str
        Wrapper and result, relative to the folder.
    options : sequence of str
        Options of the C++ compiler, the optimisation level last.
    environment : mapping of str to str
        Environment from ``verilator.environment``.

    Raises
    ------
    ProgramError
        If the compiler reports an error.
    """
    made = next(folder.glob("*_classes.mk")).read_text()
    lists = {name: words.replace("\\", "").split() for name, words in _LIST.findall(made)}
    sources = [f"{name}.cpp" for each in _SOURCES for name in lists.get(each, [])]
    lines = ["#define VL_INCLUDE_OPT include", *(f'#include "{source}"' for source in (*sources, wrapper))]
    (folder / _UNIT).write_text("\n".join([*lines, ""]))
    include = f"{environment['VERILATOR_ROOT']}/include"
    *flags, level = options
    common = ["-I.", f"-I{include}", f"-I{include}/vltstd", "-DVERILATOR=1", *flags]
    defined = ["-DVM_SC=0", *(f"-D{name}=0" for name in _SWITCH.findall(made))]
    objects = []
    for name in [name for each in _RUNTIME for name in lists.get(each, [])]:
        objects.append(f"{name}.o")
        command = ["vlane-launch", "c++", "-Os", *common, *defined, "-c", "-o", objects[-1], f"{include}/{name}.cpp"]
        run_program(command, folder, environment)
    launcher = ["vlane-launch"] if level == _USUAL else []  # precompiled headers serve one level
    run_program([*launcher, "c++", level, *common, *defined, "-c", "-o", "unit.o", _UNIT], folder, environment)
    run_program(["c++", "-shared", "unit.o", *objects, "-o", library], folder, environment)
