"""Names of an oracle's ports in C and SystemVerilog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vlane.errors import InputError
from vlane.golden.oracle.ports import Port
from vlane.sim_top.export.module_name import check_module_name
from vlane.sim_top.systemverilog.keywords import SYSTEMVERILOG

_C_WORDS = frozenset(
    """
    alignas alignof asm auto bool catch char char16_t char32_t char8_t co_await co_return co_yield compl concept
    consteval constexpr constinit const_cast decltype delete double dynamic_cast explicit false float friend goto
    inline long mutable namespace noexcept nullptr operator private public reinterpret_cast requires restrict short
    sizeof static_assert static_cast template thread_local throw true try typeid typename unsigned using volatile
    wchar_t and_eq bitand bitor not_eq or_eq xor_eq errno free malloc memcpy memset main linux unix i386
    """.split()  # noqa: SIM905 - a list that people read
)
"""Reserved words of C or C++ that SystemVerilog does not reserve."""


def check_oracle_name(option: str, name: str) -> str:
    """Return a name that is valid as prefix of a package, files, a library, types and functions.

    Raises
    ------
    InputError
        If it is not a plain identifier, or is reserved in SystemVerilog, C, C++ or Python.
    """
    check_module_name(option, name)
    if name in _C_WORDS:
        raise InputError(option, "an unreserved word", name, problem=f": {name} is a reserved word of C or C++")
    return name


def field_name(port: Port) -> str:
    """Return the name of a port in a SystemVerilog structure, escaped if it is a reserved word."""
    return f"\\{port.name} " if port.name in SYSTEMVERILOG else port.name


def first_bits(ports: Iterable[Port]) -> list[int]:
    """Return the index of each port's first bit when the ports are packed without gaps."""
    found, used = [], 0
    for port in ports:
        found.append(used)
        used += port.width
    return found


def code_names(ports: Sequence[Port]) -> list[tuple[str, int, int]]:
    """Return (name, value, width) of every named port value. Names begin with the port's name."""
    coded = [(port, code) for port in ports if port.codes is not None for code in port.codes]
    return [(f"{port.name}_{code.name}".upper(), int(code), port.bits) for port, code in coded]
