"""The C++ around a Verilated class, which runs rows of inputs to rows of outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vlane.tb.native.rows import WORD_BITS, Field, Port, row_layout, row_words

__all__ = ["wrapper_text"]

_GUARD = """
// A netlist that oscillates stops its run, not the process.
#include <stdexcept>

void vl_fatal(const char*, int, const char*, const char* message) { throw std::runtime_error(message); }

extern "C" int vlane_run_guarded(void* device, uint64_t cycles, const uint64_t* in, uint64_t* out) {
    try {
        vlane_run(device, cycles, in, out);
    } catch (const std::runtime_error&) {
        return 1;
    }
    return 0;
}
"""


def _member(name: str) -> str:
    """Return the name of a port in Verilator's C++ class."""
    return name.replace("__", "___05F")


def wrapper_text(
    ports: tuple[Port, ...],
    verilated: str,
    *,
    traced: bool,
    reset_first: bool = False,
    member: Callable[[str], str] = _member,
) -> str:
    """Return the C++ around a Verilated class: it runs rows of inputs to rows of outputs without Python per cycle.

    Parameters
    ----------
    ports : tuple of Port
        The ports that are driven and read; the clock is none of them.
    verilated : str
        Name of the class.
    traced, reset_first : bool
        As of ``compile_verilog``.
    member : callable
        Returns the name that a port has in the class.
    """
    inputs, outputs = row_layout(ports, inputs=True), row_layout(ports, inputs=False)
    sets = [line for name, field in inputs.items() for line in _set_lines(f"top->{member(name)}", field)]
    gets = [f"for (int i = 0; i < {row_words(outputs)}; ++i) out[i] = 0;"]
    gets += [line for name, field in outputs.items() for line in _get_lines(f"top->{member(name)}", field)]
    template = (Path(__file__).parent / "model.cpp").read_text()
    template += _GUARD if reset_first else ""
    for key, value in {
        "@TOP@": verilated,
        "@INPUT_WORDS@": str(row_words(inputs)),
        "@OUTPUT_WORDS@": str(row_words(outputs)),
        "@TRACED@": str(int(traced)),
        "@RESET_FIRST@": str(int(reset_first)),
        "@SET@": "\n        ".join(sets),
        "@GET@": "\n        ".join(gets),
    }.items():
        template = template.replace(key, value)
    return template


def _set_lines(member: str, field: Field) -> list[str]:
    if field.bits <= WORD_BITS:
        mask = f"{(1 << field.bits) - 1:#x}ull"
        return [f"{member} = (in[{field.word}] >> {field.shift}) & {mask};"]
    return [
        f"{member}[{half}] = uint32_t(in[{field.word + half // 2}] >> {32 * (half & 1)});"
        for half in range(-(-field.bits // 32))
    ]


def _get_lines(member: str, field: Field) -> list[str]:
    if field.bits <= WORD_BITS:
        return [f"out[{field.word}] |= uint64_t({member}) << {field.shift};"]
    return [
        f"out[{field.word + half // 2}] |= uint64_t({member}[{half}]) << {32 * (half & 1)};"
        for half in range(-(-field.bits // 32))
    ]
