"""``vlane vlarb``: shares and waits given by a fabric's arbitration tables, and tables planned for requirements."""

from __future__ import annotations

from math import isinf
from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.files import write_whole
from vlane.errors import InputError, misplaced, missing_value
from vlane.fabric.capture import load_fabric
from vlane.fabric.dumps.opensm_conf import OpenSMConf, read_opensm_conf
from vlane.fabric.finding import Finding
from vlane.fabric.model import Fabric, Kind
from vlane.fabric.option_findings import (
    line_findings,
    list_findings,
    off_findings,
    reduced_findings,
    share_findings,
    starvation_findings,
)
from vlane.fabric.options.rules import ASSUMED_VLS, OP_VLS, data_vls
from vlane.planning.vlarb_plan import PlannedLevel, VLArbPlan, opensm_lines, plan_vlarb
from vlane.planning.vlarb_wants import Wants, read_wants
from vlane.rates import DEFAULT_RATE, LinkClock, rate_of
from vlane.schedulers.vlarb import VLArbTable
from vlane.sim_top.cli.options import AsJson, numbers_of
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.fabric.vlarb_explained import ASSUMED_MTU, LevelGets, PortsAlike, explain, explain_options
from vlane.sim_top.fabric.vlarb_page import in_words, shown_lanes, shown_wait, write_vlarb_page
from vlane.sim_top.output.console import emit_json, say, screen, table
from vlane.tables.sl2vl import SL_COUNT, VL_DROP
from vlane.units import MTUS

_COMMON_ENTRIES = 8
"""Entries of a list that ports of every kind were seen to hold."""

app = App(help="Explain and plan InfiniBand VL arbitration tables.")


@app.callback()
def _group() -> None:
    """Explain and plan InfiniBand VL arbitration tables."""


@app.command("explain", epilog="Example: vlane vlarb explain --fabric tests/data/two_switch --rate 'EDR 4X'")
def explain_tables(
    conf: Annotated[
        Path | None, typer.Argument(metavar="[OPENSM_CONF]", help="Options file of OpenSM; or give --fabric.")
    ] = None,
    fabric: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of a captured fabric.")] = None,
    rate: Annotated[
        str, typer.Option("--rate", metavar="GBPS", help="Data rate of every link, in Gb/s or by name (EDR 4X).")
    ] = str(DEFAULT_RATE),
    sls: Annotated[
        str, typer.Option("--sls", metavar="SL,SL", help="Service levels with traffic. [default: all 16]")
    ] = "",
    mtu: Annotated[
        int | None, typer.Option("--mtu", metavar="BYTES", help="MTU of all ports, with OPENSM_CONF. [default: 4096]")
    ] = None,
    vls: Annotated[
        int | None, typer.Option("--vls", metavar="N", help="Data lanes, with OPENSM_CONF. [default: max_op_vls, or 8]")
    ] = None,
    page: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for an HTML page, index.html.")] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Explain the share of a full link, the rate and the longest wait of each service level."""
    if conf is None and fabric is None:
        raise missing_value("OPENSM_CONF", "name an options file, or a capture with --fabric")
    if conf is not None and fabric is not None:
        raise misplaced("--fabric", "with OPENSM_CONF: give one of them")
    for option, value, known in (("--mtu", mtu, MTUS), ("--vls", vls, OP_VLS[1:])):
        if value is not None and fabric is not None:
            raise misplaced(option, "with --fabric: the capture has the value of each port")
        if value is not None and value not in known:
            raise InputError(option, f"one of {', '.join(map(str, known))}", value)
    clock = LinkClock(rate_of(rate, "--rate"))
    sending = numbers_of("--sls", sls, SL_COUNT - 1) or range(SL_COUNT)
    remarks: list[Finding] = []
    assumed: list[str] = []
    if conf is not None:
        options = read_opensm_conf(conf)
        name, assumed = options.file, _assumed(options, mtu, vls)
        groups = explain_options(options, sending, mtu=mtu or ASSUMED_MTU, data_vls=_data_vls(options, vls))
        remarks = _remarks(options, groups, _data_vls(options, vls))
    else:
        loaded = _fabric_with_tables(fabric or Path())
        name, groups = loaded.name, explain(loaded, sending)
    files = [write_vlarb_page(name, groups, clock, page)] if page else []
    if as_json:
        emit_json(
            {
                "fabric": None if conf else name,
                "conf": name if conf else None,
                "rate_gbps": clock.rate_gbps,
                "ports": [_group_document(each, clock) for each in groups],
                "remarks": [{"code": each.code, "where": each.where, "message": each.message} for each in remarks],
                "assumed": assumed,
                "pages": [str(file) for file in files],
            }
        )
        return
    for remark in remarks:
        say(f"{remark.code} {remark.where}: {remark.message}", style="yellow")
    for each in groups:
        _print(each, clock)
    for line in assumed:
        say(f"assumed: {line}")
    for file in files:
        screen.print(str(file), markup=False, soft_wrap=True)


def _data_vls(conf: OpenSMConf, vls: int | None) -> int:
    return data_vls(conf.parsed, vls or 0)


def _remarks(conf: OpenSMConf, groups: list[PortsAlike], data_vls: int) -> list[Finding]:
    """Return the lines that OpenSM misreads, starvation, and shares of whole packets, each once for all ports."""
    remarks = [*line_findings(conf), *off_findings(conf)]
    for kind in Kind:
        if kind is not Kind.ROUTER or conf.sets(kind):
            found = (*list_findings(conf, kind), *reduced_findings(conf, kind, data_vls))
            remarks += [each._replace(where=each.where.rpartition(" (")[0]) for each in found]
    for group in groups:
        remarks += starvation_findings(group.label, group.table, data_vls)
        remarks += share_findings(group.label, group.table, mtu=group.mtu, vls=data_vls)
    return list(dict.fromkeys(remarks))


def _assumed(conf: OpenSMConf, mtu: int | None, vls: int | None) -> list[str]:
    """Return the properties of ports that neither the options nor the command line give."""
    assumed = [] if mtu else [f"MTU {ASSUMED_MTU} (--mtu gives another)"]
    if not (vls or conf.max_op_vls):
        assumed.append(f"{ASSUMED_VLS} data lanes (--vls gives another number)")
    lists = (each for kind in Kind for each in (conf.configured(kind).high, conf.configured(kind).low) if each.line)
    longest = max((len(conf.configured(Kind.CA).pairs(each)) for each in lists), default=0)
    if longest > _COMMON_ENTRIES:
        assumed.append(f"ports hold lists of {longest} entries; OpenSM drops what is beyond the capacity of a port")
    return assumed


@app.command("plan", epilog="Example: vlane vlarb plan sim_top/configs/vlarb_wants.toml --out table.toml")
def plan_tables(
    file: Annotated[Path, typer.Argument(metavar="WANTS", help="Requirements (TOML) with [link] and [[level]].")],
    fabric: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Captured fabric whose current tables are printed for comparison."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the planned tables to a table file.")] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Plan arbitration tables for minimum shares, maximum waits and upper bounds of service levels."""
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
                "today": [_group_document(each, wants.clock) for each in groups] if loaded else None,
                "file": str(out) if out else None,
            }
        )
        return
    _print_plan(planned, wants)
    if loaded:
        for each in groups:
            _print(each, wants.clock)


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
        "at_most": None if level.wanted.at_most is None else float(level.wanted.at_most),
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
        most = "" if each["at_most"] is None else f"{100 * each['at_most']:.2f} %"
        shares = [wanted, most, f"{100 * each['share']:.2f} %", f"{each['rate_gbps']:,.3g}"]
        rows.append([str(each["sl"]), str(each["vl"]), each["priority"], *shares, *waits])
    columns = [
        ">SL",
        ">VL",
        "list",
        ">share wanted",
        ">at most",
        ">share",
        ">Gb/s",
        ">wait wanted (us)",
        ">longest wait (us)",
    ]
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


def _group_document(group: PortsAlike, clock: LinkClock) -> dict[str, Any]:
    return {
        "ports": list(group.names),
        "mtu": group.mtu,
        **_lists(group.table),
        "limit_source": group.limit_source,
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


def _print(group: PortsAlike, clock: LinkClock) -> None:
    rows = [_row(level, clock) for level in group.levels]
    columns = [">SL", ">VL", ">share", ">from", ">to", ">Gb/s", ">longest wait (us)"]
    screen.print(table(f"{group.label}, MTU {group.mtu}", columns, rows))
    if any(level.sharing for level in group.levels):
        say("share, Gb/s and wait are those of the lane; levels in one lane divide the share")
    say(f"LimitOfHighPriority {group.table.limit_of_high_priority}, from {group.limit_source}")
    for level in group.levels:
        if not level.served or isinf(level.wait_blocks):
            say(f"SL {level.sl}: {in_words(level, clock)}", style="yellow")


def _row(level: LevelGets, clock: LinkClock) -> list[str]:
    shares = [f"{100 * value:.2f} %" for value in (level.share, level.least, level.most)]
    return [
        str(level.sl),
        shown_lanes(level),
        *shares,
        f"{level.share * clock.rate_gbps:,.3g}",
        shown_wait(level, clock),
    ]
