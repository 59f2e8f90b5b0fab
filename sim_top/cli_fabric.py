"""``vlane fabric show`` and ``vlane fabric check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from vlane.sim_top.cli_options import AsJson, NoSeed
from vlane.sim_top.console import emit_json, screen, table

from vlane.fabric.capture import load_fabric
from vlane.fabric.check import FabricReport, check_fabric
from vlane.fabric.model import Fabric, Kind
from vlane.fabric.trace import Hop, trace_pairs

__all__ = ["app"]

app = typer.Typer(help="A fabric captured from its subnet manager.", no_args_is_help=True, rich_markup_mode=None)

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of dumps: ibnetdiscover.txt and what goes with it.")
]


@app.command(epilog="Example: vlane fabric show tests/data/irregular_s1")
def show(folder: Folder, as_json: AsJson = False, seed: NoSeed = 0) -> None:  # noqa: ARG001, FBT002
    """Show a captured fabric: switches, hosts, links, lanes and tables."""
    fabric = load_fabric(folder)
    sls = trace_pairs(fabric).sls
    tables = fabric.distinct_tables()
    if as_json:
        emit_json(
            {
                "name": fabric.name,
                "switches": len(fabric.of_kind(Kind.SWITCH)),
                "hosts": len(fabric.of_kind(Kind.CA)),
                "routers": len(fabric.of_kind(Kind.ROUTER)),
                "links": fabric.cables,
                "data_vls": fabric.data_vls,
                "vlarb_tables": len(tables),
                "path_sls": {str(sl): sls[sl] for sl in sorted(sls)},
                "sl2vl_rows": len(fabric.sl2vl),
                "notes": fabric.notes,
            }
        )
        return
    rows = [
        ["switches", str(len(fabric.of_kind(Kind.SWITCH)))],
        ["hosts", str(len(fabric.of_kind(Kind.CA)))],
        ["links", str(fabric.cables)],
        ["data VLs", str(fabric.data_vls)],
        ["SL2VL rows", f"{len(fabric.sl2vl)}, {len(set(fabric.sl2vl.values()))} different"],
        ["host pairs by SL", ", ".join(f"SL {sl}: {sls[sl]}" for sl in sorted(sls)) or "none"],
    ]
    screen.print(table(fabric.name, ["", ">"], rows))
    listed = [
        [fabric.show(ports[0]), str(len(ports)), _list(t.high), _list(t.low), str(t.limit_of_high_priority)]
        for t, ports in tables.items()
    ]
    screen.print(table("VL arbitration tables (VL:weight, entries of weight 0 left out)",
                       ["first port", ">ports", "high", "low", ">limit"], listed))  # fmt: skip
    for line in fabric.notes:
        screen.print(f"note: {line}", markup=False)


def _list(entries: tuple[Any, ...]) -> str:
    return " ".join(f"{e.vl}:{e.weight}" for e in entries if e.weight) or "empty"


@app.command(epilog="Example: vlane fabric check tests/data/torus44_2qos. Exit status 1 if the check fails.")
def check(folder: Folder, as_json: AsJson = False, seed: NoSeed = 0) -> None:  # noqa: ARG001, FBT002
    """Check a captured fabric: configured against programmed, credit loops, unreachable pairs, unserved lanes."""
    fabric = load_fabric(folder)
    report = check_fabric(fabric)
    if as_json:
        emit_json(_document(fabric, report))
    else:
        _print(fabric, report)
    raise typer.Exit(0 if report.ok else 1)


def _link(fabric: Fabric, hop: Hop) -> dict[str, Any]:
    node = fabric.nodes[hop.port.guid]
    far = node.links[hop.port.number]
    return {"from": node.name, "port": hop.port.number, "to": fabric.nodes[far.guid].name, "vl": hop.vl}


def _document(fabric: Fabric, report: FabricReport) -> dict[str, Any]:
    return {
        "name": fabric.name,
        "ok": report.ok,
        "loops": [[_link(fabric, hop) for hop in loop] for loop in report.loops],
        "unreachable": [pair._asdict() for pair in report.unreachable],
        "unserved_vls": [{"where": fabric.show(u.port), "vl": u.vl, "pairs": u.pairs} for u in report.unserved],
        "warnings": [finding._asdict() for finding in report.warnings],
        "assumptions": list(report.assumptions),
    }


def _print(fabric: Fabric, report: FabricReport) -> None:
    screen.print(f"{fabric.name}: ", end="", markup=False)
    screen.print("holds" if report.ok else "fails", end="", style="green" if report.ok else "red")
    screen.print(
        f"; {len(report.loops)} credit loops, {len(report.unreachable)} unreachable pairs, "
        f"{len(report.unserved)} unserved lanes, {len(report.warnings)} warnings"
    )
    for finding in report.warnings:
        screen.print(f"[yellow]{finding.code}[/yellow]", end=" ")
        screen.print(f"{finding.where}: {finding.message}", markup=False, soft_wrap=True)
    for line in report.assumptions:
        screen.print(f"assumed: {line}", markup=False, soft_wrap=True)
