"""Schedulers as arbiters of one output port: golden and compiled hardware, programmed identically."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.egress import ListCode
from vlane.golden.schedulers.bank import REST_CYCLES
from vlane.golden.schedulers.by_name import module_of
from vlane.golden.schedulers.heads import NO_LANE, NO_WRITE, Heads, Program
from vlane.schedulers.dtable import MAX_ENTRIES
from vlane.schedulers.plugged import find_scheduler
from vlane.schedulers.registry import LINE_RATE
from vlane.schedulers.vlarb import VL15
from vlane.schedulers.writes import Write
from vlane.sim_top.egress.egress import PortHeads
from vlane.tb.machinery.native.model import CompiledModel

_NO_HOLD = False
_CYCLES_OF_A_TURN = 8
"""Upper bound of the cycles per visit in the line-rate forms while fitting packets wait."""


def _patience(name: str, form: str) -> int:
    """Return the number of ready cycles without a grant to wait while a fitting packet waits."""
    patience = find_scheduler(name).patience
    return _CYCLES_OF_A_TURN * max(patience, MAX_ENTRIES) if form == LINE_RATE else patience


def _rest(form: str) -> int:
    return REST_CYCLES if form == LINE_RATE else 0


class GoldenArbiter:
    """Golden scheduler with its table programmed.

    Parameters
    ----------
    name : str
        Scheduler, one of ``vlane.schedulers.plugged.scheduler_names()``.
    parameters : mapping
        Parameters of the component.
    writes : list of (select, index, requester or VL, weight)
        Writes to program first.
    """

    def __init__(self, name: str, parameters: Mapping[str, Any], writes: Sequence[Write]) -> None:
        form = parameters.get("form", "")
        self.patience, self.rest = _patience(name, form), _rest(form)
        self._data_vls = parameters["data_vls"]
        self._module = module = module_of(name, form)
        self._sees_time = getattr(module, "SEES_TIME", False)
        self._step, self._state = module.step, module.make_state(**parameters)
        self._rules = np.zeros(module.RULE_COUNT, np.int64)
        sizes = [0] * (self._data_vls + 1)
        nobody = PortHeads(0, 0, sizes, 0, sizes)
        for write in writes:
            self._run(nobody, ready=False, write=(1, *write))
        self._run(nobody, ready=True, swap=True)
        for _ in range(self.rest):
            self._run(nobody, ready=True)

    def ready_cycle(self, heads: PortHeads) -> tuple[int, ListCode] | None:
        """Run a cycle in which the link is ready and return (VL, list) of the packet that starts."""
        lane, source = self._run(heads, ready=True)
        return (VL15 if lane == self._data_vls else lane, ListCode(source)) if lane >= 0 else None

    def busy_cycles(self, heads: Sequence[PortHeads]) -> None:
        """Run cycles in which the link is not ready."""
        for each in heads:
            self._run(each, ready=False)

    def _run(self, heads: PortHeads, *, ready: bool, write: Program = NO_WRITE, swap: bool = False) -> tuple[int, int]:
        seen = Heads(
            heads.request,
            heads.fits,
            np.array(heads.blocks, np.int64),
            heads.behind,
            np.array(heads.behind_blocks, np.int64),
        )
        if self._sees_time:
            self._module.see_time(self._state, heads.cycle)
            for lane, cycle in enumerate(heads.arrived):
                self._module.see_arrival(self._state, lane, cycle)
        lane, source, granted = self._step(self._state, seen, ready, _NO_HOLD, write, swap, self._rules)
        return int(lane) if granted else NO_LANE, int(source)


class HardwareArbiter:
    """Compiled scheduler, programmed through its program port.

    Parameters
    ----------
    model : CompiledModel
        Compiled hardware.
    name : str
        Scheduler, one of ``vlane.schedulers.plugged.scheduler_names()``.
    form : str
        Form of the scheduler; empty if it has only one.
    writes : list of (select, index, requester or VL, weight)
        Writes to program first.
    """

    def __init__(self, model: CompiledModel, name: str, form: str, writes: Sequence[Write]) -> None:
        self.patience, self.rest = _patience(name, form), _rest(form)
        self._model = model
        model.restart()
        fields = [f"program__{field}" for field in ("select", "index", find_scheduler(name).name_field, "weight")]
        rows = np.zeros((len(writes) + 1 + self.rest, model.input_words), np.uint64)
        for row, write in zip(rows, writes, strict=False):
            self._put(row, "program__enable", 1)
            for field, value in zip(fields, write, strict=True):
                self._put(row, field, value)
        self._put(rows[len(writes)], "swap", 1)
        self._put(rows[len(writes) :], "ready", 1)
        model.run(rows)

    def ready_cycle(self, heads: PortHeads) -> tuple[int, ListCode] | None:
        """Run a cycle in which the link is ready and return (VL, list) of the packet that starts."""
        out = self._model.run(self._rows([heads], ready=True))[0]
        grant, vl, source = (self._model.outputs[name].value(out) for name in ("grant", "vl", "from_list"))
        return (vl, ListCode(source)) if grant else None

    def busy_cycles(self, heads: Sequence[PortHeads]) -> None:
        """Run cycles in which the link is not ready."""
        if heads:
            self._model.run(self._rows(heads, ready=False))

    def _rows(self, heads: Sequence[PortHeads], *, ready: bool) -> NDArray[np.uint64]:
        rows = np.zeros((len(heads), self._model.input_words), np.uint64)
        self._put(rows, "ready", int(ready))
        for row, each in zip(rows, heads, strict=True):
            self._put(row, "heads__request", each.request)
            self._put(row, "heads__fits", each.fits)
            self._put(row, "heads__blocks", _packed(each.blocks))
            self._put(row, "behind", each.behind)
            self._put(row, "behind_blocks", _packed(each.behind_blocks))
        return rows

    def _put(self, rows: NDArray[np.uint64], name: str, value: int) -> None:
        """Set a port if this scheduler has it. Swap, weights and program port are optional."""
        if name in self._model.inputs:
            self._model.inputs[name].put(rows, value)


def _packed(sizes: Sequence[int]) -> int:
    return sum(size << 7 * lane for lane, size in enumerate(sizes))
