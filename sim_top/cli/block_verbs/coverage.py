"""``vlane coverage``: lines, branches and toggles of a block's Verilog reached by its qualification."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from vlane.sim_top.blocks import find_block
from vlane.sim_top.cli.block_verbs.block_options import QUALIFICATION_CYCLES, BlockName
from vlane.sim_top.cli.options import AsJson, Params, Seed, check_cycles
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.code_coverage import CodeCoverage, Count, code_coverage
from vlane.sim_top.output.console import emit_json, say, screen, table

app = App()

_COLUMNS = ["kind", ">points", ">reached", ">proven constant", ">waived", ">open", ">coverage"]


@app.command(epilog="Example: vlane coverage vlarb")
def coverage(
    block: BlockName,
    cycles: Annotated[int, typer.Option(help="Number of cycles of the lockstep.")] = QUALIFICATION_CYCLES,
    param: Params = None,
    as_json: AsJson = False,  # noqa: FBT002
    seed: Seed = 1,
) -> None:
    """Report the lines, branches and toggles of the block's Verilog that its lockstep reaches.

    Every other point is proven unreachable, waived with a reason, or open. Exit status 1 if a point is open, if the
    lockstep reaches a waived point, or if hardware and golden differ.
    """
    found = find_block(block)
    check_cycles("--cycles", cycles, least=1000)
    run = code_coverage(found, found.parameters(param or [], found.mutated), cycles=cycles, seed=seed)
    if as_json:
        emit_json({"block": block, "seed": seed, **_document(run)})
    else:
        _show(block, run)
    raise typer.Exit(0 if run.passed else 1)


def _document(run: CodeCoverage) -> dict[str, Any]:
    return {
        "parameters": dict(run.parameters),
        "cycles": run.outcome.cycles,
        "mismatch": str(run.outcome.mismatch) if run.outcome.mismatch else None,
        "kinds": {kind: asdict(count) | {"open": count.open} for kind, count in run.counts.items()},
        "judged": [
            {"reason": reason, "points": [str(point) for point in points]} for reason, points in run.judged.items()
        ],
        "open": [str(point) for point in run.open],
        "refuted": [str(point) for point in run.refuted],
    }


def _show(block: str, run: CodeCoverage) -> None:
    rows = [[kind, *_row(count)] for kind, count in run.counts.items()]
    screen.print(table(f"{block}, {run.outcome.cycles:,} cycles", _COLUMNS, rows))
    for reason, points in run.judged.items():
        say(f"waived: {len(points)} points, such as {points[0]}: {reason}")
    for point in run.open:
        say(f"OPEN: {point}", style="red")
    for point in run.refuted:
        say(f"REFUTED: {point} is waived but was reached", style="red")
    if run.outcome.mismatch:
        say(f"DIFFERS: {run.outcome.mismatch}", style="red")


def _row(count: Count) -> list[str]:
    numbers = (count.points, count.reached, count.constant, count.judged, count.open)
    return [*(f"{number:,}" for number in numbers), f"{count.percent:.2f} %"]
