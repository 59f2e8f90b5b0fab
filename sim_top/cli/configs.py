"""``vlane configs``: lists and copies the shipped examples."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from vlane.documents.files import usable_folder, write_whole
from vlane.errors import InputError, unknown_word
from vlane.sim_top.cli.options import AsJson
from vlane.sim_top.cli.verbs import App
from vlane.sim_top.output.console import emit_json, screen, table

_FOLDER = Path(__file__).resolve().parent.parent / "configs"
_VERBS = {"network": "simulate", "dtable_plan": "dtable plan", "level": "vlarb plan"}
"""Verb that reads a file, by a section that identifies its files; other files are tables."""


@dataclass(frozen=True)
class Example:
    """Example file.

    Parameters
    ----------
    name : str
        File name without ``.toml``.
    verb : str
        Verb that reads the file.
    about : str
        Text of the file's first comment.
    files : tuple of str
        The file and the files that it names, relative to the folder of examples.
    """

    name: str
    verb: str
    about: str
    files: tuple[str, ...]


def examples() -> list[Example]:
    """Return the shipped examples, sorted by name."""
    return [_example(file) for file in sorted(_FOLDER.glob("*.toml"))]


app = App()


@app.command(epilog="Example: vlane configs tree43_ib --out my_studies")
def configs(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Example to copy. [default: list all]")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy into this folder. [default with NAME: .]")
    ] = None,
    as_json: AsJson = False,  # noqa: FBT002
) -> None:
    """List the shipped examples, or copy examples with all files named in them.

    If a target file exists with other content, the command is rejected and copies nothing.
    """
    shipped = {each.name: each for each in examples()}
    chosen = list(shipped.values())
    if name is not None:
        known = name.removesuffix(".toml")
        if known not in shipped:
            raise unknown_word("NAME", shipped, name)
        chosen, out = [shipped[known]], out or Path()
    written = _copy(chosen, out) if out is not None else []
    if as_json:
        emit_json(
            {
                "names": list(shipped),
                "configs": [{"name": e.name, "verb": e.verb, "about": e.about, "files": e.files} for e in chosen],
                "written": [str(file) for file in written],
            }
        )
        return
    if out is None:
        rows = [[each.name, f"vlane {each.verb}" if each.verb else "", each.about] for each in chosen]
        screen.print(table("examples (copy one: vlane configs NAME)", ["name", "verb", "content"], rows))
    for file in written:
        screen.print(str(file), markup=False, soft_wrap=True)


def _example(file: Path) -> Example:
    text = file.read_text(encoding="utf-8")
    document = tomllib.loads(text)
    about = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        about.append(line.lstrip("# "))
    verb = next((verb for section, verb in _VERBS.items() if section in document), "")
    if not about:
        about = [f"Table: {', '.join(document)}."]
    named = sorted({each for text_ in _texts(document) for each in _files(text_)})
    return Example(file.stem, verb, " ".join(about), (file.name, *named))


def _texts(value: Any) -> Iterator[str]:
    """Yield every string in a document, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _files(text: str) -> list[str]:
    """Return the shipped files that a text names: one file, or all files of a folder."""
    place = _FOLDER / text
    if not text or place.parent != _FOLDER:
        return []
    found = sorted(place.iterdir()) if place.is_dir() else [place] if place.is_file() else []
    return [str(each.relative_to(_FOLDER)) for each in found]


def _copy(chosen: list[Example], out: Path) -> list[Path]:
    """Copy the files of examples into a folder and return the copies."""
    copies = {out / file: (_FOLDER / file).read_bytes() for file in sorted({f for each in chosen for f in each.files})}
    for file, content in copies.items():
        if file.exists() and (not file.is_file() or file.read_bytes() != content):
            must, problem = (
                "a folder without changed examples",
                ": a different file exists here; copy to another folder",
            )
            raise InputError("--out", must, "another file", source=str(file), problem=problem)
    for file, content in copies.items():
        usable_folder(file.parent, option="--out")
        write_whole(file, content.decode(), option="--out")
    return list(copies)
