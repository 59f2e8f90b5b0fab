"""Keys of cache entries, determined without creating the entries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.native.code_coverage import compile_covered
from vlane.tb.machinery.native.kept import cached_folder
from vlane.tb.machinery.native.model import compile_model
from vlane.tb.machinery.proofs.prove import prove
from vlane.tb.machinery.synthesis.flattened import Flattened
from vlane.tb.machinery.synthesis.mutate import Mutant, mutant_verilog
from vlane.tb.machinery.synthesis.netlist import compile_netlist


class _AskedError(Exception):
    """Raised in place of creating a cache entry."""


def kept_keys(block: str) -> dict[str, str]:
    """Return the cache keys of a block's models, netlists and verdict, by kind."""
    found = BLOCKS[block]
    mutant = Mutant(1, "mutate -mode inv -cell a -port A -portbit 0 -src b.py:1", ("b.py:1",))
    uses: dict[str, Callable[[], object]] = {
        "model": lambda: compile_model(found.make(found.mutated), block),
        "code coverage": lambda: compile_covered(found.make(found.mutated), block),
        "netlist": lambda: compile_netlist(found.make(found.mutated), block, "generic"),
        "proofs of mutants": lambda: Flattened(found.make(found.mutated), block),
        "model with mutants": lambda: mutant_verilog(found.make(found.mutated), block, (mutant,)),
        "verdict": lambda: prove(found.proofs[0].make(found.make), "kept-keys"),
    }
    return {name: _asked(use) for name, use in uses.items()}


def _asked(use: Callable[[], object]) -> str:
    asked: list[str] = []

    def ask(entry: Path | str, *others: Any) -> Path:
        if isinstance(entry, Path) and entry.parent.name == "verilog":
            return cached_folder(entry, *others)  # what is asked for depends on the Verilog
        asked.append(entry if isinstance(entry, str) else f"{entry.parent.name}/{entry.name}")
        raise _AskedError

    try:
        with (
            mock.patch("vlane.tb.machinery.native.model.cached_folder", ask),
            mock.patch("vlane.tb.machinery.native.yosys.cached_folder", ask),
            mock.patch("vlane.tb.machinery.proofs.prove.find_verdict", ask),
        ):
            use()
    except _AskedError:
        return asked[0]
    raise AssertionError("nothing was asked for")
