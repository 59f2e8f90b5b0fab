"""``vlane fabric show`` and ``vlane fabric check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.fabric.capture import load_fabric
from vlane.fabric.check import FabricReport, check_fabric
from vlane.fabric.model import Fabric, Kind
from vlane.fabric.trace import Hop, trace_pairs
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.output.console import emit_json, note, say, screen, table

app = App(help="Inspect and check a fabric captured from its subnet manager.")

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of dumps: ibnetdiscover.txt and optional others (docs/fabric.md).")
]


@app.command(epilog="Example: vlane fabric show tests/data/irregular_s1")
def show(folder: Folder, as_json: AsJson = False) -> None:  # noqa: FBT002
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
        ["SL2VL rows", f"{len(fabric.sl2vl)} ({len(fabric.sl2vl.different())} distinct)"],
        ["host pairs by SL", ", ".join(f"SL {sl}: {sls[sl]}" for sl in sorted(sls)) or "none"],
    ]
    screen.print(table(fabric.name, ["", ">"], rows))
    listed = [
        [fabric.show(ports[0]), str(len(ports)), _list(t.high), _list(t.low), str(t.limit_of_high_priority)]
        for t, ports in tables.items()
    ]
    screen.print(
        table(
            "VL arbitration tables (VL:weight, without entries of weight 0)",
            ["first port", ">ports", "high", "low", ">limit"],
            listed,
        )
    )
    for line in fabric.notes:
        say(f"note: {line}")


def _list(entries: tuple[Any, ...]) -> str:
    return " ".join(f"{e.vl}:{e.weight}" for e in entries if e.weight) or "empty"


@app.command(epilog="Example: vlane fabric check tests/data/torus44_2qos. Exit status 1 if the check fails.")
def check(
    folder: Folder,
    strict: Annotated[  # noqa: FBT002
        bool, typer.Option("--strict", help="Also fail on warnings and on checks that were skipped.")
    ] = False,
    page: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for an HTML page, index.html.")] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Check a captured fabric: configured against programmed, credit loops, unreachable pairs, unserved lanes."""
    fabric = load_fabric(folder)
    trace = trace_pairs(fabric)
    report = check_fabric(fabric, trace)
    ok = report.spotless if strict else report.ok
    if page is not None:
        from vlane.sim_top.fabric.fabric_page import write_fabric_page  # noqa: PLC0415 - a check alone needs no page

        note(f"page: {write_fabric_page(fabric, report, trace, page, ok=ok)}")
    if as_json:
        emit_json(_document(fabric, report, ok=ok))
    else:
        _print(fabric, report, ok=ok)
    raise typer.Exit(0 if ok else 1)


def _link(fabric: Fabric, hop: Hop) -> dict[str, Any]:
    node = fabric.nodes[hop.port.guid]
    far = node.links[hop.port.number]
    return {"from": node.name, "port": hop.port.number, "to": fabric.nodes[far.guid].name, "vl": hop.vl}


def _document(fabric: Fabric, report: FabricReport, *, ok: bool) -> dict[str, Any]:
    return {
        "name": fabric.name,
        "ok": ok,
        "loops": [[_link(fabric, hop) for hop in loop] for loop in report.loops],
        "unreachable": [pair._asdict() for pair in report.unreachable],
        "unreachable_pairs": report.unreachable_pairs,
        "unserved_vls": [{"where": fabric.show(u.port), "vl": u.vl, "pairs": u.pairs} for u in report.unserved],
        "warnings": [
            {"code": f.code, "severity": f.severity, "where": f.where, "message": f.message} for f in report.warnings
        ],
        "not_checked": list(report.not_checked),
        "missing": [{"what": m.what, "codes": list(m.codes), "instead": m.instead} for m in fabric.missing],
        "assumptions": list(report.assumptions),
    }


_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def _print(fabric: Fabric, report: FabricReport, *, ok: bool) -> None:
    severities = [finding.severity for finding in report.warnings]
    say(f"{fabric.name}: ", end="")
    if ok and report.not_checked:
        say("passes the checks that ran", end="", style="yellow")
    else:
        say("passes" if ok else "fails", end="", style="green" if ok else "red")
    counts = [
        ("CREDIT_LOOP", f"{len(report.loops)} credit loops"),
        ("UNREACHABLE", f"{report.unreachable_pairs} unreachable pairs"),
        ("VL_UNSERVED", f"{len(report.unserved)} unserved lanes"),
    ]
    said = [text + (" (not checked)" if code in report.not_checked else "") for code, text in counts]
    say(f"; {', '.join(said)}, {severities.count('warning')} warnings, {severities.count('note')} notes")
    for finding, severity in zip(report.warnings, severities, strict=True):
        say(f"{severity} {finding.code} ", end="", style=_COLOURS[severity])
        say(f"{finding.where}: {finding.message}")
    for line in report.assumptions:
        say(f"assumed: {line}")
