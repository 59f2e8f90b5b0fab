"""Options shared by the verbs on a block. Imports the catalogue, and with it the hardware language."""

from __future__ import annotations

from typing import Annotated

import typer

from vlane.errors import misplaced, unknown_word
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.synthesis.netlist import NETLISTS

QUALIFICATION_CYCLES = 2_000_000
"""Number of cycles within which the lockstep must detect a fault."""

BlockName = Annotated[str, typer.Argument(metavar="BLOCK", help=f"Block: {', '.join(BLOCKS)}.")]
Netlist = Annotated[
    str,
    typer.Option(metavar="TARGET", help=f"Use the synthesised netlist instead of the RTL: {' or '.join(NETLISTS)}."),
]


def check_netlist(netlist: str, **beside: object) -> None:
    """Reject an unknown netlist target, and options that cannot be combined with a netlist.

    Parameters
    ----------
    netlist : str
        Synthesis target; empty for the RTL.
    **beside : object
        Options by name; ``None`` if an option was not given.

    Raises
    ------
    InputError
        If the target is unknown or an option was given with a netlist.
    """
    if netlist and netlist not in NETLISTS:
        raise unknown_word("--netlist", NETLISTS, netlist)
    for option in (option for option, given in beside.items() if netlist and given is not None):
        raise misplaced(option, "with --netlist")
