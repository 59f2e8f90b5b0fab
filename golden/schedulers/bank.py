"""Batched scheduler state: every array has a leading port axis.

A bank is the ``State`` of a scheduler's module in which each array has the ports as its first axis. The functions here
take a bank, or the state of one port, of any scheduler; its type tells which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.ports import at_port, batch_of, set_port
from vlane.golden.engine.unread import unread
from vlane.golden.schedulers.by_name import MODULES, module_of
from vlane.golden.schedulers.heads import NO_LANE, NO_WRITE, Heads, Program, no_heads

Write = tuple[int, int, int, int]
"""A write of the program port: select, index, requester or VL, value."""

Bank = Any
"""State of all ports' schedulers, which are of one kind and size."""

RULE_COUNT = max(module.RULE_COUNT for module in MODULES)
"""Counters that a step of any scheduler may raise."""

REST_CYCLES = max(module.REST_CYCLES for module in MODULES)
"""Ready cycles with nothing to send after which no scheduler changes any more."""

_READY, _BUSY, _NO_HOLD, _NO_SWAP = True, False, False, False


def _constant(value: Any) -> Callable[[Bank], Any]:
    @inner
    def constant(bank: Bank) -> Any:  # noqa: ARG001 - its type says it all
        return value

    return constant


@inner
def _nothing(bank: Bank, port: int) -> None:
    """Do nothing."""


_MODULE_OF = {module.State: module for module in MODULES}
_STEPS = {module.State: module.step for module in MODULES}
_LOOKS_BEHIND = {module.State: _constant(module.LOOKS_BEHIND) for module in MODULES}
# most states are a few lines of memory, which the processor loads at once: only tables are worth a hint
_LOADS = {module.State: getattr(module, "load_ahead", _nothing) for module in MODULES}
_RESTS_AFTER = {module.State: _constant(module.REST_CYCLES) for module in MODULES}


def _know(module: Any) -> None:
    """Let the functions of this module be, for the state of a plug-in's scheduler, those of its module."""
    if module.State not in _STEPS:
        _STEPS[module.State] = module.step
        _LOADS[module.State] = _nothing
        _LOOKS_BEHIND[module.State] = _constant(module.LOOKS_BEHIND)
        _RESTS_AFTER[module.State] = _constant(module.REST_CYCLES)


def new_scheduler(name: str, *, data_vls: int, writes: Sequence[Write] = (), form: str = "", **parameters: Any) -> Any:
    """Return the state of one port, at rest after a reset, the writes and a swap.

    Parameters
    ----------
    name : str
        One of ``by_name.SCHEDULERS``.
    data_vls : int
        Data lanes.
    writes : sequence of (select, index, requester or VL, value)
        Writes of the program port, in order.
    form : str
        Form of the scheduler; "" is the default one.
    **parameters
        Other parameters of the component.
    """
    module = module_of(name, form)
    _know(module)
    forms = {"form": form} if form else {}
    state = module.make_state(data_vls=data_vls, **forms, **parameters)
    nothing, rules = no_heads(data_vls), np.zeros(module.RULE_COUNT, np.int64)
    for write in writes:
        module.step(state, nothing, _BUSY, _NO_HOLD, (1, *write), _NO_SWAP, rules)
    for cycle in range(1 + module.REST_CYCLES):
        module.step(state, nothing, _READY, _NO_HOLD, NO_WRITE, cycle == 0, rules)
    return state


def new_bank(state: Any, ports: int) -> Bank:
    """Return a bank of that many ports, each in the given state of one port."""
    return batch_of(state, ports)


def install(bank: Bank, port: int, state: Any) -> None:
    """Put one port of a bank into a state of the same kind and size."""
    set_port(bank, port, state)


def ask_swap(bank: Bank, port: int, writes: Sequence[Write]) -> None:
    """Write a port's shadow table, and request that it becomes the active one in the next ready cycle.

    The scheduler is one with two tables. The writes are as those of earlier cycles in none of which a swap was pending.
    """
    state, module = at_port(bank, port), _MODULE_OF[type(bank)]
    for write in writes:
        module.program(state, (1, *write))
    state.regs[module.SWAP_PENDING] = True


def swap_waits(bank: Bank, port: int) -> bool:
    """Tell whether a swap that was requested of a port's scheduler has not taken place yet."""
    return bool(at_port(bank, port).regs[_MODULE_OF[type(bank)].SWAP_PENDING])


@by_type(_STEPS)
def step(
    state: Any,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: Program,
    swap: bool,  # noqa: FBT001 - a signal of the hardware
    rules: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Run one clock cycle of one port's scheduler.

    Returns (lane, list) that the cycle names, lane -1 if none, and whether that lane's packet may start; it does if the
    link is ready.

    Parameters
    ----------
    state : State
        Of one port, of any scheduler; changed in place.
    heads : Heads
        The heads of the queues.
    ready : bool
        The link is free: a packet may start.
    hold_data : bool
        A flow-control packet is due: no data packet may start.
    write : Program
        The program port.
    swap : bool
        The shadow table is to become the active one; without effect on a scheduler with one table.
    rules : array of int64
        Counters of the module's ``RULES``, raised.
    """


@inner
def serve(bank: Bank, port: int, heads: Heads, ready: bool) -> int:  # noqa: FBT001 - a signal of the hardware
    """Run one cycle of a port's scheduler without programming it; return the lane that sends, -1 if none does.

    Nobody reads how often its rules applied.
    """
    rules = unread(RULE_COUNT)
    lane, _, granted = step(at_port(bank, port), heads, ready, _NO_HOLD, NO_WRITE, _NO_SWAP, rules)
    return lane if granted and ready else NO_LANE


@by_type(_LOOKS_BEHIND)
def looks_behind(bank: Bank) -> bool:
    """Tell whether the scheduler looks behind the heads, and must be stepped while its link is not ready, too."""


@by_type(_LOADS)
def load_tables(bank: Bank, port: int) -> None:
    """Have loaded what a decision of a port's scheduler reads of its tables."""


@by_type(_RESTS_AFTER)
def rests_after(bank: Bank) -> int:
    """Return the cycles, ready and with nothing to send, after which another one changes nothing."""
