"""``vlane area``: what a block takes of a chip, and how fast it runs there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from vlane.sim_top.area import TARGETS, Area, measure_area
from vlane.sim_top.blocks import Block, find_block
from vlane.sim_top.cli_options import AsJson, Params
from vlane.sim_top.console import emit_json, note, screen, table
from vlane.sim_top.decision_rate import decisions_per_cycle
from vlane.sim_top.liberty import Liberty

from vlane.errors import InputError

__all__ = ["register"]

_SHAPES: dict[str, tuple[dict[str, Any], ...]] = {
    "vlarb": ({"data_vls": 15, "entries": 64, "form": "line_rate"}, {}),
    "dtable": ({"entries": 32},),
    "drr": ({},),
    "scfq": ({},),
    "rr": ({},),
    "sl2vl": ({},),
    "sc": ({"ports": 4},),
    "lft": ({"lookups": 1},),
    "credit_ib": ({},),
    "credit_opa": ({"vls": 4},),
    "vlbuffer": ({},),
    "ib_switch": ({"ports": 4, "data_vls": 2, "blocks": 32, "maximum": 20},),
}
"""What is measured of a block without ``--param``; without a block, all of these."""


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(epilog="Example: vlane area vlarb dtable --target ecp5 --seeds 5 --json")(area)


def area(
    blocks: Annotated[
        list[str] | None, typer.Argument(metavar="[BLOCK]...", help=f"Any of: {', '.join(_SHAPES)}; all if left out.")
    ] = None,
    target: Annotated[str, typer.Option(help=f"One of: {', '.join(TARGETS)}.")] = "ecp5",
    liberty: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Cells for gates; without it, a small generic library.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Placements per instance; 0 for none. Gates are not placed.")] = 1,
    param: Params = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Synthesise blocks and estimate their speed. What was measured once is kept."""
    if target not in TARGETS:
        raise InputError("--target", f"one of {', '.join(TARGETS)}", target)
    if seeds < 0:
        raise InputError("--seeds", "at least 0", seeds)
    if liberty is not None and target != "gates":
        raise InputError("--liberty", "given with --target gates", target)
    library = Liberty.read(liberty)
    instances = [
        (block, block.parameters(param or [], shape))
        for block in (find_block(name) for name in blocks or _SHAPES)
        for shape in (({},) if param else _SHAPES.get(block.name, ({},)))
    ]
    measured = []
    for block, parameters in instances:
        note(f"{block.name} with {', '.join(f'{k}={v}' for k, v in parameters.items())} for {target}")
        found = measure_area(block, parameters, target=target, seeds=seeds, liberty=library)
        measured.append((block, parameters, found, decisions_per_cycle(block, parameters)))
    if as_json:
        emit_json({"target": target, "blocks": [_document(*each) for each in measured]})
    else:
        _print(target, measured)


def _document(block: Block, parameters: dict[str, Any], found: Area, rate: float | None) -> dict[str, Any]:
    return {
        "block": block.name,
        "parameters": parameters,
        "lut": found.lut,
        "ff": found.ff,
        "ram": found.ram,
        "fmax_mhz": list(found.fmax_mhz),
        "median_fmax_mhz": found.median_fmax_mhz,
        "ge": found.ge,
        "ge_storage": found.ge_storage,
        "decisions_per_cycle": rate,
        "cells": dict(found.cells),
    }


def _print(target: str, measured: list[tuple[Block, dict[str, Any], Area, float | None]]) -> None:
    gates = target == "gates"
    counted = [">GE", ">of it storage"] if gates else [">LUT", ">FF", ">RAM", ">MHz (median)"]
    rows = []
    for block, parameters, found, rate in measured:
        shown = ", ".join(f"{k}={v}" for k, v in parameters.items() if v != block.defaults()[k])
        numbers = [found.ge, found.ge_storage] if gates else [found.lut, found.ff, found.ram, found.median_fmax_mhz]
        cells = ["" if number is None else f"{number:,}" for number in numbers]
        rows.append([block.name, shown, *cells, "" if rate is None else f"{rate:g}"])
    screen.print(table(f"Area for {target}", ["block", "parameters", *counted, ">decisions a cycle"], rows))
