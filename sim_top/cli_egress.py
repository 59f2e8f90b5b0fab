"""``vlane egress``: one output port, fed from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.console import emit_json, note, screen, table
from vlane.sim_top.egress import EgressRun, GoldenArbiter, HardwareArbiter, run_egress
from vlane.tb.model import compile_model

from vlane.arrivals import Arrival, Credit, read_arrivals, read_credits
from vlane.errors import InputError
from vlane.files import write_whole
from vlane.tables import read_vlarb_table
from vlane.vlarb import VL15, VLArbTable

__all__ = ["register"]

_MODELS = ("golden", "hardware", "both")
_SCHEDULERS = ("vlarb",)


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(epilog="Example: vlane egress --table table.toml --arrivals arrivals.csv --model both")(egress)


def egress(
    table_file: Annotated[Path, typer.Option("--table", metavar="FILE", help="Table file (TOML or JSON).")],
    arrivals: Annotated[Path, typer.Option(metavar="FILE", help="CSV: cycle,vl,bytes[,sl].")],
    scheduler: Annotated[str, typer.Option(help=f"One of: {', '.join(_SCHEDULERS)}.")] = "vlarb",
    model: Annotated[str, typer.Option(help="golden, hardware or both.")] = "golden",
    departures: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write departures there: cycle,vl,bytes,list.")
    ] = None,
    credit_file: Annotated[
        Path | None,
        typer.Option("--credits", metavar="FILE", help="CSV: cycle,vl,blocks; lanes it does not name are unlimited."),
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="K=V", help="A parameter of the arbiter.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,  # noqa: FBT002
    seed: Annotated[int, typer.Option(help="Has no effect: nothing here is drawn at random.")] = 0,  # noqa: ARG001
) -> None:
    """Run packets through one output port. With --model both, exit status 1 if golden and hardware differ."""
    if model not in _MODELS:
        raise InputError("--model", f"one of {', '.join(_MODELS)}", model)
    if scheduler not in _SCHEDULERS:
        raise InputError("--scheduler", f"one of {', '.join(_SCHEDULERS)}", scheduler)
    arbitration = read_vlarb_table(table_file)
    packets = read_arrivals(arrivals)
    room = read_credits(credit_file) if credit_file else []
    parameters = BLOCKS["vlarb"].parameters(param or [], _fitting(arbitration, packets))
    _check_fit(arbitration, packets, parameters["data_vls"], parameters["entries"], arrivals, table_file)
    if not parameters["vl15"] and any(packet.vl == VL15 for packet in packets):
        raise InputError("vl", "a data lane of a port without VL15", VL15, source=str(arrivals))
    runs: list[EgressRun] = []
    if model in ("golden", "both"):
        arbiter = GoldenArbiter(arbitration, data_vls=parameters["data_vls"], entries=parameters["entries"])
        runs.append(run_egress(arbiter, packets, room, data_vls=parameters["data_vls"]))
    if model in ("hardware", "both"):
        note(f"compiling vlarb with {', '.join(f'{k}={v}' for k, v in parameters.items())} (kept for the next run)")
        runs.append(_hardware(arbitration, packets, room, {**parameters, "vl15": True}))
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


def _hardware(table_: VLArbTable, packets: list[Arrival], room: list[Credit], parameters: dict[str, int]) -> EgressRun:
    with compile_model(BLOCKS["vlarb"].make(parameters), "vlarb") as compiled:
        return run_egress(
            HardwareArbiter(compiled, table_, entries=parameters["entries"]),
            packets,
            room,
            data_vls=parameters["data_vls"],
        )


def _fitting(table_: VLArbTable, packets: list[Arrival]) -> dict[str, int]:
    """Return the smallest port that has every lane and entry in use."""
    lanes = {entry.vl for entry in table_.high + table_.low} | {packet.vl for packet in packets}
    most = max((vl for vl in lanes if vl != VL15), default=0)
    return {
        "data_vls": next(count for count in (1, 2, 4, 8, 15) if count > most),
        "entries": max(len(table_.high), len(table_.low), 1),
    }


def _check_fit(
    table_: VLArbTable, packets: list[Arrival], data_vls: int, entries: int, arrivals: Path, file: Path
) -> None:
    longest = max(len(table_.high), len(table_.low))
    if longest > entries:
        raise InputError("vlarb", f"at most {entries} entries per list", f"{longest} entries", source=str(file))
    for packet in packets:
        if packet.vl != VL15 and packet.vl >= data_vls:
            raise InputError("vl", f"0 to {data_vls - 1} or 15", packet.vl, source=str(arrivals))


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
