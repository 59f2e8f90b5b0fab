"""``vlane soak``: many random instances of a switch."""

from __future__ import annotations

import random
import time
from typing import Annotated

import typer
from vlane.sim_top.cli.options import AsJson, Seed, check_cycles
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.soak import SWITCHES, command_of, random_point, run_point, shrunk
from vlane.sim_top.output.console import emit_json, note, screen

from vlane.errors import InputError, unknown_word

__all__ = ["app"]


app = App()


@app.command(epilog="Example: vlane soak opa_switch --points 50")
def soak(
    block: Annotated[str, typer.Argument(metavar="[BLOCK]", help=f"One of: {', '.join(SWITCHES)}.")] = SWITCHES[0],
    points: Annotated[int, typer.Option(help="Random instances.")] = 50,
    cycles: Annotated[int, typer.Option(help="Cycles to compare of each; few leave kinds of traffic out.")] = 40_000,
    seed: Seed = 1,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Run random switches against golden. Exit status 1 if one differs; told as small as it fails, with its command."""
    if block not in SWITCHES:
        raise unknown_word("BLOCK", SWITCHES, block)
    if points < 1:
        raise InputError("--points", "at least 1", points)
    check_cycles("--cycles", cycles)
    source = random.Random(seed)  # noqa: S311 - a repeatable choice
    start = time.perf_counter()
    failures: list[dict[str, str]] = []
    for number in range(1, points + 1):
        point = random_point(source, block, cycles=cycles)
        difference = run_point(point)
        note(f"{number} of {points}: {'DIFFERS' if difference else 'agrees'}: {command_of(point)}")
        if difference:
            small = shrunk(point, run_point)
            failures.append({"command": command_of(small), "difference": run_point(small)})
    seconds = time.perf_counter() - start
    if as_json:
        emit_json(
            {
                "block": block,
                "points": points,
                "cycles": cycles,
                "seed": seed,
                "failures": failures,
                "seconds": round(seconds, 1),
            }
        )
    else:
        for failure in failures:
            screen.print(f"{failure['command']}\n  {failure['difference']}", style="red", markup=False, soft_wrap=True)
        screen.print(f"{points - len(failures)} of {points} random switches agree with golden in every cycle")
    raise typer.Exit(1 if failures else 0)
