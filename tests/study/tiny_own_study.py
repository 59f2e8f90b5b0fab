"""Study of random walks, as an example of a study with its own model."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from vlane.sim_top.output.curves import Chart, Curve, Mark
from vlane.sim_top.studies.figures import Figure, at_least
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.paper_study import DescribedCase, OwnRuns, PaperStudy, RowsOfRun

MADE, HARM = "VLANE_TEST_MADE", "VLANE_TEST_HARM"
"""Environment variables: folder in which each run leaves a file, and the failure of runs of ``HARM_SEED``."""
HARM_SEED = 2
SCHEMA = {"group": pl.UInt16, "place": pl.Float32, "course": pl.List(pl.Float32)}


@dataclass(frozen=True)
class _Walk:
    """Number of steps of a random walk."""

    steps: int


def _make(walk: _Walk, load: float, seed: int) -> RowsOfRun:
    begin = time.process_time()
    made = Path(os.environ[MADE])
    (made / f"{walk.steps}-{seed}-{os.getpid()}-{time.monotonic_ns()}").touch()
    if seed == HARM_SEED:
        _harm(os.environ.get(HARM, ""), made)
    steps = random.Random(f"{walk} {load} {seed}")  # noqa: S311 - no secret
    rows: list[dict[str, Any]] = []
    for group in (1, 0):  # out of order because the summary sorts
        course = [steps.uniform(-load, load) for _ in range(walk.steps)]
        rows.append({"group": group, "place": sum(course), "course": course})
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()[:16]
    return RowsOfRun(digest, walk.steps, time.process_time() - begin, rows)


def _harm(harm: str, made: Path) -> None:
    if harm == "fails":
        raise ArithmeticError(harm)
    if harm == "interrupted":
        os.kill(os.getpid(), signal.SIGTERM)
    if harm == "dies once" and not (made / harm).exists():
        (made / harm).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def _cases(part: str, quick: bool) -> list[DescribedCase]:  # noqa: FBT001 - what every study takes
    del part
    seeds = (1,) if quick else (1, 2, 3)
    return [
        DescribedCase({"walk": name}, (0.5,), seeds, _Walk(steps), float(steps), 10.0)
        for name, steps in (("short", 3), ("long", 30))
    ]


def _figures(part: str, measured: Measured) -> list[Figure]:
    del part
    counts = measured.rows.filter(group=0, walk="long").select(pl.col("course").list.len())
    return [Figure("steps", "", 30.0, [float(count) for count in counts["course"]], at_least(30.0, "all are kept"))]


def _charts(part: str, measured: Measured) -> list[Chart]:
    del part
    marks = [Mark(seed, place) for seed, place in measured.rows.filter(group=0).select("seed", "place").iter_rows()]
    return [Chart("place", "seed", "steps", [Curve("group 0", 0, marks=marks)])]


STUDY = PaperStudy(
    name="walks",
    title="Random walks",
    columns=("walk",),
    parts={"main": "all of it"},
    cases=_cases,
    figures=_figures,
    charts=_charts,
    own_runs=OwnRuns(_make, SCHEMA),
    caption="Where walks end",
    notes=("A mark is a walk.",),
)
