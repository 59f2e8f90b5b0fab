"""Proofs that a bit of a component is constant from power-on, whatever the inputs."""

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
"""Limit of the induction, in seconds of processor time."""
_FLAT = "read_rtlil design.il; hierarchy -top {top}; proc; flatten; "
_AROUND = "read_rtlil design.il; hierarchy -top {top}; blackbox * {top} %d; proc; "
_OPTIMISED = (
    "expose w:watched_*; memory_collect; memory_map; setundef -zero -undriven; opt -full; opt_merge -share_all; "
    "dffunmap; simplemap; techmap; opt_clean; setundef -zero -init; zinit -all; setattr -unset init w:*; "
    "dfflegalize -cell $_DFF_P_ 01; opt_clean; write_rtlil optimised.il; write_json optimised.json"
)
# Induction from power-on finds signals that are equal in all cycles, constants among them. There is no placeholder
# register here: signals that are equal without induction are found before.
_MERGED = (
    "read_rtlil optimised.il; hierarchy -top {top}; abc -dff -script +strash;ifraig;scorr; delete t:$scopeinfo; "
    "opt_clean; write_json merged.json"
)


class _Net(NamedTuple):
    name: str
    bits: list[Hashable]


def constant_bits(component: Any, top: str, bits: Collection[Bit]) -> dict[Bit, str]:
    """Return the bits that are proven constant, with their values ``0`` or ``1``.

    Missing bits are not returned. Reads beyond the end of a memory return 0. The proof first covers each instance for
    arbitrary inputs, then the logic between instances for arbitrary outputs of the instances, then the component. A
    bit that is constant in an instance is constant in the component, under every name of the signal.
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
    """Return the net of each bit. Aliases of a bit, through instances too, have the same net."""
    return _net_of({"design.il": to_rtlil(component, top, emit_src=False)}, top, bits)


def _net_of(files: Mapping[str, str], top: str, bits: Collection[Bit]) -> dict[Bit, Hashable]:
    places = _places(files, top, _FLAT)
    return {bit: places[place].bits[bit.number] if (place := _place_of(bit)) in places else bit for bit in bits}


def _constant(files: Mapping[str, str], top: str, bits: Collection[Bit], commands: str = _FLAT) -> dict[Bit, str]:
    """Return the constant bits of a module, read by ``commands``, with their values."""
    if not bits:
        return {}
    places = _places(files, top, commands)
    found = {bit: places[place].name for bit in bits if (place := _place_of(bit)) in places}
    if not found:
        return {}
    # Only named signals can be watched, and some names begin with a $.
    watched = {name: f"watched_{number}" for number, name in enumerate(sorted(set(found.values())))}
    renamed = "".join(f"rename {_word(name)} {short}; " for name, short in watched.items())
    nets, folder = _nets(files, top, f"{commands}cd {top}; {renamed}cd ..; {_OPTIMISED}", "optimised.json")
    with contextlib.suppress(YosysError):  # constants found without induction remain proven
        optimised = {"optimised.il": (folder / "optimised.il").read_text()}
        nets, _ = _nets(optimised, top, _MERGED, "merged.json", seconds=_SECONDS)
    values = {bit: str(nets[watched[name]]["bits"][bit.number]) for bit, name in found.items()}
    return {bit: value for bit, value in values.items() if value in {"0", "1"}}


def _nets(
    files: Mapping[str, str], top: str, commands: str, result: str, *, seconds: int | None = None
) -> tuple[dict[str, Any], Path]:
    """Return the signals of the module written by the commands, by name, and the output folder."""
    folder = run_commands("constants", files, top, commands, result=result, seconds=seconds)
    return json.loads((folder / result).read_text())["modules"][top]["netnames"], folder


def _places(files: Mapping[str, str], top: str, commands: str) -> dict[tuple[str, ...], _Net]:
    """Return the signals of a module, read by ``commands``, by instance path and name."""
    nets, _ = _nets(files, top, f"{commands}write_json read.json", "read.json")
    return {path_of_net(name, net): _Net(name, net["bits"]) for name, net in nets.items()}


def _place_of(bit: Bit) -> tuple[str, ...]:
    path = bit.path.split(".") if bit.path else []
    if path and bit.signal.startswith(
        "$"
    ):  # flattening records no path for an unnamed term, but its name contains the path
        return ("".join(("$flatten", *(f"\\{part}." for part in path), bit.signal)),)
    return (*path, bit.signal)


def _word(name: str) -> str:
    """Return a name in the syntax of yosys commands."""
    return name if name.startswith("$") else f"\\{name}"
