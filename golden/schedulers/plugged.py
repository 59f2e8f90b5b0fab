"""Plug-in schedulers as golden schedulers: a plug-in's choice among requesters becomes a single-list scheduler.

VL15, flow-control packets, maps and the round robin of a requester's lanes are those of the built-in schedulers
(``lanes.py``). The plug-in chooses the requester that sends and updates its own memory (``docs/plugins.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.engine.bits import is_member
from vlane.golden.engine.kernel import inner, kernel
from vlane.golden.engine.rule import Rule
from vlane.golden.schedulers.heads import NO_LANE, Heads, Program
from vlane.golden.schedulers.lanes import (
    GATE_RULES,
    Lanes,
    choose_offers,
    decide_vl15_and_hold,
    new_lanes,
    offered_lane,
    program_value,
    record_sent,
    reset_lanes,
)
from vlane.plugins import Plugin, digest_of
from vlane.schedulers.plugged import uses_times

_RULES = (
    Rule("sent", "PLUG-1", "the chosen requester sent"),
    Rule("idle", "PLUG-2", "no requester was chosen"),
    *GATE_RULES,
)
_SENT, _IDLE, _HELD, _ = range(len(_RULES))

_made: dict[Callable[..., Any], Any] = {}


def plugin_module(plugin: Plugin) -> Any:
    """Return the interface of a golden scheduler module (``by_name.py``) for a plug-in's scheduler."""
    if plugin.made not in _made:
        _made[plugin.made] = _module(plugin)
    return _made[plugin.made]


def _state_type(plugin: Plugin) -> Any:
    """Return a state type of the plug-in's own, because compiled code is selected by type.

    The name contains the digest of the plug-in's sources, and the type is an attribute of this module, because cached
    compiled code refers to it by name.
    """
    name = f"State_{plugin.name}_{digest_of([plugin])}"
    arrays = ("weights", "memory", "sizes", "arrived", "arrivals", "clock")
    fields = {"lanes": Lanes, **dict.fromkeys(arrays, NDArray[np.int64])}
    made = NamedTuple(name, list(fields.items()))  # type: ignore[misc]  # a type for each plug-in
    made.__module__ = __name__
    globals()[name] = made
    return made


def _module(plugin: Plugin) -> Any:
    state_type, memory_words = _state_type(plugin), plugin.options["memory"]
    made_choose = plugin.made.choose  # type: ignore[attr-defined]
    made_note: Callable[..., None] = getattr(plugin.made, "sent", _ignore_sent)
    choose = inner(made_choose) if uses_times(made_choose) else _choose_without_times(made_choose)
    note = inner(made_note) if uses_times(made_note) else _note_without_times(made_note)

    def make_state(*, data_vls: int, requesters: int, vl15: bool = False) -> Any:
        lanes = new_lanes(data_vls=data_vls, vl15=vl15, requesters=requesters)
        requesters = lanes.requesters
        words = (requesters, memory_words, requesters, data_vls + 1, requesters, 1)
        return state_type(lanes, *(np.zeros(each, np.int64) for each in words))

    @kernel
    def reset(state: Any) -> None:
        reset_lanes(state.lanes)
        state.weights[:] = 0
        state.memory[:] = 0
        state.sizes[:] = 0
        state.arrived[:] = 0
        state.arrivals[:] = 0
        state.clock[:] = 0

    @inner
    def program(state: Any, write: Program) -> None:
        program_value(state.lanes, state.weights, write)

    @kernel
    def step(
        state: Any,
        heads: Heads,
        ready: bool,  # noqa: FBT001 - a signal of the hardware
        hold_data: bool,  # noqa: FBT001 - a signal of the hardware
        write: Program,
        swap: bool,  # noqa: ARG001, FBT001 - there is one table only
        rule_counts: NDArray[np.int64],
    ) -> tuple[int, int, bool]:
        sendable, data = heads.request & heads.fits, (1 << state.lanes.data_vls) - 1
        lane, source, decides = decide_vl15_and_hold(state.lanes, sendable, ready, hold_data, rule_counts, _HELD)
        if decides:
            active, waiting = choose_offers(state.lanes, sendable & data, heads.request & data)
            for requester in range(state.lanes.requesters):
                offers = is_member(active, requester)
                state.sizes[requester] = heads.blocks[offered_lane(state.lanes, requester)] if offers else 0
                state.arrivals[requester] = state.arrived[offered_lane(state.lanes, requester)] if offers else 0
            chosen, now = -1, state.clock[0]
            if active != 0:
                chosen = choose(active, waiting, state.sizes, state.weights, state.memory, now, state.arrivals)
            if chosen >= 0 and is_member(active, chosen):
                lane = offered_lane(state.lanes, chosen)
                if ready:
                    rule_counts[_SENT] += 1
                    note(chosen, state.sizes, state.weights, state.memory, now, state.arrivals)
                    record_sent(state.lanes, chosen)
            elif ready:
                rule_counts[_IDLE] += 1
        if write[0] != 0:
            program(state, write)
        return lane, source, lane != NO_LANE

    @inner
    def see_time(state: Any, cycle: int) -> None:
        state.clock[0] = cycle

    @inner
    def see_arrival(state: Any, lane: int, cycle: int) -> None:
        state.arrived[lane] = cycle

    return SimpleNamespace(
        State=state_type,
        SEES_TIME=uses_times(made_choose) or uses_times(made_note),
        see_time=see_time,
        see_arrival=see_arrival,
        make_state=make_state,
        reset=reset,
        program=program,
        step=step,
        RULES=_RULES,
        RULE_COUNT=len(_RULES),
        LOOKS_BEHIND=False,
        REST_CYCLES=0,
    )


def _choose_without_times(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the cycle and the arrivals as further parameters, which it ignores."""
    own = inner(function)

    @inner
    def choose(active: int, waiting: int, sizes: Any, weights: Any, memory: Any, now: int, arrivals: Any) -> Any:  # noqa: ARG001 - one signature for all plug-ins
        return own(active, waiting, sizes, weights, memory)

    return choose


def _note_without_times(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the cycle and the arrivals as further parameters, which it ignores."""
    own = inner(function)

    @inner
    def note(chosen: int, sizes: Any, weights: Any, memory: Any, now: int, arrivals: Any) -> None:  # noqa: ARG001 - one signature for all plug-ins
        own(chosen, sizes, weights, memory)

    return note


def _ignore_sent(chosen: int, sizes: NDArray[np.int64], weights: NDArray[np.int64], memory: NDArray[np.int64]) -> None:
    """Do nothing: the plug-in keeps no record of sent packets."""
