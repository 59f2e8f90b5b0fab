"""Mutants of a component, all in one compiled model behind a select input, and proofs of their equivalence.

Select 0 is the unchanged component. Clock ports are not mutated, because a mutated clock breaks everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from vlane.tb.machinery.native.model import CompiledModel, compile_verilog, component_ports, to_rtlil
from vlane.tb.machinery.native.rows import Port
from vlane.tb.machinery.native.sources import source_line
from vlane.tb.machinery.native.yosys import OutOfTimeError, YosysError, run_commands
from vlane.tb.machinery.synthesis.flattened import FLATTEN, Flattened, Netlist

SELECT = "mutant_select"
"""Input of the model that selects the mutant; 0 selects none."""

_MERGING_SECONDS, _SEARCH_SECONDS = 200, 40
"""Limits of the two steps of a proof, in seconds of processor time. A netlist that exceeds them is not tried again."""
_FLAT, _MERGED, _INVARIANT = "flat.il", "merged.il", "invariant.txt"
_SEARCH = (
    f"read_rtlil {_MERGED}; hierarchy -top watched; simplemap; techmap; opt_clean; "
    f"abc -dff -script +strash;pdr,-d,-I,{_INVARIANT}; write_rtlil end.il"
)
_FOUND = "# Inductive invariant"
"""First line of ABC's file if an invariant was found; otherwise the file holds other clauses."""
_UNTOUCHED = {"CLK", "WR_CLK", "RD_CLK", "clk", "RD_EN", "RD_ARST", "RD_SRST"}
"""Ports that are not mutated: clocks, and ports that asynchronously read memories lack."""
_run = partial(run_commands, "mutate")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of the flattened netlist.

    Parameters
    ----------
    number : int
        Value of the select input that activates it, from 1.
    command : str
        Yosys command that creates the mutant.
    sources : tuple of str
        Affected source lines, ``file:line``.
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
    """Return up to ``count`` mutants of a component. Equal arguments give equal mutants.

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
    asked = count + count // 4 + 8  # clock ports are removed afterwards
    listed = f"{FLATTEN}mutate -list {asked} -seed {seed} -o mutants.txt"
    folder = _run({"design.il": to_rtlil(component, top)}, top, listed, result="mutants.txt")
    commands = [line for line in (folder / "mutants.txt").read_text().splitlines() if not _touches_clock(line)]
    return tuple(
        Mutant(number, command, tuple(dict.fromkeys(source_line(s) for s in re.findall(r"-src (\S+)", command))))
        for number, command in enumerate(commands[:count], start=1)
    )


def mutant_verilog(component: Any, top: str, mutants: tuple[Mutant, ...]) -> tuple[str, Port]:
    """Return the Verilog of a component with all mutants built in, and its additional select input.

    Mutating a register's output removes the power-on value, so a reset must come first.
    """
    bits = max(mutant.number for mutant in mutants).bit_length()
    controls = " ".join(f"{_controlled(mutant, bits, mutant.number)};" for mutant in mutants)
    script = f"{FLATTEN}{controls} opt_clean; write_verilog -noattr mutated.v"
    folder = _run({"design.il": to_rtlil(component, top, emit_src=False)}, top, script, result="mutated.v")
    return (folder / "mutated.v").read_text(), Port(SELECT, bits, is_input=True)


def mutant_model(component: Any, top: str, mutants: tuple[Mutant, ...]) -> CompiledModel:
    """Compile a component with all mutants built in. The model has the select input and starts with a reset."""
    text, select = mutant_verilog(component, top, mutants)
    return compile_verilog(text, (*component_ports(component), select), top, reset_first=True)


def is_equivalent(component: Any, top: str, mutant: Mutant) -> bool:
    """Return whether a mutant is proven equivalent to the component.

    Both get the same arbitrary inputs, with a reset in the first cycle; the proof shows that every output is equal in
    every later cycle. Signals that are equal in all cycles are found by induction and merged (signal correspondence);
    for the rest, an inductive invariant is searched (property-directed reachability).

    The mutant's innermost instance is tried first, for arbitrary inputs, then the instance around it, and so on: if no
    output of an instance ever differs, not even in the first cycle, nothing around it can differ.
    """
    return bool(prove_equivalent(component, top, [mutant]))


def prove_equivalent(
    component: Any, top: str, mutants: list[Mutant], tell: Callable[[str], None] = lambda _: None
) -> list[Mutant]:
    """Return the mutants that are proven equivalent (see ``is_equivalent``).

    If merging times out for one mutant, no further mutant of the netlist is tried. ``tell`` is called with a line about
    each mutant.
    """
    flattened = Flattened(component, top)  # only once: a component with memories can be elaborated only once
    around = {mutant: list(flattened.around(_option(mutant.command, "cell"))) for mutant in mutants}
    too_large: set[Netlist] = set()

    def is_proven(mutant: Mutant) -> bool:
        proven = any(_is_equivalent(each, top, mutant, too_large) for each in around[mutant])
        tell(f"{mutant}: {'proven equivalent' if proven else 'not proven'}")
        return proven

    with ThreadPoolExecutor(2) as pool:
        return [mutant for mutant, proven in zip(mutants, pool.map(is_proven, mutants), strict=True) if proven]


def _watched(netlist: Netlist) -> str:
    """Return a module that resets a netlist and a mutant together and compares the outputs afterwards.

    An instance is also compared in the first cycle, because its environment may store its first outputs.
    """
    first, differs = "\\watched:first ", "\\watched:differs "  # names that no port has
    inputs = [port for port in netlist.ports if port.is_input and port.name != "clk"]
    declared = "".join(f", input [{port.bits - 1}:0] \\given:{port.name} " for port in inputs)
    given = "".join(
        f", .\\in_{port.name} (\\given:{port.name} {f'| {first}' * (port.name == 'rst')})" for port in inputs
    )
    clock = ", .in_clk(clk)" * any(port.name == "clk" for port in netlist.ports)
    return (
        f"module watched(input clk{declared}, output wrong);\nreg {first}= 1;\nwire {differs};\n"
        f"always @(posedge clk) {first}<= 0;\nassign wrong = {differs}{f'& ~{first}' * netlist.is_whole};\n"
        f"both \\watched:both (.trigger({differs}){clock}{given});\nendmodule\n"
    )


def _is_equivalent(netlist: Netlist, top: str, mutant: Mutant, too_large: set[Netlist]) -> bool:
    """Return whether a netlist is proven equivalent to its mutant. A timeout adds the netlist to ``too_large``."""
    if netlist in too_large:
        return False
    files = {_FLAT: netlist.text, "watched.v": _watched(netlist)}
    try:
        merged = (_run(files, top, _merging(mutant), result=_MERGED, seconds=_MERGING_SECONDS) / _MERGED).read_text()
    except OutOfTimeError:
        too_large.add(netlist)
        return False
    except YosysError:
        return False
    if "connect \\wrong 1'0\n" in merged:
        return True
    try:
        found = _run({_MERGED: merged}, top, _SEARCH, result=_INVARIANT, seconds=_SEARCH_SECONDS) / _INVARIANT
    except YosysError:
        return False
    return found.read_text().startswith(_FOUND)


def _merging(mutant: Mutant) -> str:
    """Return the script that merges equal signals of component and mutant, until no difference is left."""
    # A mutated register may have lost its power-on value; with all registers at 0 there is a single start state. The
    # same holds for reads beyond the end of a memory. A register that is never written keeps this 0; without a power-on
    # value the optimizer would choose any value.
    script = (
        f"read_rtlil {_FLAT}; hierarchy -top {{top}}; {_controlled(mutant, 1, 1)}; "
        "memory_map; setundef -zero -undriven; dffunmap; opt_clean; setundef -zero -init; zinit -all; "
        "setattr -unset init w:*; setundef -zero -init; design -save made; "
    )
    for name, chosen in (("gold", 0), ("gate", 1)):
        script += (
            f"design -load made; delete -input w:{SELECT}; connect -set {SELECT} 1'{chosen}; opt_clean; "
            f"rename {{top}} {name}; write_rtlil {name}.il; "
        )
    return script + (
        "design -reset; read_rtlil gold.il; read_rtlil gate.il; miter -equiv -flatten gold gate both; "
        "read_verilog watched.v; hierarchy -top watched; proc; flatten; opt -full; opt_merge -share_all; dffunmap; "
        "simplemap; techmap; opt_clean; setundef -zero -init; dfflegalize -cell $_DFF_P_ 01; opt_clean; "
        f"abc -dff -script +strash;scorr; delete t:$scopeinfo; opt_clean -purge; write_rtlil {_MERGED}"
    )


def _controlled(mutant: Mutant, bits: int, number: int) -> str:
    """Return the command that activates a mutant at one value of the select input."""
    plain = re.sub(r" -src \S+", "", mutant.command)
    return plain.replace("mutate ", f"mutate -ctrl {SELECT} {bits} {number} ", 1)


def _touches_clock(command: str) -> bool:
    return _option(command, "port") in _UNTOUCHED or _option(command, "wire") == "clk"
