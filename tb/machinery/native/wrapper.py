"""Wrapper of a compiled module: a Verilog driver, and C++ that turns rows of inputs into rows of outputs.

Verilator evaluates logic of inputs at every call, and logic of registers after a clock edge. The driver keeps the
inputs in registers that change with the clock, so all logic is evaluated once per cycle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vlane.tb.machinery.native.rows import WORD_BITS, Field, Port, row_layout, row_words


@dataclass(frozen=True, slots=True)
class Member:
    """Port as a member of a Verilated class.

    Parameters
    ----------
    name : str
        C++ name.
    elements : tuple of str
        Subscripts of the elements of an array, in the order of the row; empty for a packed port.
    bits : int
        Width of an element of an array.
    """

    name: str
    elements: tuple[str, ...] = ()
    bits: int = 0


DRIVER = "vlane_driver"
"""Name of the driver's module."""

_GUARD = """
// A netlist that oscillates stops its run, not the process.
#include <stdexcept>

void vl_fatal(const char*, int, const char*, const char* message) { throw std::runtime_error(message); }
void vl_stop(const char*, int, const char*) { throw std::runtime_error("$stop"); }
void vl_finish(const char*, int, const char*) { throw std::runtime_error("$finish"); }

extern "C" int vlane_run_guarded(void* device, uint64_t cycles, const uint64_t* in, uint64_t* out) {
    try {
        vlane_run(device, cycles, in, out);
    } catch (const std::runtime_error&) {
        return 1;
    }
    return 0;
}
"""


def driver_text(ports: tuple[Port, ...], top: str) -> str:
    """Return the Verilog driver of a module. Its inputs reach the module at the next edge of ``load``.

    Its ports are numbered, to avoid conflicts with the module's names. Waves and code coverage exclude the driver.
    """
    declared, registers, loads, connected = ["input clk", "input load"], [], [], [".clk(clk)"]
    for number, port in enumerate(ports):
        bits, name = f"[{port.bits - 1}:0]", _member(number)
        declared.append(f"{'input' if port.is_input else 'output'} {bits} {name}")
        if port.is_input:
            registers.append(f"  reg {bits} {name}_now;")
            loads.append(f"    {name}_now <= {name};")
        connected.append(f".\\{port.name} ({name}{'_now' * port.is_input})")
    lines = [
        "",
        "/* verilator tracing_off */",
        "/* verilator coverage_off */",
        f"module {DRIVER}({', '.join(declared)});",
        *registers,
        "  always @(posedge load) begin",
        *loads,
        "  end",
        "/* verilator tracing_on */",
        f"  \\{top} \\{top} ({', '.join(connected)});",
        "endmodule",
        "",
    ]
    return "\n".join(lines)


def _member(number: int) -> str:
    return f"vlane_{number}"


def wrapper_text(
    ports: tuple[Port, ...],
    *,
    traced: bool,
    reset_first: bool = False,
    savable: bool = False,
    foreign: tuple[str, Mapping[str, Member]] | None = None,
    closed_loop: bool = False,
) -> str:
    """Return the C++ around a Verilated class, which runs rows of inputs to rows of outputs without Python.

    Parameters
    ----------
    ports : tuple of Port
        Ports to drive and read, without the clock. With ``reset_first`` the first port is the reset.
    traced, reset_first, savable : bool
        See ``compile_verilog``.
    foreign : tuple of str and mapping, optional
        Name and members of the Verilated class of a foreign module. The C++ drives this class directly, without the
        Verilog driver, because the module may use other clock edges.
    closed_loop : bool
        Whether to add closed-loop requesters; only with ``foreign``.
    """
    verilated, members = foreign or (
        f"V{DRIVER}",
        {port.name: Member(_member(each)) for each, port in enumerate(ports)},
    )
    inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
    sets = [line for name, field in inputs.items() for line in _set_lines(members[name], field)]
    gets = [f"for (int i = 0; i < {row_words(outputs)}; ++i) out[i] = 0;"]
    gets += [line for name, field in outputs.items() for line in _get_lines(members[name], field)]
    template = (Path(__file__).parent / "model.cpp").read_text()
    template += "" if foreign else _GUARD
    template += (Path(__file__).parent / "requesters.cpp").read_text() if closed_loop else ""
    for key, value in {
        "@TOP@": verilated,
        "@INPUT_WORDS@": str(row_words(inputs)),
        "@OUTPUT_WORDS@": str(row_words(outputs)),
        "@TRACED@": str(int(traced)),
        "@SAVABLE@": str(int(savable)),
        "@RESET_FIRST@": str(int(reset_first)),
        "@RESET@": _member(0),
        "@DRIVEN@": str(int(foreign is None)),
        "@SET@": "\n        ".join(sets),
        "@GET@": "\n        ".join(gets),
    }.items():
        template = template.replace(key, value)
    return template


def _set_lines(port: Member, field: Field) -> list[str]:
    member = f"top->{port.name}"
    if port.elements:
        return [
            f"{member}{element} = ({_bits_at(field, index * port.bits)}) & {(1 << port.bits) - 1:#x}ull;"
            for index, element in enumerate(port.elements)
        ]
    if field.bits <= WORD_BITS:
        mask = f"{(1 << field.bits) - 1:#x}ull"
        return [f"{member} = (in[{field.word}] >> {field.shift}) & {mask};"]
    return [
        f"{member}[{half}] = uint32_t(in[{field.word + half // 2}] >> {32 * (half & 1)});"
        for half in range(-(-field.bits // 32))
    ]


def _bits_at(field: Field, offset: int) -> str:
    """Return the expression of up to 64 bits from a bit of a field on."""
    word, shift = divmod(WORD_BITS * field.word + field.shift + offset, WORD_BITS)
    last = (WORD_BITS * field.word + field.shift + field.bits - 1) // WORD_BITS
    low = f"in[{word}] >> {shift}"
    return low if not shift or word == last else f"{low} | in[{word + 1}] << {WORD_BITS - shift}"


def _get_lines(port: Member, field: Field) -> list[str]:
    member = f"top->{port.name}"
    if port.elements:
        return [
            line
            for index, element in enumerate(port.elements)
            for line in _put_at(f"{member}{element}", field, index * port.bits, port.bits)
        ]
    if field.bits <= WORD_BITS:
        return [f"out[{field.word}] |= uint64_t({member}) << {field.shift};"]
    return [
        f"out[{field.word + half // 2}] |= uint64_t({member}[{half}]) << {32 * (half & 1)};"
        for half in range(-(-field.bits // 32))
    ]


def _put_at(value: str, field: Field, offset: int, bits: int) -> list[str]:
    """Return the statements that write a value of up to 64 bits from a bit of a field on."""
    word, shift = divmod(WORD_BITS * field.word + field.shift + offset, WORD_BITS)
    lines = [f"out[{word}] |= uint64_t({value}) << {shift};"]
    return lines + [f"out[{word + 1}] |= uint64_t({value}) >> {WORD_BITS - shift};"] * (shift + bits > WORD_BITS)
