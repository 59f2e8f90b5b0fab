"""The schedulers as arbiters of one output port: golden, and compiled hardware, programmed alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from vlane.golden import drr, dtable, rr, scfq, vlarb
from vlane.golden.vlarb_rules import RULES as VLARB_RULES
from vlane.sim_top.egress import Heads
from vlane.sim_top.schedule import Writes
from vlane.tb.model import CompiledModel

from vlane.dtable import MAX_ENTRIES
from vlane.egress import MAX_REQUESTERS, ListCode
from vlane.units import MAX_PACKET_BLOCKS
from vlane.vlarb import VL15

__all__ = ["SCHEDULERS", "GoldenArbiter", "HardwareArbiter"]

Programmed = tuple[int, int, int, int, int]
Step = Callable[..., tuple[int, int]]

_NO_WRITE = (0, 0, 0, 0, 0)
_NO_HOLD = False
_FIELDS = ("select", "index", "requester", "weight")
_TURNS = MAX_ENTRIES * MAX_PACKET_BLOCKS
"""Turns in which a requester whose entry has a weight has collected enough for any packet."""

SCHEDULERS = ("vlarb", "dtable", "drr", "scfq", "rr")
"""Every scheduler an output port can have."""


def _patience(name: str) -> int:
    """Turns without a grant of ``dtable`` and ``drr``; tags that the shared unit of ``scfq`` makes one a cycle."""
    return {"dtable": _TURNS, "drr": _TURNS, "scfq": MAX_REQUESTERS}.get(name, 0)


class GoldenArbiter:
    """A golden scheduler with its table programmed.

    Parameters
    ----------
    name : str
        One of ``SCHEDULERS``.
    parameters : mapping
        Of the component.
    writes : list of (select, index, requester or VL, weight)
        What is programmed first.
    """

    def __init__(self, name: str, parameters: Mapping[str, Any], writes: Writes) -> None:
        self.patience = _patience(name)
        self._data_vls = parameters["data_vls"]
        self._step = _golden_step(name, parameters)
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

    def _run(self, heads: Heads, *, ready: bool, write: Programmed = _NO_WRITE, swap: bool = False) -> tuple[int, int]:
        lane, source = self._step(heads, write, ready=ready, swap=swap)
        return int(lane), int(source)


def _golden_step(name: str, parameters: Mapping[str, Any]) -> Step:
    """Return a step of (heads, write, ready, swap) that gives (lane or -1, list)."""
    if name == "vlarb":
        return _golden_vlarb(**parameters)
    module: Any = {"dtable": dtable, "drr": drr, "scfq": scfq, "rr": rr}[name]
    state, rules = module.new_state(**parameters), np.zeros(len(module.RULES), np.int64)

    def step(heads: Heads, write: Programmed, *, ready: bool, swap: bool) -> tuple[int, int]:
        blocks = () if name == "rr" else (np.array(heads.blocks, np.int64),)
        swaps = (swap,) if name == "dtable" else ()
        return module.step(state, heads.request, heads.fits, *blocks, ready, _NO_HOLD, write, *swaps, rules)

    return step


def _golden_vlarb(*, data_vls: int, entries: int, vl15: bool) -> Step:
    state, rules = vlarb.new_state(entries), np.zeros(len(VLARB_RULES), np.int64)

    def step(heads: Heads, write: Programmed, *, ready: bool, swap: bool) -> tuple[int, int]:
        blocks = np.array(heads.blocks, np.int64)
        vl, source = vlarb.step(
            state, data_vls, vl15, heads.request, heads.fits, blocks, ready, _NO_HOLD, write, swap, rules
        )
        return (min(vl, data_vls) if source else -1), source

    return step


class HardwareArbiter:
    """A compiled scheduler; its table is programmed through its own port.

    Parameters
    ----------
    model : CompiledModel
        The hardware.
    name : str
        One of ``SCHEDULERS``.
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
