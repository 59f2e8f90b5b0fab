"""Files of a register description: page, C header, Python module, SystemRDL, IP-XACT and UVM model."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vlane.registers.description import described, property_lines
from vlane.registers.register_map import (
    WORD_BYTES,
    BitField,
    Command,
    Constant,
    Register,
    RegisterMap,
    Setting,
    Status,
    Window,
)

_ACCESS = {Constant: "read", Status: "read", Command: "write ones", Setting: "read, write", Window: "read, write"}


def register_files(registers: RegisterMap, parameters: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the register files of an instance by file name.

    Parameters
    ----------
    registers : RegisterMap
        Registers of the instance.
    parameters : mapping
        Parameters of the instance.
    name : str
        Prefix of files, types and definitions.
    """
    top = described(registers.name, parameters, name)
    files = f"{name}_registers"
    return {
        f"{files}.md": _page(registers),
        f"{files}.h": _header(registers, top, name),
        f"{files}.py": _module(registers),
        f"{files}.rdl": _description(top),
        f"{files}.xml": _ip_xact(top),
        f"{files}_pkg.sv": _uvm_model(top, f"{files}_pkg.sv"),
    }


def _page(registers: RegisterMap) -> str:
    lines = [
        f"# Registers of {registers.name}",
        "",
        f"AXI4-Lite, {registers.address_bits} address bits, words of 32 bits. Partial writes of a word and accesses",
        "that the table does not allow get the response SLVERR and have no effect.",
        "",
        "| address | register | entries | access | value |",
        "|---|---|---|---|---|",
    ]
    for each in registers:
        access = "write" if isinstance(each, Window) and each.repeats else _ACCESS[type(each)]
        cells = (f"`{each.address:#07x}`", f"`{each.name}`", _entries(each), access, _value(each))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _entries(register: Register) -> str:
    if not isinstance(register, Window):
        return str(register.words) if register.words > 1 else ""
    if len(register.index) < 2:
        return f"{register.entry_count}, {WORD_BYTES * register.entry_words} bytes each"
    parts = [f"{part.count} {part.name}, {_stride(register, part.low)} bytes each" for part in reversed(register.index)]
    return "; ".join(parts)


def _stride(window: Window, low: int) -> int:
    return WORD_BYTES * window.entry_words << low


def _value(register: Register) -> str:
    """Return the meaning of a register's fields, or of an entry's."""
    value = isinstance(register, Constant)
    parts = [_field_text(part) + (f" = {part.reset:#x}" if value else "") for part in register.fields]
    if isinstance(register, Window) and register.entry_words > 1:
        parts.append("write the higher word last; it commits both")
    return f"{register.meaning}: {'; '.join(parts)}"


def _field_text(part: BitField) -> str:
    place = f"[{part.low + part.bits - 1}:{part.low}]" if part.bits > 1 else f"[{part.low}]"
    return f"{place} {part.meaning}"


def _addresses(registers: RegisterMap) -> list[tuple[str, str, str]]:
    """Return (name, number, meaning) of every address and size."""
    found: list[tuple[str, str, str]] = []
    for each in registers:
        name = each.name.upper()
        found.append((name, f"{each.address:#x}", each.meaning))
        if isinstance(each, Window):
            found.append((f"{name}_ENTRIES", str(each.entry_count), "entries of this instance"))
            for part in reversed(each.index):
                own = "" if part is each.index[0] else f"{part.name.upper()}_"
                if len(each.index) > 1:
                    found.append((f"{name}_{part.name.upper()}_COUNT", str(part.count), ""))
                found.append(
                    (f"{name}_{own}STRIDE", str(_stride(each, part.low)), f"bytes from {part.name} to {part.name}")
                )
        elif each.words > 1:
            found.append((f"{name}_WORDS", str(each.words), "words of this instance"))
    return found


def _header(registers: RegisterMap, top: Any, name: str) -> str:
    from peakrdl_cheader.exporter import CHeaderExporter  # noqa: PLC0415 - an extra

    exporter = CHeaderExporter()
    made = _exported(lambda path: exporter.export(top, path, reuse_typedefs=False), f"{name}_registers.h")
    included = "#include <assert.h>\n"
    lines = ["", "/* Byte addresses, entries of tables, bytes between entries. */"]
    for constant, number, meaning in _addresses(registers):
        lines.append(f"#define {name.upper()}_{constant} {number}u{f' /* {meaning} */' if meaning else ''}")
    return made.replace(included, "\n".join([included.strip(), *lines, ""]), 1)


def _module(registers: RegisterMap) -> str:
    lines = [f'"""Registers of {registers.name}: byte addresses, entries of tables, fields of values."""', ""]
    for name, number, meaning in _addresses(registers):
        lines.append(f"{name} = {number}{f'  # {meaning}' if meaning else ''}")
    for each in registers:
        for part in each.fields:
            name = f"{each.name}_{part.name}".upper()
            lines.append(f"{name}_LSB = {part.low}  # {part.meaning}")
            lines.append(f"{name}_BITS = {part.bits}")
        if isinstance(each, Constant):
            lines.append(f"{each.name.upper()}_VALUE = {each.value:#x}")
    return "\n".join([*lines, ""])


def _description(top: Any) -> str:
    from peakrdl_systemrdl import SystemRDLExporter  # noqa: PLC0415 - an extra

    return property_lines() + "\n" + _exported(lambda path: SystemRDLExporter().export(top, path), "registers.rdl")


def _ip_xact(top: Any) -> str:
    from peakrdl_ipxact import IPXACTExporter  # noqa: PLC0415 - an extra

    exporter = IPXACTExporter(vendor="vlane", library="qos", version=version("vlane"))
    made = _exported(lambda path: exporter.export(top, path), "registers.xml")
    return made.partition("\n")[2]  # the file header has the XML declaration


def _uvm_model(top: Any, file: str) -> str:
    from peakrdl_uvm import UVMExporter  # noqa: PLC0415 - an extra

    return _exported(lambda path: UVMExporter().export(top, path, reuse_class_definitions=False), file)


def _exported(export: Callable[[str], None], file: str) -> str:
    """Return the text that an exporter writes to a file with this name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        export(str(path))
        return re.sub(r"[ \t]+$", "", path.read_text(), flags=re.MULTILINE)
