"""Processor-time budget of the test suite (``python -m tests.cpu_budget check`` or ``update``).

``check`` compares the measurement of the last ``make test`` (``build/test_cpu.json``) with the committed budget
(``tests/cpu_budget.json``) and exits with 1 if the suite exceeds the budget by more than 25 %. ``update`` replaces the
committed seconds of every measured file.

A processor whose caches and memory serve other work, too, needs up to three times the processor time for the same
work. So a run also measures its pace, the time of a fixed piece of work. ``check`` and ``update`` convert the seconds
of a run slower than the budget's to the pace of the budget; those of a faster run count as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 1.25
"""Factor on the budget up to which the suite passes."""
_SHOWN = 10


@dataclass(frozen=True)
class Measured:
    """Processor time of one test run.

    Parameters
    ----------
    total : float
        User plus system time of all processes, in seconds.
    files : mapping of str to float
        Seconds by test file.
    pace : float
        Seconds of processor time of ``work``: the mean over the run.
    lost_workers : int
        Number of crashed workers, whose time is missing.
    """

    total: float
    files: Mapping[str, float]
    pace: float
    lost_workers: int = 0


@dataclass(frozen=True)
class Budget:
    """Committed processor-time budget.

    Parameters
    ----------
    total : float
        Seconds the whole suite may take.
    files : mapping of str to float
        Seconds by test file, measured by an earlier run.
    pace : float
        Pace of that run.
    """

    total: float
    files: Mapping[str, float]
    pace: float


def work() -> int:
    """Do the fixed work whose processor time is the pace: allocate and hash 100,000 strings."""
    return len(set(" ".join(map(str, range(100_000))).split()))


def _relief(measured: Measured, budget: Budget) -> float:
    """Return the factor that converts seconds of a run to the budget's pace, at most 1."""
    return min(1.0, budget.pace / measured.pace)


def table(measured: Measured, most: int = _SHOWN) -> list[str]:
    """Return report lines: the total, the most expensive files and the start-up time of the processes."""
    minutes = f"{measured.total / 60:.1f} minutes"
    lines = [f"processor time of tests and their child processes: {measured.total:.1f} s ({minutes})"]
    for file, seconds in sorted(measured.files.items(), key=lambda each: (-each[1], each[0]))[:most]:
        lines.append(f"{seconds:8.1f} s {100 * seconds / max(measured.total, 1e-9):5.1f} %  {file}")
    rest = measured.total - sum(measured.files.values())
    lines.append(f"{rest:8.1f} s {100 * rest / max(measured.total, 1e-9):5.1f} %  start of the processes")
    if measured.lost_workers:
        lines.append(f"the time of {measured.lost_workers} crashed worker(s) is missing")
    return lines


def excess(measured: Measured, budget: Budget, most: int = _SHOWN) -> list[str]:
    """Return report lines naming the files that grew most, or none if the suite stays within tolerance."""
    limit, scale = TOLERANCE * budget.total, _relief(measured, budget)
    if measured.total * scale <= limit:
        return []
    took = f"{measured.total:.0f} s of processor time, {measured.total * scale:.0f} s at the budget's pace"
    lines = [f"the tests took {took}; the budget is {budget.total:.0f} s, and {limit:.0f} s the limit"]
    files = {file: seconds * scale for file, seconds in measured.files.items()}
    growth = {file: seconds - budget.files.get(file, 0.0) for file, seconds in files.items()}
    for file, more in sorted(growth.items(), key=lambda each: (-each[1], each[0]))[:most]:
        if more > 0:
            before = f"{budget.files[file]:.1f} s" if file in budget.files else "no committed number"
            lines.append(f"  +{more:.1f} s  {file}: {files[file]:.1f} s, {before}")
    return lines


def updated(measured: Measured, budget: Budget, present: set[str], total: float | None = None) -> Budget:
    """Return the budget updated with the seconds of a run.

    Files missing from ``present`` are removed, and files the run did not measure keep their seconds. The total changes
    only if ``total`` is given.
    """
    files = {file: seconds for file, seconds in budget.files.items() if file in present}
    scale = _relief(measured, budget)
    files |= {file: round(seconds * scale, 1) for file, seconds in measured.files.items() if file in present}
    return Budget(budget.total if total is None else total, dict(sorted(files.items())), budget.pace)


def write_measured(measured: Measured, file: Path) -> None:
    """Write a measurement as JSON and replace the file atomically."""
    document = {
        "total_seconds": round(measured.total, 2),
        "pace_seconds": round(measured.pace, 5),
        "lost_workers": measured.lost_workers,
        "files": {name: round(seconds, 2) for name, seconds in sorted(measured.files.items())},
    }
    _write(document, file)


def read_measured(file: Path) -> Measured:
    """Read a measurement written by ``write_measured``."""
    document = json.loads(file.read_text(encoding="utf-8"))
    return Measured(document["total_seconds"], document["files"], document["pace_seconds"], document["lost_workers"])


def read_budget(file: Path) -> Budget:
    """Read a committed budget."""
    document = json.loads(file.read_text(encoding="utf-8"))
    return Budget(document["total_seconds"], document["files"], document["pace_seconds"])


def _write(document: object, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.{os.getpid()}")
    part.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    part.replace(file)


def main(words: list[str], root: Path = ROOT) -> int:
    """Check or update the budget of a checkout and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.cpu_budget", description="Processor time of the tests.")
    parser.add_argument("verb", choices=["check", "update"], help="compare the last run with the budget, or commit it")
    parser.add_argument("--total", type=float, help="update: seconds that the whole suite may take [default: as now]")
    given = parser.parse_args(words)
    result, committed = root / "build" / "test_cpu.json", root / "tests" / "cpu_budget.json"
    if not result.is_file():
        sys.stderr.write(f"{result}: missing; run the tests first\n")
        return 2
    measured, budget = read_measured(result), read_budget(committed)
    if given.verb == "update":
        present = {file.relative_to(root).as_posix() for file in (root / "tests").rglob("test_*.py")}
        new = updated(measured, budget, present, given.total)
        _write({"total_seconds": new.total, "pace_seconds": new.pace, "files": new.files}, committed)
        return 0
    lines = excess(measured, budget)
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
