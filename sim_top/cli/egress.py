"""``vlane egress``: one output port, with arrivals from a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.files import write_whole
from vlane.errors import InputError, misplaced, unknown_word
from vlane.golden.schedulers.served import served_lanes
from vlane.parameters import Parameters
from vlane.plugins import load_installed
from vlane.rates import LinkClock
from vlane.schedulers.plugged import find_scheduler, scheduler_names
from vlane.schedulers.programs import program_writes, read_program
from vlane.schedulers.registry import IB_ARBITER, SCHEDULERS
from vlane.schedulers.vlarb import VL15
from vlane.schedulers.writes import Write
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cli.options import AsJson, Params, PluginFiles, RateOption, clock_at, load_plugins
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.egress.arbiters import GoldenArbiter, HardwareArbiter
from vlane.sim_top.egress.egress import EgressRun, run_egress
from vlane.sim_top.egress.egress_summary import Departure, LaneSummary, Window
from vlane.sim_top.output.console import emit_json, note, say, screen, table
from vlane.study.arrivals import Arrival, read_arrivals, read_credits
from vlane.tb.machinery.native.model import compile_model

_MODELS = ("golden", "hardware", "both")


app = App()


@app.command(epilog="Example: vlane egress --table table.toml --arrivals arrivals.csv --model both")
def egress(
    table_file: Annotated[
        Path, typer.Option("--table", metavar="FILE", help="Table file (TOML or JSON) of the scheduler.")
    ],
    arrivals: Annotated[Path, typer.Option(metavar="FILE", help="Arriving packets (CSV: cycle,vl,bytes[,sl]).")],
    scheduler: Annotated[str, typer.Option(help=f"Scheduler: {', '.join(SCHEDULERS)}.")] = IB_ARBITER,
    model: Annotated[str, typer.Option(help="Model to run: golden, hardware or both.")] = "golden",
    departures: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the departures (CSV: cycle,vl,bytes,list).")
    ] = None,
    credit_file: Annotated[
        Path | None,
        typer.Option(
            "--credits", metavar="FILE", help="Credit limits (CSV: cycle,vl,blocks); VLs without rows are unlimited."
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print every departure.")] = False,  # noqa: FBT002
    param: Params = None,
    plugin: PluginFiles = None,
    rate: RateOption = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Run packets through one output port. With --model both, exit status 1 if golden and hardware differ.

    Shares cover the time in which every lane had a packet waiting (docs/egress.md).
    """
    clock = clock_at(rate)
    if model not in _MODELS:
        raise unknown_word("--model", _MODELS, model)
    load_plugins(plugin)
    load_installed()
    if scheduler not in scheduler_names():
        raise unknown_word("--scheduler", scheduler_names(), scheduler)
    if scheduler not in SCHEDULERS and model != "golden":
        raise misplaced(f"--model {model}", f"with scheduler {scheduler}: it has no hardware")
    packets = read_arrivals(arrivals)
    room = read_credits(credit_file) if credit_file else []
    lanes = max((packet.vl for packet in packets if packet.vl != VL15), default=0) + 1
    parameters, writes = _programmed(scheduler, table_file, lanes, param or [])
    _check_lanes(packets, parameters, arrivals)
    warnings = _unserved(scheduler, parameters, writes, packets)
    for warning in warnings:
        note(f"warning: {warning['where']}: {warning['message']}")
    runs: list[EgressRun] = []
    if model in ("golden", "both"):
        arbiter = GoldenArbiter(scheduler, parameters, writes)
        runs.append(run_egress(arbiter, packets, room, data_vls=parameters["data_vls"]))
    if model in ("hardware", "both"):
        shown_parameters = ", ".join(f"{k}={v}" for k, v in parameters.items())
        note(f"{scheduler} with {shown_parameters}")
        with compile_model(BLOCKS[scheduler].make(parameters), scheduler) as compiled:
            hardware = HardwareArbiter(compiled, scheduler, parameters.get("form", ""), writes)
            runs.append(run_egress(hardware, packets, room, data_vls=parameters["data_vls"]))
    first, last = runs[0], runs[-1]
    mismatch = _mismatch(first, last)
    if departures:
        _write(last, departures, clock)
    window = last.window
    if as_json:
        emit_json(
            {
                "scheduler": scheduler,
                "model": model,
                "parameters": dict(parameters),
                "departures": [_timed(d, clock) for d in last.departures] if listed else departures and str(departures),
                "window": window and _timed_window(window, clock),
                "per_vl": [_timed_lane(last, lane, clock) for lane in last.per_vl],
                "rate_gbps": clock and clock.rate_gbps,
                "cycle_ns": clock and clock.cycle_ns,
                "warnings": warnings,
                "equal": mismatch is None,
                "mismatch": mismatch,
            }
        )
    else:
        _print(last, clock, listed=listed)
        if mismatch:
            screen.print(f"MISMATCH at {mismatch}", style="red", markup=False)
    raise typer.Exit(1 if mismatch else 0)


def _programmed(scheduler: str, file: Path, lanes: int, param: list[str]) -> tuple[Parameters, list[Write]]:
    """Return parameters of the smallest port with all lanes, entries and requesters in use, and its table writes."""
    known = find_scheduler(scheduler)
    tables = read_program(file, known)
    table = tables.sections.get(scheduler)
    requesters, least = table.requesters() if table else 0, known.data_vls[0]
    base: dict[str, Any] = {"data_vls": _at_least(max(lanes, requesters), least)}
    if known.maps and tables.sl2vl:
        owners = tables.sl2vl.owners()
        base = {
            "data_vls": _at_least(max([lanes, *(vl + 1 for vl in owners)]), least),
            "requesters": max([2, requesters, *(sl + 1 for sl in owners.values())]),
        }
    parameters = known.parameters.of_words(param, {**base, **(table.shape() if table else {})})
    return parameters, program_writes(tables, scheduler, parameters, str(file))


def _at_least(lanes: int, least: int) -> int:
    """Return the smallest usual number of data lanes that is at least ``lanes`` and ``least``."""
    return next((count for count in (1, 2, 4, 8, 15) if count >= max(lanes, least)), lanes)


def _check_lanes(packets: list[Arrival], parameters: Mapping[str, Any], arrivals: Path) -> None:
    for packet in packets:
        if packet.vl == VL15:
            if not parameters["vl15"]:
                must, problem = f"0 to {parameters['data_vls'] - 1}", "15 needs a port with VL15 (--param vl15=true)"
                raise InputError("vl", must, VL15, source=str(arrivals), line=packet.line, problem=problem)
        elif packet.vl >= parameters["data_vls"]:
            must = f"0 to {parameters['data_vls'] - 1} or 15"
            raise InputError("vl", must, packet.vl, source=str(arrivals), line=packet.line)


def _unserved(
    scheduler: str, parameters: Mapping[str, Any], writes: list[Write], packets: list[Arrival]
) -> list[dict[str, str]]:
    """Return a warning for each data lane that has packets but no table entry."""
    lanes = sorted({packet.vl for packet in packets if packet.vl != VL15})
    served = served_lanes(scheduler, lanes, writes=writes, **parameters)
    return [
        {"code": "VL_UNSERVED", "where": f"VL {vl}", "message": "has packets, but no table entry serves it"}
        for vl in lanes
        if vl not in served
    ]


def _mismatch(golden: EgressRun, hardware: EgressRun) -> str | None:
    """Return a description of the first departure in which two runs differ, ``None`` if there is none."""
    for at, (one, other) in enumerate(zip_longest(golden.departures, hardware.departures)):
        if one != other:
            return f"departure {at}: golden {one or 'nothing'}, hardware {other or 'nothing'}"
    return None


def _timed(departure: Departure, clock: LinkClock | None) -> dict[str, Any]:
    return {**departure._asdict(), **({"ns": clock.ns(departure.cycle)} if clock else {})}


def _timed_window(window: Window, clock: LinkClock | None) -> dict[str, Any]:
    cycles = {"first_cycle": window.first_cycle, "last_cycle": window.last_cycle}
    if clock is None:
        return cycles
    return {**cycles, "first_ns": clock.ns(window.first_cycle), "last_ns": clock.ns(window.last_cycle)}


_WAITS = ("mean_wait", "p50_wait", "p99_wait", "max_wait")


def _timed_lane(run: EgressRun, lane: LaneSummary, clock: LinkClock | None) -> dict[str, Any]:
    """Return a lane's summary. A clock adds waits in ns and the window's throughput in Gb/s."""
    known = lane._asdict()
    if clock is None:
        return known
    times = {f"{name}_ns": clock.ns(known[f"{name}_cycles"]) for name in _WAITS}
    counted = run.counted_cycles
    return {**known, **times, "gbps": 8 * lane.window_bytes / clock.ns(counted) if counted else 0.0}


def _write(run: EgressRun, file: Path, clock: LinkClock | None) -> None:
    lines = [
        f"cycle,vl,bytes,list{',ns' if clock else ''}",
        *(
            f"{d.cycle},{d.vl},{d.bytes},{d.list}{f',{clock.ns(d.cycle):.15g}' if clock else ''}"
            for d in run.departures
        ),
    ]
    write_whole(file, "\n".join(lines) + "\n", option="--departures")


def _print(run: EgressRun, clock: LinkClock | None, *, listed: bool) -> None:
    if listed:
        sys.stdout.write(f"{'cycle':>12} {'VL':>3} {'bytes':>6} list{'            ns' if clock else ''}\n")
        for d in run.departures:
            time = f"{'':<{5 - len(d.list)}}{clock.ns(d.cycle):>13.2f}" if clock else ""
            sys.stdout.write(f"{d.cycle:>12} {d.vl:>3} {d.bytes:>6} {d.list}{time}\n")
    lanes = [
        [
            str(s.vl),
            str(s.packets),
            str(s.bytes),
            f"{100 * s.share:.1f} %",
            f"{s.mean_wait_cycles:.1f}",
            str(s.p50_wait_cycles),
            str(s.p99_wait_cycles),
            str(s.max_wait_cycles),
            str(s.left_behind),
        ]
        for s in run.per_vl
    ]
    columns = [">VL", ">packets", ">bytes", ">share", ">mean wait", ">p50", ">p99", ">longest wait", ">not sent"]
    screen.print(table("per VL; waits in cycles", columns, lanes))
    if clock:
        _print_times(run, clock)
    if run.window:
        first, last = run.window.first_cycle, run.window.last_cycle
        say(f"shares: bytes sent in cycles {first} to {last}, while every lane had a packet waiting")
    else:
        say("shares: whole run, because at no departure did every lane have a packet waiting")


def _print_times(run: EgressRun, clock: LinkClock) -> None:
    """Print throughput of the lanes in Gb/s and waits of their packets in ns."""
    rows = []
    for lane in run.per_vl:
        known = _timed_lane(run, lane, clock)
        rows.append([str(lane.vl), f"{known['gbps']:.2f}", *(f"{known[f'{name}_ns']:.1f}" for name in _WAITS)])
    title = f"throughput in Gb/s, waits in ns; {clock.cycle_ns:g} ns per cycle on a link of {clock.rate_gbps:g} Gb/s"
    screen.print(table(title, [">VL", ">Gb/s", ">mean wait", ">p50", ">p99", ">longest wait"], rows))
