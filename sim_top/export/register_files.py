"""Files of a register map: Markdown, C header and Python module from one description."""

from __future__ import annotations

from vlane.registers import WORD_BYTES, BitField, Command, Constant, Register, RegisterMap, Setting, Status, Window

_ACCESS = {Constant: "read", Status: "read", Command: "write ones", Setting: "read, write", Window: "write"}


def register_files(registers: RegisterMap, name: str) -> dict[str, str]:
    """Return the files by name: a Markdown page, a C header with prefix ``name``, a Python module."""
    files = f"{name}_registers"
    return {
        f"{files}.md": _page(registers),
        f"{files}.h": _header(registers, name.upper()),
        f"{files}.py": _module(registers),
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
    for at, register in registers:
        entries = ""
        if isinstance(register, Window):
            entries = f"{register.entries}, {WORD_BYTES * register.entry_words} bytes each"
        cells = (f"`{at:#07x}`", f"`{register.name}`", entries, _ACCESS[type(register)], _value(register))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _value(register: Register) -> str:
    """Return the meaning of a register's value, or of an entry's value."""
    if not isinstance(register, Window):
        if isinstance(register, Status) and register.element_bits:
            return f"{register.meaning}: one word per element, up to {register.words}"
        return register.meaning + (f", up to {register.words} words" if register.words > 1 else "")
    parts = [f"[{part.low + part.bits - 1}:{part.low}] {part.meaning}" for part in register.fields]
    if len(register.index) > 1:
        number = ", ".join(f"[{part.low + part.bits - 1}:{part.low}] {part.name}" for part in register.index)
        parts.append(f"entry index: {number}")
    if register.entry_words > 1:
        parts.append("write the higher word last; it commits both")
    return f"{register.meaning}: {'; '.join(parts)}"


def _constants(registers: RegisterMap) -> list[tuple[str, str, str]]:
    """Return (name, number, meaning) of every address, size and field."""
    found: list[tuple[str, str, str]] = []
    for at, register in registers:
        name = register.name.upper()
        found.append((name, f"{at:#x}", register.meaning))
        if isinstance(register, Constant):
            found.append((f"{name}_VALUE", f"{register.value:#x}", "read value"))
        if isinstance(register, Window):
            found.append((f"{name}_ENTRIES", str(register.entries), ""))
            found.append((f"{name}_STRIDE", str(WORD_BYTES * register.entry_words), "bytes between entries"))
            for part in register.index if len(register.index) > 1 else ():
                found += _field(f"{name}_INDEX_{part.name.upper()}", part)
            for part in register.fields:
                found += _field(f"{name}_{part.name.upper()}", part)
    return found


def _field(name: str, part: BitField) -> list[tuple[str, str, str]]:
    return [(f"{name}_LSB", str(part.low), part.meaning), (f"{name}_BITS", str(part.bits), "")]


def _header(registers: RegisterMap, block: str) -> str:
    lines = [f"/* Registers of {registers.name}: byte addresses, entries of windows, fields of values. */"]
    lines += [f"#ifndef VLANE_{block}_REGISTERS_H", f"#define VLANE_{block}_REGISTERS_H", ""]
    for name, number, meaning in _constants(registers):
        lines.append(f"#define {block}_{name} {number}u{f' /* {meaning} */' if meaning else ''}")
    return "\n".join([*lines, "", "#endif", ""])


def _module(registers: RegisterMap) -> str:
    lines = [f'"""Registers of {registers.name}: byte addresses, entries of windows, fields of values."""', ""]
    for name, number, meaning in _constants(registers):
        lines.append(f"{name} = {number}{f'  # {meaning}' if meaning else ''}")
    return "\n".join([*lines, ""])
