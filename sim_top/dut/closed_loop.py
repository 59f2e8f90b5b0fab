"""Closed-loop requesters of a foreign design, which run inside its compiled model."""

from __future__ import annotations

import ctypes
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vlane.sim_top.dut.design import ForeignModel
from vlane.tb.machinery.native.rows import Words


class ClosedLoop:
    """Requesters that drive a model and follow its grants.

    Parameters
    ----------
    model : ForeignModel
        Model in the state after power-on.
    plan : array of int64
        Fields of ``Requesters`` in ``tb/machinery/native/requesters.cpp``.
    """

    def __init__(self, model: ForeignModel, plan: NDArray[np.int64]) -> None:
        self._model, self._code = model, model._code
        self._code.vlane_requesters_new.argtypes = [np.ctypeslib.ndpointer(np.int64, flags="C_CONTIGUOUS")]
        self._code.vlane_requesters_new.restype = ctypes.c_void_p
        self._code.vlane_requesters_delete.argtypes = [ctypes.c_void_p]
        row = np.ctypeslib.ndpointer(np.uint64, flags="C_CONTIGUOUS")
        self._code.vlane_requesters_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, row, row]
        self._code.vlane_requesters_run.restype = ctypes.c_uint64
        self._requesters = self._code.vlane_requesters_new(plan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._code.vlane_requesters_delete(self._requesters)

    def run(self, cycles: int) -> tuple[Words, Words, str]:
        """Run cycles and return the rows of inputs and of outputs, and the reason if the design ended its run."""
        model = self._model
        if model._device is None:
            return np.zeros((0, model.input_words), np.uint64), np.zeros((0, model.output_words), np.uint64), model.why
        rows, shown = (np.zeros((cycles, words), np.uint64) for words in (model.input_words, model.output_words))
        done = self._code.vlane_requesters_run(model._device, self._requesters, cycles, rows, shown)
        return rows[:done], shown[:done], "" if done == cycles else model.why
