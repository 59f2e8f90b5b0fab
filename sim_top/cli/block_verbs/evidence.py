"""``vlane evidence``: totals of recorded soaks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vlane.errors import InputError
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.cosim.soak_records import Total, read_records, totals
from vlane.sim_top.output.console import emit_json, screen, table

app = App()

_COLUMNS = ["block", "form", ">all", ">current RTL", ">full size", ">instances", ">seeds", ">shapes"]


@app.command(epilog="Example: vlane evidence docs/evidence/soak.jsonl")
def evidence(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Record file written by vlane soak --record.")],
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Sum the cycles compared in recorded soaks, by block, and report how many match the current RTL."""
    if not file.exists():
        raise InputError("FILE", "an existing record file", "missing", source=str(file), problem=": no such file")
    found = list(totals(read_records(file)))
    if as_json:
        emit_json({"file": str(file), "blocks": [_document(each) for each in found]})
    else:
        screen.print(table("cycles compared with golden, in millions", _COLUMNS, [_row(each) for each in found]))


def _document(total: Total) -> dict[str, object]:
    return {**asdict(total), "first": total.first.isoformat(), "last": total.last.isoformat()}


def _row(total: Total) -> list[str]:
    cycles = (total.cycles, total.present_cycles, total.full_size_cycles)
    counts = (total.instances, total.seeds, total.shapes)
    return [total.block, total.form, *(f"{count / 1e6:,.3f}" for count in cycles), *(f"{count:,}" for count in counts)]
