"""Calls of compiled hardware from kernels: the function and its device are passed as addresses."""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

__all__ = ["call_step"]

_STEP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def call_step(step: int, device: int, given: Any, shown: Any) -> None:
    """Run one cycle of a device.

    Parameters
    ----------
    step, device : int
        Addresses, of ``CompiledModel.step``.
    given, shown : array of uint64
        Row of inputs, and row of outputs, which is written.
    """
    _STEP(step)(device, given.ctypes.data, shown.ctypes.data)


@intrinsic
def _call(_context: Any, step: Any, device: Any, given: Any, shown: Any) -> Any:  # noqa: ARG001 - typed by its signature
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = cgutils.voidptr_t
        function = builder.inttoptr(arguments[0], ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer())
        builder.call(function, [builder.inttoptr(each, pointer) for each in arguments[1:]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


@overload(call_step)
def _call_step(step: Any, device: Any, given: Any, shown: Any) -> Any:  # noqa: ARG001 - its types do not matter
    def call(step: Any, device: Any, given: Any, shown: Any) -> None:
        _call(step, device, given.ctypes.data, shown.ctypes.data)  # type: ignore[call-arg]  # an intrinsic

    return call
