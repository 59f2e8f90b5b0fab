"""``python -m tests.mutants``: run a fixed sample of mutants against the tests that reach them."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.mutants.operators import Mutant, draw, written
from tests.mutants.reach import FOLDERS
from vlane.paths import cache_base

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = ROOT / "docs" / "evidence" / "python_mutants.json"
BY_HAND = "tests/mutants/by_hand.toml"
TESTS = ("network", "switches", "study", "fabric", "planning", "congestion", "documents", "ethernet")
"""Folders of tests that run the mutated code."""
_COMPILING_SECONDS = 2.0
"""Estimated time to translate and compile a changed kernel."""
_MODULE_SECONDS = 1200


def work_folder() -> Path:
    """Return the folder for the present product code, below ``build/mutants``."""
    digest = hashlib.sha256()
    for folder in ("golden", "hdl", "sim_top", "tb", "vlane"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return ROOT / "build" / "mutants" / digest.hexdigest()[:12]


def prepare(work: Path) -> tuple[Path, dict[str, str]]:
    """Copy the checkout and golden's cache, and return the copy and the environment of its tests."""
    tree, cache = work / "tree", work / "cache"
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, copy = ROOT / name, tree / name
        if source.is_file() or source.is_symlink():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
    if not cache.is_dir():
        cache.mkdir(mode=0o700, parents=True)
        for folder in cache_base().iterdir():
            if folder.name == "golden":
                shutil.copytree(folder, cache / folder.name, copy_function=os.link)
            else:
                (cache / folder.name).symlink_to(folder)
    changes = {"PYTHONPATH": str(tree), "VLANE_CACHE": str(cache), "PYTHONPYCACHEPREFIX": str(work / "pycache")}
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return tree, {**kept, **changes}


def _pytest(tree: Path, environment: Mapping[str, str], *words: str, **more: Any) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-m", "not long", *words]
    return subprocess.run(command, cwd=tree, env=environment, check=False, **more).returncode


def record_reach(work: Path, tests: Sequence[str]) -> None:
    """Record time and code of each test, in slices that can be interrupted."""
    tree, environment = prepare(work)
    environment["MUTANTS_REACH"] = str(work / "reach.jsonl")
    _pytest(tree, environment, "-p", "tests.mutants.reach", *tests)


class Reached:
    """Tests by the code that they run."""

    def __init__(self, record: Path) -> None:
        documents = [json.loads(line) for line in record.read_text().splitlines()]
        self.tests = [each for each in documents if each.get("passed")]
        self.kernels = {
            each["kernel"]: {tuple(place) for place in each["functions"]} for each in documents if "kernel" in each
        }

    def tests_of(self, mutant: Mutant) -> tuple[list[tuple[str, float]], list[str]]:
        """Return the tests that run a mutant's line, fastest first, and the kernels with its function.

        A test that runs the function in a kernel counts as well. A mutant outside of functions has all tests that run
        code of its file.
        """
        if mutant.function:
            place = (mutant.file, mutant.function)
            changed = {name for name, functions in self.kernels.items() if place in functions}
        else:
            changed = {name for name, found in self.kernels.items() if mutant.file in {file for file, _ in found}}
        lines = range(mutant.place[0], mutant.place[2] + 1)
        left = []
        for test in self.tests:
            found = test["lines"].get(mutant.file, ())
            runs = any(line in found for line in lines) if mutant.function else bool(found)
            kernels = changed.intersection(test["kernels"])
            if runs or kernels:
                left.append((test["test"], test["seconds"], kernels))
        ordered: list[tuple[str, float]] = []
        compiled: set[str] = set()
        while left:
            left.sort(key=lambda each: each[1] + _COMPILING_SECONDS * len(each[2] - compiled))
            name, seconds, kernels = left.pop(0)
            ordered.append((name, seconds))
            compiled |= kernels
        return ordered, sorted(changed)


def within(tests: Sequence[tuple[str, float]], seconds: float) -> list[tuple[str, float]]:
    """Return the first tests whose times sum to at most a number of seconds, at least one."""
    total, found = 0.0, []
    for name, cost in tests:
        total += cost
        if found and total > seconds:
            break
        found.append((name, cost))
    return found


def run(work: Path, mutants: Sequence[Mutant], seconds: float) -> None:
    """Run mutants that have no result yet."""
    tree, environment = prepare(work)
    reached, results = Reached(work / "reach.jsonl"), work / "results.jsonl"
    done = {json.loads(line)["name"] for line in results.read_text().splitlines()} if results.is_file() else set()
    jobs, fresh, files = [], [], set()
    for mutant in mutants:
        if mutant.name in done:
            continue
        tests, kernels = reached.tests_of(mutant)
        chosen = within(tests, seconds)
        job = {"name": mutant.name, "mutant": dataclasses.asdict(mutant), "tests": chosen, "kernels": kernels}
        if not chosen:
            _append(results, {"name": mutant.name, "killed": False, "tests": 0})
        elif mutant.function:
            jobs.append(json.dumps(job))
            files.update(name.partition("::")[0] for name, _ in chosen)
        else:
            fresh.append((mutant, chosen))
    if jobs:
        (work / "jobs.jsonl").write_text("\n".join(jobs))
        more = {"MUTANTS_JOBS": str(work / "jobs.jsonl"), "MUTANTS_RESULTS": str(results)}
        _pytest(tree, {**environment, **more}, "-p", "tests.mutants.server", *sorted(files))
    for mutant, chosen in fresh:
        _append(results, {"name": mutant.name, **_run_fresh(tree, environment, mutant, chosen)})


def _run_fresh(
    tree: Path, environment: Mapping[str, str], mutant: Mutant, chosen: Sequence[tuple[str, float]]
) -> dict[str, Any]:
    """Run a mutant of a module's own statements in a new process, which imports the changed module."""
    path = tree / mutant.file
    original = path.read_text()
    path.write_text(mutant.applied(original))
    try:
        status = _pytest(tree, environment, "-x", *(name for name, _ in chosen), timeout=_MODULE_SECONDS)
    except subprocess.TimeoutExpired:
        status = -1
    finally:
        path.write_text(original)
    return {"killed": status != 0, "tests": len(chosen), "reason": f"exit status {status}"}


def _append(file: Path, document: dict[str, Any]) -> None:
    with file.open("a") as stream:
        stream.write(json.dumps(document) + "\n")


def record(work: Path, mutants: Sequence[Mutant], part: str) -> None:
    """Write the results of a part to the committed record, with the judgements of survivors that it has."""
    results = {each["name"]: each for each in map(json.loads, (work / "results.jsonl").read_text().splitlines())}
    document = json.loads(RECORD.read_text()) if RECORD.is_file() else {}
    before = {each["name"]: each for each in document.get(part, ())}
    rows = []
    for mutant in mutants:
        if (found := results.get(mutant.name)) is None:
            continue
        row = {"name": mutant.name, "before": mutant.before, "killed": found["killed"], "by": found.get("by", "")}
        if not found["killed"]:
            row["judgement"] = before.get(mutant.name, {}).get("judgement", "")
        rows.append(row)
    RECORD.write_text(json.dumps({**document, part: rows}, indent=1) + "\n")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="number of mutants [default: 400]")
    parser.add_argument("--first", type=int, help="run only the first mutants of the sample [default: all]")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample [default: 1]")
    parser.add_argument("--seconds", type=float, default=60, help="time of a mutant's tests without it [default: 60]")
    parser.add_argument("--by-hand", action="store_true", help=f"run the changes of {BY_HAND}")
    parser.add_argument("--reach", nargs="*", help="record the reach of test files instead of running mutants")
    parser.add_argument("--record", action="store_true", help=f"write the results to {RECORD.relative_to(ROOT)}")
    given = parser.parse_args()
    work = work_folder()
    if given.reach is not None:
        record_reach(work, given.reach or [f"tests/{folder}" for folder in TESTS])
        return
    tree, _ = prepare(work)
    drawn = draw(tree, FOLDERS, count=given.count, seed=given.seed)
    mutants = written(tree, tree / BY_HAND) if given.by_hand else drawn[: given.first]
    run(work, mutants, given.seconds)
    if given.record:
        record(work, mutants, "by_hand" if given.by_hand else "sample")


if __name__ == "__main__":
    main()
