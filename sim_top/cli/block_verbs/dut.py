"""``vlane cosim BLOCK --dut FILE``: the user's RTL against golden."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import typer

from vlane.documents.files import not_an_input, note_input, usable_folder
from vlane.dut_map import Whole
from vlane.errors import InputError, missing_value
from vlane.sim_top.blocks import find_block
from vlane.sim_top.cli.options import check_cycles
from vlane.sim_top.dut.lockstep import Difference, ForeignResult, ForeignRun
from vlane.sim_top.dut.open_run import open_run
from vlane.sim_top.output.console import emit_json, note, say, screen, table

_DEFAULT_CYCLES = 100_000


def run_dut(
    block: str,
    files: list[Path],
    top: str | None,
    map_file: Path | None,
    *,
    table: Path | None,
    cycles: int | None,
    seed: int,
    param: list[str],
    waves: Path | None,
    as_json: bool,
) -> NoReturn:
    """Run the user's design against golden, print the result and exit.

    Raises
    ------
    InputError
        typer.Exit: With status 1 if they differ or a judged run did not trigger every applicable rule, otherwise with
        0.
    typer.Exit
        With 1 if they differ or a run that is judged did not show all that applies, else with 0.
    """
    if not files:
        raise missing_value("--dut", "name the Verilog file of --top")
    if top is None:
        raise missing_value("--top", "name the top module of --dut")
    cycles = _DEFAULT_CYCLES if cycles is None else cycles
    check_cycles("--cycles", cycles)
    if waves is not None:
        if waves.is_dir():
            raise InputError("--waves", "a file", str(waves), problem=f": {waves} is a folder, not a file")
        usable_folder(waves.parent, option="--waves")
    found = find_block(block)
    for file in files:
        note_input(file)
    run = open_run(found, files, top, map_file, param=param, cycles=cycles, seed=seed, table=table)
    if waves is not None:
        not_an_input(waves, option="--waves")
    note(f"{top} against {block} with {', '.join(f'{k}={v}' for k, v in run.parameters.items())}")
    result = run.run()
    if waves is not None:
        first, last = run.write_wave(waves, result.difference)
        note(f"wave of cycles {first} to {last} of {top}: {waves}")
    if as_json:
        emit_json(_document(block, run, result, files, map_file, waves))
    else:
        _print(run, result)
    raise typer.Exit(1 if not result.agrees or result.coverage.failed else 0)


def _document(
    block: str, run: ForeignRun, result: ForeignResult, files: list[Path], map_file: Path | None, waves: Path | None
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
    columns = ["vlane", run.design.top, *(f">{cycle.cycle}" for cycle in found.cycles)]
    screen.print(table("inputs and outputs by cycle", columns, rows))


def _shown(value: int, bits: int) -> str:
    """Return a port's value as text, in binary if it has at most 8 bits."""
    return str(value) if bits == 1 else f"{value:0{bits}b}" if bits <= 8 else f"{value:#x}"


def _held(whole: Whole) -> str:
    return str(whole.value) if whole.each is None else f"{whole.each} each"
