"""``vlane area --dut FILE``: area and clock frequency of the user's RTL."""

from __future__ import annotations

import re
from pathlib import Path

from vlane.dut_map import DutMap, read_map
from vlane.errors import InputError, closest, missing_value
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.ports import shown_bits
from vlane.sim_top.dut.sources import Sources
from vlane.sim_top.silicon.area import Area, measure_verilog
from vlane.sim_top.silicon.foreign import TOP, synthesisable
from vlane.sim_top.silicon.liberty import Liberty

_CLOCK = re.compile(r"(?i)^(a?clk|clock)(_?i|_in)?$")


def area_of_design(
    sources: Sources, top: str | None, map_file: Path | None, *, target: str, seeds: int, liberty: Liberty | None
) -> Area:
    """Return the area of a design between registers, as that of a block.

    Parameters
    ----------
    sources : Sources
        Files of the design.
    top : str or None
        Top module; required.
    map_file : Path or None
        Map with clock, parameters and constants. Without a map, the clock is the input that is named like one.
    target, seeds, liberty
        As in ``measure_area``.

    Raises
    ------
    InputError
        If an option, the map or the design is rejected, or a tool fails.
    """
    if top is None:
        raise missing_value("--top", "name the top module of --dut")
    given = read_map(map_file) if map_file else None
    design = Design(sources, top, given.parameters if given else {})
    clock, constants = _tied(design, given) if given else (_clock_of(design), {})
    text, ports = synthesisable(design, clock, constants)
    return measure_verilog(text, TOP, ports, target=target, seeds=seeds, liberty=liberty)


def _tied(design: Design, given: DutMap) -> tuple[str, dict[str, int]]:
    """Return the clock and the constants of whole ports that a map names."""
    inputs = {port.name: port.bits for port in design.ports if port.is_input}
    constants = {name: value for name, value in given.constants.items() if "[" not in name}
    known = f"an input of {design.top} ({', '.join(inputs)})"
    if given.clock.port not in inputs:
        raise given.refusal(("clock",), known, given.clock.port, meant=closest(given.clock.port, inputs))
    for name, value in constants.items():
        if name not in inputs:
            problem = f": {name} is not {known}"
            raise given.refusal(("constants", name), known, name, problem=problem, meant=closest(name, inputs))
        if value >> inputs[name]:
            must = f"below {1 << inputs[name]} for a port of {shown_bits(inputs[name])}"
            raise given.refusal(("constants", name), must, value)
    return given.clock.port, constants


def _clock_of(design: Design) -> str:
    found = [port.name for port in design.ports if port.is_input and port.bits == 1 and _CLOCK.match(port.name)]
    if len(found) != 1:
        problem = f"is missing: {design.top} has {len(found)} inputs named like a clock; name the clock in a map"
        raise InputError("--map", "given", "missing", problem=problem)
    return found[0]
