"""``vlane vlarb``: shares and waits given by a fabric's arbitration tables, and tables planned for requirements."""

from __future__ import annotations

from math import isinf
from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.files import write_whole
from vlane.errors import InputError
from vlane.fabric.capture import load_fabric
from vlane.fabric.model import Fabric
from vlane.planning.vlarb_plan import PlannedLevel, VLArbPlan, opensm_lines, plan_vlarb
from vlane.planning.vlarb_wants import Wants, read_wants
from vlane.rates import DEFAULT_RATE, LinkClock, rate_of
from vlane.schedulers.vlarb import VLArbTable
from vlane.sim_top.cli.options import AsJson, numbers_of
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.fabric.vlarb_explained import LevelGets, PortsAlike, explain
from vlane.sim_top.fabric.vlarb_page import in_words, shown_wait, write_vlarb_page
from vlane.sim_top.output.console import emit_json, say, screen, table
from vlane.tables.sl2vl import SL_COUNT, VL_DROP

app = App(help="Explain and plan InfiniBand VL arbitration tables.")


@app.callback()
def _group() -> None:
    """Explain and plan InfiniBand VL arbitration tables."""


@app.command("explain", epilog="Example: vlane vlarb explain --fabric tests/data/two_switch --rate 'EDR 4X'")
def explain_tables(
    fabric: Annotated[Path, typer.Option(metavar="DIR", help="Folder of a captured fabric.")],
    rate: Annotated[
        str, typer.Option("--rate", metavar="GBPS", help="Data rate of every link, in Gb/s or by name (EDR 4X).")
    ] = str(DEFAULT_RATE),
    sls: Annotated[
        str, typer.Option("--sls", metavar="SL,SL", help="Service levels that send. [default: all 16]")
    ] = "",
    page: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for an HTML page, index.html.")] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Report each service level's share of a full link, Gb/s and longest wait under a fabric's arbitration tables."""
    clock = LinkClock(rate_of(rate, "--rate"))
    loaded = _fabric_with_tables(fabric)
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


@app.command("plan", epilog="Example: vlane vlarb plan sim_top/configs/vlarb_wants.toml --out table.toml")
def plan_tables(
    file: Annotated[Path, typer.Argument(metavar="WANTS", help="Requirements (TOML) with [link] and [[level]].")],
    fabric: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Captured fabric whose present tables are shown for comparison.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the planned tables to a table file.")] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Plan arbitration tables from least shares and longest waits of service levels, or report which cannot be met."""
    wants = read_wants(file)
    planned = plan_vlarb(wants)
    loaded = _fabric_with_tables(fabric) if fabric else None
    groups = explain(loaded, [each.sl for each in wants.levels]) if loaded else []
    if out is not None:
        write_whole(out, _table_file(planned), option="--out")
    if as_json:
        emit_json(
            {
                "rate_gbps": wants.rate_gbps,
                "mtu": wants.mtu,
                **_lists(planned.table),
                "sl2vl": list(planned.sl2vl),
                "opensm": opensm_lines(planned, wants.data_vls),
                "levels": [_level_document(each, wants.clock) for each in planned.levels],
                "today": [_group_document(loaded, each, wants.clock) for each in groups] if loaded else None,
                "file": str(out) if out else None,
            }
        )
        return
    _print_plan(planned, wants)
    if loaded:
        for each in groups:
            _print(loaded, each, wants.clock)


def _fabric_with_tables(folder: Path) -> Fabric:
    """Return a captured fabric that has arbitration tables."""
    fabric = load_fabric(folder)
    if not fabric.vlarb:
        problem = ": the capture has no arbitration tables (smpquery-vlarb.txt)"
        raise InputError("--fabric", "a capture with arbitration tables", "none", source=str(folder), problem=problem)
    return fabric


def _bound_us(blocks: float, clock: LinkClock) -> float | None:
    """Return a longest wait in us, ``None`` if it is unbounded."""
    return None if isinf(blocks) else clock.ns(blocks) / 1000


def _table_file(planned: VLArbPlan) -> str:
    lists = (f"{name} = {[list(entry) for entry in getattr(planned.table, name)]}\n" for name in ("high", "low"))
    limit = f"limit_of_high_priority = {planned.table.limit_of_high_priority}\n"
    return f"[vlarb]\n{''.join(lists)}{limit}\n[sl2vl]\nrow = {list(planned.sl2vl)}\n"


def _level_document(level: PlannedLevel, clock: LinkClock) -> dict[str, Any]:
    share, wait = level.wanted.share, level.wanted.wait_us
    return {
        "sl": level.wanted.sl,
        "vl": level.vl,
        "priority": "high" if level.wanted.high else "low",
        "share_wanted": None if share is None else float(share),
        "share": float(level.share),
        "rate_gbps": float(level.share) * clock.rate_gbps,
        "wait_wanted_us": None if wait is None else float(wait),
        "wait_bound_us": _bound_us(level.wait_blocks, clock),
    }


def _print_plan(planned: VLArbPlan, wants: Wants) -> None:
    rows = []
    for each in (_level_document(level, wants.clock) for level in planned.levels):
        wanted = "" if each["share_wanted"] is None else f"{100 * each['share_wanted']:.2f} %"
        waits = [
            "" if each["wait_wanted_us"] is None else f"{each['wait_wanted_us']:.4g}",
            "no bound" if each["wait_bound_us"] is None else f"{each['wait_bound_us']:.4g}",
        ]
        shares = [wanted, f"{100 * each['share']:.2f} %", f"{each['rate_gbps']:,.3g}"]
        rows.append([str(each["sl"]), str(each["vl"]), each["priority"], *shares, *waits])
    columns = [">SL", ">VL", "list", ">required share", ">share", ">Gb/s", ">required wait (us)", ">longest wait (us)"]
    screen.print(table(f"{wants.rate_gbps:g} Gb/s, MTU {wants.mtu}", columns, rows))
    for line in opensm_lines(planned, wants.data_vls):
        screen.print(line, markup=False, soft_wrap=True)
    if planned.sl2vl[0] == VL_DROP:
        say("warning: SL 0 is dropped, but subnet management uses it: add a [[level]] with sl = 0", style="yellow")


def _lists(table: VLArbTable) -> dict[str, Any]:
    return {
        "high": [list(entry) for entry in table.high],
        "low": [list(entry) for entry in table.low],
        "limit_of_high_priority": table.limit_of_high_priority,
    }


def _group_document(fabric: Fabric, group: PortsAlike, clock: LinkClock) -> dict[str, Any]:
    return {
        "ports": [fabric.show(port) for port in group.ports],
        "mtu": group.mtu,
        **_lists(group.table),
        "levels": [
            {
                "sl": level.sl,
                "vls": list(level.vls),
                "share": level.share,
                "share_least": level.least,
                "share_most": level.most,
                "rate_gbps": level.share * clock.rate_gbps,
                "wait_bound_us": _bound_us(level.wait_blocks, clock),
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
