"""Exported text from which netlists are synthesised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from vlane.sim_top.systemverilog.text import Options
from vlane.sim_top.systemverilog.writer import written


class _Block(Protocol):
    """Name and constructor of a block."""

    @property
    def name(self) -> str: ...

    def make(self, parameters: Mapping[str, Any], /) -> Any: ...


def netlist_source(block: _Block, parameters: Mapping[str, Any]) -> str:
    """Return the exported text of an instance with initial values, because a lockstep begins at power-on."""
    return str(written(lambda: block.make(parameters), block.name, Options(initial=True)))
