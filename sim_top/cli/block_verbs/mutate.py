"""``vlane mutate``: mutation testing of a block with the lockstep."""

from __future__ import annotations

from typing import Annotated

import typer

from vlane.sim_top.blocks import find_block
from vlane.sim_top.cli.block_verbs.block_options import QUALIFICATION_CYCLES, BlockName
from vlane.sim_top.cli.options import AsJson, Params, Seed, check_cycles
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.mutation import mutation_run
from vlane.sim_top.output.console import emit_json, note, screen

app = App()


@app.command(epilog="Example: vlane mutate vlarb --count 400")
def mutate(
    block: BlockName,
    count: Annotated[int, typer.Option(min=1, max=4096, help="Number of mutants.")] = 400,
    cycles: Annotated[int, typer.Option(help="Number of cycles to run each mutant.")] = QUALIFICATION_CYCLES,
    least: Annotated[
        float, typer.Option(min=0, max=100, help="Minimum percentage of detected mutants for exit status 0.")
    ] = 99.0,
    param: Params = None,
    as_json: AsJson = False,  # noqa: FBT002
    seed: Seed = 1,
) -> None:
    """Run mutants of the block through the lockstep and list survivors. Exit status 1 if too few are killed."""
    found = find_block(block)
    check_cycles("--cycles", cycles, least=1000)
    parameters = found.parameters(param or [], found.mutated)
    run = mutation_run(found, parameters, count=count, cycles=cycles, seed=seed, tell=note)
    document = {
        "block": block,
        "parameters": dict(run.parameters),
        "mutants": run.mutants,
        "killed": run.killed,
        "equivalent": len(run.equivalent),
        "survivors": [str(mutant) for mutant in run.survivors],
        "proven_equivalent": [str(mutant) for mutant in run.equivalent],
        "killed_percent": round(run.killed_percent, 2),
        "seconds": round(run.seconds, 1),
    }
    if as_json:
        emit_json(document)
    else:
        for mutant in run.equivalent:
            screen.print(f"proven equivalent: {mutant}", markup=False, soft_wrap=True)
        for mutant in run.survivors:
            screen.print(f"SURVIVED: {mutant}", markup=False, style="red", soft_wrap=True)
        screen.print(
            f"{run.mutants} mutants in {run.seconds:.0f} s: {run.killed} killed, "
            f"{len(run.equivalent)} proven equivalent, {len(run.survivors)} survived: "
            f"{run.killed_percent:.2f} % of the non-equivalent mutants were killed"
        )
    raise typer.Exit(0 if run.killed_percent >= least else 1)
