"""From the words of the command line, or their equals in Python, to a run that is ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.lockstep import ForeignRun
from vlane.sim_top.dut.wiring import RESET
from vlane.tb.native.model import component_ports

from vlane.dut_map import DutMap, read_map
from vlane.errors import InputError, unknown_word

__all__ = ["instance_parameters", "open_run", "same_names"]


def open_run(
    block: Block, files: Sequence[Path], top: str, file: Path | None, *, param: Sequence[str] = (), cycles: int,
    seed: int = 1, table: Path | None = None,
) -> ForeignRun:  # fmt: skip
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
    design = Design(tuple(files), top, given.parameters if given else {})
    return ForeignRun(block, parameters, given or same_names(block, parameters), design, cycles, seed, table)


def instance_parameters(block: Block, given: DutMap | None, param: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the parameters of the block's instance: ``K=V`` words, else what the map says, else the defaults.

    Raises
    ------
    InputError
        If the map is for another block, or a parameter is refused.
    """
    told = dict(given.block) if given else {}
    name = told.pop("name", block.name)
    if given and name != block.name:
        raise given.refusal(("block", "name"), f"{block.name}, the block that is run", name)
    defaults = block.defaults()
    for key, value in told.items():
        assert given is not None
        if key not in defaults:
            error = unknown_word(key, ["name", *defaults], key)
            raise given.refusal(
                ("block", key), f"a known key (name, {', '.join(defaults)})", "unknown", meant=error.meant
            )
        if type(value) is not type(defaults[key]):
            kinds = {int: "a whole number", bool: "true or false", str: "text"}
            raise given.refusal(("block", key), kinds[type(defaults[key])], value)
    try:
        return block.parameters(list(param), told)
    except InputError as error:
        key = error.field.removeprefix("--param ")
        if given is None or any(word.startswith(f"{key}=") for word in param) or key not in told:
            raise
        raise given.refusal(("block", key), error.must, error.got, meant=error.meant) from None


def same_names(block: Block, parameters: Mapping[str, Any]) -> DutMap:
    """Return the map to a design with the block's own ports, as ``vlane export`` writes them."""
    ports = component_ports(block.make(parameters))
    return DutMap.model_validate(
        {
            "clock": "clk",
            "reset": RESET,
            "inputs": {port.name: port.name for port in ports if port.is_input and port.name != RESET},
            "outputs": {port.name: port.name for port in ports if not port.is_input},
            "stimulus": {"wild": True},
        }
    )
