"""Texts of an exported oracle: C header, SystemVerilog package, page and C++ source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vlane.golden.oracle.native import NativeOracle
from vlane.golden.oracle.ports import Port, word_count
from vlane.parameters import Parameters
from vlane.sim_top.export.oracle_names import code_names, field_name, first_bits

_WORD_BITS = 64

_HEADER = """#ifndef @GUARD@
#define @GUARD@

#include <stdint.h>

#ifndef @API@
#if defined(__GNUC__)
#define @API@ __attribute__((visibility("default")))
#else
#define @API@
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One instance of the block. Instances share no state; use each from one thread at a time. */
typedef struct @NAME@ @NAME@;

/* Inputs of a clock cycle. Bits beyond a port's width have no effect. */
typedef struct @NAME@_inputs {
@INPUTS@
} @NAME@_inputs;

/* Outputs of a clock cycle. */
typedef struct @NAME@_outputs {
@OUTPUTS@
} @NAME@_outputs;

@CODES@
/* Return a new instance in its power-on state, NULL if out of memory. The functions below need an instance. */
@API@ @NAME@ *@NAME@_create(void);

/* Free an instance; NULL is allowed. */
@API@ void @NAME@_destroy(@NAME@ *oracle);

/* Return an instance to its power-on state. A step with rst = 1 is the hardware reset. */
@API@ void @NAME@_reset(@NAME@ *oracle);

/* Run one clock cycle: compute the outputs from state and inputs, then clock the state. */
@API@ void @NAME@_step(@NAME@ *oracle, const @NAME@_inputs *given, @NAME@_outputs *shown);

/* Step for DPI-C: all ports packed into bit vectors without gaps, the first port lowest. */
@API@ void @NAME@_step_bits(void *oracle, const uint32_t *given, uint32_t *shown);

/* Return the vlane version that generated this library, and the parameters as "K=V K=V". */
@API@ const char *@NAME@_version(void);
@API@ const char *@NAME@_parameters(void);

#ifdef __cplusplus
}
#endif

/* Bit fields of words, used below for ports with several elements. */
static inline uint64_t @NAME@_get_bits(const uint64_t *words, unsigned first, unsigned bits) {
    unsigned word = first >> 6, shift = first & 63;
    uint64_t value = words[word] >> shift;
    if (shift + bits > 64) value |= words[word + 1] << (64 - shift);
    return value & (~(uint64_t)0 >> (64 - bits));
}

static inline void @NAME@_put_bits(uint64_t *words, unsigned first, unsigned bits, uint64_t value) {
    unsigned word = first >> 6, shift = first & 63;
    uint64_t mask = ~(uint64_t)0 >> (64 - bits);
    value &= mask;
    words[word] = (words[word] & ~(mask << shift)) | value << shift;
    if (shift + bits > 64)
        words[word + 1] = (words[word + 1] & ~(mask >> (64 - shift))) | value >> (64 - shift);
}

@ELEMENTS@
#endif
"""
_SET = """/* Set an element, 0 to {last}, of {port}; other indices are ignored. */
static inline void {name}_set_{port}({name}_inputs *to, unsigned index, uint64_t value) {{
    if (index < {count}u) {name}_put_bits({base}to->{port}, {bits}u * index, {bits}u, value);
}}
"""
_GET = """/* Return an element, 0 to {last}, of {port}; 0 for other indices. */
static inline uint64_t {name}_get_{port}(const {name}_outputs *of, unsigned index) {{
    return index < {count}u ? {name}_get_bits({base}of->{port}, {bits}u * index, {bits}u) : 0;
}}
"""

_SOURCE = """#include "@NAME@.h"

#include <stdlib.h>
#include <string.h>

@CODE@
static const uint64_t at_first[] = {@IMAGE@};

struct @NAME@ {
    uint64_t state[@WORDS@];
};

extern "C" {

@NAME@ *@NAME@_create(void) {
    @NAME@ *made = static_cast<@NAME@ *>(malloc(sizeof *made));
    if (made) @NAME@_reset(made);
    return made;
}

void @NAME@_destroy(@NAME@ *oracle) { free(oracle); }

void @NAME@_reset(@NAME@ *oracle) {
    memcpy(oracle->state, at_first, sizeof at_first);
    memset(reinterpret_cast<char *>(oracle->state) + sizeof at_first, 0, sizeof oracle->state - sizeof at_first);
}

void @NAME@_step(@NAME@ *oracle, const @NAME@_inputs *given, @NAME@_outputs *shown) {
    uint64_t in[@INPUT_WORDS@], out[@OUTPUT_WORDS@];
    memcpy(in, given, sizeof in);
    run_cycle(oracle->state, in, out);
    memcpy(shown, out, sizeof out);
}

/* First word, first bit of a bit vector, width. */
static const unsigned short inputs[][3] = {@INPUT_PLACES@};
static const unsigned short outputs[][3] = {@OUTPUT_PLACES@};

void @NAME@_step_bits(void *oracle, const uint32_t *given, uint32_t *shown) {
    uint64_t in[@INPUT_WORDS@] = {0}, out[@OUTPUT_WORDS@];
    for (const unsigned short *port : inputs)
        for (unsigned bit = 0; bit < port[2]; ++bit) {
            unsigned from = port[1] + bit;
            in[port[0] + (bit >> 6)] |= uint64_t(given[from >> 5] >> (from & 31) & 1) << (bit & 63);
        }
    run_cycle(static_cast<@NAME@ *>(oracle)->state, in, out);
    memset(shown, 0, @OUTPUT_HALVES@ * sizeof *shown);
    for (const unsigned short *port : outputs)
        for (unsigned bit = 0; bit < port[2]; ++bit) {
            unsigned to = port[1] + bit;
            shown[to >> 5] |= uint32_t(out[port[0] + (bit >> 6)] >> (bit & 63) & 1) << (to & 31);
        }
}

const char *@NAME@_version(void) { return "@VERSION@"; }

const char *@NAME@_parameters(void) { return "@PARAMETERS@"; }

} // extern "C"
"""

_PACKAGE = """package @NAME@;
  import "DPI-C" function chandle @NAME@_create();
  import "DPI-C" function void @NAME@_destroy(input chandle oracle);
  import "DPI-C" function void @NAME@_reset(input chandle oracle);
  import "DPI-C" function string @NAME@_version();
  import "DPI-C" function string @NAME@_parameters();
  import "DPI-C" function void @NAME@_step_bits(
    input chandle oracle, input bit [@GIVEN@:0] given, output bit [@SHOWN@:0] shown
  );

  // Inputs of a clock cycle.
  typedef struct packed {
@INPUTS@
  } inputs_t;

  // Outputs of a clock cycle.
  typedef struct packed {
@OUTPUTS@
  } outputs_t;
@CODES@
  // Run one clock cycle: compute the outputs from state and inputs, then clock the state.
  function automatic outputs_t step(chandle oracle, inputs_t given);
    bit [@SHOWN@:0] shown;
    @NAME@_step_bits(oracle, given, shown);
    return outputs_t'(shown);
  endfunction
endpackage
"""


def header(name: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    """Return the C header, which is also valid C++."""
    elements = [_element(_SET, name, port) for port in inputs] + [_element(_GET, name, port) for port in outputs]
    codes = [f"#define {name.upper()}_{code} {value}\n" for code, value, _ in code_names([*inputs, *outputs])]
    return _filled(
        _HEADER,
        GUARD=f"{name.upper()}_H",
        API=f"{name.upper()}_API",
        NAME=name,
        INPUTS=_members(inputs),
        OUTPUTS=_members(outputs),
        CODES="".join(codes),
        ELEMENTS="\n".join(filter(None, elements)),
    )


def cpp_source(
    name: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    native: NativeOracle,
    parameters: Parameters,
    version: str,
) -> str:
    """Return the C++ source of a library: golden's code and the functions of the header."""
    image = native.image
    used = int(np.flatnonzero(image)[-1]) + 1 if image.any() else 1  # the rest is 0
    return _filled(
        _SOURCE,
        CODE=native.code,
        NAME=name,
        IMAGE=",".join(f"{word:#x}u" for word in image[:used].tolist()),
        WORDS=str(len(image)),
        INPUT_PLACES=_places(inputs),
        OUTPUT_PLACES=_places(outputs),
        INPUT_WORDS=str(word_count(inputs)),
        OUTPUT_WORDS=str(word_count(outputs)),
        OUTPUT_HALVES=str(-(-_bits(outputs) // 32)),
        VERSION=version,
        PARAMETERS=_named(parameters),
    )


def package(name: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    """Return the SystemVerilog package that imports the library through DPI-C."""
    codes = [
        f"  localparam bit [{bits - 1}:0] {code} = {value};\n" for code, value, bits in code_names([*inputs, *outputs])
    ]
    return _filled(
        _PACKAGE,
        NAME=name,
        GIVEN=str(_bits(inputs) - 1),
        SHOWN=str(_bits(outputs) - 1),
        INPUTS=_fields(inputs),
        OUTPUTS=_fields(outputs),
        CODES="\n" + "".join(codes) if codes else "",
    )


_PAGE = """# @NAME@

Cycle-accurate reference model of `@BLOCK@` as a C library, generated from vlane's golden model.
Parameters: @PARAMETERS@.

    cc bench.c -L. -l@NAME@ -Wl,-rpath,$PWD -o bench     # with the shared library
    cc bench.c lib@NAME@.a -o bench                      # with the static library
    c++ -std=c++20 -O2 -fwrapv -c @NAME@.cpp              # from its source
    verilator --binary @NAME@.sv bench.sv $PWD/lib@NAME@.a

The header documents the functions. A field of the structures is a `uint64_t`, or an array with the lowest bits
first if the port is wider than 64 bits. Outputs belong to the same cycle as the inputs.

| port | direction | bits | elements | meaning |
|---|---|---|---|---|
@ROWS@
"""


def page(name: str, block: str, inputs: Sequence[Port], outputs: Sequence[Port], parameters: Parameters) -> str:
    """Return the page that documents an exported oracle."""
    rows = [(port, "in") for port in inputs] + [(port, "out") for port in outputs]
    return _filled(
        _PAGE,
        NAME=name,
        BLOCK=block,
        PARAMETERS=_named(parameters),
        ROWS="\n".join(f"| `{p.name}` | {way} | {p.width} | {p.count} | {p.meaning}{_values(p)} |" for p, way in rows),
    )


def _values(port: Port) -> str:
    return f" Values: {', '.join(f'{int(code)} {code.name}' for code in port.codes)}." if port.codes else ""


def _named(parameters: Parameters) -> str:
    return " ".join(f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in parameters.items())


def _bits(ports: Sequence[Port]) -> int:
    return sum(port.width for port in ports)


def _places(ports: Sequence[Port]) -> str:
    firsts = first_bits(ports)
    return ",".join(f"{{{port.word},{first},{port.width}}}" for port, first in zip(ports, firsts, strict=True))


def _members(ports: Sequence[Port]) -> str:
    return "\n".join(
        f"    uint64_t {port.name}{f'[{port.words}]' if port.words > 1 else ''};"
        f" /* {port.width} bit{'s' if port.width > 1 else ''}{_elements(port)}: {port.meaning} */"
        for port in ports
    )


def _elements(port: Port) -> str:
    return f", {port.count} elements of {port.bits}" if port.count > 1 else ""


def _fields(ports: Sequence[Port]) -> str:
    """Return the fields of a packed structure, whose last field is lowest."""
    return "\n".join(f"    bit [{port.width - 1}:0] {field_name(port)};  // {port.meaning}" for port in reversed(ports))


def _element(template: str, name: str, port: Port) -> str:
    if port.count == 1 or port.bits > _WORD_BITS:
        return ""
    base = "" if port.words > 1 else "&"
    return template.format(name=name, port=port.name, count=port.count, last=port.count - 1, bits=port.bits, base=base)


def _filled(template: str, **values: str) -> str:
    for key, value in values.items():
        template = template.replace(f"@{key}@", value)
    return template
