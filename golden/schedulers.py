"""Any egress scheduler at many ports: its golden state with one more axis, and one step of one port.

``serve`` is the step that the scheduler's own module defines, with nothing being programmed; of round robin its
choice, without counters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vlane.golden import drr, dtable, dtable_line_rate, rr, scfq, vlarb, vlarb_line_rate
from vlane.golden.kernel import by_type, inner
from vlane.golden.scheduler_ports import (
    LineRateVLArbPorts,
    VLArbPorts,
    drr_at,
    dtable_at,
    dtable_line_rate_at,
    rr_at,
    scfq_at,
    vlarb_at,
    vlarb_line_rate_at,
)
from vlane.golden.vlarb_rules import RULES as VLARB_RULES

__all__ = [
    "NO_WRITE",
    "REST_CYCLES",
    "SCHEDULERS",
    "SERVE_RULES",
    "Bank",
    "Heads",
    "Program",
    "install",
    "looks_behind",
    "new_bank",
    "new_scheduler",
    "programmed",
    "rests_after",
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

_NO_HOLD, _NO_SWAP, _NO_VL15 = False, False, False
_LINE_RATE = "line_rate"
REST_CYCLES = 192
"""More than any list takes to be read and walked to the end when nobody can send (L2 to L4)."""

SERVE_RULES = max(
    len(VLARB_RULES), *(len(module.RULES) for module in (dtable, drr, scfq, rr, vlarb_line_rate, dtable_line_rate))
)
"""Counters that any scheduler's step may raise."""

SCHEDULERS = ("vlarb", "dtable", "drr", "scfq", "rr")
"""What an output port can have."""


class Heads(NamedTuple):
    """What a scheduler sees of its port's queues.

    Parameters
    ----------
    request, fits : int
        Bits per lane: a packet is there; the next node has room for it.
    blocks : array of int64
        Sizes of the heads, by lane.
    behind : int
        Bits per lane: behind the head is another packet, and it fits after it.
    behind_blocks : array of int64
        Its size, by lane.
    """

    request: int
    fits: int
    blocks: NDArray[np.int64]
    behind: int
    behind_blocks: NDArray[np.int64]


def stepper(name: str, *, data_vls: int, vl15: bool = False, form: str = "", **parameters: Any) -> tuple[Bank, Step]:
    """Return one port's state after reset, and its step; parameters are the component's.

    The step is called with (heads, write, ready=, swap=) and gives (lane, list) of the packet that starts, if the link
    is ready, lane -1 if none does.
    """
    if form == _LINE_RATE:
        return _line_rate_stepper(name, data_vls=data_vls, vl15=vl15, **parameters)
    rules = np.zeros(SERVE_RULES, np.int64)
    if name == "vlarb":
        arbiter = vlarb.new_state(parameters["entries"])

        def arbitrate(heads: Heads, write: Program, *, ready: bool, swap: bool) -> tuple[int, int]:
            vl, source = vlarb.step(
                arbiter, data_vls, vl15, heads.request, heads.fits, heads.blocks, ready, _NO_HOLD, write, swap, rules
            )  # fmt: skip
            return (min(vl, data_vls) if source else -1), source

        return VLArbPorts(arbiter, data_vls), arbitrate
    module: Any = {"dtable": dtable, "drr": drr, "scfq": scfq, "rr": rr}[name]
    forms = {"form": form} if form else {}
    state = module.new_state(data_vls=data_vls, vl15=vl15, **forms, **parameters)

    def schedule(heads: Heads, write: Program, *, ready: bool, swap: bool) -> tuple[int, int]:
        sizes = () if name == "rr" else (heads.blocks,)
        swaps = (swap,) if name == "dtable" else ()
        return module.step(state, heads.request, heads.fits, *sizes, ready, _NO_HOLD, write, *swaps, rules)

    return state, schedule


def _line_rate_stepper(name: str, *, data_vls: int, vl15: bool, entries: int, **parameters: Any) -> tuple[Bank, Step]:
    rules = np.zeros(SERVE_RULES, np.int64)
    if name == "vlarb":
        arbiter = vlarb_line_rate.new_state(entries)

        def arbitrate(heads: Heads, write: Program, *, ready: bool, swap: bool) -> tuple[int, int]:
            vl, source, granted = vlarb_line_rate.step(
                arbiter, data_vls, vl15, heads.request, heads.fits, heads.behind, heads.blocks, ready, _NO_HOLD, write,
                swap, rules,
            )  # fmt: skip
            return (min(vl, data_vls) if granted else -1), source

        return LineRateVLArbPorts(arbiter, data_vls), arbitrate
    state = dtable_line_rate.new_state(
        data_vls=data_vls, entries=entries, vl15=vl15, mtu_blocks=parameters["mtu_blocks"]
    )

    def schedule(heads: Heads, write: Program, *, ready: bool, swap: bool) -> tuple[int, int]:
        lane, source, granted = dtable_line_rate.step(
            state, heads.request, heads.fits, heads.behind, heads.blocks, heads.behind_blocks, ready, _NO_HOLD, write,
            swap, rules,
        )  # fmt: skip
        return (lane if granted else -1), source

    return state, schedule


def programmed(name: str, *, data_vls: int, writes: Sequence[Write] = (), **parameters: Any) -> tuple[Bank, Step]:
    """Return one port's state at rest after a reset and those writes of its program port, without VL15; its step."""
    state, step = stepper(name, data_vls=data_vls, **parameters)
    none = np.zeros(data_vls + 1, np.int64)
    nothing = Heads(0, 0, none, 0, none)
    for write in writes:
        step(nothing, (1, *write), ready=False, swap=False)
    step(nothing, NO_WRITE, ready=True, swap=True)
    for _ in range(rests_after(state)):
        step(nothing, NO_WRITE, ready=True, swap=False)
    return state, step


def new_scheduler(name: str, *, data_vls: int, writes: Sequence[Write] = (), **parameters: Any) -> Bank:
    """Return the state of ``programmed``."""
    return programmed(name, data_vls=data_vls, writes=writes, **parameters)[0]


def new_bank(state: Bank, ports: int) -> Bank:
    """Return so many ports, each in one port's state."""
    if isinstance(state, np.ndarray):
        return np.repeat(state[np.newaxis], ports, axis=0)
    if not isinstance(state, tuple):
        return state
    parts = [new_bank(part, ports) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)


def install(bank: Bank, port: int, state: Bank) -> None:
    """Put one port into a state of the same kind and size."""
    if isinstance(bank, np.ndarray):
        bank[port] = state
    elif isinstance(bank, tuple):
        for parts, part in zip(bank, state, strict=True):
            install(parts, port, part)


@inner
def _serve_vlarb(bank: VLArbPorts, port: int, heads: Heads, ready: bool, rules: NDArray[np.int64]) -> int:  # noqa: FBT001
    vl, source = vlarb.step(
        vlarb_at(bank.state, port), bank.data_vls, _NO_VL15, heads.request, heads.fits, heads.blocks, ready, _NO_HOLD,
        NO_WRITE, _NO_SWAP, rules,
    )  # fmt: skip
    return vl if source != 0 else -1


@inner
def _serve_dtable(bank: dtable.DTableState, port: int, heads: Heads, ready: bool, rules: NDArray[np.int64]) -> int:  # noqa: FBT001
    state = dtable_at(bank, port)
    return dtable.step(
        state, heads.request, heads.fits, heads.blocks, ready, _NO_HOLD, NO_WRITE, _NO_SWAP, rules
    )[0]  # fmt: skip


@inner
def _serve_drr(bank: drr.DRRState, port: int, heads: Heads, ready: bool, rules: NDArray[np.int64]) -> int:  # noqa: FBT001
    return drr.step(
        drr_at(bank, port), heads.request, heads.fits, heads.blocks, ready, _NO_HOLD, NO_WRITE, rules
    )[0]  # fmt: skip


@inner
def _serve_scfq(bank: scfq.SCFQState, port: int, heads: Heads, ready: bool, rules: NDArray[np.int64]) -> int:  # noqa: FBT001
    return scfq.step(
        scfq_at(bank, port), heads.request, heads.fits, heads.blocks, ready, _NO_HOLD, NO_WRITE, rules
    )[0]  # fmt: skip


@inner
def _serve_rr(bank: rr.RRState, port: int, heads: Heads, ready: bool, rules: NDArray[np.int64]) -> int:  # noqa: ARG001, FBT001
    able = heads.request & heads.fits
    if not bank.lanes.mapped:
        return rr.serve_lane(bank.regs[port], able, ready)
    state = rr_at(bank, port)
    served, lane = rr.choose(state, heads.request, able)
    if ready and served >= 0:
        rr.note_served(state, served)
    return lane


@inner
def _serve_vlarb_line_rate(
    bank: LineRateVLArbPorts,
    port: int,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    rules: NDArray[np.int64],
) -> int:
    vl, _, granted = vlarb_line_rate.step(
        vlarb_line_rate_at(bank.state, port), bank.data_vls, _NO_VL15, heads.request, heads.fits, heads.behind,
        heads.blocks, ready, _NO_HOLD, NO_WRITE, _NO_SWAP, rules,
    )  # fmt: skip
    return vl if granted and ready else -1


@inner
def _serve_dtable_line_rate(
    bank: dtable_line_rate.LineRateState,
    port: int,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - numba takes no keyword-only arguments
    rules: NDArray[np.int64],
) -> int:
    lane, _, granted = dtable_line_rate.step(
        dtable_line_rate_at(bank, port), heads.request, heads.fits, heads.behind, heads.blocks, heads.behind_blocks,
        ready, _NO_HOLD, NO_WRITE, _NO_SWAP, rules,
    )  # fmt: skip
    return lane if granted and ready else -1


@by_type(
    {
        VLArbPorts: _serve_vlarb,
        dtable.DTableState: _serve_dtable,
        drr.DRRState: _serve_drr,
        scfq.SCFQState: _serve_scfq,
        rr.RRState: _serve_rr,
        LineRateVLArbPorts: _serve_vlarb_line_rate,
        dtable_line_rate.LineRateState: _serve_dtable_line_rate,
    }
)
def serve(bank: Bank, port: int, heads: Heads, ready: bool, rules: NDArray[np.int64]) -> int:  # noqa: FBT001
    """Run one cycle of a port's scheduler; return the lane that sends, -1 if none does.

    Parameters
    ----------
    bank : Bank
        Of all ports; its type says which scheduler it is.
    port : int
        The port.
    heads : Heads
        What waits there.
    ready : bool
        A packet may start.
    rules : array of int64
        Counters that a step may raise.
    """


_DECIDING = (VLArbPorts, dtable.DTableState, drr.DRRState, scfq.SCFQState)
_AT_ONCE = (*_DECIDING, rr.RRState)
_AHEAD = (LineRateVLArbPorts, dtable_line_rate.LineRateState)


@inner
def _no(bank: Bank) -> bool:  # noqa: ARG001 - its type says it all
    return False


@inner
def _yes(bank: Bank) -> bool:  # noqa: ARG001 - its type says it all
    return True


@inner
def _none(bank: Bank) -> int:  # noqa: ARG001 - its type says it all
    return 0


@inner
def _one(bank: Bank) -> int:  # noqa: ARG001 - its type says it all
    return 1


@inner
def _after_walking(bank: Bank) -> int:  # noqa: ARG001 - its type says it all
    return REST_CYCLES


@by_type({**dict.fromkeys(_AT_ONCE, _no), **dict.fromkeys(_AHEAD, _yes)})
def looks_behind(bank: Bank) -> bool:
    """Tell whether the scheduler looks behind the heads, and is stepped while its link is not ready too."""


@by_type({rr.RRState: _none, **dict.fromkeys(_DECIDING, _one), **dict.fromkeys(_AHEAD, _after_walking)})
def rests_after(bank: Bank) -> int:
    """Return the cycles, ready and with nothing to send, after which another one changes nothing."""
