"""From the words of the command line, or their equals in Python, to a run that is ready."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlane.dut_map import DutMap, read_map
from vlane.errors import InputError, closest
from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.lockstep import ForeignRun
from vlane.sim_top.dut.ports import block_rows
from vlane.sim_top.dut.wiring import RESET


def open_run(
    block: Block,
    files: Sequence[Path],
    top: str,
    file: Path | None,
    *,
    param: Sequence[str] = (),
    cycles: int,
    seed: int = 1,
    table: Path | None = None,
) -> ForeignRun:
    """Return a run of somebody else's module against a block.

    Parameters
    ----------
    block : Block
        The block.
    files : sequence of Path
        Verilog.
    top : str
        The module.
    file : Path or None
        The map; without one the design has the block's ports by their names.
    param : sequence of str
        ``K=V`` words: parameters of the block's instance, before those of the map.
    cycles, seed : int
        Golden's cycles; repeats the run.
    table : Path, optional
        Table file.

    Raises
    ------
    InputError
        If something cannot be used.
    """
    given = read_map(file) if file else None
    parameters = instance_parameters(block, given, param)
    design = _design(files, top, given)
    return ForeignRun(block, parameters, given or same_names(block, parameters), design, cycles, seed, table)


def _design(files: Sequence[Path], top: str, given: DutMap | None) -> Design:
    if given is None:
        return Design(tuple(files), top)
    for name, value in given.parameters.items():
        if isinstance(value, str) and not _TEXT.fullmatch(value):
            raise given.refusal(("parameters", name), "text without quotes, backslashes and control characters", value)
    try:
        return Design(tuple(files), top, given.parameters)
    except InputError as error:
        section, _, name = error.field.partition(".")
        raise given.refusal((section, name), error.must, error.got) if name else error from None


def instance_parameters(block: Block, given: DutMap | None, param: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the parameters of the block's instance: ``K=V`` words, else what the map says, else the defaults.

    Raises
    ------
    InputError
        If the map is for another block, or a parameter is refused.
    """
    if given is None:
        return block.parameters(list(param))
    told = dict(given.block)
    name = told.pop("name", block.name)
    if name != block.name:
        raise given.refusal(("block", "name"), f"{block.name}, the block that is run", name)
    defaults = block.defaults()
    for key, value in told.items():
        if key not in defaults:
            must = f"a known key (name, {', '.join(defaults)})"
            raise given.refusal(("block", key), must, "unknown", meant=closest(key, ["name", *defaults]))
        if type(value) is not type(defaults[key]):
            raise given.refusal(("block", key), _KINDS[type(defaults[key])], value)
    try:
        return block.parameters(list(param), told)
    except InputError as error:
        key = error.field.removeprefix("--param ")
        if key not in told or any(word.startswith(f"{key}=") for word in param):
            raise
        raise given.refusal(("block", key), error.must, error.got, meant=error.meant) from None


_TEXT = re.compile(r"[ !#-\[\]-~]*")
_KINDS = {int: "a whole number", bool: "true or false", str: "text"}


def same_names(block: Block, parameters: Mapping[str, Any]) -> DutMap:
    """Return the map to a design with the block's own ports, as ``vlane export`` writes them."""
    inputs, outputs = block_rows(block, parameters)
    return DutMap.model_validate(
        {
            "clock": "clk",
            "reset": RESET,
            "inputs": {name: name for name in inputs.ports if name != RESET},
            "outputs": {name: name for name in outputs.ports},
            "stimulus": {"wild": True},
        }
    )
