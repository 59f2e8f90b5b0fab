"""Planted bugs of the blocks: what notices each, the proof or the lockstep."""

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
"""Planted bugs that a block must have."""

_WORKERS = 2
_PROOF_MINUTES = 3
_ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class PlantRun:
    """What became of a planted bug.

    Parameters
    ----------
    block : str
        The block.
    plant : Plant
        The bug.
    verdict : str
        Of the proof.
    failed : str
        Property that the proof refuted; empty if it passed.
    proof_seconds : float
        Wall time of the proof.
    mismatch_cycle : int or None
        Cycle of the first difference that the lockstep saw; none if it saw none.
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
        """Whether the proof does not hold."""
        return self.verdict in {"FAIL", "UNKNOWN"}

    @property
    def noticed(self) -> bool:
        """Whether anything noticed it."""
        return self.by_proof or self.mismatch_cycle is not None


def try_plants(blocks: Iterable[Block]) -> Iterator[PlantRun]:
    """Plant the bugs of blocks, one at a time in a process of its own, and tell what noticed each, in their order."""
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
    """Return the document of a command of vlane with the plant in place.

    Raises
    ------
    RuntimeError
        If there is none.
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
