"""Planted bugs of the arbiters under the elastic comparison and under policies: ``python -m`` this module.

The command runs every bug of ``tb/arbiters`` at default settings in five seeds, and under policies in the first seed.
Bugs that no seed finds are run again with 1,000,000 cycles. The results go to ``docs/evidence/arbiter_plants.json``,
and the command prints the tables of ``docs/elastic.md``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.lockstep.elastic_designs import closed
from vlane.dut_policy import Policy
from vlane.sim_top.dut.closed_run import ClosedRun
from vlane.tb.arbiters.later_plants import LATER_PLANTS, NOT_FOUND
from vlane.tb.arbiters.plants import ARBITERS, PLANTS, Change

STORED = ROOT / "docs" / "evidence" / "arbiter_plants.json"
SEEDS, CYCLES, LONG_CYCLES = range(1, 6), 100_000, 1_000_000
POLICIES = {"sticky": Policy(wait=3, idle=0), "registered": Policy(wait=3, idle=1), "weighted": Policy(wait=9, idle=0)}
"""Policies of each arbiter: waits that its correct form never exceeds, and idle cycles."""
SETS = {"first": PLANTS, "later": LATER_PLANTS}
Results = dict[str, dict[str, dict[str, Any]]]


def result_of(where: Path, bug: Change) -> dict[str, Any]:
    """Return the cycles after which a bug is found: per seed, under policies, and in a long run if no seed finds it."""
    golden = closed(where, bug.arbiter, bug.name, cycles=CYCLES)
    policies = closed(where, bug.arbiter, bug.name, cycles=CYCLES, policy=POLICIES[bug.arbiter])

    def cycle(run: ClosedRun, **settings: int) -> int | None:
        failure = replace(run, **settings).run().failure
        return failure.cycle if failure else None

    seeds = [cycle(golden, seed=seed) for seed in SEEDS]
    found: dict[str, Any] = {"cycles": seeds, "policies": cycle(policies)}
    if not any(each is not None for each in seeds):
        found["long"] = cycle(golden, cycles=LONG_CYCLES)
    return found


def measured() -> Results:
    """Return the results by set, arbiter and bug."""
    results: Results = {name: {arbiter: {} for arbiter in ARBITERS} for name in SETS}
    with tempfile.TemporaryDirectory() as folder:
        for name, bugs in SETS.items():
            for bug in bugs:
                results[name][bug.arbiter][bug.name] = result_of(Path(folder), bug)
                sys.stderr.write(f"{name} {bug.arbiter} {bug.name}: {results[name][bug.arbiter][bug.name]}\n")
    return results


def summary(results: Results) -> list[str]:
    """Return the rows of the page with the numbers of bugs that every seed finds, and that policies find."""
    rows = ["| set | arbiter | elastic, each of five seeds | policies, one seed |", "|---|---|---|---|"]
    for name, arbiters in results.items():
        for arbiter, bugs in arbiters.items():
            every = sum(None not in bug["cycles"] for bug in bugs.values())
            seen = sum(bug["policies"] is not None for bug in bugs.values())
            rows.append(f"| {name} | {arbiter} | {every} of {len(bugs)} | {seen} of {len(bugs)} |")
    return rows


def not_found(results: Results) -> list[str]:
    """Return the rows of the page for bugs that no seed finds, with their reasons."""
    rows = ["| arbiter | bug | 1,000,000 cycles | reason |", "|---|---|---|---|"]
    for arbiters in results.values():
        for arbiter, bugs in arbiters.items():
            for name, bug in bugs.items():
                if all(each is None for each in bug["cycles"]):
                    late = "not found" if bug["long"] is None else f"found in cycle {bug['long']:,}"
                    rows.append(f"| {arbiter} | `{name}` | {late} | {NOT_FOUND[arbiter, name]} |")
    return rows


def main() -> None:
    """Run all bugs, store the results and print the tables."""
    results = measured()
    STORED.write_text(json.dumps(results, indent=1) + "\n")
    sys.stdout.write("\n".join([*summary(results), "", *not_found(results)]) + "\n")


if __name__ == "__main__":
    main()
