"""``vlane fabric show`` and ``vlane fabric check``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from vlane.errors import InputError, misplaced, unknown_word
from vlane.fabric.capture import load_fabric
from vlane.fabric.check import FabricReport, check_fabric
from vlane.fabric.coverage import extent_of
from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Kind, Port
from vlane.fabric.remark_findings import remark_findings
from vlane.fabric.trace import Hop, trace_pairs
from vlane.fabric.verdict import counts, verdict
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.fabric.monitoring import nagios_line, nagios_unknown, prometheus_text
from vlane.sim_top.output.console import emit_json, note, say, screen, table

app = App(help="Inspect and check a fabric captured from its subnet manager.")

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of dumps, or an output folder of ibdiagnet (docs/fabric.md).")
]
NameMap = Annotated[
    Path | None,
    typer.Option("--node-name-map", metavar="FILE", help="File with names of nodes by GUID. [default: in DIR]"),
]


class Format(StrEnum):
    """Forms of the result."""

    TEXT = "text"
    JSON = "json"
    NAGIOS = "nagios"
    PROMETHEUS = "prometheus"


@app.command(epilog="Example: vlane fabric show tests/data/irregular_s1")
def show(folder: Folder, names: NameMap = None, as_json: AsJson = False) -> None:  # noqa: FBT002
    """Show a captured fabric: switches, hosts, links, lanes and tables."""
    fabric = load_fabric(folder, partial=True, names=names)
    trace = trace_pairs(fabric)
    sls, tables = trace.sls, fabric.distinct_tables()
    notes = [*fabric.notes, *(f"{each.what}: {each.instead}" for each in extent_of(fabric, trace).missing)]
    remarks = remark_findings(fabric.remarks)
    if as_json:
        emit_json(
            {
                "name": fabric.name,
                "switches": len(fabric.of_kind(Kind.SWITCH)),
                "hosts": len(fabric.hosts),
                "devices": len(fabric.devices),
                "routers": len(fabric.of_kind(Kind.ROUTER)),
                "links": fabric.cables,
                "data_vls": fabric.data_vls,
                "vlarb_tables": len(tables),
                "path_sls": {str(sl): sls[sl] for sl in sorted(sls)},
                "sl2vl_rows": len(fabric.sl2vl),
                "notes": notes,
                "remarks": [_finding(fabric, finding) for finding in remarks],
            }
        )
        return
    others = [
        ["adapters of devices", ", ".join(f"{fabric.show_node(n)}: {n.device}" for n in fabric.devices[:_MOST])],
        ["routers", str(len(fabric.of_kind(Kind.ROUTER)))],
        ["ports without a LID", ", ".join(map(fabric.show, _without_lid(fabric)[:_MOST]))],
    ]
    rows = [
        ["switches", str(len(fabric.of_kind(Kind.SWITCH)))],
        ["hosts", str(len(fabric.hosts))],
        *(row for row in others if row[1] not in ("", "0")),
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
    for finding in remarks:
        say(f"{finding.severity} {finding.code} {finding.where}: {finding.message}")
    for line in notes:
        say(f"note: {line}")


def _without_lid(fabric: Fabric) -> list[Port]:
    return [Port(node.guid, number) for node in fabric.nodes.values() for number in node.without_lid]


def _list(entries: tuple[Any, ...]) -> str:
    return " ".join(f"{e.vl}:{e.weight}" for e in entries if e.weight) or "empty"


@app.command(epilog="Example: vlane fabric check tests/data/torus44_2qos. Exit status 1 if the check fails.")
def check(
    folder: Folder,
    strict: Annotated[  # noqa: FBT002
        bool, typer.Option("--strict", help="Exit with status 1 for warnings and unchecked classes, too.")
    ] = False,
    page: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for an HTML page, index.html.")] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help=f"Output format: {', '.join(Format)}.")
    ] = Format.TEXT,
    names: NameMap = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Check a captured fabric: credit loops, unreachable pairs, unserved lanes, tables that differ from its options."""
    chosen = _form(form, as_json=as_json)
    try:
        fabric = load_fabric(folder, partial=True, names=names)
        trace = trace_pairs(fabric)
        report = check_fabric(fabric, trace)
    except InputError as error:
        if chosen is Format.NAGIOS:
            _end(*nagios_unknown(str(error)))
        raise
    ok = report.spotless if strict else report.ok
    if page is not None:
        from vlane.sim_top.fabric.fabric_page import write_fabric_page  # noqa: PLC0415 - a check alone needs no page

        note(f"page: {write_fabric_page(fabric, report, trace, page, ok=ok)}")
    if chosen is Format.NAGIOS:
        _end(*nagios_line(fabric, report))
    if chosen is Format.PROMETHEUS:
        _end(prometheus_text(fabric, report, ok=ok).rstrip("\n"), 0 if ok else 1)
    if chosen is Format.JSON:
        emit_json(_document(fabric, report, ok=ok))
    else:
        _print(fabric, report, ok=ok)
    raise typer.Exit(0 if ok else 1)


def _form(form: str, *, as_json: bool) -> Format:
    if form not in list(Format):
        raise unknown_word("--format", list(Format), form)
    if as_json and form not in (Format.TEXT, Format.JSON):
        raise misplaced("--json", f"with --format {form}")
    return Format.JSON if as_json else Format(form)


def _end(text: str, status: int) -> NoReturn:
    """Print a result for a monitoring system, and end the command."""
    for line in text.split("\n"):
        say(line)
    raise typer.Exit(status)


def _link(fabric: Fabric, hop: Hop) -> dict[str, Any]:
    node = fabric.nodes[hop.port.guid]
    far = node.links[hop.port.number]
    return {
        "from": node.name,
        "port": hop.port.number,
        "to": fabric.nodes[far.guid].name,
        "vl": hop.vl,
        "guid": f"{node.guid:#x}",
        "lid": fabric.locate(hop.port).lid,
        "to_guid": f"{far.guid:#x}",
        "to_port": far.number,
    }


def _place(fabric: Fabric, port: Port) -> dict[str, Any]:
    """Return a port as every other tool names it."""
    place = fabric.locate(port)
    return {"node": place.node, "guid": f"{place.guid:#x}", "lid": place.lid, "port": place.port}


def _finding(fabric: Fabric, finding: Finding) -> dict[str, Any]:
    slid, dlid = finding.pair or (None, None)
    return {
        "code": finding.code,
        "severity": finding.severity,
        "where": finding.where,
        "message": finding.message,
        "ports": [_place(fabric, port) for port in finding.ports],
        **({} if finding.pair is None else {"slid": slid, "dlid": dlid}),
    }


def _document(fabric: Fabric, report: FabricReport, *, ok: bool) -> dict[str, Any]:
    return {
        "name": fabric.name,
        "ok": ok,
        "verdict": verdict(report, ok=ok),
        "loops": [[_link(fabric, hop) for hop in loop] for loop in report.loops],
        "unreachable": [pair._asdict() for pair in report.unreachable],
        "unreachable_pairs": report.unreachable_pairs,
        "unserved_vls": [
            {"where": fabric.show(u.port), "vl": u.vl, "pairs": u.pairs, **_place(fabric, u.port)}
            for u in report.unserved
        ],
        "warnings": [_finding(fabric, finding) for finding in report.warnings],
        "coverage": {code: coverage._asdict() for code, coverage in report.coverage.items()},
        "not_checked": list(report.not_checked),
        "missing": [
            {
                "what": m.what,
                "codes": list(m.codes),
                "instead": m.instead,
                "ports": [_place(fabric, port) for port in m.ports],
            }
            for m in report.missing
        ],
        "unreadable": [
            {"file": file, "line": error.line, "field": error.field, "must": error.must, "got": error.shown}
            for file, errors in fabric.remarks.unreadable.items()
            for error in errors
        ],
        "assumptions": list(report.assumptions),
    }


_MOST = 4
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def _print(fabric: Fabric, report: FabricReport, *, ok: bool) -> None:
    say(f"{fabric.name}: ", end="")
    style = "red" if not ok else "yellow" if report.not_checked else "green"
    say(verdict(report, ok=ok), end="", style=style)
    say(f"; {', '.join(counts(report))}")
    for finding in report.warnings:
        say(f"{finding.severity} {finding.code} ", end="", style=_COLOURS[finding.severity])
        say(f"{finding.where}: {finding.message}")
    listed = {f"{each.what}: {each.instead}" for each in report.missing}
    for line in report.assumptions:
        if line not in listed:
            say(f"assumed: {line}")
