"""Egress schedulers of many ports: every state array has a leading port axis.

A bank is the ``State`` of a scheduler module in which each array has the ports as its first axis. The functions here
accept a bank or the state of one port, of any scheduler, and dispatch on the type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.ports import at_port, batch_of, set_port
from vlane.golden.engine.unread import unread_counters
from vlane.golden.schedulers.by_name import MODULES, module_of
from vlane.golden.schedulers.heads import NO_LANE, NO_WRITE, Heads, Program, no_heads

Write = tuple[int, int, int, int]
"""A program-port write: select, index, requester or VL, value."""

Bank = Any
"""State of the schedulers of all ports, which have the same type and size."""

RULE_COUNT = max(module.RULE_COUNT for module in MODULES)
"""Largest number of rule counters of any scheduler."""

REST_CYCLES = max(module.REST_CYCLES for module in MODULES)
"""Number of ready cycles without a packet to send after which no scheduler's state changes."""

_READY, _BUSY, _NO_HOLD, _NO_SWAP = True, False, False, False


def _constant(value: Any) -> Callable[[Bank], Any]:
    @inner
    def constant(bank: Bank) -> Any:  # noqa: ARG001 - dispatched by type
        return value

    return constant


_MODULE_OF = {module.State: module for module in MODULES}
_STEPS = {module.State: module.step for module in MODULES}
_LOOKS_BEHIND = {module.State: _constant(module.LOOKS_BEHIND) for module in MODULES}
# most states span a few cache lines, which the hardware prefetcher loads; only tables need a software prefetch
_LOADS = {module.State: module.load_ahead for module in MODULES if hasattr(module, "load_ahead")}
_RESTS_AFTER = {module.State: _constant(module.REST_CYCLES) for module in MODULES}
_SEE_TIME: dict[type, Callable[..., Any]] = {}
_SEE_ARRIVAL: dict[type, Callable[..., Any]] = {}
_SEES_TIME: dict[type, Callable[..., Any]] = {}


def _register_plugin(module: Any) -> None:
    """Register a plug-in scheduler's functions under its state type."""
    if module.State not in _STEPS:
        _STEPS[module.State] = module.step
        _LOOKS_BEHIND[module.State] = _constant(module.LOOKS_BEHIND)
        _RESTS_AFTER[module.State] = _constant(module.REST_CYCLES)
        if module.SEES_TIME:
            _SEES_TIME[module.State] = _constant(module.SEES_TIME)
            _SEE_TIME[module.State], _SEE_ARRIVAL[module.State] = module.see_time, module.see_arrival


def new_scheduler(name: str, *, data_vls: int, writes: Sequence[Write] = (), form: str = "", **parameters: Any) -> Any:
    """Return the scheduler state of one idle port after reset, the given program writes and a table swap.

    Parameters
    ----------
    name : str
        One of ``by_name.SCHEDULERS``.
    data_vls : int
        Number of data lanes.
    writes : sequence of (select, index, requester or VL, value)
        Program-port writes, in order.
    form : str
        Form of the scheduler; "" is the default form.
    **parameters
        Other parameters of the component.
    """
    module = module_of(name, form)
    _register_plugin(module)
    forms = {"form": form} if form else {}
    state = module.make_state(data_vls=data_vls, **forms, **parameters)
    nothing, rules = no_heads(data_vls), np.zeros(module.RULE_COUNT, np.int64)
    for write in writes:
        module.step(state, nothing, _BUSY, _NO_HOLD, (1, *write), _NO_SWAP, rules)
    for cycle in range(1 + module.REST_CYCLES):
        module.step(state, nothing, _READY, _NO_HOLD, NO_WRITE, cycle == 0, rules)
    return state


def new_bank(state: Any, ports: int) -> Bank:
    """Return a bank of ``ports`` copies of one port's state."""
    return batch_of(state, ports)


def set_port_state(bank: Bank, port: int, state: Any) -> None:
    """Replace the state of one port of a bank by a state of the same type and size."""
    set_port(bank, port, state)


def request_swap(bank: Bank, port: int, writes: Sequence[Write]) -> None:
    """Write a port's shadow table and request a swap in the next ready cycle.

    The scheduler must have two tables, and no swap may be pending.
    """
    state, module = at_port(bank, port), _MODULE_OF[type(bank)]
    for write in writes:
        module.program(state, (1, *write))
    state.regs[module.SWAP_PENDING] = True


def is_swap_pending(bank: Bank, port: int) -> bool:
    """Return whether a requested swap of a port's scheduler is still pending."""
    return bool(at_port(bank, port).regs[_MODULE_OF[type(bank)].SWAP_PENDING])


@by_type(_STEPS)
def step(
    state: Any,
    heads: Heads,
    ready: bool,  # noqa: FBT001 - a signal of the hardware
    hold_data: bool,  # noqa: FBT001 - a signal of the hardware
    write: Program,
    swap: bool,  # noqa: FBT001 - a signal of the hardware
    rule_counts: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Run a clock cycle of the scheduler of one port and return (lane, list, granted).

    The lane is named by the cycle's decision, -1 for none; ``granted`` is whether the lane's packet may start. The
    packet starts if the link is ready.

    Parameters
    ----------
    state : State
        State of one port, of any scheduler; changed in place.
    heads : Heads
        Heads of the queues.
    ready : bool
        The link is free: a packet may start.
    hold_data : bool
        A flow-control packet is due: no data packet may start.
    write : Program
        Program port.
    swap : bool
        Exchange shadow and active table; no effect on a scheduler with one table.
    rule_counts : array of int64
        Counters of the module's ``RULES``, incremented.
    """


@inner
def serve(bank: Bank, port: int, heads: Heads, ready: bool) -> int:  # noqa: FBT001 - a signal of the hardware
    """Run a scheduler cycle of a port without programming. Return the lane that sends, -1 for none.

    Rule counts are discarded.
    """
    rules = unread_counters(RULE_COUNT)
    lane, _, granted = step(at_port(bank, port), heads, ready, _NO_HOLD, NO_WRITE, _NO_SWAP, rules)
    return lane if granted and ready else NO_LANE


@by_type(_LOOKS_BEHIND)
def uses_second_packets(bank: Bank) -> bool:
    """Return whether the scheduler reads the packet behind each head.

    Such a scheduler must be stepped even while its link is not ready.
    """


@by_type(_SEES_TIME, default=True)
def sees_time(bank: Bank) -> bool:  # noqa: ARG001 - dispatched by type
    """Return whether decisions depend on the cycle and on arrivals of heads, as those of plug-ins may."""
    return False


@by_type(_SEE_TIME, default=True)
def see_time(state: Any, cycle: int) -> None:
    """Set the cycle of the next decision of a port's scheduler."""


@by_type(_SEE_ARRIVAL, default=True)
def see_arrival(state: Any, lane: int, cycle: int) -> None:
    """Set the cycle in which the head of a lane arrived, for the next decision of a port's scheduler."""


@by_type(_LOADS, default=True)
def prefetch_tables(bank: Bank, port: int) -> None:
    """Prefetch the tables that a decision of a port's scheduler reads."""


@by_type(_RESTS_AFTER)
def idle_decisions_until_rest(bank: Bank) -> int:
    """Return after how many ready cycles without a packet to send further cycles change no state."""


def _swap_pending(place: int) -> Any:
    @inner
    def swap_pending(state: Any) -> bool:
        return bool(state.regs[place] != 0)

    return swap_pending


@by_type(
    {each.State: _swap_pending(each.SWAP_PENDING) for each in MODULES if hasattr(each, "SWAP_PENDING")}, default=True
)
def is_swapping(state: Any) -> bool:  # noqa: ARG001 - dispatched by type
    """Return whether a requested exchange of the tables is pending."""
    return False
