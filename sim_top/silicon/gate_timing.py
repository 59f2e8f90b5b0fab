"""Longest path of a netlist of library cells: logic depth by yosys, nanoseconds by OpenSTA when it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

_PERIOD_NS = 10
"""Any period serves: the delay is the period minus the slack."""
_SECONDS = 600
_SCRIPT = """read_liberty {folder}/cells.lib
read_verilog {folder}/mapped.v
link_design {top}
set_cmd_units -time ns
create_clock -name clk -period {period} clk
set_input_delay 0 -clock clk [all_inputs]
set_output_delay 0 -clock clk [all_outputs]
report_checks -path_delay max -digits 4
exit
"""


@dataclass(frozen=True, slots=True)
class GateTiming:
    """Longest path of a netlist.

    Parameters
    ----------
    levels : int
        Largest number of cells between registers, inputs and outputs.
    ns : float or None
        Delay of the slowest path in ns, with clock-to-output and setup and without wires; ``None`` without OpenSTA.
    start, end : str
        First and last element of the slowest path: ports, or registers named by their outputs; empty without
        OpenSTA.
    """

    levels: int
    ns: float | None = None
    start: str = ""
    end: str = ""

    @property
    def mhz(self) -> float | None:
        """Clock frequency at which the slowest path takes one cycle, in MHz."""
        return round(1000 / self.ns, 1) if self.ns else None


def logic_depth(report: str) -> int:
    """Return the length of the longest path in a report of yosys' ``ltp``, or 0 if the netlist has no path."""
    found = re.search(r"\(length=(\d+)\)", report)
    return int(found.group(1)) if found else 0


def gate_timing(folder: Path, top: str, *, is_timed: bool) -> GateTiming:
    """Return the longest path of ``mapped.v`` in a folder with ``cells.lib`` and ``depth.txt``.

    Parameters
    ----------
    folder, top : Path, str
        Folder, and name of the module.
    is_timed : bool
        Whether the library has delays.

    Raises
    ------
    RuntimeError
        If OpenSTA reports no path.
    """
    levels = logic_depth((folder / "depth.txt").read_text())
    program = shutil.which("sta")
    if program is None or not is_timed:
        return GateTiming(levels)
    with tempfile.TemporaryDirectory() as work:
        script = Path(work) / "timing.tcl"
        script.write_text(_SCRIPT.format(folder=folder, top=top, period=_PERIOD_NS))
        command = [program, "-no_splash", "-exit", str(script)]
        done = subprocess.run(
            command, cwd=work, capture_output=True, text=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL
        )
    return read_report(done.stdout + done.stderr, levels, (folder / "mapped.v").read_text())


def read_report(report: str, levels: int, netlist: str) -> GateTiming:
    """Return the longest path of OpenSTA's report of checks. Registers get the names of the nets that they drive.

    Raises
    ------
    RuntimeError
        If the report has no path.
    """
    ends = [re.search(rf"^{word}point: (\S+)", report, re.MULTILINE) for word in ("Start", "End")]
    slack = re.search(r"^\s*(-?[\d.]+)\s+slack", report, re.MULTILINE)
    errors = [line for line in report.splitlines() if line.startswith("Error")]
    if slack is None or None in ends or errors:
        raise RuntimeError(f"OpenSTA reports no path: {(errors or [report.strip()[-200:]])[0]}")
    start, end = (_name(each.group(1).replace("\\", ""), netlist) for each in ends if each)
    return GateTiming(levels, round(_PERIOD_NS - float(slack.group(1)), 3), start, end)


def _name(end: str, netlist: str) -> str:
    """Return the net that a register drives, or the name of a port."""
    cell = re.search(rf"^\s*\w+ \\?{re.escape(end)} \((.*?)\);", netlist, re.MULTILINE | re.DOTALL)
    nets = re.findall(r"\.(?:Q|QN|Q_N)\(\\?(\S+?)\s*\)", cell.group(1)) if cell else []
    return next((net for net in nets if not re.fullmatch(r"_\d+_", net)), end)
