"""An oracle as C++ code: the translated kernel, and a function that locates the state in one memory block.

The layout is that of ``image.lay_out``. Shapes, widths and other constant numbers are constants of the code, so that
the C++ compiler can optimize with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.build import RUNTIME
from vlane.golden.compiler.program import Program
from vlane.golden.compiler.types import BOOL, Array, RecordArray, Struct, Tuple, Type, type_of
from vlane.golden.oracle.image import ALIGNED, lay_out
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.ports import word_count


@dataclass(frozen=True, slots=True)
class NativeOracle:
    """An oracle as C++ code.

    Parameters
    ----------
    code : str
        C++20 code that needs only standard headers. It defines ``static void run_cycle(uint64_t *state, const
        uint64_t *inputs, uint64_t *outputs)``.
    image : array of uint64
        State after power-on, in the layout of ``lay_out``.
    """

    code: str
    image: NDArray[np.uint64]


def oracle_code(oracle: Oracle) -> NativeOracle:
    """Return the C++ code of an oracle, with golden's docstrings as comments.

    Raises
    ------
    UntranslatableError
        If the kernel calls a function outside the translatable subset.
    """
    machine, block = lay_out(oracle.machine)
    given, shown = (np.zeros(word_count(ports), np.uint64) for ports in (oracle.inputs, oracle.outputs))
    program = Program(comments=True)
    made = program.call(oracle.cycle, [type_of(each) for each in (machine, given, shown)])
    kind = type_of(machine)
    state = PlacedState(program).code(kind, machine)
    inputs, outputs = (
        f"rt::Array<uint64_t, 1>{{{words}, {{{len(ports)}}}}}"
        for words, ports in (("const_cast<uint64_t *>(inputs)", given), ("outputs", shown))
    )
    entry = (
        "// Run one clock cycle on a state.\n"
        "static void run_cycle(uint64_t *state, const uint64_t *inputs, uint64_t *outputs) {\n"
        f"    const {program.cpp(kind)} machine = {state};\n"
        f"    {made.name}(machine, {inputs}, {outputs});\n"
        "}\n"
    )
    runtime = RUNTIME.read_text().replace("#pragma once\n", "")
    return NativeOracle(f"{runtime}\n{program.text}\n{entry}", block.view(np.uint64))


class PlacedState:
    """Generator of C++ code for nested values whose arrays follow each other in the layout of ``lay_out``."""

    def __init__(self, program: Program) -> None:
        self._program, self._used = program, 0

    def code(self, kind: Type, value: Any) -> str:
        """Return the code of a value."""
        if isinstance(kind, Array):
            return self._array(kind, kind.item_cpp, value)
        if isinstance(kind, RecordArray):
            return self._array(kind, self._program.cpp(kind.kind), value.array)
        if isinstance(kind, Struct | Tuple):
            parts = [self.code(*each) for each in zip(kind.item_types, value, strict=True)]
            return f"{self._program.cpp(kind)}{{{', '.join(parts)}}}"
        if kind is BOOL:
            return "true" if value else "false"
        return f"{int(value)}ll"

    def _array(self, kind: Type, item: str, array: NDArray[Any]) -> str:
        """Return the code of the next array."""
        first = f"reinterpret_cast<{item} *>(state + {self._used // ALIGNED})"
        self._used += -(-array.nbytes // ALIGNED) * ALIGNED
        return f"{self._program.cpp(kind)}{{{first}, {{{', '.join(map(str, array.shape))}}}}}"
