"""``vlane schema``: JSON schemas and key tables of the input files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from vlane.documents.files import write_whole
from vlane.errors import misplaced
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.output.console import emit_json, screen, table
from vlane.sim_top.reference.file_keys import FileSection, sections_of
from vlane.sim_top.reference.schemas import schema_of

app = App()


@app.command(epilog="Example: vlane schema study --out study.schema.json")
def schema(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Kind of file: study, tables, plan, wants or map.")],
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the schema to a file.")] = None,
    keys: Annotated[bool, typer.Option("--keys", help="Print the keys as tables instead of a schema.")] = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """Print the JSON schema of a kind of file, for editors, or its keys as tables.

    An editor with JSON schema support (Even Better TOML, taplo) completes and checks a file whose first line is
    "#:schema study.schema.json".
    """
    made = schema_of(kind)
    if keys:
        if out is not None:
            raise misplaced("--out", "with --keys")
        _print_keys(sections_of(kind), as_json=as_json)
        return
    if out is None:
        emit_json(made)
        return
    write_whole(out, json.dumps(made, indent=2) + "\n", option="--out")
    if as_json:
        emit_json({"kind": kind, "file": str(out)})
        return
    screen.print(str(out), markup=False, soft_wrap=True)


def _print_keys(sections: tuple[FileSection, ...], *, as_json: bool) -> None:
    if as_json:
        emit_json(
            {
                "sections": [
                    {
                        "section": each.heading,
                        "about": each.about,
                        "keys": [
                            {"key": key.name, "may_be": key.may_be, "default": key.default, "about": key.about}
                            for key in each.keys
                        ],
                    }
                    for each in sections
                ]
            }
        )
        return
    for each in sections:
        rows = [[key.name, key.may_be, key.default, key.about] for key in each.keys]
        screen.print(table(f"{each.heading}: {each.about}", ["key", "values", "default", "meaning"], rows))
