"""Any egress scheduler at many ports: its golden state with one more axis, and one step of one port.

``serve`` is the step that the scheduler's own module defines, with the link ready and nothing being programmed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden import drr, dtable, rr, scfq, vlarb
from vlane.golden.deficit import Turns
from vlane.golden.kernel import by_type, inner
from vlane.golden.lanes import Lanes
from vlane.golden.vlarb_rules import RULES as VLARB_RULES

__all__ = [
    "NO_WRITE",
    "SCHEDULERS",
    "SERVE_RULES",
    "Bank",
    "Program",
    "install",
    "new_bank",
    "new_scheduler",
    "serve",
    "stepper",
]

Write = tuple[int, int, int, int]
Program = tuple[int, int, int, int, int]
"""Enable and a write."""

Step = Callable[..., tuple[int, int]]
Bank = Any
"""A golden state whose arrays have the ports as their first axis."""

NO_WRITE = (0, 0, 0, 0, 0)
"""The program port, idle."""

_READY, _NO_HOLD, _NO_SWAP, _NO_VL15 = True, False, False, False

SERVE_RULES = max(len(VLARB_RULES), *(len(module.RULES) for module in (dtable, drr, scfq, rr)))
"""Counters that any scheduler's step may raise."""

SCHEDULERS = ("vlarb", "dtable", "drr", "scfq", "rr")
"""What an output port can have."""


class VLArbPorts(NamedTuple):
    """VL arbiters, which do not keep how many lanes they have.

    Parameters
    ----------
    state : VLArbState
        Of one or all ports.
    data_vls : int
        Lanes.
    """

    state: vlarb.VLArbState
    data_vls: int


def stepper(name: str, *, data_vls: int, vl15: bool = False, **parameters: Any) -> tuple[Bank, Step]:
    """Return one port's state after reset, and its step; parameters are the component's.

    The step is called with (request, fits, blocks, write, ready=, swap=) and gives (lane, list) of the packet that
    starts, lane -1 if none does.
    """
    rules = np.zeros(SERVE_RULES, np.int64)
    if name == "vlarb":
        arbiter = vlarb.new_state(parameters["entries"])

        def arbitrate(
            request: int, fits: int, blocks: NDArray[np.int64], write: Program, *, ready: bool, swap: bool
        ) -> tuple[int, int]:
            vl, source = vlarb.step(
                arbiter, data_vls, vl15, request, fits, blocks, ready, _NO_HOLD, write, swap, rules
            )  # fmt: skip
            return (min(vl, data_vls) if source else -1), source

        return VLArbPorts(arbiter, data_vls), arbitrate
    module: Any = {"dtable": dtable, "drr": drr, "scfq": scfq, "rr": rr}[name]
    state = module.new_state(data_vls=data_vls, vl15=vl15, **parameters)

    def schedule(
        request: int, fits: int, blocks: NDArray[np.int64], write: Program, *, ready: bool, swap: bool
    ) -> tuple[int, int]:
        sizes = () if name == "rr" else (blocks,)
        swaps = (swap,) if name == "dtable" else ()
        return module.step(state, request, fits, *sizes, ready, _NO_HOLD, write, *swaps, rules)

    return state, schedule


def new_scheduler(name: str, *, data_vls: int, writes: Sequence[Write] = (), **parameters: Any) -> Bank:
    """Return one port's state after reset and those writes of its program port, without VL15."""
    state, step = stepper(name, data_vls=data_vls, **parameters)
    none = np.zeros(data_vls + 1, np.int64)
    for write in writes:
        step(0, 0, none, (1, *write), ready=False, swap=False)
    step(0, 0, none, NO_WRITE, ready=True, swap=True)
    return state


def new_bank(state: Bank, ports: int) -> Bank:
    """Return so many ports, each in one port's state."""
    if isinstance(state, np.ndarray):
        return np.repeat(state[np.newaxis], ports, axis=0)
    return type(state)(*(new_bank(part, ports) for part in state)) if isinstance(state, tuple) else state


def install(bank: Bank, port: int, state: Bank) -> None:
    """Put one port into a state of the same kind and size."""
    if isinstance(bank, np.ndarray):
        bank[port] = state
    elif isinstance(bank, tuple):
        for parts, part in zip(bank, state, strict=True):
            install(parts, port, part)


@inner
def lanes_at(lanes: Lanes, port: int) -> Lanes:
    """Return the map of one port."""
    return Lanes(
        lanes.data_vls, lanes.has_vl15, lanes.requesters, lanes.mapped,
        lanes.owner[port], lanes.last[port], lanes.lane[port],
    )  # fmt: skip


@inner
def turns_at(turns: Turns, port: int) -> Turns:
    """Return the turns of one port."""
    return Turns(turns.regs[port], turns.deficit[port], turns.keep, turns.most_kept, turns.most_accumulated)


@inner
def vlarb_at(state: vlarb.VLArbState, port: int) -> vlarb.VLArbState:
    """Return the VL arbiter of one port."""
    return vlarb.VLArbState(state.vl[port], state.weight[port], state.limit[port], state.regs[port])


@inner
def dtable_at(bank: dtable.DTableState, port: int) -> dtable.DTableState:
    """Return the Deficit Table of one port."""
    return dtable.DTableState(
        lanes_at(bank.lanes, port), turns_at(bank.turns, port), bank.owner[port], bank.weight[port], bank.regs[port]
    )


@inner
def drr_at(bank: drr.DRRState, port: int) -> drr.DRRState:
    """Return the deficit round robin of one port."""
    return drr.DRRState(lanes_at(bank.lanes, port), turns_at(bank.turns, port), bank.owner[port], bank.quantum[port])


@inner
def scfq_at(bank: scfq.SCFQState, port: int) -> scfq.SCFQState:
    """Return the fair queueing of one port."""
    return scfq.SCFQState(
        lanes_at(bank.lanes, port), bank.shared, bank.tag_bits, bank.reciprocal[port], bank.tag[port], bank.regs[port]
    )


@inner
def rr_at(bank: rr.RRState, port: int) -> rr.RRState:
    """Return the round robin of one port."""
    return rr.RRState(lanes_at(bank.lanes, port), bank.regs[port])


@inner
def _serve_vlarb(
    bank: VLArbPorts, port: int, request: int, fits: int, blocks: NDArray[np.int64], rules: NDArray[np.int64]
) -> int:
    vl, source = vlarb.step(
        vlarb_at(bank.state, port), bank.data_vls, _NO_VL15, request, fits, blocks, _READY, _NO_HOLD, NO_WRITE,
        _NO_SWAP, rules,
    )  # fmt: skip
    return vl if source != 0 else -1


@inner
def _serve_dtable(
    bank: dtable.DTableState, port: int, request: int, fits: int, blocks: NDArray[np.int64], rules: NDArray[np.int64]
) -> int:
    state = dtable_at(bank, port)
    return dtable.step(state, request, fits, blocks, _READY, _NO_HOLD, NO_WRITE, _NO_SWAP, rules)[0]


@inner
def _serve_drr(
    bank: drr.DRRState, port: int, request: int, fits: int, blocks: NDArray[np.int64], rules: NDArray[np.int64]
) -> int:
    return drr.step(drr_at(bank, port), request, fits, blocks, _READY, _NO_HOLD, NO_WRITE, rules)[0]


@inner
def _serve_scfq(
    bank: scfq.SCFQState, port: int, request: int, fits: int, blocks: NDArray[np.int64], rules: NDArray[np.int64]
) -> int:
    return scfq.step(scfq_at(bank, port), request, fits, blocks, _READY, _NO_HOLD, NO_WRITE, rules)[0]


@inner
def _serve_rr(
    bank: rr.RRState,
    port: int,
    request: int,
    fits: int,
    blocks: NDArray[np.int64],  # noqa: ARG001 - round robin does not look at sizes
    rules: NDArray[np.int64],
) -> int:
    return rr.step(rr_at(bank, port), request, fits, _READY, _NO_HOLD, NO_WRITE, rules)[0]


@by_type(
    {
        VLArbPorts: _serve_vlarb,
        dtable.DTableState: _serve_dtable,
        drr.DRRState: _serve_drr,
        scfq.SCFQState: _serve_scfq,
        rr.RRState: _serve_rr,
    }
)
def serve(bank: Bank, port: int, request: int, fits: int, blocks: NDArray[np.int64], rules: NDArray[np.int64]) -> int:
    """Run one cycle of a port's scheduler with the link ready; return the lane that sends, -1 if none does.

    Parameters
    ----------
    bank : Bank
        Of all ports; its type says which scheduler it is.
    port : int
        The port.
    request, fits : int
        Bits per lane.
    blocks : array of int64
        Sizes of the heads, by lane.
    rules : array of int64
        Counters that the step raises.
    """
