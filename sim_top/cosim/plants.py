"""Planted bugs of the blocks, each run against the proofs and the lockstep."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.tb.by_name import plants
from vlane.tb.machinery.native.children import child_environment
from vlane.tb.machinery.plants.plant import Plant

LEAST_PLANTS = 5
"""Smallest number of planted bugs per block."""

_WORKERS = 2
_PROOF_MINUTES = 3
_ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class PlantRun:
    """Result of a planted bug.

    Parameters
    ----------
    block : str
        Name of the block.
    plant : Plant
        Planted bug.
    verdict : str
        Verdict of the proof.
    failed : str
        Property that the proof refuted; empty if the proof passed.
    proof_seconds : float
        Wall time of the proof.
    mismatch_cycle : int or None
        Cycle of the first difference in the lockstep, ``None`` without a difference.
    lockstep_seconds : float
        Wall time of the lockstep.
    """

    block: str
    plant: Plant
    verdict: str
    failed: str
    proof_seconds: float
    mismatch_cycle: int | None
    lockstep_seconds: float

    @property
    def by_proof(self) -> bool:
        """Whether the proof detected the bug."""
        return self.verdict in {"FAIL", "UNKNOWN"}

    @property
    def noticed(self) -> bool:
        """Whether the proof or the lockstep detected the bug."""
        return self.by_proof or self.mismatch_cycle is not None


def try_plants(blocks: Iterable[Block]) -> Iterator[PlantRun]:
    """Plant the blocks' bugs, each in a process of its own, and yield the results in order."""
    with ThreadPoolExecutor(_WORKERS) as pool:
        yield from pool.map(lambda each: _try(*each), [(b, plant) for b in blocks for plant in plants(b.name)])


def _try(block: Block, plant: Plant) -> PlantRun:
    start = time.perf_counter()
    words = ["--instance", plant.instance, "--minutes", str(_PROOF_MINUTES), "--no-covers"]
    proven = _vlane(plant, "prove", block.name, *words)["instances"][0]
    middle = time.perf_counter()
    parameters = {**block.mutated, **plant.parameters}
    words = [word for key, value in parameters.items() for word in ("--param", f"{key}={value}")]
    run = _vlane(plant, "cosim", block.name, "--cycles", str(plant.cycles), *words)
    return PlantRun(
        block.name,
        plant,
        proven["verdict"],
        proven["failed"] or "",
        middle - start,
        run["mismatch_cycle"],
        time.perf_counter() - middle,
    )


def _vlane(plant: Plant, *words: str) -> dict[str, Any]:
    """Return the JSON document of a vlane command with the bug planted.

    Raises
    ------
    RuntimeError
        If the command prints no document.
    """
    change = [plant.file, plant.line, plant.instead]
    done = subprocess.run(
        [sys.executable, "-m", "vlane.tb.machinery.plants", *change, *words, "--json"],
        cwd=_ROOT,
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        document: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"{plant.name}: vlane {' '.join(words)}: {done.stderr[-2000:]}") from None
    return document
