"""The schedulers as arbiters of one output port: golden, and compiled hardware, programmed alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden.schedulers import NO_WRITE, Program, stepper
from vlane.sim_top.egress import Heads
from vlane.sim_top.schedule import Writes
from vlane.tb.model import CompiledModel

from vlane.dtable import MAX_ENTRIES
from vlane.egress import MAX_REQUESTERS, ListCode
from vlane.units import MAX_PACKET_BLOCKS
from vlane.vlarb import VL15

__all__ = ["GoldenArbiter", "HardwareArbiter"]

_FIELDS = ("select", "index", "requester", "weight")
_TURNS = MAX_ENTRIES * MAX_PACKET_BLOCKS
"""Turns in which a requester whose entry has a weight has collected enough for any packet."""


def _patience(name: str) -> int:
    """Count turns without a grant, or tags: the shared unit of ``scfq`` makes one a cycle."""
    return {"dtable": _TURNS, "drr": _TURNS, "scfq": MAX_REQUESTERS}.get(name, 0)


class GoldenArbiter:
    """A golden scheduler with its table programmed.

    Parameters
    ----------
    name : str
        One of ``golden.schedulers.SCHEDULERS``.
    parameters : mapping
        Of the component.
    writes : list of (select, index, requester or VL, weight)
        What is programmed first.
    """

    def __init__(self, name: str, parameters: Mapping[str, Any], writes: Writes) -> None:
        self.patience = _patience(name)
        self._data_vls = parameters["data_vls"]
        _, self._step = stepper(name, **parameters)
        nobody = Heads(0, 0, [0] * (self._data_vls + 1))
        for write in writes:
            self._run(nobody, ready=False, write=(1, *write))
        self._run(nobody, ready=True, swap=True)

    def ready_cycle(self, heads: Heads) -> tuple[int, ListCode] | None:
        """Run a cycle in which the link is ready; return (VL, list) of the packet that starts."""
        lane, source = self._run(heads, ready=True)
        return (VL15 if lane == self._data_vls else lane, ListCode(source)) if lane >= 0 else None

    def busy_cycles(self, heads: Heads, cycles: int) -> None:
        """Run cycles in which the link is not ready."""
        for _ in range(cycles):
            self._run(heads, ready=False)

    def _run(self, heads: Heads, *, ready: bool, write: Program = NO_WRITE, swap: bool = False) -> tuple[int, int]:
        blocks = np.array(heads.blocks, np.int64)
        lane, source = self._step(heads.request, heads.fits, blocks, write, ready=ready, swap=swap)
        return int(lane), int(source)


class HardwareArbiter:
    """A compiled scheduler; its table is programmed through its own port.

    Parameters
    ----------
    model : CompiledModel
        The hardware.
    name : str
        One of ``golden.schedulers.SCHEDULERS``.
    writes : list of (select, index, requester or VL, weight)
        What is programmed first.
    """

    def __init__(self, model: CompiledModel, name: str, writes: Writes) -> None:
        self.patience = _patience(name)
        self._model = model
        model.restart()
        fields = [f"program__{'vl' if field == 'requester' and name == 'vlarb' else field}" for field in _FIELDS]
        rows = np.zeros((len(writes) + 1, model.input_words), np.uint64)
        for row, write in zip(rows, writes, strict=False):
            self._put(row, "program__enable", 1)
            for field, value in zip(fields, write, strict=True):
                self._put(row, field, value)
        self._put(rows[-1], "swap", 1)
        self._put(rows[-1], "ready", 1)
        model.run(rows)

    def ready_cycle(self, heads: Heads) -> tuple[int, ListCode] | None:
        """Run a cycle in which the link is ready; return (VL, list) of the packet that starts."""
        out = self._model.run(self._rows(heads, 1, ready=True))[0]
        grant, vl, source = (self._model.outputs[name].value(out) for name in ("grant", "vl", "list"))
        return (vl, ListCode(source)) if grant else None

    def busy_cycles(self, heads: Heads, cycles: int) -> None:
        """Run cycles in which the link is not ready."""
        self._model.run(self._rows(heads, cycles, ready=False))

    def _rows(self, heads: Heads, cycles: int, *, ready: bool) -> NDArray[np.uint64]:
        rows = np.zeros((cycles, self._model.input_words), np.uint64)
        self._put(rows, "heads__request", heads.request)
        self._put(rows, "heads__fits", heads.fits)
        self._put(rows, "heads__blocks", sum(size << 7 * lane for lane, size in enumerate(heads.blocks)))
        self._put(rows, "ready", int(ready))
        return rows

    def _put(self, rows: NDArray[np.uint64], name: str, value: int) -> None:
        """Set a port, if this scheduler has it: not all have a swap, weights or a program port."""
        if name in self._model.inputs:
            self._model.inputs[name].put(rows, value)
