"""``vlane cosim BLOCK --dut FILE``: the user's RTL against golden."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import typer

from vlane.documents.files import not_an_input, note_input, usable_folder
from vlane.dut_map import ElasticTiming, Whole, read_map
from vlane.errors import InputError, missing_value
from vlane.sim_top.blocks import Block, find_block
from vlane.sim_top.cli.block_verbs.dut_closed import closed_document, print_closed
from vlane.sim_top.cli.options import check_cycles
from vlane.sim_top.dut.closed_wave import write_closed_wave
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.lockstep import Difference, ForeignResult, ForeignRun
from vlane.sim_top.dut.open_run import open_closed, open_run
from vlane.sim_top.dut.skeleton import skeleton
from vlane.sim_top.dut.sources import Sources
from vlane.sim_top.output.console import emit_json, note, say, screen, table

_DEFAULT_CYCLES = 100_000
_BINARY = 32
"""Largest width of a port that is shown bit by bit."""


def run_dut(
    block: str,
    sources: Sources,
    top: str | None,
    map_file: Path | None,
    *,
    golden: Path | None,
    policy: Path | None,
    table: Path | None,
    cycles: int | None,
    seed: int,
    param: list[str],
    waves: Path | None,
    as_json: bool,
) -> NoReturn:
    """Compare the user's design with golden or with policies, print the result and exit.

    Raises
    ------
    InputError
        If an option, a file or the design is rejected.
    typer.Exit
        With 1 if they differ or a run that is judged did not show all that applies, else with 0.
    """
    if top is None:
        raise missing_value("--top", "name the top module of --dut")
    cycles = _DEFAULT_CYCLES if cycles is None else cycles
    check_cycles("--cycles", cycles)
    if waves is not None:
        if waves.is_dir():
            raise InputError("--waves", "a file", str(waves), problem=f": {waves} is a folder, not a file")
        usable_folder(waves.parent, option="--waves")
    if golden is not None and policy is not None:
        raise InputError("--golden and --policy", "given one at a time", "both", problem="exclude each other")
    found = find_block(block)
    for file in sources.files:
        note_input(file)
    given = read_map(map_file) if map_file else None
    if golden is None and policy is None and not (given and isinstance(given.timing, ElasticTiming)):
        _run_lockstep(
            found,
            sources,
            top,
            map_file,
            table=table,
            cycles=cycles,
            seed=seed,
            param=param,
            waves=waves,
            as_json=as_json,
        )
    run = open_closed(
        found, sources, top, given, param=param, cycles=cycles, seed=seed, table=table, golden=golden, policy=policy
    )
    if waves is not None:
        not_an_input(waves, option="--waves")
    words = "under policies" if policy else f"against {golden or block}"
    note(f"{top} {words} with {', '.join(f'{k}={v}' for k, v in run.parameters.items())}")
    result = run.run()
    if waves is not None:
        wave, first, last = write_closed_wave(run, result.failed_cycle, waves)
        _note_wave(top, waves, wave, first, last)
    if as_json:
        emit_json(closed_document(run, result, map_file, golden, policy, waves))
    else:
        print_closed(run, result)
    raise typer.Exit(0 if result.passed else 1)


def _note_wave(top: str, asked: Path, wave: Path, first: int, last: int) -> None:
    if wave != asked:
        note("vcd2fst is not installed (apt-get install gtkwave): writing VCD instead of FST")
    note(f"wave of cycles {first} to {last} of {top}: {wave} ({wave}.gtkw, {wave}.surfer)")


def print_skeleton(block: str, sources: Sources, top: str | None, param: list[str]) -> NoReturn:
    """Print a map that the port names of a design suggest, and exit."""
    if top is None:
        raise missing_value("--top", "name the top module of --dut")
    found = find_block(block)
    typer.echo(skeleton(found, found.parameters(param), Design(sources, top)), nl=False)
    raise typer.Exit(0)


def _run_lockstep(
    found: Block,
    sources: Sources,
    top: str,
    map_file: Path | None,
    *,
    table: Path | None,
    cycles: int,
    seed: int,
    param: list[str],
    waves: Path | None,
    as_json: bool,
) -> NoReturn:
    run = open_run(found, sources, top, map_file, param=param, cycles=cycles, seed=seed, table=table)
    if waves is not None:
        not_an_input(waves, option="--waves")
    note(f"{top} against {found.name} with {', '.join(f'{k}={v}' for k, v in run.parameters.items())}")
    result = run.run()
    if waves is not None:
        wave, first, last = run.write_wave(waves, result.difference)
        _note_wave(top, waves, wave, first, last)
    if as_json:
        emit_json(_document(found.name, run, result, sources.files, map_file, waves))
    else:
        _print(run, result)
    raise typer.Exit(1 if not result.agrees or result.coverage.failed else 0)


def _document(
    block: str,
    run: ForeignRun,
    result: ForeignResult,
    files: tuple[Path, ...],
    map_file: Path | None,
    waves: Path | None,
) -> dict[str, Any]:
    """Return the JSON document: the fields of ``vlane cosim`` and those of a user's design."""
    return {
        "block": block,
        "engine": "native",
        "netlist": None,
        "simulator": "verilator",
        "parameters": dict(run.parameters),
        "cycles": result.cycles,
        "decisions": result.decisions,
        "mismatches": int(not result.agrees),
        "seconds": round(result.seconds, 3),
        "cycles_per_second": round(result.cycles / result.seconds) if result.seconds else 0,
        "seed": run.seed,
        "tables": [],
        **result.coverage.document(),
        "audit": {},
        "mismatch": str(result.difference or result.ended) or None,
        "mismatch_cycle": result.difference.golden_cycle if result.difference else None,
        "fault": None,
        "waves": str(waves) if waves else None,
        "dut": [str(file) for file in files],
        "top": run.design.top,
        "map": str(map_file) if map_file else None,
        "dut_cycles": result.dut_cycles,
        "answers_compared": result.checked,
        "outputs_compared": run.wiring.compared,
        "outputs_left_out": run.wiring.left_out,
        "inputs_held": dict(run.wiring.absent),
        "ended": result.ended or None,
        "first_difference": result.difference.document() if result.difference else None,
    }


def _print(run: ForeignRun, result: ForeignResult) -> None:
    wiring, top = run.wiring, run.design.top
    happened = result.coverage.words()
    rules = f", {happened}" if happened else ""
    rate = f" ({result.cycles / result.seconds:,.0f} per second)" if result.seconds else ""
    screen.print(
        f"{result.cycles:,} cycles of golden{rate} in {result.dut_cycles:,} cycles of {top}, "
        f"{result.decisions:,} decisions, "
        f"{result.checked:,} answers compared{rules}",
        markup=False,
        soft_wrap=True,
    )
    say(f"compared: {', '.join(wiring.compared)}")
    if wiring.left_out:
        say(f"not compared ({top} has no such outputs): {', '.join(wiring.left_out)}")
    if wiring.absent:
        held = ", ".join(f"{name} at {_held(whole)}" for name, whole in run.given.absent.items())
        say(f"held constant ({top} has no such inputs): {held}")
    counts = result.coverage.counts
    if counted := [f"{name} {count:,}" for name, count in counts.items() if count]:
        say(f"rules: {', '.join(counted)}; in reset for {result.resets:,} cycles")
        if silent := [name for name, count in counts.items() if not count]:
            say(f"rules that did not happen: {', '.join(silent)}")
    if result.difference is not None:
        _print_difference(result.difference, run)
    elif result.ended:
        say(f"{top} ended the run: {result.ended}", style="red")
    else:
        say(f"{top} and golden agree in every compared answer", style="green")
        if verdict := result.coverage.verdict():
            say(verdict, style="red" if result.coverage.failed else None)


def _print_difference(found: Difference, run: ForeignRun) -> None:
    say(f"MISMATCH with seed {run.seed} in {found}", style="red")
    for wrong in found.outputs:
        for port, value in wrong.dut_ports.items():
            bits = run.wiring.dut_outputs.ports[port].bits
            say(f"  {port} must be {_shown(value['expected'], bits)}, not {_shown(value['got'], bits)}")
    rows = []
    for name, wire in run.given.inputs.items():
        for port in wire.names:
            values = [_shown(cycle.dut_inputs[port], run.wiring.dut_inputs.ports[port].bits) for cycle in found.cycles]
            rows.append([name if port == wire.names[0] else "", port, *values])
    if run.given.reset is not None:
        port = run.given.reset.port
        rows.insert(0, ["rst", port, *(str(cycle.dut_inputs[port]) for cycle in found.cycles)])
    for name, wire in run.given.outputs.items():
        for port in wire.names:
            values = [
                _shown(cycle.dut_outputs[port], run.wiring.dut_outputs.ports[port].bits) for cycle in found.cycles
            ]
            rows.append([f"-> {name}" if port == wire.names[0] else "", port, *values])
    rows.append(
        ["", "golden's cycle due", *("" if c.golden_cycle is None else str(c.golden_cycle) for c in found.cycles)]
    )
    if found.rules:
        say(f"golden decided by {', '.join(found.rules)}")
    columns = ["vlane", run.design.top, *(f">{cycle.cycle}" for cycle in found.cycles)]
    screen.print(table("inputs and outputs by cycle", columns, rows))


def _shown(value: int, bits: int) -> str:
    """Return a port's value as text, in binary if it has at most 32 bits."""
    return str(value) if bits == 1 else f"{value:0{bits}b}" if bits <= _BINARY else f"{value:#x}"


def _held(whole: Whole) -> str:
    return str(whole.value) if whole.each is None else f"{whole.each} each"
