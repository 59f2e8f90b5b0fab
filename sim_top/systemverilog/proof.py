"""Proof that the written SystemVerilog equals the design, by induction over paired registers.

Both texts are flattened. Registers and other signals are paired by the writer's map, ports by name. All other names are
hidden, so that nothing is paired by chance. A paired signal that is not a register is a lemma: it is proven equal, and
proofs of the logic behind it then start from it. Lemmas that cannot be proven are left out. No combinational loop may
go through lemmas, because each one would then be proven from itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib.wiring import In

from vlane.sim_top.systemverilog.writer import Register, Written
from vlane.tb.machinery.native.model import to_rtlil
from vlane.tb.machinery.native.yosys import run_yosys

_FLATTEN = "proc; flatten; memory -nomap; memory_map; opt_clean"
_SCRIPT = """read_rtlil gold.il
rename {top} gold
read_rtlil gate.il
rename {top} gate
wreduce gold
wreduce gate
opt -full gold
opt -full gate
equiv_make gold gate both
hierarchy -top both
clean
equiv_struct
equiv_simple -short
equiv_simple
equiv_induct -seq 2
tee -o status.txt equiv_status
chtype -set $_AND_ t:$equiv
tee -o loops.txt check
"""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Result of a proof.

    Parameters
    ----------
    points : int
        Compared bits of registers, outputs and lemmas.
    unproven : tuple of str
        Bits whose equality is not proven.
    """

    points: int
    unproven: tuple[str, ...]


def proven(make: Callable[[], Any], written: Written, name: str, *, seconds: int | None = None) -> Equivalence:
    """Compare a text with the design that it was written from.

    Parameters
    ----------
    make : callable
        Constructor of the component.
    written : Written
        Text and map of registers, written with default options.
    name : str
        Name of the top module.
    seconds : int, optional
        Limit of processor time.

    Raises
    ------
    OutOfTimeError
        If the proof needs more time.
    """
    component = make()
    ports = {}
    for path, member, value in component.signature.flatten(component):
        value = Value.cast(value)
        if len(value):
            direction = PortDirection.Input if member.flow == In else PortDirection.Output
            ports["_".join(map(str, path))] = value, direction
    design = to_rtlil(component, name, ports=ports, emit_src=False)
    gold = _flat({"design.il": design}, f"read_rtlil design.il; hierarchy -top {name}", "gold.il")
    gate = _flat({"design.sv": str(written)}, f"read_verilog -sv design.sv; hierarchy -top {name}", "gate.il")
    registers = _pairs(written.registers, gold, gate, "state")
    lemmas = _pairs(written.wires, gold, gate, "lemma")
    while True:
        pairs = registers | lemmas
        files = {
            "gold.il": _paired(gold, {wire: each[0] for wire, each in pairs.items()}),
            "gate.il": _paired(gate, {wire: each[1] for wire, each in pairs.items()}),
        }
        folder = run_yosys("equivalence", files, _SCRIPT.format(top=name), result="loops.txt", seconds=seconds)
        status = (folder / "status.txt").read_text()
        found = re.search(r"Found (\d+) \$equiv cells", status)
        if found is None:
            raise RuntimeError(f"unexpected output of equiv_status: {status[-500:]}")
        unproven = tuple(re.findall(r"Unproven \$equiv \S+: (.*)", status))
        false = set(lemmas) & {wire for each in unproven for wire in re.findall(r"\\(\w+)_g(?:old|ate)\b", each)}
        if "found logic loop" in (folder / "loops.txt").read_text() or (unproven and not false):
            false = set(lemmas)
        if not false:
            return Equivalence(int(found[1]), unproven)
        lemmas = {wire: each for wire, each in lemmas.items() if wire not in false}


def _flat(files: dict[str, str], read: str, result: str) -> str:
    script = f"{read}; {_FLATTEN}; write_rtlil {result}".replace("; ", "\n") + "\n"
    return (run_yosys("equivalence", files, script, result=result) / result).read_text()


@dataclass(frozen=True, slots=True)
class _Bits:
    """Bits of a wire of a flattened design."""

    wire: str
    low: int
    width: int


def _pairs(places: list[Register], gold: str, gate: str, wanted: str) -> dict[str, tuple[_Bits, _Bits]]:
    """Return the bits of both designs that belong together, by the name of the wire that compares them.

    Signals that synthesis removed are absent.
    """
    widths = [{wire: int(width or 1) for width, wire in _WIRE.findall(text)} for text in (gold, gate)]
    found = []
    for each in places:
        design, text = ".".join(each.design), ".".join(each.text)
        for entry in [f"[{number}]" for number in range(each.depth)] or [""]:
            sides = f"\\{design}{entry}", f"\\{text}{entry}"
            if sides[0] in widths[0] and sides[1] in widths[1]:
                found.append((_Bits(sides[0], 0, each.width), _Bits(sides[1], each.low, each.width)))
    return {f"{wanted}_{number}": each for number, each in enumerate(found)}


_WIRE = re.compile(r"^  wire (?:width (\d+) )?(?:signed )?(\\\S+)$", re.MULTILINE)
_NAME = re.compile(r"\\[^\s{}]+?(?=(?: \[[\d:]+\])?[\s{}])")


def _paired(design: str, bits: dict[str, _Bits]) -> str:
    """Return a design in which the named wires carry the paired bits, and other internal names are hidden."""
    internal = {wire for _, wire in _WIRE.findall(design)}
    design = _NAME.sub(lambda found: f"$hidden_{found[0][1:]}" if found[0] in internal else found[0], design)
    added = []
    for wire, each in bits.items():
        hidden = f"$hidden_{each.wire[1:]}"
        added.append(f"  wire width {each.width} \\{wire}")
        added.append(f"  connect \\{wire} {hidden} [{each.low + each.width - 1}:{each.low}]")
    at = design.rindex("\nend")
    return design[:at] + "\n" + "\n".join(added) + design[at:]
