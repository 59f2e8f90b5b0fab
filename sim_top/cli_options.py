"""Options that several verbs share."""

from __future__ import annotations

from typing import Annotated

import typer
from vlane.sim_top.blocks import BLOCKS

__all__ = ["AsJson", "BlockName", "NoSeed", "Params", "Seed"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Params = Annotated[list[str] | None, typer.Option("--param", metavar="K=V", help="A parameter of the component.")]
Seed = Annotated[int, typer.Option(help="Chooses random tables and traffic; equal seeds give equal runs.")]
NoSeed = Annotated[int, typer.Option("--seed", help="Has no effect: nothing here is drawn at random.")]
BlockName = Annotated[str, typer.Argument(metavar="BLOCK", help=f"One of: {', '.join(BLOCKS)}.")]
