"""Compilation of translated programs by the installed C++ compiler, and the cache of compiled kernels."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import logging
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vlane.errors import InputError
from vlane.golden.compiler.entry import ENTRY, described, entry_text, result_type
from vlane.golden.compiler.program import Program
from vlane.golden.compiler.types import Type
from vlane.isolation import guarded_variables
from vlane.paths import cache_dir

RUNTIME = Path(__file__).with_name("runtime.hpp")
"""C++ header that every program includes."""

FLAGS = ("-std=c++20", "-O3", "-fwrapv", "-fPIC", "-fvisibility=hidden", "-w")
"""Compiler options of every program; signed numbers wrap around, as in numpy."""

_log = logging.getLogger("vlane.golden.engine.kernel")
_announced = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel compiled for arguments of certain types.

    Parameters
    ----------
    entry : callable
        C function described by ``entry.ENTRY``.
    return_type : Type
        Type of the result.
    """

    entry: Callable[..., int]
    return_type: Type


def translated(function: Callable[..., object], types: tuple[Type, ...], *, checked: bool = False) -> tuple[str, Type]:
    """Return the C++ program of a kernel with its entry, and the type of the result.

    Raises
    ------
    UntranslatableError
        If a called function is outside the subset.
    """
    program = Program(checked=checked)
    made = program.call(function, types)
    entry = entry_text(program, made)
    return f'#include "runtime.hpp"\n\n{program.text}\n{entry}', made.return_type


def load(function: Callable[..., object], types: tuple[Type, ...], key: str, *, checked: bool = False) -> Compiled:
    """Load a compiled kernel from the cache, or translate and compile it.

    Parameters
    ----------
    function : callable
        The kernel's Python function.
    types : tuple of Type
        Types of the arguments.
    key : str
        Everything that determines the C++ program: digest of the sources, name of the function, types.
    checked : bool
        Check indices at run time.

    Raises
    ------
    UntranslatableError
        If the kernel is outside the subset.
    InputError
        If there is no C++ compiler.
    """
    folder = cache_dir("golden")
    index = folder / f"{_digest(key, machine(), *_compiler_identity())}.json"
    try:
        known = json.loads(index.read_text())
        library, returns = folder / known["library"], result_type(known["returns"])
        if library.is_file():
            return _loaded(library, returns)
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError):
        pass  # a missing or damaged index is written again
    text, returns = translated(function, types, checked=checked)
    options = ("-DVLANE_CHECKED=1",) if checked else ()
    name = f"{_digest(text, _runtime_text(), machine(), *options, *FLAGS, *_compiler_identity())}.so"
    library = folder / name
    if not library.is_file():
        _announce()
        _build(text, library, options)
    _write(index, json.dumps({"library": name, "returns": described(returns)}).encode())
    return _loaded(library, returns)


def _loaded(library: Path, returns: Type) -> Compiled:
    entry = ctypes.CDLL(str(library))[ENTRY]
    entry.argtypes, entry.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int32
    return Compiled(entry, returns)


def _announce() -> None:
    """Log the first compilation of the process."""
    global _announced  # noqa: PLW0603 - once in a process
    if not _announced:
        _announced = True
        _log.info("compiling golden for this machine: each kernel takes 1 to 3 s, once")


def _build(text: str, library: Path, options: tuple[str, ...]) -> None:
    header = _precompiled(library.parent, options)
    with tempfile.TemporaryDirectory(prefix="golden.", dir=library.parent) as folder:
        source, made = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        source.write_text(text)
        words = ("-march=native", *FLAGS, *options, f"-I{header.parent}", "-shared", source.name, "-o", made.name)
        run_compiler(source.parent, *words)
        made.replace(library)


def _precompiled(above: Path, options: tuple[str, ...]) -> Path:
    """Return the runtime's header in a folder of the cache, next to its precompiled form.

    GCC uses the precompiled form, which halves the time of a small kernel. Other compilers read the header.
    """
    name = _digest(_runtime_text(), machine(), *options, *FLAGS, *_compiler_identity())
    folder = above / f"runtime-{name}"
    header = folder / RUNTIME.name
    if not header.is_file():
        with tempfile.TemporaryDirectory(prefix="golden.", dir=above) as temporary:
            made = Path(temporary, "made")
            made.mkdir()
            (made / RUNTIME.name).write_text(_runtime_text())
            words = ("-march=native", *FLAGS, *options, "-x", "c++-header", RUNTIME.name, "-o", f"{RUNTIME.name}.gch")
            run_compiler(made, *words)
            with contextlib.suppress(OSError):  # another process was faster
                made.replace(folder)
    return header


def run_compiler(folder: Path, *options: str) -> None:
    """Run the C++ compiler in a folder.

    Raises
    ------
    InputError
        If there is no C++ compiler.
    RuntimeError
        If the compiler reports an error, which a correct translation does not cause.
    """
    done = subprocess.run(
        [*compiler(), *options],
        cwd=folder,
        env={**os.environ, **guarded_variables()},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr[:500])
        raise RuntimeError(f"the C++ compiler rejected translated code: {first}")


@functools.cache
def compiler() -> tuple[str, ...]:
    """Return the command of the C++ compiler: ``$CXX``, or the first of g++, c++ and clang++.

    Raises
    ------
    InputError
        If there is no C++ compiler.
    """
    given = shlex.split(os.environ.get("CXX", ""))
    for words in [given] if given else [["g++"], ["c++"], ["clang++"]]:
        found = shutil.which(words[0], path=guarded_variables()["PATH"])
        if found:
            return (found, *words[1:])
    found_nothing = f": {given[0]} is not installed" if given else ": no C++ compiler is installed"
    problem = f"{found_nothing}; install one (apt-get install g++) or set CXX"
    raise InputError(
        "CXX", "an installed C++ compiler", given[0] if given else "unset", problem=problem, source="environment"
    )


@functools.cache
def _compiler_identity() -> tuple[str, ...]:
    """Return the compiler's command, file, size and time, of which a new installation changes at least one."""
    command = compiler()
    file = Path(command[0]).resolve()
    status = file.stat()
    return (*command, str(file), str(status.st_size), str(status.st_mtime_ns))


@functools.cache
def machine() -> str:
    """Return the processor's features, because compiled code may use all of them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(wanted)))


@functools.cache
def _runtime_text() -> str:
    return RUNTIME.read_text()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _write(file: Path, content: bytes) -> None:
    """Write a file atomically."""
    descriptor, name = tempfile.mkstemp(prefix="index.", dir=file.parent)
    with os.fdopen(descriptor, "wb") as temporary:
        temporary.write(content)
    Path(name).replace(file)
