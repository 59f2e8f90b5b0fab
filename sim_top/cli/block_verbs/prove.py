"""``vlane prove``: proofs of a block's properties, or of its netlist."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from vlane.errors import misplaced, unknown_word
from vlane.sim_top.blocks import Block, find_block
from vlane.sim_top.cli.block_verbs.block_options import BlockName, Netlist, check_netlist
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.proofs import ProvenInstance, prove_block, prove_block_netlist
from vlane.sim_top.cosim.stuck_faults import listed_faults, stuck_faults
from vlane.sim_top.output.console import emit_json, note, screen, table
from vlane.tb.machinery.proofs.properties import Instance
from vlane.tb.machinery.proofs.prove import SOLVERS

_CACHED = " (cached)"

app = App()


@app.command(epilog="Example: vlane prove vlarb --instance small --instance walk")
def prove(
    block: BlockName,
    instance: Annotated[
        list[str] | None, typer.Option(help="Name of an instance to prove; repeatable. [default: all]")
    ] = None,
    minutes: Annotated[int, typer.Option(min=1, help="Time limit per instance, in minutes.")] = 30,
    covers: Annotated[bool, typer.Option(help="Also prove that every property's condition can occur.")] = True,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
    netlist: Netlist = "",
    stuck: Annotated[  # noqa: FBT002
        bool, typer.Option("--stuck", help="Report which proofs detect each register and output held at 0 and at 1.")
    ] = False,
    solver: Annotated[str, typer.Option(help="Solver: boolector, or z3 for a second opinion.")] = "boolector",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run the solver even if the verdict is cached.")] = False,  # noqa: FBT002
) -> None:
    """Prove the block's properties, by k-induction or to a bounded depth, at small and full size.

    Exit status 1 if a property fails or its premise is unreachable. With --netlist, prove instead that the synthesised
    netlist of a small instance is equivalent to its RTL. With --stuck, exit status 1 if no proof detects a fault that
    is not listed with a reason. Verdicts are cached by design, property, depth and tool versions.
    """
    found = find_block(block)
    check_netlist(netlist)
    if solver not in SOLVERS:
        raise unknown_word("--solver", SOLVERS, solver)
    if solver != "boolector" and (netlist or stuck):
        raise misplaced("--solver", "with --netlist or --stuck")
    if netlist and (instance or stuck):
        given = "--instance" if instance else "--stuck"
        raise misplaced(given, "with --netlist")
    chosen = tuple(map(found.instance, dict.fromkeys(instance))) if instance else found.proofs
    if stuck:
        raise typer.Exit(_stuck(found, chosen, minutes, as_json=as_json))
    results = _of_netlist(found, netlist, minutes, fresh=fresh) if netlist else []
    if not netlist:
        seconds = 60 * minutes
        for each in prove_block(found, chosen, covers=covers, timeout_seconds=seconds, fresh=fresh, solver=solver):
            results.append(each)
            source = ", from the cache" if each.proof.cached else ""
            note(f"{block}, {each.instance.name}: {each.proof.verdict} after {each.proof.seconds:.1f} s{source}")
    if as_json:
        emit_json(_document(block, netlist, solver, results))
    else:
        _show(block, results)
    raise typer.Exit(0 if all(each.holds for each in results) else 1)


def _stuck(block: Block, instances: tuple[Instance, ...], minutes: int, *, as_json: bool) -> int:
    """Print the stuck-at faults of a block and the proofs that detect them, and return the exit status."""
    listed, faults, forms = listed_faults(), [], dict[str, list[int]]()
    for each in stuck_faults(block, instances, timeout_seconds=60 * minutes):
        reason = listed.get((block.name, each.form, each.fault), "")
        faults.append((each, reason))
        counts = forms.setdefault(each.form, [0, 0, 0, 0])
        counts[0 if each.how == "trace" else 1 if each.how else 2 if reason else 3] += 1
    wrong = [each for each, reason in faults if bool(each.how) == bool(reason)]
    if as_json:
        emit_json(
            {
                "block": block.name,
                "faults": [
                    {
                        "form": each.form,
                        "module": each.fault.module or None,
                        "signal": each.fault.signal,
                        "value": each.fault.value,
                        "instance": each.instance or None,
                        "how": each.how or None,
                        "reason": reason or None,
                    }
                    for each, reason in faults
                ],
            }
        )
    else:
        columns = ["component", ">faults", ">detected by a trace", ">by induction", ">listed", ">open"]
        rows = [[form, str(sum(counts)), *map(str, counts)] for form, counts in forms.items()]
        screen.print(table(f"{block.name}: registers and outputs stuck at 0 and at 1", columns, rows))
        for each in wrong:
            told = f"listed, but detected by {each.instance}" if each.how else "not detected by any proof"
            screen.print(f"{each.form}: {each.fault}: {told}", style="red", markup=False, soft_wrap=True)
    return 1 if wrong else 0


def _of_netlist(block: Block, netlist: str, minutes: int, *, fresh: bool) -> list[ProvenInstance]:
    parameters = {**block.defaults(), **block.mutated}
    proof = prove_block_netlist(block, parameters, netlist, timeout_seconds=60 * minutes, fresh=fresh)
    return [ProvenInstance(Instance("netlist", block.proofs[0].properties, parameters), proof, ())]


def _document(block: str, netlist: str, solver: str, results: list[ProvenInstance]) -> dict[str, Any]:
    return {
        "block": block,
        "netlist": netlist or None,
        "solver": solver,
        "instances": [
            {
                "name": each.instance.name,
                "parameters": dict(each.instance.parameters),
                "properties": list(each.proof.properties),
                "verdict": each.proof.verdict,
                "method": each.proof.method,
                "seconds": round(each.proof.seconds, 1),
                "cached": each.proof.cached,
                "failed": each.proof.failed or None,
                "detail": each.proof.detail,
            }
            for each in results
        ],
        "covers": [
            {
                "property": cover.property,
                "instance": each.instance.name,
                "assertions": cover.assertions,
                "reached": cover.reached,
                "depth": cover.depth,
                "within": cover.within,
                "cached": cover.cached,
            }
            for each in results
            for cover in each.covers
        ],
    }


def _show(block: str, results: list[ProvenInstance]) -> None:
    rows = [
        [
            each.instance.name,
            str(each.instance),
            str(len(each.proof.properties)),
            each.proof.method,
            f"{each.proof.verdict}{_CACHED * each.proof.cached}",
            f"{each.proof.seconds:.1f} s",
        ]
        for each in results
    ]
    screen.print(
        table(f"{block}: proofs", ["instance", "parameters", ">properties", "method", "verdict", ">time"], rows)
    )
    met = [
        [
            cover.property,
            each.instance.name,
            f"{cover.reached} of {cover.assertions}{_CACHED * cover.cached}",
            "never" if cover.depth is None else str(cover.depth),
            str(cover.within),
        ]
        for each in results
        for cover in each.covers
    ]
    if met:
        columns = ["property", "instance", ">premises reached", ">after cycles", ">depth limit"]
        screen.print(table(f"{block}: premises", columns, met))
    for each in results:
        if each.proof.detail:
            failed = f"{each.proof.failed}: " if each.proof.failed else ""
            screen.print(f"{failed}{each.proof.detail}\nsee {each.proof.folder}", markup=False, soft_wrap=True)
