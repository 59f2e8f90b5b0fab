"""``vlane dtable plan``: a Deficit Table from bandwidths, distances and packet sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from vlane.documents.files import write_whole
from vlane.planning.dtable_plan import LevelPlan, TablePlan, plan_table
from vlane.planning.dtable_request import read_request
from vlane.rates import LinkClock
from vlane.sim_top.cli.options import AsJson, RateOption, clock_at
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.output.console import emit_json, screen, table

app = App(help="Plan Deficit Tables.")


@app.callback()
def _group() -> None:
    """Plan Deficit Tables."""


@app.command(epilog="Example: vlane dtable plan sim_top/configs/dtable_plan.toml --out table.toml")
def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Request file (TOML) with [dtable_plan].")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the table to a table file.")] = None,
    rate: RateOption = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Plan the entries and weights of a Deficit Table, or report the bound that the request violates."""
    clock = clock_at(rate)
    planned = plan_table(read_request(file))
    if out is not None:
        listed = ", ".join(f"[{entry.sl}, {entry.weight}]" for entry in planned.table.entries)
        write_whole(out, f"[dtable]\nentries = [{listed}]\n", option="--out")
    if as_json:
        emit_json(
            {
                "entries": [list(entry) for entry in planned.table.entries],
                "weights_per_sl": {level.level.name: level.total_weight for level in planned.levels},
                "phi_min": {level.level.name: float(level.phi_min) for level in planned.levels},
                "phi_max": {level.level.name: float(level.phi_max) for level in planned.levels},
                "k": float(planned.k),
                "w": float(planned.w),
                "pool_blocks": float(planned.pool),
                "most_entry_weight": float(planned.most_weight),
                "total_weight": sum(level.total_weight for level in planned.levels),
                "sls": [
                    {
                        "name": level.level.name,
                        "sl": level.level.sl,
                        "places": list(level.places),
                        "weights": list(level.weights),
                        "bandwidth": float(level.level.bandwidth),
                        **(_gbps(level, clock) if clock else {}),
                    }
                    for level in planned.levels
                ],
                "rate_gbps": clock and clock.rate_gbps,
                "file": str(out) if out else None,
            }
        )
    else:
        _print(planned, clock)


def _gbps(level: LevelPlan, clock: LinkClock) -> dict[str, float]:
    """Return a level's bandwidths in Gb/s."""
    shares = {"phi_min": level.phi_min, "bandwidth": level.level.bandwidth, "phi_max": level.phi_max}
    return {f"{name}_gbps": clock.gbps(float(share)) for name, share in shares.items()}


def _in_gbps(planned: TablePlan, clock: LinkClock) -> Table:
    """Return a table of the bandwidths of all levels in Gb/s, requested and granted."""
    total = sum(level.total_weight for level in planned.levels)
    rows = [
        [
            one.level.name,
            str(one.level.sl),
            *(f"{each:.3f}" for each in _gbps(one, clock).values()),
            f"{clock.gbps(one.total_weight / total):.3f}",
        ]
        for one in planned.levels
    ]
    columns = ["name", ">SL", ">phi min", ">bandwidth", ">phi max", ">granted"]
    return table(f"Gb/s of a link of {clock.rate_gbps:g} Gb/s", columns, rows)


def _print(planned: TablePlan, clock: LinkClock | None) -> None:
    total = sum(level.total_weight for level in planned.levels)
    entries, shares = [], []
    for one in planned.levels:
        split = ", ".join(f"{one.weights.count(w)} x {w}" for w in sorted(set(one.weights)))
        counts = (one.level.sl, one.level.distance, len(one.places), one.level.mtu_blocks, one.total_weight)
        entries.append([one.level.name, *map(str, counts), split])
        bounds = (one.phi_min, one.level.bandwidth, one.phi_max)
        shares.append([one.level.name, *(f"{float(s):.5f}" for s in bounds), f"{one.total_weight / total:.4f}"])
    title = f"k = {float(planned.k):g}, w = {float(planned.w):g}, pool {float(planned.pool):g}"
    screen.print(table(title, ["name", ">SL", ">distance", ">entries", ">MTU", ">weight", "entry weights"], entries))
    screen.print(table("fractions of the link", ["name", ">phi min", ">bandwidth", ">phi max", ">share"], shares))
    if clock:
        screen.print(_in_gbps(planned, clock))
    screen.print(f"total weight {total}; largest allowed weight of an entry: {float(planned.most_weight):g}")
