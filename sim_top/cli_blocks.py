"""The verbs that work on a block of the catalogue: cosim, prove, mutate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from vlane.sim_top.blocks import BLOCKS, SYNTHESISED, Block, find_block
from vlane.sim_top.cli_network import run_network
from vlane.sim_top.cli_options import AsJson, BlockName, Params, Seed, check_cycles
from vlane.sim_top.console import emit_json, note, screen, table
from vlane.sim_top.cosim import FAULT_COUNT, CosimResult, Job, cosim_cocotb, cosim_native, fault, qualification_job
from vlane.sim_top.cosim_vlarb import cosim_tables, job_of_plan
from vlane.sim_top.mutation import mutation_run
from vlane.sim_top.plan_vlarb import Plan, plan_for_fabric, plan_for_table
from vlane.sim_top.proofs import prove_block, prove_block_netlist
from vlane.sim_top.report import write_page
from vlane.sim_top.schedule import SCHEDULED, writes_for
from vlane.sim_top.wave import write_wave
from vlane.tb.cocotb_bench import simulator_installed
from vlane.tb.netlist import NETLISTS
from vlane.tb.prove import Proof

from vlane.errors import InputError, unknown_word
from vlane.files import usable_folder

__all__ = ["register"]

_DEFAULT_CYCLES = 1_000_000
_FAULT_CYCLES = 2_000_000

BlockOrNetwork = Annotated[
    str, typer.Argument(metavar="BLOCK", help=f"One of: {', '.join(BLOCKS)}; or network, with a STUDY.")
]
Netlist = Annotated[str, typer.Option(metavar="TARGET", help=f"The hardware after synthesis: {' or '.join(NETLISTS)}.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.command(epilog="Example: vlane cosim vlarb --fabric tests/data/two_switch --cycles 100000 --json")(cosim)
    app.command(epilog="Example: vlane prove vlarb")(prove)
    app.command(epilog="Example: vlane mutate vlarb --count 400")(mutate)


def cosim(
    block: BlockOrNetwork,
    study: Annotated[
        Path | None, typer.Argument(metavar="[STUDY]", help="Study file (TOML) of a network to run.")
    ] = None,
    rtl: Annotated[
        list[str] | None, typer.Option("--rtl", metavar="N|all", help="Switches of a network to put in hardware.")
    ] = None,
    fabric: Annotated[Path | None, typer.Option(metavar="DIR", help="Captured fabric whose tables are run.")] = None,
    table_file: Annotated[
        Path | None, typer.Option("--table", metavar="FILE", help="Table file (TOML or JSON).")
    ] = None,
    cycles: Annotated[
        int | None, typer.Option(help=f"Cycles to compare; {_DEFAULT_CYCLES}, or as long as the study runs.")
    ] = None,
    engine: Annotated[str, typer.Option(help="native or cocotb.")] = "native",
    simulator: Annotated[str, typer.Option(help="verilator, or icarus with the cocotb engine.")] = "verilator",
    waves: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a VCD of the first 2000 cycles.")] = None,
    page: Annotated[Path | None, typer.Option(metavar="DIR", help="Write an HTML page and pictures.")] = None,
    netlist: Netlist = "",
    planted: Annotated[
        int | None,
        typer.Option("--fault", metavar="N", help=f"Plant mutant N, 1 to {FAULT_COUNT}; the run must fail."),
    ] = None,
    param: Params = None,
    seed: Seed = 1,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Run hardware against golden and compare every output in every cycle. Exit status 1 if they differ."""
    if block == "network":
        given = {
            "--fabric": fabric is not None, "--table": table_file is not None, "--waves": waves is not None,
            "--page": page is not None, "--fault": planted is not None, "--param": bool(param),
            "--netlist": bool(netlist), "--engine": engine != "native", "--simulator": simulator != "verilator",
        }  # fmt: skip
        for option in (option for option, is_given in given.items() if is_given):
            raise InputError(option, "left out with network", "given")
        run_network(study, rtl or [], cycles, seed, as_json=as_json)
    if study is not None or rtl:
        raise InputError("STUDY and --rtl", "given with network only", block)
    found = find_block(block)
    cycles = _DEFAULT_CYCLES if cycles is None else cycles
    _check_engine(engine, simulator, planted)
    _check_netlist(netlist, **{"--fault": planted, "--fabric": fabric, "--table": table_file, "--waves": waves})
    if netlist and engine != "native":
        raise InputError("--engine", "native with --netlist", engine)
    if fabric is not None and table_file is not None:
        raise InputError("--fabric and --table", "given one at a time", "both")
    check_cycles("--cycles", cycles)
    plan = _plan(fabric, table_file, cycles, param or []) if found.name == "vlarb" and not netlist else None
    if fabric is not None and plan is None:
        raise InputError("--fabric", "given with vlarb, whose tables a capture holds", str(fabric))
    job = job_of_plan(plan, seed=seed) if plan else _job(found, table_file, cycles, seed, param or [], netlist)
    if planted is not None and not 1 <= planted <= FAULT_COUNT:
        raise InputError("--fault", f"1 to {FAULT_COUNT}", planted)
    for option, file in (("--waves", waves), ("--page", page)):
        if file is not None and (file.exists() and file.is_dir() != (option == "--page")):
            raise InputError(option, "a folder" if option == "--page" else "a file", str(file))
        if file is not None:
            usable_folder(file if option == "--page" else file.parent, option=option)
    note(f"{block} with {', '.join(f'{k}={v}' for k, v in job.parameters.items())}")
    result = _run(job, plan, engine, simulator, planted, netlist)
    if waves is not None:
        shown = write_wave(job, waves)
        note(f"wave of the first {shown} cycles of the design as it is: {waves}")
    if page is not None:
        on = fabric.resolve().name if fabric else table_file.name if table_file else "its qualification"
        note(f"page: {write_page(result, page, title=f'{found.title} on {on}', wave=waves)}")
    if as_json:
        emit_json(_cosim_document(block, result, waves, netlist))
    else:
        _print_cosim(result)
    raise typer.Exit(1 if result.mismatches or result.failed_audits or planted else 0)


def _check_engine(engine: str, simulator: str, planted: int | None) -> None:
    if engine not in {"native", "cocotb"}:
        raise unknown_word("--engine", ("native", "cocotb"), engine)
    if simulator not in {"verilator", "icarus"}:
        raise unknown_word("--simulator", ("verilator", "icarus"), simulator)
    if not simulator_installed(simulator):
        raise InputError("--simulator", "verilator, or icarus when installed", simulator)
    if engine == "native" and simulator != "verilator":
        raise InputError("--simulator", "verilator with the native engine", simulator)
    if planted is not None and engine != "native":
        raise InputError("--engine", "native with --fault", engine)


def _check_netlist(netlist: str, **beside: object) -> None:
    if netlist and netlist not in NETLISTS:
        raise unknown_word("--netlist", NETLISTS, netlist)
    for option in (option for option, given in beside.items() if netlist and given is not None):
        raise InputError(option, "left out with --netlist", "given")


def _plan(fabric: Path | None, file: Path | None, cycles: int, param: list[str]) -> Plan | None:
    """Return the plan for a fabric's arbitration tables or a table file; ``None`` for the qualification."""
    found = BLOCKS["vlarb"]
    if fabric is not None:
        return plan_for_fabric(fabric, cycles=cycles, resolve=lambda ports: _at_least(found, ports, param))
    if file is not None:
        return plan_for_table(file, cycles=cycles, parameters=found.parameters(param, found.full_size))
    return None


def _job(found: Block, file: Path | None, cycles: int, seed: int, param: list[str], netlist: str) -> Job:
    if netlist and not found.synthesised:
        raise InputError("--netlist", f"given with one of {', '.join(SYNTHESISED)}", found.name)
    parameters = found.parameters(param, found.synthesised[-1] if netlist else found.full_size)
    if file is None:
        return qualification_job(found, parameters, cycles=cycles, seed=seed)
    if found.name not in SCHEDULED:
        raise InputError("--table", f"given with vlarb, {', '.join(SCHEDULED)}", str(file))
    return qualification_job(found, parameters, cycles=cycles, seed=seed, writes=writes_for(file, found, parameters))


def _at_least(found: Block, ports: Mapping[str, Any], param: list[str]) -> dict[str, Any]:
    """Return the parameters of an arbiter that holds what the fabric's ports hold."""
    parameters = found.parameters(param, ports)
    for name in ("entries", "data_vls"):
        if parameters[name] < ports[name]:
            raise InputError(f"--param {name}", f"at least {ports[name]}, as the fabric's ports have", parameters[name])
    return parameters


def _run(job: Job, plan: Plan | None, engine: str, simulator: str, planted: int | None, netlist: str) -> CosimResult:
    if engine == "cocotb":
        return cosim_cocotb(job, simulator=simulator)
    mutant = None if planted is None else fault(job.block, planted, job.parameters)
    if mutant is not None:
        note(f"planted {mutant}")
    if plan:
        result = cosim_tables(plan, seed=job.seed, planted=mutant)
    else:
        result = cosim_native(job, planted=mutant, netlist=netlist)[0]
    if mutant is None or result.mismatches:
        return result
    note("the asked traffic cannot tell this fault; going on with the qualification")
    longer = qualification_job(job.block, job.parameters, cycles=_FAULT_CYCLES, seed=job.seed)
    return cosim_native(longer, planted=mutant)[0]


def _cosim_document(block: str, result: CosimResult, waves: Path | None, netlist: str) -> dict[str, Any]:
    return {
        "block": block,
        "engine": result.engine,
        "netlist": netlist or None,
        "simulator": result.simulator,
        "parameters": dict(result.parameters),
        "cycles": result.cycles,
        "decisions": result.decisions,
        "mismatches": result.mismatches,
        "seconds": round(result.seconds, 3),
        "cycles_per_second": round(result.cycles_per_second),
        "seed": result.seed,
        "tables": [{k: v for k, v in asdict(table).items() if k != "events"} for table in result.tables],
        "rules": {
            name: {"count": count, "applies": name in result.applicable} for name, count in result.counts.items()
        },
        "rules_missed": result.missed,
        "audit": result.audit,
        "mismatch": result.mismatch or None,
        "mismatch_cycle": result.mismatch_cycle,
        "fault": result.fault or None,
        "waves": str(waves) if waves else None,
    }


def _print_cosim(result: CosimResult) -> None:
    for entry in result.tables:
        rows = []
        for lane in entry.lanes:
            shares = (lane.weight_share, lane.share_small, lane.share_full, lane.link_share)
            counts = [str(lane.packets), str(lane.longest_wait_cycles)]
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
            ">longest wait",
        ]
        screen.print(table(f"{entry.where}; limit {entry.limit}", columns, rows))
    rules = [name for name in result.applicable if name not in result.missed]
    screen.print(
        f"{result.cycles:,} cycles compared ({result.cycles_per_second:,.0f} a second), "
        f"{result.decisions:,} decisions, {len(rules)} of {len(result.applicable)} applicable rules happened"
    )
    if result.missed and not result.mismatches:
        screen.print(f"not in this run: {', '.join(result.missed)}", markup=False, soft_wrap=True)
    if result.fault:
        screen.print(f"planted {result.fault}", markup=False, soft_wrap=True)
    if result.audit:
        screen.print(", ".join(f"{name.replace('_', ' ')}: {count:,}" for name, count in result.audit.items()))
    if result.failed_audits:
        screen.print(f"AUDIT FAILED: {', '.join(result.failed_audits)}", style="red")
    if result.mismatches:
        screen.print(
            f"MISMATCH with seed {result.seed} in {result.mismatch}",
            markup=False,
            style="red",
            soft_wrap=True,
        )
    elif result.fault:
        screen.print("the planted fault was not noticed", style="red")
    else:
        screen.print("hardware and golden agree in every cycle", style="green")


def prove(
    block: BlockName,
    minutes: Annotated[int, typer.Option(min=1, help="Given up per instance after that.")] = 30,
    as_json: AsJson = False,  # noqa: FBT002
    netlist: Netlist = "",
) -> None:
    """Prove the block's properties, by k-induction or to a depth, small and full size. Exit status 1 if one fails.

    With --netlist, prove instead that what synthesis makes of a small instance is that instance.
    """
    found = find_block(block)
    _check_netlist(netlist)
    proofs = []
    for parameters in ({**found.defaults(), **found.mutated},) if netlist else found.proven:
        note(f"proving {block} with {', '.join(f'{k}={v}' for k, v in parameters.items())}")
        if netlist:
            proof = prove_block_netlist(found, parameters, netlist, timeout_seconds=60 * minutes)
        else:
            proof = prove_block(found, parameters, timeout_seconds=60 * minutes)
        proofs.append((parameters, proof))
    document = {
        "block": block,
        "netlist": netlist or None,
        "proofs": [
            {
                "parameters": dict(p),
                "verdict": proof.verdict,
                "bounded_cycles": proof.bounded or None,
                "seconds": round(proof.seconds, 1),
                "detail": proof.detail,
            }
            for p, proof in proofs
        ],
    }
    if as_json:
        emit_json(document)
    else:
        rows = [
            [", ".join(f"{k}={v}" for k, v in p.items()), _reach(proof), proof.verdict, f"{proof.seconds:.1f} s"]
            for p, proof in proofs
        ]
        screen.print(table(f"{block}: proofs", ["instance", "for", "verdict", ">time"], rows))
        for _, proof in proofs:
            if proof.detail:
                screen.print(f"{proof.detail}\nsee {proof.folder}", markup=False, soft_wrap=True)
    raise typer.Exit(0 if all(proof.verdict == "PASS" for _, proof in proofs) else 1)


def _reach(proof: Proof) -> str:
    return f"{proof.bounded} cycles from reset" if proof.bounded else "every cycle, by k-induction"


def mutate(
    block: BlockName,
    count: Annotated[int, typer.Option(min=1, max=4096, help="Mutants.")] = 400,
    cycles: Annotated[int, typer.Option(help="Cycles that each mutant must survive.")] = _FAULT_CYCLES,
    least: Annotated[float, typer.Option(min=0, max=100, help="Per cent of the mutants that must be killed.")] = 99.0,
    param: Params = None,
    as_json: AsJson = False,  # noqa: FBT002
    seed: Seed = 1,
) -> None:
    """Run mutants of the block through the lockstep; list survivors. Exit status 1 below the wanted share."""
    found = find_block(block)
    check_cycles("--cycles", cycles, least=1000)
    run = mutation_run(found, found.parameters(param or [], found.mutated), count=count, cycles=cycles, seed=seed)
    document = {
        "block": block,
        "parameters": dict(run.parameters),
        "mutants": run.mutants,
        "killed": run.killed,
        "equivalent": len(run.equivalent),
        "survivors": [str(mutant) for mutant in run.survivors],
        "proven_equivalent": [str(mutant) for mutant in run.equivalent],
        "killed_percent": round(run.killed_percent, 2),
        "seconds": round(run.seconds, 1),
    }
    if as_json:
        emit_json(document)
    else:
        for mutant in run.equivalent:
            screen.print(f"proven equivalent: {mutant}", markup=False, soft_wrap=True)
        for mutant in run.survivors:
            screen.print(f"SURVIVED: {mutant}", markup=False, style="red", soft_wrap=True)
        screen.print(
            f"{run.mutants} mutants in {run.seconds:.0f} s: {run.killed} killed, "
            f"{len(run.equivalent)} proven equivalent, {len(run.survivors)} survived: "
            f"{run.killed_percent:.2f} % of those that are not equivalent were killed"
        )
    raise typer.Exit(0 if run.killed_percent >= least else 1)
