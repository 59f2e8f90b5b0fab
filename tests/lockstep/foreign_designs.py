"""Arbiters in third-party coding styles: the documentation's examples and variants of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from vlane.sim_top.blocks import find_block
from vlane.sim_top.dut.lockstep import ForeignResult, ForeignRun
from vlane.sim_top.dut.open_run import open_run

EXAMPLES = Path(__file__).parent.parent.parent / "docs" / "examples" / "foreign_arbiters"


def example(name: str, *changes: tuple[str, str]) -> str:
    """Return an example file with the given texts replaced, each of which must occur."""
    text = (EXAMPLES / name).read_text()
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    return text


def opened(where: Path, block: str, design: str, given: str, *, cycles: int = 20_000, table: str = "") -> ForeignRun:
    """Write a design, its map and a table to a folder and open a run of the design's first module."""
    (where / "design.sv").write_text(design)
    (where / "map.toml").write_text(given)
    (where / "table.toml").write_text(table)
    found = re.search(r"^module (\w+)", design, re.MULTILINE)
    assert found is not None
    return open_run(
        find_block(block),
        [where / "design.sv"],
        found[1],
        where / "map.toml",
        cycles=cycles,
        table=where / "table.toml" if table else None,
    )


def ran(where: Path, block: str, design: str, given: str, **run: int | str) -> ForeignResult:
    """Run a design and return its result."""
    return opened(where, block, design, given, **run).run()  # type: ignore[arg-type]


def map_of(name: str, *changes: tuple[str, str], without: Sequence[str] = ()) -> str:
    """Return an example map with texts replaced and lines with the given beginnings removed."""
    lines = example(name, *changes).split("\n")
    return "\n".join(line for line in lines if not line.startswith(tuple(without) or ("\0",)))
