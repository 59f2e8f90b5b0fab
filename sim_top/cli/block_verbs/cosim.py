"""``vlane cosim``: hardware against golden, for a block or a network with switches in hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.files import usable_folder
from vlane.errors import InputError, misplaced, unknown_word
from vlane.extras import require_extra
from vlane.parameters import Parameters
from vlane.rates import LinkClock, shown_ns
from vlane.schedulers.programs import program_writes, read_program
from vlane.schedulers.registry import IB_ARBITER, SCHEDULERS
from vlane.sim_top.blocks import BLOCKS, SYNTHESISED, Block, find_block
from vlane.sim_top.cli.block_verbs.block_options import QUALIFICATION_CYCLES, Netlist, check_netlist
from vlane.sim_top.cli.block_verbs.dut import print_skeleton, run_dut
from vlane.sim_top.cli.block_verbs.network import run_network
from vlane.sim_top.cli.options import (
    AsJson,
    Changes,
    Params,
    PluginFiles,
    RateOption,
    Seed,
    changes_of,
    check_cycles,
    clock_at,
    load_plugins,
)
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.cosim import (
    FAULT_COUNT,
    CosimResult,
    Job,
    cosim_cocotb,
    cosim_native,
    fault,
    qualification_job,
)
from vlane.sim_top.cosim.cosim_vlarb import TableResult, cosim_tables, job_of_plan
from vlane.sim_top.cosim.plan_vlarb import Plan, plan_for_fabric, plan_for_table
from vlane.sim_top.cosim.report import write_page
from vlane.sim_top.cosim.wave import write_wave
from vlane.sim_top.dut.sources import read_sources
from vlane.sim_top.output.console import emit_json, note, screen, table
from vlane.tb.machinery.cocotb_benches.cocotb_bench import simulator_installed

_DEFAULT_CYCLES = 1_000_000
_NOT_NOTICED = 3
"""Exit status of a run that does not detect the planted fault."""

BlockOrNetwork = Annotated[
    str, typer.Argument(metavar="BLOCK", help=f"Block: {', '.join(BLOCKS)}; or network, with a STUDY.")
]

app = App()


@app.command(epilog="Example: vlane cosim vlarb --fabric tests/data/two_switch --cycles 100000 --json")
def cosim(
    block: BlockOrNetwork,
    study: Annotated[
        Path | None, typer.Argument(metavar="[STUDY]", help="Study file (TOML); only with network.")
    ] = None,
    rtl: Annotated[
        list[str] | None,
        typer.Option("--rtl", metavar="N[,N]|all", help="Switches to simulate in hardware; only with network."),
    ] = None,
    fabric: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Captured fabric; each of its arbitration tables is run.")
    ] = None,
    table_file: Annotated[
        Path | None, typer.Option("--table", metavar="FILE", help="Table file (TOML or JSON) to program.")
    ] = None,
    cycles: Annotated[
        int | None,
        typer.Option(help=f"Number of cycles to compare. [default: {_DEFAULT_CYCLES:,}; network: the study's cycles]"),
    ] = None,
    engine: Annotated[str, typer.Option(help="Simulation engine: native or cocotb.")] = "native",
    simulator: Annotated[
        str, typer.Option(help="Simulator: verilator, or icarus with the cocotb engine.")
    ] = "verilator",
    waves: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a VCD file of the first 2000 cycles.")
    ] = None,
    page: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for an HTML page and pictures.")] = None,
    netlist: Netlist = "",
    dut: Annotated[
        list[Path] | None,
        typer.Option(
            "--dut", metavar="FILE", help="Verilog file of your own design, simulated instead of vlane's; repeatable."
        ),
    ] = None,
    top: Annotated[str | None, typer.Option(metavar="NAME", help="Top module of --dut.")] = None,
    map_file: Annotated[
        Path | None,
        typer.Option("--map", metavar="FILE", help="Port map of --dut (TOML). [default: ports named as the block's]"),
    ] = None,
    golden: Annotated[
        Path | None, typer.Option("--golden", metavar="FILE", help="Python file with your own golden model, for --dut.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="File of properties to check instead of golden (TOML)."),
    ] = None,
    include: Annotated[
        list[Path] | None, typer.Option("-I", metavar="DIR", help="Folder of include files of --dut; repeatable.")
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("-D", metavar="NAME[=VALUE]", help="Macro for --dut; repeatable.")
    ] = None,
    file_list: Annotated[
        list[Path] | None,
        typer.Option("-f", metavar="FILE", help="File that lists files and options of --dut; repeatable."),
    ] = None,
    library: Annotated[
        list[Path] | None, typer.Option("-y", metavar="DIR", help="Folder with modules that --dut lacks; repeatable.")
    ] = None,
    map_skeleton: Annotated[  # noqa: FBT002
        bool, typer.Option("--map-skeleton", help="Print a draft of --map, guessed from port names, and exit.")
    ] = False,
    planted: Annotated[
        int | None,
        typer.Option(
            "--fault",
            metavar="N",
            help=f"Plant mutant N, 1 to {FAULT_COUNT}. Exit status 1 if it is detected, 3 if not.",
        ),
    ] = None,
    param: Params = None,
    changes: Changes = None,
    seed: Seed = 1,
    plugin: PluginFiles = None,
    rate: RateOption = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Run hardware against golden and compare every output in every cycle.

    Exit status 1 if they differ, or if a long run did not trigger every applicable rule and cross.
    """
    clock = clock_at(rate)
    own = {
        "--golden": golden,
        "--policy": policy,
        "-I": include,
        "-D": define,
        "-f": file_list,
        "-y": library,
        "--map-skeleton": map_skeleton,
    }
    if dut or file_list or top is not None or map_file is not None:
        given = {
            "STUDY": study is not None,
            "--rtl": bool(rtl),
            "--fabric": fabric is not None,
            "--page": page is not None,
            "--fault": planted is not None,
            "--netlist": bool(netlist),
            "--engine": engine != "native",
            "--simulator": simulator != "verilator",
            "--rate": rate is not None,
            "--plugin": bool(plugin),
            "--set": bool(changes),
        }
        _refuse(given, "with --dut")
        sources = read_sources(
            dut or [], lists=file_list or [], includes=include or [], libraries=library or [], defines=define or []
        )
        if map_skeleton:
            print_skeleton(block, sources, top, param or [])
        run_dut(
            block,
            sources,
            top,
            map_file,
            golden=golden,
            policy=policy,
            table=table_file,
            cycles=cycles,
            seed=seed,
            param=param or [],
            waves=waves,
            as_json=as_json,
        )
    _refuse({option: bool(value) for option, value in own.items()}, "without --dut")
    if block == "network":
        given = {
            "--fabric": fabric is not None,
            "--table": table_file is not None,
            "--waves": waves is not None,
            "--page": page is not None,
            "--fault": planted is not None,
            "--param": bool(param),
            "--netlist": bool(netlist),
            "--simulator": simulator != "verilator",
        }
        _refuse(given, "with network")
        _check_engine(engine, simulator)
        load_plugins(plugin)
        made = changes_of(changes or [])
        run_network(study, rtl or [], cycles, seed, changes=made, rate=rate, engine=engine, as_json=as_json)
    if study is not None or rtl or changes or plugin:
        option = "--plugin applies" if plugin else "STUDY, --rtl and --set apply"
        problem = "only to `vlane cosim network`"
        raise InputError(option, "given with network only", block, problem=problem)
    found = find_block(block)
    cycles = _DEFAULT_CYCLES if cycles is None else cycles
    _check_engine(engine, simulator)
    check_netlist(netlist, **{"--fault": planted, "--fabric": fabric, "--table": table_file, "--waves": waves})
    if netlist and engine != "native":
        raise misplaced(f"--engine {engine}", "with --netlist: only the native engine runs netlists")
    if fabric is not None and table_file is not None:
        raise InputError("--fabric and --table", "given one at a time", "both", problem="exclude each other")
    check_cycles("--cycles", cycles)
    plan = _plan(fabric, table_file, cycles, param or []) if found.name == IB_ARBITER and not netlist else None
    if fabric is not None and plan is None:
        raise misplaced("--fabric", f"with {block}: a capture holds tables of {IB_ARBITER} only")
    job = job_of_plan(plan, seed=seed) if plan else _job(found, table_file, cycles, seed, param or [], netlist)
    if planted is not None and not 1 <= planted <= FAULT_COUNT:
        raise InputError("--fault", f"1 to {FAULT_COUNT}", planted)
    for option, file in (("--waves", waves), ("--page", page)):
        if file is not None and (file.exists() and file.is_dir() != (option == "--page")):
            must, found_kind = ("a folder", "a file") if option == "--page" else ("a file", "a folder")
            problem = f": {file} is {found_kind}, not {must}"
            raise InputError(option, must, str(file), problem=problem)
        if file is not None:
            usable_folder(file if option == "--page" else file.parent, option=option)
    note(f"{block} with {', '.join(f'{k}={v}' for k, v in job.parameters.items())}")
    result = _run(job, plan, engine, simulator, planted, netlist)
    if waves is not None:
        shown = write_wave(job, waves)
        note(f"wave of the first {shown} cycles of the unmodified design: {waves}")
    if page is not None:
        on = fabric.resolve().name if fabric else table_file.name if table_file else "qualification traffic"
        note(f"page: {write_page(result, page, title=f'{found.title} on {on}', wave=waves, clock=clock)}")
    if as_json:
        emit_json(_cosim_document(block, result, waves, netlist, clock))
    else:
        _print_cosim(result, clock)
    if planted is not None:
        raise typer.Exit(1 if result.mismatches or result.failed_audits else _NOT_NOTICED)
    raise typer.Exit(1 if result.failed else 0)


def _refuse(given: Mapping[str, bool], why: str) -> None:
    """Reject the first given option."""
    for option, is_given in given.items():
        if is_given:
            raise misplaced(option, why)


def _check_engine(engine: str, simulator: str) -> None:
    if engine not in {"native", "cocotb"}:
        raise unknown_word("--engine", ("native", "cocotb"), engine)
    if simulator not in {"verilator", "icarus"}:
        raise unknown_word("--simulator", ("verilator", "icarus"), simulator)
    if engine == "cocotb":
        require_extra("cocotb")
    if not simulator_installed(simulator):
        problem = f": {simulator} is not installed"
        raise InputError("--simulator", "an installed simulator", simulator, problem=problem)
    if engine == "native" and simulator != "verilator":
        raise misplaced(f"--simulator {simulator}", "with the native engine: add --engine cocotb")


def _plan(fabric: Path | None, file: Path | None, cycles: int, param: list[str]) -> Plan | None:
    """Return the plan for a fabric's arbitration tables or a table file, or ``None`` for qualification traffic."""
    found = BLOCKS[IB_ARBITER]
    if fabric is not None:
        return plan_for_fabric(fabric, cycles=cycles, resolve=lambda ports: _at_least(found, ports, param))
    if file is not None:
        return plan_for_table(file, cycles=cycles, parameters=found.parameters(param, found.full_size))
    return None


def _job(found: Block, file: Path | None, cycles: int, seed: int, param: list[str], netlist: str) -> Job:
    if netlist and not found.synthesised and not param:
        problem = f"needs --param of a small instance for {found.name}"
        raise InputError("--netlist", f"given with one of {', '.join(SYNTHESISED)}", found.name, problem=problem)
    as_synthesised = found.synthesised[-1] if found.synthesised else {}
    parameters = found.parameters(param, as_synthesised if netlist else found.full_size)
    if file is None:
        return qualification_job(found, parameters, cycles=cycles, seed=seed)
    with_table = [each.name for each in SCHEDULERS.values() if each.section]
    if found.name not in with_table or found.name == IB_ARBITER:
        raise misplaced("--table", f"with {found.name}: only {', '.join(with_table)} have tables")
    tables = read_program(file, SCHEDULERS[found.name])
    writes = program_writes(tables, found.name, parameters, str(file))
    return qualification_job(found, parameters, cycles=cycles, seed=seed, writes=writes)


def _at_least(found: Block, ports: Mapping[str, Any], param: list[str]) -> Parameters:
    """Return the parameters of an arbiter large enough for the tables of the fabric's ports."""
    parameters = found.parameters(param, ports)
    for name in ("entries", "data_vls"):
        if parameters[name] < ports[name]:
            raise InputError(f"--param {name}", f"at least {ports[name]} for the fabric's ports", parameters[name])
    return parameters


def _run(job: Job, plan: Plan | None, engine: str, simulator: str, planted: int | None, netlist: str) -> CosimResult:
    mutant = None if planted is None else fault(job.block, planted, job.parameters)
    if mutant is not None:
        note(f"planted {mutant}")
    if engine == "cocotb":
        return cosim_cocotb(job, simulator=simulator, planted=mutant)
    if plan:
        result = cosim_tables(plan, seed=job.seed, planted=mutant)
    else:
        result = cosim_native(job, planted=mutant, netlist=netlist)[0]
    if mutant is None or result.mismatches:
        return result
    note("this traffic does not detect the fault; trying the qualification traffic")
    longer = qualification_job(job.block, job.parameters, cycles=QUALIFICATION_CYCLES, seed=job.seed)
    return cosim_native(longer, planted=mutant)[0]


def _timed(table: TableResult, clock: LinkClock | None) -> dict[str, Any]:
    """Return a table's result as a JSON document. A clock adds waits in ns and shares in Gb/s."""
    document = {name: value for name, value in asdict(table).items() if name != "events"}
    if clock:
        for lane in document["lanes"]:
            lane["longest_wait_ns"] = clock.ns(lane["longest_wait_cycles"])
            lane["link_gbps"] = clock.gbps(lane["link_share"])
    return document


def _cosim_document(
    block: str, result: CosimResult, waves: Path | None, netlist: str, clock: LinkClock | None
) -> dict[str, Any]:
    return {
        "block": block,
        "engine": result.engine,
        "netlist": netlist or None,
        "simulator": result.simulator,
        "parameters": dict(result.parameters),
        "cycles": result.cycles,
        "rate_gbps": clock and clock.rate_gbps,
        "cycle_ns": clock and clock.cycle_ns,
        "simulated_ns": clock and clock.ns(result.cycles),
        "decisions": result.decisions,
        "mismatches": result.mismatches,
        "seconds": round(result.seconds, 3),
        "cycles_per_second": round(result.cycles_per_second),
        "seed": result.seed,
        "tables": [_timed(table, clock) for table in result.tables],
        **result.coverage.document(),
        "audit": result.audit,
        "mismatch": result.mismatch or None,
        "mismatch_cycle": result.mismatch_cycle,
        "fault": result.fault or None,
        "waves": str(waves) if waves else None,
    }


def _print_cosim(result: CosimResult, clock: LinkClock | None) -> None:
    for entry in result.tables:
        rows = []
        for lane in entry.lanes:
            shares = (lane.weight_share, lane.share_small, lane.share_full, lane.link_share)
            counts = [str(lane.packets), str(lane.longest_wait_cycles)]
            if clock:
                counts += [f"{clock.ns(lane.longest_wait_cycles):.1f}", f"{clock.gbps(lane.link_share):.2f}"]
            rows.append([lane.list, str(lane.vl), str(lane.weight), *(f"{100 * s:.1f}" for s in shares), *counts])
        columns = [
            "list",
            ">VL",
            ">weight",
            ">weight %",
            ">64 B %",
            ">MTU %",
            ">link %",
            ">packets",
            ">longest wait (cycles)",
            *([">(ns)", ">link Gb/s"] if clock else []),
        ]
        screen.print(table(f"{entry.where}; limit {entry.limit}", columns, rows))
    happened = result.coverage.words()
    screen.print(
        f"{result.cycles:,} cycles compared{f', {shown_ns(clock.ns(result.cycles))} on the link' if clock else ''} ("
        f"{result.cycles_per_second:,.0f} cycles per second), "
        f"{result.decisions:,} decisions{f', {happened}' if happened else ''}",
        soft_wrap=True,
    )
    if not result.mismatches and not result.fault and (verdict := result.coverage.verdict()):
        screen.print(verdict, markup=False, soft_wrap=True, style="red" if result.coverage.failed else None)
    if result.fault:
        screen.print(f"planted {result.fault}", markup=False, soft_wrap=True)
    if result.audit:
        screen.print(", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in result.audit.items()))
    if result.failed_audits:
        screen.print(f"AUDIT FAILED: {', '.join(result.failed_audits)}", style="red")
    if result.mismatches:
        screen.print(
            f"MISMATCH with seed {result.seed} in {result.mismatch}", markup=False, style="red", soft_wrap=True
        )
    elif result.fault:
        screen.print("the planted fault was not detected", style="red")
    else:
        screen.print("hardware and golden agree in every cycle", style="green")
