"""Contract check of a plug-in source with two equal generators, and errors of a source during a run."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from vlane.errors import InputError, missing_value
from vlane.golden.engine.random_bits import seeded_rng
from vlane.golden.traffic.plugged import (
    FAULT_CLASS,
    FAULT_CYCLE,
    FAULT_NIC,
    FAULT_SAME,
    FAULT_SIZE,
    FAULT_TO,
    FAULTY,
    MOST_AT_ONCE,
    NoPlugins,
)
from vlane.sim_top.scenario.world import World
from vlane.study.traffic import MOST_VALUES

_PARAMETERS = ("host", "hosts", "cycle", "load", "values", "random", "memory")
_HOSTS, _DRAWS = (2, 16), 100
_LOADS = (50_000, 700_000)


def check_source(name: str, made: Any, *, memory: int, largest: int) -> None:
    """Reject a source without ``draw`` or with results outside the contract. Two equal generators run it uncompiled.

    Raises
    ------
    InputError
        If the contract is violated; describes the violation.
    """
    if not isinstance(made, type):
        raise InputError(f"source {name}", "a class with draw", f"{made!r}")
    function, field = made.__dict__.get("draw"), f"draw of source {name}"
    if function is None:
        raise missing_value(field, "define it as a static method")
    if not isinstance(function, staticmethod):
        problem = "is not a static method: decorate it with @staticmethod"
        raise InputError(field, "a static method", "another member", problem=problem)
    given = tuple(inspect.signature(function.__func__).parameters)
    if given != _PARAMETERS:
        must, got = ", ".join(_PARAMETERS), ", ".join(given)
        raise InputError(field, must, got, problem=f"has the parameters ({got}), expected ({must})")
    for hosts in _HOSTS:
        for load in _LOADS:
            one, other = (_drawn(field, function.__func__, hosts, load, memory, largest) for _ in range(2))
            if one != other:
                problem = (
                    "is not deterministic: two equal generators give different packets; draw from the given generator, "
                    "instead of other random numbers, the time or global variables"
                )
                raise InputError(f"source {name}", "deterministic", "different packets", problem=problem)


def _drawn(field: str, draw: Any, hosts: int, load: int, words: int, largest: int) -> list[tuple[int, int, int]]:
    """Return the first packets of a host, without values from a study. Packets of an ended source are missing."""
    source = field.removeprefix("draw of ")
    random, memory, values = seeded_rng(hosts, load), np.zeros(words, np.int64), np.zeros(MOST_VALUES, np.int64)
    made, cycle = [], 0
    for _ in range(_DRAWS):
        try:
            drawn = draw(hosts - 1, hosts, cycle, load, values, random, memory)
        except Exception as error:  # noqa: BLE001 - code of somebody else
            got = f"{type(error).__name__}: {error}"
            raise InputError(field, "free of errors", got, problem=f"failed: {got}") from None
        if (
            not isinstance(drawn, tuple)
            or len(drawn) != 3
            or not all(isinstance(each, int | np.integer) for each in drawn)
        ):
            problem = f"returned {drawn!r}, not three integers (gap, destination, bytes)"
            raise InputError(field, "three integers", f"{drawn!r}", problem=problem)
        gap, to, size = map(int, drawn)
        if values.any():
            problem = "changed values; it may change only memory"
            raise InputError(field, "limited to memory", "changed arrays", problem=problem)
        if gap < 0:
            break
        if not 0 <= to < hosts:
            raise InputError(f"destination of {source}", f"a host, 0 to {hosts - 1}", to)
        if not 1 <= size <= largest:
            raise InputError(f"bytes of {source}", f"1 to {largest}", size)
        made.append((gap, to, size))
        cycle += gap
    return made


def check_drawn(world: World, plugged: Any) -> None:
    """Reject a run in which a source returned a destination or size out of range, or too many packets in a cycle.

    Parameters
    ----------
    plugged : NoPlugins or NamedTuple
        State of the sources (``vlane.golden.traffic.plugged``).

    Raises
    ------
    InputError
        If there is such a result; names source, host and cycle.
    """
    if isinstance(plugged, NoPlugins) or not plugged.fault[FAULTY]:
        return
    fault, number = plugged.fault.tolist(), int(plugged.fault[FAULT_CLASS])
    where = f"source {world.study.traffic[number].source} at host {fault[FAULT_NIC]} in cycle {fault[FAULT_CYCLE]}"
    hosts, largest = len(world.topology.hosts), int(plugged.largest[number])
    if fault[FAULT_SAME] >= MOST_AT_ONCE:
        problem = f"returned gap 0 {MOST_AT_ONCE} times in a row, expected a larger gap in between"
        raise InputError(where, f"at most {MOST_AT_ONCE} packets in a cycle", fault[FAULT_SAME], problem=problem)
    if not 0 <= fault[FAULT_TO] < hosts:
        problem = f"returned destination {fault[FAULT_TO]}, expected 0 to {hosts - 1}"
        raise InputError(where, f"a host, 0 to {hosts - 1}", fault[FAULT_TO], problem=problem)
    problem = f"returned {fault[FAULT_SIZE]} bytes, expected 1 to {largest}"
    raise InputError(where, f"1 to {largest} bytes", fault[FAULT_SIZE], problem=problem)
