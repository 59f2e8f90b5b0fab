"""``vlane plants``: plant one-line bugs and report the proof or lockstep run that detects each bug."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

import typer

from vlane.sim_top.blocks import BLOCKS, find_block
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.plants import LEAST_PLANTS, PlantRun, try_plants
from vlane.sim_top.output.console import emit_json, note, screen, table

app = App()


@app.command(epilog="Example: vlane plants rr wrr")
def plants(
    blocks: Annotated[
        list[str] | None, typer.Argument(metavar="[BLOCK]...", help="Blocks to plant bugs in. [default: all]")
    ] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Plant one-line bugs, one at a time, and report which ones the proofs and the lockstep detect.

    Exit status 1 if a bug is not detected, or if the proofs of a block detect fewer than three of five.
    """
    found = [find_block(each) for each in blocks or BLOCKS]
    runs = []
    for run in try_plants(found):
        runs.append(run)
        note(f"{run.block}, {run.plant.name}: {_by_proof(run)}, {_by_lockstep(run)}")
    if as_json:
        emit_json({"plants": [_document(run) for run in runs]})
    else:
        rows = [[run.block, run.plant.name, run.plant.statement, _by_proof(run), _by_lockstep(run)] for run in runs]
        screen.print(table("planted bugs", ["block", "bug", "effect", "proof", "lockstep"], rows))
    short = [name for name, each in groupby(runs, key=lambda run: run.block) if not _is_enough(list(each))]
    for name in short:
        screen.print(f"{name}: the proofs detect fewer than three of five bugs", style="red")
    raise typer.Exit(0 if not short and all(run.noticed for run in runs) else 1)


def _is_enough(runs: list[PlantRun]) -> bool:
    """Return whether a block has enough planted bugs and its proofs detect at least three of five."""
    return len(runs) >= LEAST_PLANTS and 5 * sum(run.by_proof for run in runs) >= 3 * len(runs)


def _by_proof(run: PlantRun) -> str:
    return f"{run.failed or run.verdict} ({run.plant.instance})" if run.by_proof else f"passes ({run.verdict})"


def _by_lockstep(run: PlantRun) -> str:
    return "agrees" if run.mismatch_cycle is None else f"cycle {run.mismatch_cycle}"


def _document(run: PlantRun) -> dict[str, Any]:
    return {
        "block": run.block,
        "name": run.plant.name,
        "statement": run.plant.statement,
        "file": run.plant.file,
        "line": run.plant.line,
        "instead": run.plant.instead,
        "proof": {
            "instance": run.plant.instance,
            "verdict": run.verdict,
            "failed": run.failed or None,
            "noticed": run.by_proof,
            "seconds": round(run.proof_seconds, 1),
        },
        "lockstep": {
            "cycle": run.mismatch_cycle,
            "noticed": run.mismatch_cycle is not None,
            "seconds": round(run.lockstep_seconds, 1),
        },
    }
