"""Options of the verbs that work on a block of the catalogue; the catalogue loads the hardware language."""

from __future__ import annotations

from typing import Annotated

import typer

from vlane.errors import InputError, unknown_word
from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.synthesis.netlist import NETLISTS

QUALIFICATION_CYCLES = 2_000_000
"""Cycles in which a fault must be noticed."""

BlockName = Annotated[str, typer.Argument(metavar="BLOCK", help=f"One of: {', '.join(BLOCKS)}.")]
Netlist = Annotated[str, typer.Option(metavar="TARGET", help=f"The hardware after synthesis: {' or '.join(NETLISTS)}.")]


def check_netlist(netlist: str, **beside: object) -> None:
    """Refuse a target that is not known, and options that a netlist has no use for.

    Parameters
    ----------
    netlist : str
        Target of synthesis, or nothing.
    **beside : object
        Options by name; those that are not ``None`` were given.

    Raises
    ------
    InputError
        Naming the option.
    """
    if netlist and netlist not in NETLISTS:
        raise unknown_word("--netlist", NETLISTS, netlist)
    for option in (option for option, given in beside.items() if netlist and given is not None):
        raise InputError(option, "left out with --netlist", "given")
