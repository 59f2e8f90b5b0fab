"""``vlane soak``: many random instances of a block, for as long as is asked for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from vlane.errors import InputError
from vlane.sim_top.blocks import BLOCKS, find_block
from vlane.sim_top.cli.options import AsJson, Seed, check_cycles
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.soak import SWITCHES, command_of, points_of, run_point, shrunk
from vlane.sim_top.cosim.soak_records import SoakRecord, add_records, read_records, rtl_of
from vlane.sim_top.output.console import emit_json, note, screen

app = App()


@app.command(epilog="Example: vlane soak ib_switch --points 20 --param marking=true --param speed=2")
def soak(
    block: Annotated[str, typer.Argument(metavar="[BLOCK]", help=f"Block: {', '.join(BLOCKS)}.")] = SWITCHES[0],
    points: Annotated[int, typer.Option(help="Number of instances, each with a seed of its own.")] = 50,
    cycles: Annotated[
        int, typer.Option(help="Number of cycles to compare per instance; short runs omit some kinds of traffic.")
    ] = 40_000,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="K=V", help="Fix a parameter of every instance; repeatable.")
    ] = None,
    full_size: Annotated[  # noqa: FBT002
        bool, typer.Option("--full-size", help="Run instances of the largest size instead of random ones.")
    ] = False,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record file: skip recorded instances, append those that agree.")
    ] = None,
    seed: Seed = 1,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Compare random instances of a block with golden, each with traffic of its own.

    Parameters are random within their bounds; every 50 instances include every value of each choice and flag.
    Exit status 1 if an instance differs from golden; a failing instance is reduced and reported with its command.
    """
    found = find_block(block)
    if points < 1:
        raise InputError("--points", "at least 1", points)
    check_cycles("--cycles", cycles)
    wanted = found.shape.values_of_words(param or [])
    drawn = list(points_of(block, count=points, cycles=cycles, seed=seed, wanted=wanted, full_size=full_size))
    kept = {each.compared for each in read_records(record)} if record else set()
    if record:
        add_records(record)  # a file that cannot be written is refused before anything runs
    start = time.perf_counter()
    failures: list[dict[str, str]] = []
    for number, point in enumerate(drawn, 1):
        done = SoakRecord.of(point, rtl=rtl_of(block, point.parameters)) if record else None
        if done and done.compared in kept:
            note(f"{number} of {points}: already recorded: {command_of(point)}")
            continue
        difference = run_point(point)
        note(f"{number} of {points}: {'DIFFERS' if difference else 'agrees'}: {command_of(point)}")
        if difference:
            small = shrunk(point, run_point)
            failures.append({"command": command_of(small), "difference": run_point(small)})
        elif record and done:
            add_records(record, done)
    seconds = time.perf_counter() - start
    if as_json:
        emit_json(
            {
                "block": block,
                "points": points,
                "cycles": cycles,
                "seed": seed,
                "parameters": wanted,
                "failures": failures,
                "seconds": round(seconds, 1),
            }
        )
    else:
        for failure in failures:
            screen.print(f"{failure['command']}\n  {failure['difference']}", style="red", markup=False, soft_wrap=True)
        screen.print(f"{points - len(failures)} of {points} instances agree with golden in every cycle")
    raise typer.Exit(1 if failures else 0)
