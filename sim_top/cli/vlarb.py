"""``vlane vlarb explain``: what the arbitration tables of a fabric give each service level."""

from __future__ import annotations

from math import isinf
from pathlib import Path
from typing import Annotated, Any

import typer
from vlane.sim_top.cli.options import AsJson, numbers_of
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.fabric.vlarb_explained import LevelGets, PortsAlike, explain
from vlane.sim_top.fabric.vlarb_page import in_words, shown_wait, write_vlarb_page
from vlane.sim_top.output.console import emit_json, say, screen, table

from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.model import Fabric
from vlane.rates import DEFAULT_RATE, LinkClock, rate_of
from vlane.sl2vl import SL_COUNT

__all__ = ["app"]

app = App(help="Arbitration tables of InfiniBand.")


@app.callback()
def _group() -> None:
    """Arbitration tables of InfiniBand."""


@app.command("explain", epilog="Example: vlane vlarb explain --fabric tests/data/two_switch --rate 'EDR 4X'")
def explain_tables(
    fabric: Annotated[Path, typer.Option(metavar="DIR", help="A captured fabric.")],
    rate: Annotated[
        str, typer.Option("--rate", metavar="GBPS", help="Data rate of every link, in Gb/s or by name (EDR 4X).")
    ] = str(DEFAULT_RATE),
    sls: Annotated[
        str, typer.Option("--sls", metavar="SL,SL", help="Service levels that send; all 16 unless given.")
    ] = "",
    page: Annotated[Path | None, typer.Option(metavar="DIR", help="Write an HTML page, index.html.")] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Explain what each service level of a fabric gets today: share of a full link, Gb/s, longest wait."""
    clock = LinkClock(rate_of(rate, "--rate"))
    loaded = load_fabric(fabric)
    if not loaded.vlarb:
        raise InputError(
            "--fabric", "a capture with arbitration tables, smpquery-vlarb.txt", "without", source=str(fabric)
        )
    groups = explain(loaded, numbers_of("--sls", sls, SL_COUNT - 1) or range(SL_COUNT))
    files = [write_vlarb_page(loaded, groups, clock, page)] if page else []
    if as_json:
        emit_json(
            {
                "fabric": loaded.name,
                "rate_gbps": clock.rate_gbps,
                "ports": [_group_document(loaded, each, clock) for each in groups],
                "pages": [str(file) for file in files],
            }
        )
        return
    for each in groups:
        _print(loaded, each, clock)
    for file in files:
        screen.print(str(file), markup=False, soft_wrap=True)


def _group_document(fabric: Fabric, group: PortsAlike, clock: LinkClock) -> dict[str, Any]:
    return {
        "ports": [fabric.show(port) for port in group.ports],
        "mtu": group.mtu,
        "high": [list(entry) for entry in group.table.high],
        "low": [list(entry) for entry in group.table.low],
        "limit_of_high_priority": group.table.limit_of_high_priority,
        "levels": [
            {
                "sl": level.sl,
                "vls": list(level.vls),
                "share": level.share,
                "share_least": level.least,
                "share_most": level.most,
                "rate_gbps": level.share * clock.rate_gbps,
                "wait_bound_us": None if isinf(level.wait_blocks) else clock.ns(level.wait_blocks) / 1000,
                "served": level.served,
            }
            for level in group.levels
        ],
    }


def _print(fabric: Fabric, group: PortsAlike, clock: LinkClock) -> None:
    rows = [_row(level, clock) for level in group.levels]
    columns = [">SL", ">VL", ">share", ">from", ">to", ">Gb/s", ">longest wait (us)"]
    title = f"{fabric.show_all(list(group.ports))}, MTU {group.mtu}"
    screen.print(table(title, columns, rows))
    for level in group.levels:
        if not level.served or isinf(level.wait_blocks):
            say(f"SL {level.sl}: {in_words(level, clock)}", style="yellow")


def _row(level: LevelGets, clock: LinkClock) -> list[str]:
    lanes = ", ".join(map(str, level.vls))
    shares = [f"{100 * value:.2f} %" for value in (level.share, level.least, level.most)]
    return [str(level.sl), lanes, *shares, f"{level.share * clock.rate_gbps:,.3g}", shown_wait(level, clock)]
