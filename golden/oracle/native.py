"""The kernel of an oracle as an object file for any processor of this architecture, and its state as an image.

The kernel that Python calls is compiled once more, for addresses: of a block of memory that holds the state
(``image.py``), of the words of inputs, and of the words of outputs. Sizes of arrays become constants of the code.
Numbers are loaded from behind the arrays: where they were constants too, LLVM unrolled loops of the Omni-Path switch to
invalid code. What the kernel calls is in the object file too, so that it needs neither Python nor numba where it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from llvmlite import binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray
from vlane.golden.engine.record_type import RecordsType
from vlane.golden.engine.records import Records
from vlane.golden.oracle.image import ALIGNED, laid_out
from vlane.golden.oracle.oracle import Oracle
from vlane.golden.oracle.ports import word_count

__all__ = ["NativeOracle", "compile_native"]

_OPTIMISED = 2
_WORD = ir.IntType(64).as_pointer()
_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False, "nogil": True}


@dataclass(frozen=True, slots=True)
class NativeOracle:
    """An oracle as native code.

    Parameters
    ----------
    code : bytes
        Object file, position-independent. It defines the function of its name, hidden outside the library that it is
        linked into, and needs nothing but ``memset`` and ``memcpy``.
    image : array of uint64
        State after power-on, as ``laid_out`` has it, and the numbers of the state behind it.
    """

    code: bytes
    image: NDArray[np.uint64]


def compile_native(oracle: Oracle, name: str) -> NativeOracle:
    """Return the native code of an oracle.

    The object file has one function, in C ``int NAME(void **, void **, int64_t state, int64_t given, int64_t shown)``:
    numba's own convention, with places for a result and an exception, neither of which comes.

    Parameters
    ----------
    oracle : Oracle
        What is compiled.
    name : str
        Name of the function.
    """
    machine, block = laid_out(oracle.machine)
    state = _at(machine, block.nbytes)
    given, shown = (_at(_words(ports), 0) for ports in (oracle.inputs, oracle.outputs))
    cycle = oracle.cycle

    def run(state_address: int, given_address: int, shown_address: int) -> None:
        cycle(state(state_address), given(given_address), shown(shown_address))

    made = numba.njit(types.void(types.int64, types.int64, types.int64), **_OPTIONS)(run)
    compiled: Any = next(iter(made.overloads.values()))
    code = _object_of(str(compiled.library.get_llvm_str()), compiled.fndesc.llvm_func_name, name)
    numbers = np.array(_numbers(machine), np.int64).view(np.uint64)
    return NativeOracle(code, np.concatenate([block.view(np.uint64), numbers]))


def _words(ports: Any) -> NDArray[np.uint64]:
    return np.zeros(word_count(ports), np.uint64)


def _object_of(text: str, function: str, name: str) -> bytes:
    """Return the object file of a module in which only one function is seen, under a name."""
    module = llvm.parse_assembly(text)
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name != function:
            each.linkage = "internal"
    entry = module.get_function(function)
    entry.name, entry.linkage, entry.visibility = name, "external", "hidden"
    target = llvm.Target.from_triple(llvm.get_process_triple())
    machine = target.create_target_machine(cpu="", features="", opt=_OPTIMISED, reloc="pic", codemodel="default")
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=_OPTIMISED))
    passes = llvm.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()  # what nothing calls any more; numba has optimised all of it
    passes.run(module, builder)
    module.verify()
    return bytes(machine.emit_object(module))


def _numbers(value: Any) -> list[int]:
    """Return the numbers of a nested state, in order."""
    if isinstance(value, tuple):
        return [number for part in value for number in _numbers(part)]
    return [int(value)] if isinstance(value, int) else []


def _at(value: Any, arrays: int) -> Any:
    """Return the intrinsic that makes a value out of the address of the block of memory in which its parts are.

    ``arrays`` are the bytes that its arrays take.
    """
    kind: Any = numba.typeof(value)

    @intrinsic
    def at(_typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            first = builder.inttoptr(arguments[0], cgutils.voidptr_t)
            return _Placed(context, builder, first, arrays).make(kind, value)

        return kind(address), generate

    return at


class _Placed:
    """Makes values of compiled code whose arrays lie one behind the other, as ``laid_out`` puts them."""

    def __init__(self, context: Any, builder: Any, first: Any, arrays: int) -> None:
        self._context, self._builder, self._first, self._used = context, builder, first, 0
        self._numbers_used = arrays

    def make(self, kind: Any, value: Any) -> Any:
        """Return the value of a type: its arrays are parts of the block, its numbers stand behind all of them."""
        if isinstance(kind, types.Array):
            return self._array(kind, value)
        if isinstance(kind, RecordsType):
            return self._records(kind, value)
        if isinstance(value, tuple):
            parts = [self.make(*each) for each in zip(kind.types, value, strict=True)]
            return self._context.make_tuple(self._builder, kind, parts)
        at = self._builder.gep(self._first, [self._context.get_constant(types.intp, self._numbers_used)])
        self._numbers_used += ALIGNED
        loaded = self._builder.load(self._builder.bitcast(at, _WORD))
        return self._context.cast(self._builder, loaded, types.int64, kind)

    def _part(self, array: NDArray[Any]) -> Any:
        """Return the address of the next array."""
        at = self._builder.gep(self._first, [self._context.get_constant(types.intp, self._used)])
        self._used += -(-array.nbytes // ALIGNED) * ALIGNED
        return at

    def _array(self, kind: Any, value: NDArray[Any]) -> Any:
        context, builder = self._context, self._builder
        array = make_array(kind)(context, builder)
        data = builder.bitcast(self._part(value), array.data.type)
        shape = [context.get_constant(types.intp, count) for count in value.shape]
        strides = [context.get_constant(types.intp, stride) for stride in value.strides]
        size = context.get_constant(types.intp, value.itemsize)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    def _records(self, kind: RecordsType, value: Records[Any]) -> Any:
        context, builder = self._context, self._builder
        found = cgutils.create_struct_proxy(kind)(context, builder)
        found.first = self._part(value.array)
        for dimension, count in enumerate(value.shape):
            setattr(found, f"count_{dimension}", context.get_constant(types.intp, count))
        return found._getvalue()
