"""Calls of compiled hardware from kernels. Function and device are passed as addresses."""

from __future__ import annotations

import ctypes
from typing import Any

from vlane.golden.compiler.intrinsics import intrinsic

_STEP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@intrinsic("rt::call_step", has_effects=True)
def call_step(step: int, device: int, input_row: Any, output_row: Any) -> None:
    """Run a device for one cycle.

    Parameters
    ----------
    step, device : int
        Addresses of the function and of the device, from ``CompiledModel.step``.
    input_row, output_row : array of uint64
        Row of inputs, and row of outputs to be written.
    """
    _STEP(step)(device, input_row.ctypes.data, output_row.ctypes.data)
