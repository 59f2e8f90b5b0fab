"""Register maps from descriptions in SystemRDL: one file per block, for all parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vlane.extras import require_extra
from vlane.registers.register_map import (
    BitField,
    Command,
    Constant,
    EntryNumber,
    Register,
    RegisterMap,
    Setting,
    Status,
    Window,
)
from vlane.schedulers.registry import SCHEDULERS

_FOLDER = Path(__file__).parent
_SHARED = {"common", "marking", "scheduling", "switch", "tables"}
"""Files with components that several descriptions include."""

REGISTERED = tuple(sorted({file.stem for file in _FOLDER.glob("*.rdl")} - _SHARED))
"""Blocks with registers."""


def register_map(block: str, parameters: Mapping[str, Any]) -> RegisterMap:
    """Return the registers of a block's instance. Parameters that are not given have the defaults of the description.

    Raises
    ------
    KeyError
        If the block has no programmable tables.
    MissingExtraError
        If the compiler of descriptions is not installed.
    """
    top = described(block, parameters)
    return RegisterMap(block, top.get_property("name"), tuple(_register(each) for each in _registers(top)))


def described(block: str, parameters: Mapping[str, Any], name: str = "") -> Any:
    """Return the compiled description of a block's instance, with a name. See ``register_map`` for parameters."""
    if block not in REGISTERED:
        raise KeyError(block)
    require_extra("registers")
    return _compiled(block, tuple(sorted(parameters.items())), name or block)


def property_lines() -> str:
    """Return the declarations of the properties that descriptions use."""
    lines = (_FOLDER / "common.rdl").read_text().splitlines()
    return "\n".join([*(line for line in lines if line.startswith("property ")), ""])


@cache
def _compiled(block: str, parameters: tuple[tuple[str, Any], ...], name: str) -> Any:
    from systemrdl.compiler import RDLCompiler  # noqa: PLC0415 - an extra

    given = dict(parameters)
    compiler, defines = RDLCompiler(), {}
    scheduler = given.get("scheduler")
    if scheduler:
        compiler.compile_file(str(_FOLDER / f"{scheduler}.rdl"))
        defines = {"VLANE_COMMON": "1", "VLANE_SCHEDULING": "1"}
        if f"{scheduler}_tables" in compiler.root.comp_defs:
            defines["SCHEDULE_TABLES"] = f"{scheduler}_tables"
        if SCHEDULERS[scheduler].swaps:
            defines["SCHEDULE_SWAPS"] = "1"
    compiler.compile_file(str(_FOLDER / f"{block}.rdl"), defines=defines)
    values: dict[str, Any] = {"RELEASE": _release()}
    for parameter, value in given.items():
        values |= {f"{parameter}_{value}".upper(): True} if isinstance(value, str) else {parameter.upper(): value}
    declared = {each.name for each in compiler.root.comp_defs[block].parameters}
    chosen = {each: value for each, value in values.items() if each in declared}
    top = compiler.elaborate(block, name, chosen).top
    top.inst.type_name = name
    return top


def _release() -> int:
    major, minor, patch = (int(part) for part in version("vlane").split(".")[:3])
    return major << 16 | minor << 8 | patch


def _registers(top: Any) -> Iterator[Any]:
    from systemrdl.node import RegNode  # noqa: PLC0415 - an extra

    found = [each for each in top.descendants(unroll=False) if isinstance(each, RegNode)]
    yield from sorted(found, key=_address)


def _address(node: Any) -> int:
    """Return the byte address of the first element."""
    at, each = 0, node
    while each.parent is not None:
        at, each = at + getattr(each, "raw_address_offset", 0), each.parent
    return at


def _inherited(node: Any, name: str) -> Any:
    """Return a property of a register, or of the closest file around it that has the property."""
    each = node
    while hasattr(each, "raw_address_offset"):
        if (given := each.get_property(name, default=None)) is not None:
            return given
        each = each.parent
    return None


def _given(node: Any, name: str, default: Any) -> Any:
    given = node.get_property(name, default=None)
    return default if given is None else given


def _register(node: Any) -> Register:
    fields = tuple(
        BitField(part.inst_name, part.low, part.width, part.get_property("desc") or "", part.get_property("reset") or 0)
        for part in node.fields()
    )
    first = next(iter(node.fields()))
    name, meaning, at = node.inst_name, node.get_property("desc"), _address(node)
    program = _inherited(node, "program")
    if program:
        return _window(node, program, fields)
    member = _given(node, "member", name)
    low = _given(node, "member_low", 0)
    if not first.is_hw_readable and not first.is_hw_writable:
        return Constant(name, meaning, at, fields, member, low)
    if not first.is_sw_writable:
        return Status(name, meaning, at, fields, member, low, elements=node.array_dimensions[0] if node.is_array else 1)
    return (Setting if first.is_sw_readable else Command)(name, meaning, at, fields, member, low)


def _window(node: Any, program: str, fields: tuple[BitField, ...]) -> Window:
    select = node.get_property("select_value", default=None)
    initial = node.get_property("initial_value", default=None)
    if initial is not None:
        (only,) = fields
        fields = (BitField(only.name, only.low, only.bits, only.meaning, initial),)
    return Window(
        node.inst_name,
        node.get_property("desc"),
        _address(node),
        fields,
        program,
        _entry_numbers(node),
        None if select is None else (_given(node, "select_member", "select"), select),
        _given(node, "initial_modulus", 0),
        kept=bool(_given(node, "kept_by_reset", default=False)),
        selected_by=_inherited(node, "selected_by") or "",
        repeats=_given(node, "repeats", ""),
    )


def _entry_numbers(node: Any) -> tuple[EntryNumber, ...]:
    """Return the parts of an entry's number, from the strides of the arrays around a register."""
    arrays: list[tuple[str, int, int]] = []
    entry_bytes, each = node.get_property("regwidth") // 8, node
    while hasattr(each, "raw_address_offset"):
        if each.is_array:
            low = (each.array_stride // entry_bytes).bit_length() - 1
            arrays.append(
                (each.get_property("entry_number", default="index") or "index", low, each.array_dimensions[0])
            )
        each = each.parent
    lows = [low for _, low, _ in arrays][1:]
    numbers = []
    for place, (name, low, count) in enumerate(arrays):
        bits = lows[place] - low if place < len(lows) else (count - 1).bit_length()
        numbers.append(EntryNumber(name, low, bits, count))
    return tuple(numbers)
