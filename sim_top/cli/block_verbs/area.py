"""``vlane area``: area and clock frequency of a block after synthesis."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Annotated, Any

import typer

from vlane.errors import InputError, misplaced, unknown_word
from vlane.extras import require_extra
from vlane.sim_top.blocks import BLOCKS, SYNTHESISED
from vlane.sim_top.cli.block_verbs.area_dut import area_of_design
from vlane.sim_top.cli.options import AsJson, Params
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.dut.sources import read_sources
from vlane.sim_top.output.console import emit_json, note, screen, table
from vlane.sim_top.silicon.area import TARGETS, UNPLACED_TARGETS, Area, measure_area
from vlane.sim_top.silicon.area_nouns import nouns_of
from vlane.sim_top.silicon.area_sweep import Measured, check_plot, instances_of, ratios, write_plot
from vlane.sim_top.silicon.critical_path import CriticalPath, Speed
from vlane.sim_top.silicon.decision_rate import decisions_per_cycle
from vlane.sim_top.silicon.liberty import Liberty

_MOST_SEEDS = 1000
_UNMEASURED = Area(None, None, None, None, {})
_SPEED = (">MHz (median)", ">spread", ">levels")
_PLACED_COLUMNS = [">LUT", ">FF", ">RAM", ">DSP", *_SPEED]
_COLUMNS = {
    "gates": [">GE", ">GE storage", ">um2", ">cells", ">levels", ">ns", ">MHz"],
    "generic": [">cells", ">FF", ">levels"],
}
"""Columns of targets without placement."""


app = App()


@app.command(epilog="Example: vlane area vlarb dtable --target ecp5 --seeds 5 --json")
def area(
    blocks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BLOCK[:K=V,K=V]]...",
            help=f"Blocks, optionally with parameters: {', '.join(BLOCKS)}. [default: all]",
        ),
    ] = None,
    target: Annotated[str, typer.Option(help=f"Technology: {', '.join(TARGETS)}.")] = "ecp5",
    liberty: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Liberty file with the cells of --target gates. [default: a small generic library]"
        ),
    ] = None,
    dont_use: Annotated[
        list[str] | None,
        typer.Option(
            "--dont-use",
            metavar="PATTERN",
            help="Cells of --liberty not to use, * stands for any text; repeatable. [default: by library]",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Number of placements, 0 for none; gates and generic are never placed. [default: 1; 0 with --nouns]"
        ),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep", metavar="K=V,V", help="Values of a parameter to synthesise; repeated options are combined."
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a plot of the sweep (PNG).")] = None,
    nouns: Annotated[bool, typer.Option("--nouns", help="Show the area of each part of one block (ECP5).")] = False,  # noqa: FBT002
    dut: Annotated[
        list[Path] | None,
        typer.Option("--dut", metavar="FILE", help="Verilog file of your own design to measure; repeatable."),
    ] = None,
    top: Annotated[str | None, typer.Option(metavar="NAME", help="Top module of --dut.")] = None,
    map_file: Annotated[
        Path | None,
        typer.Option("--map", metavar="FILE", help="Map of --dut with its clock, parameters and constants (TOML)."),
    ] = None,
    include: Annotated[list[Path] | None, typer.Option("-I", metavar="DIR", help="Include folder of --dut.")] = None,
    define: Annotated[list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Macro for --dut.")] = None,
    file_list: Annotated[list[Path] | None, typer.Option("-f", metavar="FILE", help="File list of --dut.")] = None,
    param: Params = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table in Markdown.")] = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Synthesise blocks, or your own design, and estimate the clock frequency. Results are cached.

    Exit status 1 if a tool fails for a block or a block does not fit; the other blocks are shown.
    """
    if target not in TARGETS:
        raise unknown_word("--target", TARGETS, target)
    seeds = (0 if nouns else 1) if seeds is None else seeds
    if not 0 <= seeds <= _MOST_SEEDS:
        raise InputError("--seeds", f"0 to {_MOST_SEEDS}", seeds)
    if liberty is not None and target != "gates":
        raise misplaced("--liberty", f"with --target {target}: it applies only to gates")
    if dont_use and liberty is None:
        raise misplaced("--dont-use", "without --liberty")
    library = Liberty.read(liberty, dont_use or ()) if target == "gates" else None
    if seeds and target not in UNPLACED_TARGETS:
        require_extra("silicon")
    if dut or file_list or top is not None:
        if blocks or nouns or sweep or plot or param:
            raise misplaced("BLOCK, --param, --nouns, --sweep and --plot", "with --dut")
        sources = read_sources(dut or [], lists=file_list or [], includes=include or [], defines=define or [])
        try:
            whole = area_of_design(sources, top, map_file, target=target, seeds=seeds, liberty=library)
        except (RuntimeError, TimeoutExpired) as error:
            note(f"synthesis failed: {error}")
            raise typer.Exit(1) from None
        _show_design(str(top), target, whole, as_json=as_json, markdown=markdown)
        return
    if nouns:
        given = bool(sweep or plot)
        _nouns(blocks or [], param or [], target, seeds=seeds, given=given, as_json=as_json, markdown=markdown)
        return
    instances = instances_of(blocks or SYNTHESISED, param or [], sweep or [])
    if plot is not None:
        check_plot(instances, plot)
    measured = []
    for each in instances:
        note(f"{each.block.name} with {', '.join(f'{k}={v}' for k, v in each.parameters.items())} for {target}")
        try:
            found = measure_area(each.block, each.parameters, target=target, seeds=seeds, liberty=library)
        except (RuntimeError, TimeoutExpired) as error:
            note(f"synthesis failed: {error}")
            measured.append(Measured(each, None, None))
        else:
            measured.append(Measured(each, found, decisions_per_cycle(each.block, each.parameters)))
    if plot is not None:
        write_plot(measured, plot, target=target)
    if as_json:
        rows = zip(measured, ratios(measured), strict=True)
        to = measured[0].instance.asked
        emit_json({"target": target, "ratios_to": to, "blocks": [_document(*row) for row in rows]})
    else:
        _show(f"Area for {target}", *_rows(target, measured), markdown=markdown)
        for shown in measured:
            _show_path(shown.instance.asked, shown.area.speed.path if shown.area else None)
            _show_gate_path(shown.instance.asked, shown.area)
    raise typer.Exit(1 if any(each.area is None for each in measured) else 0)


def _show(title: str, columns: list[str], cells: list[list[str]], *, markdown: bool) -> None:
    if not markdown:
        screen.print(table(title, columns, cells))
        return
    for row in (columns, ["---:" if name.startswith(">") else "---" for name in columns], *cells):
        screen.print(f"| {' | '.join(cell.lstrip('>') for cell in row)} |", markup=False, soft_wrap=True)


def _nouns(
    blocks: list[str], param: list[str], target: str, *, seeds: int, given: bool, as_json: bool, markdown: bool
) -> None:
    """Show the area of each part of a block, and its speed if there are seeds."""
    if len(blocks) != 1:
        raise InputError(
            "--nouns", "given with one BLOCK", " ".join(blocks) or "none", problem="needs exactly one BLOCK"
        )
    if target != "ecp5":
        raise InputError(
            "--target", "ecp5 with --nouns", target, problem=f"{target} cannot be used with --nouns: only ecp5"
        )
    if given:
        raise misplaced("--sweep and --plot", "with --nouns")
    (instance,) = instances_of(blocks, param, [])[-1:]
    block, parameters = instance.block, instance.parameters
    found = nouns_of(block, parameters, seeds=seeds)
    if as_json:
        parts = [{**asdict(noun), **noun.speed.document(), "lut_of_all": noun.lut * noun.instances} for noun in found]
        for part in parts:
            del part["speed"]
        emit_json({"target": target, "block": block.name, "parameters": dict(parameters), "nouns": parts})
        return
    cells = [
        [
            noun.name,
            *(
                f"{n:,}"
                for n in (
                    noun.instances,
                    noun.lut,
                    noun.ff,
                    noun.memory_bits,
                    noun.many_ports_bits,
                    noun.lut * noun.instances,
                    noun.ff * noun.instances,
                )
            ),
            *(_speed(noun.speed) if seeds else ()),
        ]
        for noun in found
    ]
    columns = ["part", ">instances", ">LUT", ">FF", ">memory bits", ">not in LUTs", ">LUT in all", ">FF in all"]
    _show(f"parts of {block.name}", [*columns, *(_SPEED if seeds else ())], cells, markdown=markdown)
    for noun in found:
        if noun.failure:
            note(f"{noun.name}: not placed: {noun.failure}")
        _show_path(noun.name, noun.speed.path)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,}"


def _speed(found: Speed) -> tuple[str, str, str]:
    """Return median and spread of the frequency, and the levels of the critical path."""
    levels = None if found.path is None else found.path.levels
    return _number(found.median_mhz), _number(found.spread_mhz), _number(levels)


def _show_path(name: str, path: CriticalPath | None) -> None:
    """Print the critical path of a placed block or part."""
    if path is None:
        return
    through = f" through {', '.join(path.through)}" if path.through else ""
    delays = f"{path.logic_ns} ns logic, {path.routing_ns} ns routing"
    text = f"{name}, seed {path.seed}: {path.levels} levels, {delays}: {path.start} to {path.end}{through}"
    screen.print(text, markup=False, highlight=False, soft_wrap=True)


def _show_gate_path(name: str, found: Area | None) -> None:
    """Print the ends of the longest path that OpenSTA found."""
    timing = found.timing if found else None
    if timing is not None and timing.ns is not None:
        text = f"{name}: {timing.ns} ns from {timing.start} to {timing.end}, without wires (OpenSTA)"
        screen.print(text, markup=False, highlight=False, soft_wrap=True)


def _show_design(top: str, target: str, found: Area, *, as_json: bool, markdown: bool) -> None:
    """Print the area of the user's design."""
    if as_json:
        emit_json({"target": target, "top": top, **_area_fields(found)})
        return
    columns = _COLUMNS.get(target, _PLACED_COLUMNS)
    _show(f"Area for {target}", ["module", *columns], [[top, *_area_cells(target, found)]], markdown=markdown)
    _show_gate_path(top, found)
    _show_path(top, found.speed.path)


def _area_fields(found: Area) -> dict[str, Any]:
    return {
        "lut": found.lut,
        "ff": found.ff,
        "ram": found.ram,
        "dsp": found.dsp,
        **found.speed.document(),
        "ge": found.ge,
        "ge_storage": found.ge_storage,
        "um2": found.um2,
        "cells": dict(found.cells),
        "cell_count": sum(found.cells.values()),
        "gate_path": asdict(found.timing) | {"mhz": found.timing.mhz} if found.timing else None,
    }


def _area_cells(target: str, found: Area) -> list[str]:
    if target in _COLUMNS:
        timing, count = found.timing, sum(found.cells.values())
        levels, ns, mhz = (timing.levels, timing.ns, timing.mhz) if timing else (None, None, None)
        cells = [_number(count or None), _number(levels)]
        if target == "generic":
            return [cells[0], _number(found.ff), cells[1]]
        return [_number(found.ge), _number(found.ge_storage), _number(found.um2), *cells, _number(ns), _number(mhz)]
    return [*map(_number, (found.lut, found.ff, found.ram, found.dsp)), *_speed(found.speed)]


def _document(measured: Measured, ratio: tuple[float | None, float | None]) -> dict[str, Any]:
    return {
        "block": measured.instance.block.name,
        "parameters": dict(measured.instance.parameters),
        **_area_fields(measured.area or _UNMEASURED),
        "decisions_per_cycle": measured.rate,
        "ratio": ratio[0],
        "ratio_without_storage": ratio[1],
    }


def _rows(target: str, measured: list[Measured]) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells of the table."""
    gates = target == "gates"
    first = measured[0].instance.asked
    what = {"gates": "", "generic": "cell "}.get(target, "LUT ")
    counted = [
        *_COLUMNS.get(target, _PLACED_COLUMNS),
        f">{what}ratio to {first}",
        *([">without storage"] if gates else []),
    ]
    rows = []
    for each, (whole, logic) in zip(measured, ratios(measured), strict=True):
        found, instance = each.area or _UNMEASURED, each.instance
        defaults = instance.block.defaults()
        shown = ", ".join(f"{key}={value}" for key, value in instance.parameters.items() if value != defaults[key])
        cells = _area_cells(target, found)
        cells += ["" if ratio is None else f"{ratio:.2f}" for ratio in ((whole, logic) if gates else (whole,))]
        rows.append([instance.block.name, shown, *cells, "" if each.rate is None else f"{each.rate:g}"])
    return ["block", "parameters", *counted, ">decisions/cycle"], rows
