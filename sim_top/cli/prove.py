"""``vlane prove``: the properties of a block, or of its netlist."""

from __future__ import annotations

from typing import Annotated

import typer
from vlane.sim_top.blocks import find_block
from vlane.sim_top.cli.block_options import BlockName, Netlist, check_netlist
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.proofs import prove_block, prove_block_netlist
from vlane.sim_top.output.console import emit_json, note, screen, table
from vlane.tb.proofs.prove import Proof

__all__ = ["app"]

app = App()


@app.command(epilog="Example: vlane prove vlarb")
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
    check_netlist(netlist)
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
