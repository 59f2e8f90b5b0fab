"""Proofs that a bit of a component never changes, whatever its inputs are, from power-on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Hashable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vlane.tb.machinery.native.code_coverage import Bit
from vlane.tb.machinery.native.model import to_rtlil
from vlane.tb.machinery.native.yosys import YosysError, run_commands
from vlane.tb.machinery.synthesis.flattened import path_of_net

_SECONDS = 600
"""Processor time of the induction."""
_FLAT = "read_rtlil design.il; hierarchy -top {top}; proc; flatten; "
_AROUND = "read_rtlil design.il; hierarchy -top {top}; blackbox * {top} %d; proc; "
_OPTIMISED = (
    "expose w:watched_*; memory_collect; memory_map; setundef -zero -undriven; opt -full; opt_merge -share_all; "
    "dffunmap; simplemap; techmap; opt_clean; setundef -zero -init; zinit -all; setattr -unset init w:*; "
    "dfflegalize -cell $_DFF_P_ 01; opt_clean; write_rtlil optimised.il; write_json optimised.json"
)
# Signals that are equal in all cycles, as constants are, are found by induction from power-on. Without a register that
# does nothing: what is equal in any case is found before it.
_MERGED = (
    "read_rtlil optimised.il; hierarchy -top {top}; abc -dff -script +strash;ifraig;scorr; delete t:$scopeinfo; "
    "opt_clean; write_json merged.json"
)


class _Net(NamedTuple):
    name: str
    bits: list[Hashable]


def constant_bits(component: Any, top: str, bits: Collection[Bit]) -> dict[Bit, str]:
    """Return those of the bits that are proven to be constant, and the value of each, ``0`` or ``1``.

    A bit that is not there is not returned. What is read beyond the end of a memory is 0. The instances that the
    component is made of are tried first, each with any inputs, then what is around them, whatever they put out, then
    the whole: what is constant in a part alone is constant in it, under every name that the signal has.
    """
    files = {"design.il": to_rtlil(component, top, emit_src=False)}
    inside: dict[str, dict[Bit, Bit]] = {}
    for bit in bits:
        instance, _, rest = bit.path.partition(".")
        if instance:
            inside.setdefault(instance, {})[bit._replace(path=rest)] = bit
    values = {
        own[bit]: value
        for instance, own in inside.items()
        if f"module \\{top}.{instance}\n" in files["design.il"]
        for bit, value in _constant(files, f"{top}.{instance}", own).items()
    }
    nets = _net_of(files, top, bits)
    for commands in (_AROUND, _FLAT):
        known = {nets[bit]: value for bit, value in values.items()}
        values |= {bit: known[net] for bit, net in nets.items() if net in known}
        values |= _constant(files, top, [bit for bit in bits if bit not in values], commands)
    return values


def net_of(component: Any, top: str, bits: Collection[Bit]) -> dict[Bit, Hashable]:
    """Return what each bit is, whatever its name: bits that are joined, through instances too, are one net."""
    return _net_of({"design.il": to_rtlil(component, top, emit_src=False)}, top, bits)


def _net_of(files: Mapping[str, str], top: str, bits: Collection[Bit]) -> dict[Bit, Hashable]:
    places = _places(files, top, _FLAT)
    return {bit: places[place].bits[bit.number] if (place := _place_of(bit)) in places else bit for bit in bits}


def _constant(files: Mapping[str, str], top: str, bits: Collection[Bit], commands: str = _FLAT) -> dict[Bit, str]:
    """Return which bits of a module, read with commands, are constant."""
    if not bits:
        return {}
    places = _places(files, top, commands)
    found = {bit: places[place].name for bit in bits if (place := _place_of(bit)) in places}
    if not found:
        return {}
    # Only signals with names can be watched, and some of these begin with a $.
    watched = {name: f"watched_{number}" for number, name in enumerate(sorted(set(found.values())))}
    renamed = "".join(f"rename {_word(name)} {short}; " for name, short in watched.items())
    nets, folder = _nets(files, top, f"{commands}cd {top}; {renamed}cd ..; {_OPTIMISED}", "optimised.json")
    with contextlib.suppress(YosysError):  # what is constant without the induction is still proven
        optimised = {"optimised.il": (folder / "optimised.il").read_text()}
        nets, _ = _nets(optimised, top, _MERGED, "merged.json", seconds=_SECONDS)
    values = {bit: str(nets[watched[name]]["bits"][bit.number]) for bit, name in found.items()}
    return {bit: value for bit, value in values.items() if value in {"0", "1"}}


def _nets(
    files: Mapping[str, str], top: str, commands: str, result: str, *, seconds: int | None = None
) -> tuple[dict[str, Any], Path]:
    """Return the signals of the module that commands wrote, by name, and the folder with everything they wrote."""
    folder = run_commands("constants", files, top, commands, result=result, seconds=seconds)
    return json.loads((folder / result).read_text())["modules"][top]["netnames"], folder


def _places(files: Mapping[str, str], top: str, commands: str) -> dict[tuple[str, ...], _Net]:
    """Return the signals of a module, read with commands, by the instances that they were in and their own names."""
    nets, _ = _nets(files, top, f"{commands}write_json read.json", "read.json")
    return {path_of_net(name, net): _Net(name, net["bits"]) for name, net in nets.items()}


def _place_of(bit: Bit) -> tuple[str, ...]:
    path = bit.path.split(".") if bit.path else []
    if path and bit.signal.startswith("$"):  # flattening keeps no place of a term, but its name tells it
        return ("".join(("$flatten", *(f"\\{part}." for part in path), bit.signal)),)
    return (*path, bit.signal)


def _word(name: str) -> str:
    """Return a name as commands of yosys take it."""
    return name if name.startswith("$") else f"\\{name}"
