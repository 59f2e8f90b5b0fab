"""Reference as Markdown, for the documentation site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vlane.sim_top.blocks import BLOCKS, find_block
from vlane.sim_top.export.export import documented_ports
from vlane.sim_top.reference.file_keys import sections_of


def keys_page(kind: str) -> list[str]:
    """Return the lines of a kind of file's keys, with a heading per section.

    Raises
    ------
    InputError
        If the kind is unknown.
    """
    lines: list[str] = []
    for section in sections_of(kind):
        rows = [[f"`{key.name}`", key.may_be, _code(key.default), key.about] for key in section.keys]
        lines += [f"## `{section.heading}`", "", section.about, ""]
        lines += [*_table(("key", "values", "default", "meaning"), rows), ""] if rows else []
    return lines


def blocks_page(*, pages: str = "") -> list[str]:
    """Return the lines of every block's parameters and ports, with a heading per block."""
    return [line for name in BLOCKS for line in block_page(name, pages=pages)]


def block_page(name: str, *, pages: str = "") -> list[str]:
    """Return the lines of a block's parameters, and of its ports with default parameters.

    Parameters
    ----------
    name : str
        Name of the block.
    pages : str
        Prefix of links to the block's contract.

    Raises
    ------
    InputError
        If the block is unknown.
    """
    block = find_block(name)
    parameters = block.shape()
    rows = [[f"`{row[0]}`", row[2], _code(_plain(row[1])), row[3]] for row in parameters.described()]
    ports = [
        [f"`{port['name']}`", port["direction"], str(port["bits"]), port["meaning"]]
        for port in documented_ports(block.make(parameters))
    ]
    return [
        f"## {block.name}",
        "",
        f"{block.title[:1].upper()}{block.title[1:]}: [contract]({pages}{name}.md).",
        "",
        *_table(("parameter", "values", "default", "meaning"), rows),
        "",
        "Ports with these parameters:",
        "",
        *_table(("port", "direction", "bits", "meaning"), ports),
        "",
    ]


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _code(value: str) -> str:
    return value if value in {"", "required"} else f"`{value}`"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(each.replace('|', chr(92) + '|') for each in row)} |"
