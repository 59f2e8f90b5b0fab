"""``vlane egress``: one output port, fed from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from vlane.golden.schedulers import SCHEDULERS
from vlane.sim_top.arbiters import GoldenArbiter, HardwareArbiter
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.cli_options import AsJson, NoSeed, Params
from vlane.sim_top.console import emit_json, note, screen, table
from vlane.sim_top.egress import EgressRun, run_egress
from vlane.sim_top.schedule import Writes, read_schedule, schedule_writes
from vlane.tb.model import compile_model
from vlane.tb.stimulus_vlarb import writes_of

from vlane.arrivals import Arrival, read_arrivals, read_credits
from vlane.errors import InputError
from vlane.files import write_whole
from vlane.tables import read_vlarb_table
from vlane.vlarb import VL15

__all__ = ["register"]

_MODELS = ("golden", "hardware", "both")


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(epilog="Example: vlane egress --table table.toml --arrivals arrivals.csv --model both")(egress)


def egress(
    table_file: Annotated[Path, typer.Option("--table", metavar="FILE", help="Table file (TOML or JSON).")],
    arrivals: Annotated[Path, typer.Option(metavar="FILE", help="CSV: cycle,vl,bytes[,sl].")],
    scheduler: Annotated[str, typer.Option(help=f"One of: {', '.join(SCHEDULERS)}.")] = "vlarb",
    model: Annotated[str, typer.Option(help="golden, hardware or both.")] = "golden",
    departures: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write departures there: cycle,vl,bytes,list.")
    ] = None,
    credit_file: Annotated[
        Path | None,
        typer.Option("--credits", metavar="FILE", help="CSV: cycle,vl,blocks; lanes it does not name are unlimited."),
    ] = None,
    param: Params = None,
    as_json: AsJson = False,  # noqa: FBT002
    seed: NoSeed = 0,  # noqa: ARG001
) -> None:
    """Run packets through one output port. With --model both, exit status 1 if golden and hardware differ."""
    if model not in _MODELS:
        raise InputError("--model", f"one of {', '.join(_MODELS)}", model)
    if scheduler not in SCHEDULERS:
        raise InputError("--scheduler", f"one of {', '.join(SCHEDULERS)}", scheduler)
    packets = read_arrivals(arrivals)
    room = read_credits(credit_file) if credit_file else []
    lanes = max((packet.vl for packet in packets if packet.vl != VL15), default=0) + 1
    parameters, writes = _programmed(scheduler, table_file, lanes, param or [])
    _check_lanes(packets, parameters, arrivals)
    runs: list[EgressRun] = []
    if model in ("golden", "both"):
        arbiter = GoldenArbiter(scheduler, parameters, writes)
        runs.append(run_egress(arbiter, packets, room, data_vls=parameters["data_vls"]))
    if model in ("hardware", "both"):
        shown_parameters = ", ".join(f"{k}={v}" for k, v in parameters.items())
        note(f"compiling {scheduler} with {shown_parameters} (kept for the next run)")
        with compile_model(BLOCKS[scheduler].make(parameters), scheduler) as compiled:
            hardware = HardwareArbiter(compiled, scheduler, parameters.get("form", ""), writes)
            runs.append(run_egress(hardware, packets, room, data_vls=parameters["data_vls"]))
    first, last = runs[0], runs[-1]
    at = next(
        (i for i, pair in enumerate(zip(first.departures, last.departures, strict=False)) if pair[0] != pair[1]),
        None,
    )
    if at is None and len(first.departures) != len(last.departures):
        at = min(len(first.departures), len(last.departures))
    if departures:
        _write(last, departures)
    if as_json:
        emit_json(
            {
                "scheduler": scheduler,
                "model": model,
                "parameters": parameters,
                "departures": str(departures) if departures else [d._asdict() for d in last.departures],
                "per_vl": [lane._asdict() for lane in last.per_vl],
                "equal": at is None,
            }
        )
    else:
        _print(last, show_departures=departures is None)
    if at is not None:
        shown = [str(run.departures[at]) if at < len(run.departures) else "nothing" for run in (first, last)]
        screen.print(f"MISMATCH at departure {at}: golden {shown[0]}, hardware {shown[1]}", style="red", markup=False)
    raise typer.Exit(0 if at is None else 1)


def _programmed(scheduler: str, file: Path, lanes: int, param: list[str]) -> tuple[dict[str, Any], Writes]:
    """Return the smallest port that has every lane, entry and requester in use, and the writes of its table."""
    if scheduler == "vlarb":
        arbitration = read_vlarb_table(file)
        named = [entry.vl for entry in arbitration.high + arbitration.low if entry.vl != VL15]
        longest = max(len(arbitration.high), len(arbitration.low), 1)
        base = {"data_vls": _at_least(max([lanes - 1, *named]) + 1, 1), "entries": longest}
        parameters = BLOCKS[scheduler].parameters(param, base)
        if longest > parameters["entries"]:
            most = f"at most {parameters['entries']} entries per list"
            raise InputError("vlarb", most, f"{longest} entries", source=str(file))
        return parameters, writes_of(arbitration, parameters["entries"])
    tables = read_schedule(file, scheduler)
    entries = tables.dtable.entries if tables.dtable and scheduler == "dtable" else ()
    values = {"drr": tables.drr and tables.drr.quantum, "scfq": tables.scfq and tables.scfq.weight}.get(scheduler) or ()
    requesters = max([len(values), *(entry.sl + 1 for entry in entries)])
    base = {"data_vls": _at_least(max(lanes, requesters), 2)}
    if tables.sl2vl:
        owners = tables.sl2vl.owners()
        base = {
            "data_vls": _at_least(max([lanes, *(vl + 1 for vl in owners)]), 2),
            "requesters": max([2, requesters, *(sl + 1 for sl in owners.values())]),
        }
    if entries:
        base["entries"] = next(size for size in (32, 64, 128) if size >= len(entries))
    parameters = BLOCKS[scheduler].parameters(param, base)
    return parameters, schedule_writes(tables, scheduler, parameters, str(file))


def _at_least(lanes: int, least: int) -> int:
    """Return the usual number of data lanes that holds so many."""
    return next((count for count in (1, 2, 4, 8, 15) if count >= max(lanes, least)), lanes)


def _check_lanes(packets: list[Arrival], parameters: Mapping[str, Any], arrivals: Path) -> None:
    for packet in packets:
        if packet.vl == VL15:
            if not parameters["vl15"]:
                raise InputError("vl", "a data lane of a port without VL15", VL15, source=str(arrivals))
        elif packet.vl >= parameters["data_vls"]:
            raise InputError("vl", f"0 to {parameters['data_vls'] - 1} or 15", packet.vl, source=str(arrivals))


def _write(run: EgressRun, file: Path) -> None:
    lines = ["cycle,vl,bytes,list", *(f"{d.cycle},{d.vl},{d.bytes},{d.list}" for d in run.departures)]
    write_whole(file, "\n".join(lines) + "\n", option="--departures")


def _print(run: EgressRun, *, show_departures: bool) -> None:
    if show_departures:
        rows = [[str(d.cycle), str(d.vl), str(d.bytes), d.list] for d in run.departures[:40]]
        more = f", the first 40 of {len(run.departures)}" if len(run.departures) > 40 else ""
        screen.print(table(f"departures{more}", [">cycle", ">VL", ">bytes", "list"], rows))
    lanes = [
        [
            str(s.vl),
            str(s.packets),
            str(s.bytes),
            f"{100 * s.share:.1f} %",
            f"{s.mean_wait_cycles:.1f}",
            str(s.max_wait_cycles),
            str(s.left_behind),
        ]
        for s in run.per_vl
    ]
    screen.print(
        table(
            "per VL",
            [">VL", ">packets", ">bytes", ">share", ">mean wait", ">longest wait", ">left behind"],
            lanes,
        )
    )
