"""Exported text from which netlists are synthesised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.sim_top.systemverilog.text import Options
from vlane.sim_top.systemverilog.writer import written


def netlist_source(block: Block, parameters: Mapping[str, Any]) -> str:
    """Return the exported text of an instance with initial values, because a lockstep begins at power-on."""
    return str(written(lambda: block.make(parameters), block.name, Options(initial=True)))
