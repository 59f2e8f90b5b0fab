"""Area and speed of a block by synthesis, placement between registers and gate counts, cached by content.

For placement, a block sits between two rows of flip-flops that a scan chain fills and reads. Every path is then from
register to register, and pins do not limit the frequency. Cell counts cover only the block.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vlane.errors import InputError
from vlane.extras import require_extra
from vlane.sim_top.blocks import Block
from vlane.sim_top.silicon.critical_path import UNPLACED, Speed
from vlane.sim_top.silicon.fpga import FAMILIES, SYNTHESIS_SECONDS, place_module
from vlane.sim_top.silicon.gate_timing import GateTiming, gate_timing, logic_depth
from vlane.sim_top.silicon.liberty import Liberty
from vlane.sim_top.systemverilog.writer import Written, written
from vlane.tb.machinery.native.rows import Port
from vlane.tb.machinery.native.yosys import YosysError, run_yosys

_GATES = """read_verilog -sv block.v
synth -flatten -noabc -top {top}
memory_map
opt -full
setattr -unset init w:*
dfflegalize -cell $_DFF_P_ x
techmap
dfflibmap -liberty cells.lib
abc -liberty cells.lib{constraints}
opt_clean
delete */t:$scopeinfo
tee -q -o cells.json stat -json
read_liberty -lib -overwrite -ignore_miss_func cells.lib
opt_clean -purge
splitnets -ports
write_verilog -noattr -noexpr -nohex -simple-lhs mapped.v
delete {storage}
tee -q -o depth.txt ltp -noff {top}
"""
_GENERIC = """read_verilog -sv block.v
synth -flatten -top {top}
delete */t:$scopeinfo
tee -q -o cells.json stat -json
tee -q -o depth.txt ltp -noff {top}
"""
"""Mapping to yosys' own gates, as in the table of xlsynth/bedrock-rtl (``PPA.md``)."""
_CONSTRAINED = " -constr cells.constr -D 1"
"""Mapping for speed with buffers and sizes of cells: no path is as short as the 1 ps that is asked for."""
_LOAD_FF = 10
TARGETS = (*FAMILIES, "gates", "generic")
UNPLACED_TARGETS = ("gates", "generic")
"""Targets without placement."""


@dataclass(frozen=True, slots=True)
class Area:
    """Area and speed of one instance.

    Parameters
    ----------
    lut : int or None
        Number of LUTs, including carry chains and LUT memories.
    ff : int or None
        Number of flip-flops.
    ram : int or None
        Number of block RAMs.
    dsp : int or None
        Number of multipliers.
    cells : mapping of str to int
        Number of cells by type.
    speed : Speed
        Frequency and critical path.
    ge, ge_storage : float or None
        Gate equivalents, in all and of flip-flops.
    um2 : float or None
        Area of the cells of a Liberty file, in its unit, usually square micrometres.
    timing : GateTiming or None
        Longest path of a netlist of gates.
    """

    lut: int | None
    ff: int | None
    ram: int | None
    dsp: int | None
    cells: Mapping[str, int]
    speed: Speed = UNPLACED
    ge: float | None = None
    ge_storage: float | None = None
    um2: float | None = None
    timing: GateTiming | None = None


def measure_area(
    block: Block, parameters: Mapping[str, Any], *, target: str, seeds: int, liberty: Liberty | None = None
) -> Area:
    """Synthesise the exported text of a block and place it with seeds 1 to ``seeds``. Cached results are reused.

    Parameters
    ----------
    block : Block
        The block.
    parameters : mapping
        Parameters of the instance.
    target : str
        One of ``TARGETS``.
    seeds : int
        Number of placements; 0 for none. Gates are not placed.
    liberty : Liberty, optional
        Cell library for gates; a small generic library by default.

    Raises
    ------
    InputError
        If the cells of the Liberty file cannot implement the block.
    MissingExtraError
        If the block is to be placed and the extra ``silicon`` is not installed.
    RuntimeError, TimeoutExpired
        If a tool fails, or synthesis takes more than half an hour.
    """
    text, for_speed = written(lambda: block.make(parameters), block.name), parameters.get("form") == "line_rate"
    return measure_verilog(
        str(text), block.name, framed_ports(text), target=target, seeds=seeds, liberty=liberty, for_speed=for_speed
    )


def framed_ports(text: Written) -> tuple[Port, ...]:
    """Return the ports of a text without the clock."""
    return tuple(Port(port.name, port.bits, is_input=port.is_input) for port in text.ports if port.name != "clk")


def measure_verilog(
    text: str,
    top: str,
    ports: Sequence[Port],
    *,
    target: str,
    seeds: int,
    liberty: Liberty | None = None,
    for_speed: bool = False,
) -> Area:
    """Synthesise a module and place it with seeds 1 to ``seeds``. Cached results are reused.

    Parameters
    ----------
    text, top : str
        SystemVerilog of the module, and its name.
    ports : sequence of Port
        Ports except the clock ``clk``.
    target, seeds, liberty
        As in ``measure_area``.
    for_speed : bool
        Whether to map for speed.

    Raises
    ------
    InputError, MissingExtraError, RuntimeError, TimeoutExpired
        As in ``measure_area``.
    """
    if seeds and target not in UNPLACED_TARGETS:
        require_extra("silicon")
    if target == "generic":
        return _generic(text, top)
    if target == "gates":
        return _gates(text, top, liberty or Liberty.read())
    placed = place_module(text, top, ports, target=target, seeds=seeds, for_speed=for_speed)
    return Area(placed.lut, placed.ff, placed.ram, placed.dsp, placed.cells, placed.speed)


def _gates(text: str, top: str, liberty: Liberty) -> Area:
    files = {"block.v": text, "cells.lib": liberty.text}
    if liberty.buffer:
        files["cells.constr"] = f"set_driving_cell {liberty.buffer}\nset_load {_LOAD_FF} [all_outputs]\n"
    script = _GATES.format(
        top=top,
        constraints=_CONSTRAINED if "cells.constr" in files else "",
        storage=" ".join(f"{top}/t:{name}" for name in sorted(liberty.storage)),
    )
    try:
        folder = run_yosys("area", files, script, result="depth.txt", seconds=SYNTHESIS_SECONDS)
    except YosysError as error:
        if liberty.is_generic:
            raise
        said = str(error)[-200:]
        problem = f": yosys or abc cannot use the cells of this file: {said}"
        raise InputError("--liberty", "a usable Liberty file", said, problem=problem) from error
    cells = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
    storage = {name: count for name, count in cells.items() if name in liberty.storage}
    return Area(
        lut=None,
        ff=sum(storage.values()),
        ram=None,
        dsp=None,
        cells=cells,
        ge=liberty.equivalents(cells),
        ge_storage=liberty.equivalents(storage),
        um2=None if liberty.is_generic else round(liberty.size(cells), 2),
        timing=gate_timing(folder, top, is_timed=bool(liberty.buffer)),
    )


def _generic(text: str, top: str) -> Area:
    script = _GENERIC.format(top=top)
    folder = run_yosys("area", {"block.v": text}, script, result="depth.txt", seconds=SYNTHESIS_SECONDS)
    cells = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
    flops = sum(count for name, count in cells.items() if "DFF" in name)
    return Area(None, flops, None, None, cells, timing=GateTiming(logic_depth((folder / "depth.txt").read_text())))
