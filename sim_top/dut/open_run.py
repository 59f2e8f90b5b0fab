"""Construction of a run of a foreign design from command-line words or their Python equivalents."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vlane.dut_map import DutMap, read_map
from vlane.dut_policy import read_policy
from vlane.errors import InputError, closest, missing_value
from vlane.sim_top.blocks import Block
from vlane.sim_top.dut.closed_run import ClosedRun
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.lockstep import ForeignRun
from vlane.sim_top.dut.ports import block_rows
from vlane.sim_top.dut.sources import Sources
from vlane.sim_top.dut.wiring import RESET
from vlane.sim_top.systemverilog.names import text_name


def open_run(
    block: Block,
    files: Sources | Sequence[Path],
    top: str,
    file: Path | None,
    *,
    param: Sequence[str] = (),
    cycles: int,
    seed: int = 1,
    table: Path | None = None,
) -> ForeignRun:
    """Return a run of a foreign module against a block.

    Parameters
    ----------
    block : Block
        Block to compare with.
    files : Sources or sequence of Path
        Verilog files.
    top : str
        Top module.
    file : Path or None
        Port map; without a map the design has the port names of the export.
    param : sequence of str
        ``K=V`` words with parameters of the block's instance; they override those of the map.
    cycles, seed : int
        Number of golden's cycles, and seed of the stimulus.
    table : Path, optional
        Table file.

    Raises
    ------
    InputError
        If the design, the map, a parameter or the table is rejected.
    """
    given = read_map(file) if file else None
    parameters = instance_parameters(block, given, param)
    design = _design(files, top, given)
    return ForeignRun(block, parameters, given or same_names(block, parameters), design, cycles, seed, table)


def open_closed(
    block: Block,
    sources: Sources,
    top: str,
    given: DutMap | None,
    *,
    param: Sequence[str] = (),
    cycles: int,
    seed: int = 1,
    table: Path | None = None,
    golden: Path | None = None,
    policy: Path | None = None,
) -> ClosedRun:
    """Return a run of a foreign arbiter with closed-loop requesters.

    Parameters
    ----------
    block, top, param, cycles, seed, table
        As in ``open_run``.
    sources : Sources
        Files of the design.
    given : DutMap or None
        Port map; required.
    golden, policy : Path, optional
        File of an own golden, and policy file.

    Raises
    ------
    InputError
        If the design, the map, a parameter, the table, the golden or the policy is rejected.
    """
    if given is None:
        raise missing_value("--map", "--golden and --policy need a map of the ports")
    parameters = instance_parameters(block, given, param)
    told = read_policy(policy) if policy else None
    return ClosedRun(block, parameters, given, _design(sources, top, given), cycles, seed, table, golden, told)


def _design(files: Sources | Sequence[Path], top: str, given: DutMap | None) -> Design:
    files = files if isinstance(files, Sources) else tuple(files)
    if given is None:
        return Design(files, top)
    for name, value in given.parameters.items():
        if isinstance(value, str) and not _TEXT.fullmatch(value):
            raise given.refusal(("parameters", name), "text without quotes, backslashes or control characters", value)
    try:
        return Design(files, top, given.parameters)
    except InputError as error:
        section, _, name = error.field.partition(".")
        raise given.placed(error, (section, name)) if name else error from None


def instance_parameters(block: Block, given: DutMap | None, param: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return the parameters of the block's instance: from ``K=V`` words, else from the map, else defaults.

    Raises
    ------
    InputError
        If the map is for another block, or a parameter is rejected.
    """
    if given is None:
        return block.parameters(list(param))
    told = dict(given.block)
    name = told.pop("name", block.name)
    if name != block.name:
        problem = f": the map is for {name}, but the command runs {block.name}"
        raise given.refusal(("block", "name"), block.name, name, problem=problem)
    defaults = block.defaults()
    for key, value in told.items():
        if key not in defaults:
            known = ["name", *defaults]
            raise given.refusal(
                ("block", key),
                f"a known key ({', '.join(known)})",
                "unknown",
                problem=f": unknown key (known: {', '.join(known)})",
                meant=closest(key, known),
            )
        if type(value) is not type(defaults[key]):
            raise given.refusal(("block", key), _KINDS[type(defaults[key])], value)
    try:
        return block.parameters(list(param), told)
    except InputError as error:
        key = error.field.removeprefix("--param ")
        if key not in told or any(word.startswith(f"{key}=") for word in param):
            raise
        raise given.placed(error, ("block", key)) from None


_TEXT = re.compile(r"[ !#-\[\]-~]*")
_KINDS = {int: "a whole number", bool: "true or false", str: "text"}


def same_names(block: Block, parameters: Mapping[str, Any]) -> DutMap:
    """Return the map of a design with the port names that ``vlane export`` writes."""
    inputs, outputs = block_rows(block, parameters)
    return DutMap.model_validate(
        {
            "clock": "clk",
            "reset": RESET,
            "inputs": {name: text_name(name) for name in inputs.ports if name != RESET},
            "outputs": {name: text_name(name) for name in outputs.ports},
            "stimulus": {"wild": True},
        }
    )
