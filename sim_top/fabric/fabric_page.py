"""The page of a captured fabric: findings, the network with the paths of every link, tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vlane.documents.files import usable_folder
from vlane.fabric.check import FabricReport
from vlane.fabric.model import Fabric, Kind, Port
from vlane.fabric.trace import Trace
from vlane.fabric.verdict import counts, verdict
from vlane.fabric.waits import LANES
from vlane.fabric.wiring import NOWHERE, Ints
from vlane.schedulers.vlarb import VLArbEntry
from vlane.sim_top.output.network_drawing import Link, Scale, drawn_network
from vlane.sim_top.output.page import MOST_ROWS, Cell, Column, Drawing, Page, Section, Table, Verdict, short, write

_PAIRS = "ordered pairs of adapter LIDs whose packets take it"
_MOST_ASSUMED = 40


def write_fabric_page(fabric: Fabric, report: FabricReport, trace: Trace, folder: Path, *, ok: bool) -> Path:
    """Write ``index.html`` of a fabric into a folder; return it.

    Parameters
    ----------
    fabric : Fabric
        The capture.
    report : FabricReport
        Findings of its check.
    trace : Trace
        The paths of its pairs.
    folder : Path
        Made if it is missing.
    ok : bool
        Whether the check holds.

    Raises
    ------
    InputError
        Naming ``--page``, if the page cannot be written.
    """
    usable_folder(folder, option="--page")
    sections = [
        Section(
            "Findings",
            _findings(fabric, report),
            _assumed(report) if report.warnings or report.assumptions else ["None."],
        ),
        Section("Network", [_network(fabric, trace), _links(fabric, trace)]),
        Section("Switches", [_switches(fabric, trace)]),
        Section("VL arbitration tables", [_tables(fabric)]),
        Section("Service levels", [_levels(report)]),
    ]
    page = Page(f"{fabric.name}: captured fabric", sections, [_verdict(report, ok=ok)], _facts(fabric, report, trace))
    return write(page, folder / "index.html", option="--page")


def _verdict(report: FabricReport, *, ok: bool) -> Verdict:
    said = verdict(report, ok=ok)
    return Verdict(
        "bad" if not ok else "warn" if report.not_checked else "good",
        f"{said[0].upper()}{said[1:]}.",
        ", ".join(counts(report)),
    )


def _facts(fabric: Fabric, report: FabricReport, trace: Trace) -> list[tuple[str, str]]:
    pairs, switches = sum(report.path_sls.values()), fabric.of_kind(Kind.SWITCH)
    routers = len(fabric.of_kind(Kind.ROUTER))
    hosts = f"{len(fabric.hosts):,} hosts" + (f", {routers:,} routers" if routers else "")
    hosts += f", {len(fabric.devices):,} adapters of devices" if fabric.devices else ""
    used = int((_pairs(trace) > 0).sum())
    return [
        ("Network", f"{len(switches):,} switches, {hosts}, {fabric.cables:,} cables"),
        ("Lanes", f"{fabric.data_vls} data VLs" + (f", MTU {fabric.mtu}" if fabric.mtu else "")),
        ("Followed", f"{pairs:,} pairs of adapters, {report.unreachable_pairs:,} of which do not arrive"),
        ("Links in use", f"{used:,} of {2 * fabric.cables:,}, each direction one"),
        ("Not checked", ", ".join(report.not_checked) or "nothing was left unchecked"),
    ]


def _assumed(report: FabricReport) -> list[str]:
    lines = [f"Assumed: {short(line, 300)}" for line in report.assumptions]
    more = len(lines) - _MOST_ASSUMED
    return lines if more <= 0 else [*lines[:_MOST_ASSUMED], f"Assumed: {more} more, which the command lists."]


def _findings(fabric: Fabric, report: FabricReport) -> list[Table | Drawing]:
    order = {"error": 0, "warning": 1, "note": 2}
    words = [Column(name, is_number=False) for name in ("severity", "code", "place", "finding")]
    rows = [
        (
            Cell(finding.severity, is_number=False, order=order[finding.severity]),
            finding.code,
            finding.where,
            finding.message,
        )
        for finding in report.warnings
    ]
    made: list[Table | Drawing] = [Table("Findings of the check", words, rows)] if rows else []
    if report.loops:
        columns = [
            Column("loop"),
            Column("step"),
            *(Column(name, is_number=False) for name in ("link from", "to")),
            Column("VL"),
        ]
        steps = [
            (number, step, fabric.show(hop.port), _far(fabric, hop.port), hop.vl)
            for number, loop in enumerate(report.loops, start=1)
            for step, hop in enumerate(loop, start=1)
        ]
        made.append(Table("Credit loops: each link waits for the next, the last for the first", columns, steps))
    return made


def _far(fabric: Fabric, port: Port) -> str:
    far = fabric.nodes[port.guid].links.get(port.number)
    return "" if far is None else fabric.show(far)


def _pairs(trace: Trace) -> Ints:
    """Return the pairs that use each port, all lanes together."""
    return trace.traffic.reshape(-1, LANES).sum(axis=1)


def _network(fabric: Fabric, trace: Trace) -> Drawing:
    wiring, pairs = trace.wiring, _pairs(trace)
    names = [node.name or f"{node.guid:#x}" for node in wiring.nodes]
    known = bool(fabric.lfts) or not wiring.switches
    cabled = np.flatnonzero(wiring.far != NOWHERE)
    here, there = wiring.node[cabled], wiring.node[wiring.far[cabled]]
    hangs = {one: other for one, other in zip(here.tolist(), there.tolist(), strict=True) if wiring.switch[other] >= 0}
    # An adapter that hangs on no switch is drawn as one, wherever its cable leads.
    is_host = np.array([wiring.switch[node] < 0 and node in hangs for node in range(len(names))], bool)
    number = np.where(is_host, (~is_host).sum() + np.cumsum(is_host) - 1, np.cumsum(~is_host) - 1).tolist()
    port_of = np.where(is_host[wiring.node], 0, np.arange(len(wiring.node)) - wiring.first[wiring.node]).tolist()
    links = [
        Link(number[one], port_of[port], number[other], port_of[far], (float(pairs[port]) if known else None,))
        for port, far, one, other in zip(
            cabled.tolist(), wiring.far[cabled].tolist(), here.tolist(), there.tolist(), strict=True
        )
    ]
    hosts = np.flatnonzero(is_host).tolist()
    most = float(pairs[cabled].max(initial=0)) or 1.0
    scale = Scale("paths", most, ("0", f"{most:,.0f}"), "{} " + _PAIRS, nothing="not known")
    caption = "Every link, one line for each direction; its colour says how many paths it carries"
    return drawn_network(
        [names[node] for node in np.flatnonzero(~is_host)],
        [names[node] for node in hosts],
        [number[hangs[node]] for node in hosts],
        links,
        scale,
        caption=caption,
    )


def _links(fabric: Fabric, trace: Trace) -> Table:
    wiring, lanes = trace.wiring, trace.traffic.reshape(-1, LANES)
    pairs = lanes.sum(axis=1)
    cabled = np.flatnonzero(wiring.far != NOWHERE)
    order = cabled[np.argsort(-pairs[cabled], kind="stable")]
    rows = [
        (
            fabric.show(wiring.port(port)),
            fabric.show(wiring.port(int(wiring.far[port]))),
            int(pairs[port]),
            " ".join(f"{vl}:{count:,}" for vl, count in enumerate(lanes[port].tolist()) if count),
            int(wiring.lanes[port]),
        )
        for port in order[:MOST_ROWS].tolist()
    ]
    columns = [
        Column("from", is_number=False),
        Column("to", is_number=False),
        Column("paths", meaning=_PAIRS),
        Column("VL:paths", is_number=False),
        Column("data VLs"),
    ]
    return Table("Links, each direction one, most paths first", columns, rows, whole=len(order))


def _switches(fabric: Fabric, trace: Trace) -> Table:
    wiring, pairs = trace.wiring, _pairs(trace)
    rows = []
    for number, node in enumerate(wiring.nodes):
        if node.kind is not Kind.SWITCH:
            continue
        hosts = sum(fabric.nodes[far.guid].kind is not Kind.SWITCH for far in node.links.values())
        out = pairs[wiring.first[number] : wiring.first[number + 1]]
        rows.append(
            (node.name, f"{node.guid:#018x}", node.lids.get(0), node.ports, len(node.links), hosts, int(out.sum()))
        )
    columns = [
        Column("name", is_number=False),
        Column("GUID", is_number=False),
        Column("LID", form="d"),
        Column("ports"),
        Column("cabled"),
        Column("hosts"),
        Column("paths through it", meaning="ordered pairs, at all its outputs together"),
    ]
    return Table("Switches", columns, rows)


def _tables(fabric: Fabric) -> Table:
    rows = [
        (fabric.show(ports[0]), len(ports), _entries(table.high), _entries(table.low), table.limit_of_high_priority)
        for table, ports in fabric.distinct_tables().items()
    ]
    columns = [
        Column("first port", is_number=False),
        Column("ports"),
        Column("high, VL:weight", is_number=False),
        Column("low, VL:weight", is_number=False),
        Column("LimitOfHighPriority", meaning="units of 4096 bytes; 255 is unbounded"),
    ]
    caption = "Different tables and where they are; entries of weight 0 are left out"
    return Table(caption if rows else "No arbitration table was captured", columns, rows)


def _entries(entries: tuple[VLArbEntry, ...]) -> str:
    return " ".join(f"{entry.vl}:{entry.weight}" for entry in entries if entry.weight) or "empty"


def _levels(report: FabricReport) -> Table:
    whole = sum(report.path_sls.values())
    rows = [(sl, pairs, 100 * pairs / whole) for sl, pairs in sorted(report.path_sls.items())]
    return Table(
        "Pairs of adapters by the SL of their path", [Column("SL"), Column("pairs"), Column("%", form=".2f")], rows
    )
