"""Mutants of a component, all in one compiled model behind a select input, and proofs of equivalence.

Select 0 is the component as it is. Clock ports are left alone: a mutated clock breaks every mutant alike.
"""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vlane.tb.native.model import CompiledModel, compile_verilog, component_ports, to_rtlil
from vlane.tb.native.rows import Port
from vlane.tb.native.yosys import YosysError, run_yosys

__all__ = ["SELECT", "Mutant", "is_equivalent", "list_mutants", "mutant_model", "mutant_verilog"]

SELECT = "mutant_select"
"""Input of the model that names the mutant; 0 for none."""

_PROOF_SECONDS = 60
_UNTOUCHED = {"CLK", "WR_CLK", "RD_CLK", "clk", "RD_EN", "RD_ARST", "RD_SRST"}
"""Ports that are not mutated: clocks, and ports that an asynchronously read memory does not have."""
_ROOT = Path(__file__).resolve().parent.parent.parent
_FLATTEN = "read_rtlil design.il; hierarchy -top {top}; proc; flatten; memory_collect; opt -full; opt_clean -purge;"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the flattened netlist.

    Parameters
    ----------
    number : int
        Value of the select input that activates it, from 1.
    command : str
        The yosys command that creates it.
    sources : tuple of str
        Source lines that it affects, ``file:line``.
    """

    number: int
    command: str
    sources: tuple[str, ...]

    def __str__(self) -> str:
        mode, cell, port, bit = (_option(self.command, key) for key in ("mode", "cell", "port", "portbit"))
        return f"mutant {self.number}: {mode} of {cell} {port}[{bit}] at {', '.join(self.sources) or 'no line'}"


def _option(command: str, key: str) -> str:
    found = re.search(rf"-{key} (\S+)", command)
    return found.group(1) if found else ""


def list_mutants(component: Any, top: str, *, count: int, seed: int) -> tuple[Mutant, ...]:
    """Return up to ``count`` mutants of a component, the same for equal arguments.

    Parameters
    ----------
    component : Component
        Hardware.
    top : str
        Name of its module.
    count : int
        Number of mutants; a small component may have fewer.
    seed : int
        Seed that determines the selection.
    """
    asked = count + count // 4 + 8  # clock ports are dropped afterwards
    folder = _run(component, top, f"{_FLATTEN} mutate -list {asked} -seed {seed} -o mutants.txt", "mutants.txt")
    commands = [line for line in (folder / "mutants.txt").read_text().splitlines() if not _touches_clock(line)]
    return tuple(
        Mutant(number, command, tuple(dict.fromkeys(_shown(s) for s in re.findall(r"-src (\S+)", command))))
        for number, command in enumerate(commands[:count], start=1)
    )


def mutant_verilog(component: Any, top: str, mutants: tuple[Mutant, ...]) -> tuple[str, Port]:
    """Return the Verilog of a component with mutants built in, and the select input that it has besides its ports.

    A mutant between a register and what reads it costs that register its power-on value: a reset must come first.
    """
    bits = max(mutant.number for mutant in mutants).bit_length()
    controls = " ".join(f"{_controlled(mutant, bits, mutant.number)};" for mutant in mutants)
    script = f"{_FLATTEN} {controls} opt_clean; write_verilog -noattr mutated.v"
    return (_run(component, top, script, "mutated.v") / "mutated.v").read_text(), Port(SELECT, bits, is_input=True)


def mutant_model(component: Any, top: str, mutants: tuple[Mutant, ...]) -> CompiledModel:
    """Compile a component with mutants built in; it has the select input, too, and is reset first."""
    text, select = mutant_verilog(component, top, mutants)
    return compile_verilog(text, (*component_ports(component), select), top, reset_first=True)


def is_equivalent(component: Any, top: str, mutant: Mutant) -> bool:
    """Return whether a mutant is proven equivalent to the component.

    Both get the same inputs and, bit by bit, the same arbitrary state; the proof is that every output and
    every next state is the same. States that cannot be reached are not excluded, so a proof may be missed.
    """
    # One design, of which two are made that differ in a constant only: so nets have the same names in both.
    script = (
        f"{_FLATTEN} {_controlled(mutant, 1, 1)}; "
        "rename -enumerate -pattern made_%; memory_map; opt_clean; dffunmap; splitcells t:$dff; splitnets; "
        "select -set outs o:*; expose -evert-dff; delete -output o:* @outs %d w:*.d %d w:*.c %d; design -save everted; "
    )
    for name, chosen in (("gold", 0), ("gate", 1)):
        script += (
            f"design -load everted; delete -input w:{SELECT}; connect -set {SELECT} 1'{chosen}; opt_clean; "
            f"rename {{top}} {name}; write_rtlil {name}.il; "
        )
    script += (
        "design -reset; read_rtlil gold.il; read_rtlil gate.il; miter -equiv -flatten gold gate both; "
        "opt -full both; "
        f"sat -verify -timeout {_PROOF_SECONDS} -prove trigger 0 both; write_rtlil proven.il"
    )
    try:
        _run(component, top, script, "proven.il", seconds=2 * _PROOF_SECONDS)
    except (YosysError, subprocess.TimeoutExpired):
        return False
    return True


def prove_equivalent(component: Any, top: str, mutants: list[Mutant]) -> list[Mutant]:
    """Return those of the mutants that are proven equivalent."""
    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda mutant: is_equivalent(component, top, mutant), mutants))
    return [mutant for mutant, proven in zip(mutants, verdicts, strict=True) if proven]


def _controlled(mutant: Mutant, bits: int, number: int) -> str:
    """Return the command that activates a mutant at one value of the select input of that many bits."""
    plain = re.sub(r" -src \S+", "", mutant.command)
    return plain.replace("mutate ", f"mutate -ctrl {SELECT} {bits} {number} ", 1)


def _touches_clock(command: str) -> bool:
    return _option(command, "port") in _UNTOUCHED or _option(command, "wire") == "clk"


def _shown(source: str) -> str:
    path, _, line = source.rpartition(":")
    try:
        return f"{Path(path).relative_to(_ROOT)}:{line.split('.')[0]}"
    except ValueError:
        return f"{Path(path).name}:{line.split('.')[0]}"


def _run(component: Any, top: str, script: str, result: str, *, seconds: int | None = None) -> Path:
    """Return the folder in which yosys ran a script on the component as ``design.il``."""
    design = to_rtlil(component, top)
    commands = script.replace("{top}", top).replace("; ", "\n")
    return run_yosys("mutate", {"design.il": design}, commands, result=result, seconds=seconds)
