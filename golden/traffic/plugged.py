"""Plug-in sources: a plug-in draws gap, destination and size of each packet or message (``docs/plugins.md``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlane.golden.compiler.source import python_function
from vlane.golden.engine.kernel import by_type, inner
from vlane.golden.engine.random_bits import draw_bits
from vlane.golden.traffic.classes import NEVER, TrafficClass
from vlane.plugins import Plugin, digest_of
from vlane.study.traffic import MOST_VALUES

MOST_AT_ONCE = 1 << 16
"""Largest number of packets or messages of one host and class in a cycle."""
LOAD_UNIT = 1_000_000
"""Load 1 as a source receives it."""

(_TO, _SIZE, _SAME) = range(3)
(FAULTY, FAULT_NIC, FAULT_CLASS, FAULT_CYCLE, FAULT_TO, FAULT_SIZE, FAULT_SAME) = range(7)
"""Fields of ``fault``."""

_draw = python_function(draw_bits)
_RIGHT, _HALF = 30, np.uint64(32)


class NoPlugins(NamedTuple):
    """Traffic without plug-in sources.

    Parameters
    ----------
    kind : int
        Always 0. An empty tuple would not be a distinct type in compiled code.
    """

    kind: int = 0


@inner
def draw_below(random: NDArray[np.uint64], bound: int) -> int:
    """Return a random integer from 0 to ``bound`` - 1, with ``bound`` from 1 to 2**32, for a source.

    Parameters
    ----------
    random : array of uint64
        Generator that ``draw`` of the source received.
    bound : int
        Number of results. The bias is below ``bound`` / 2**32.
    """
    product = np.uint64(_draw(random) >> _RIGHT) * np.uint64(bound)
    return int(product >> _HALF)


@inner
def draw_gap(random: NDArray[np.uint64], part: int, whole: int) -> int:
    """Return the number of cycles to the next success, at least 1, for a source. The distribution is geometric.

    Parameters
    ----------
    random : array of uint64
        Generator that ``draw`` of the source received.
    part, whole : int
        A cycle is a success with probability ``part`` / ``whole``; ``whole`` is at most 2**32. The result is -1 if
        ``part`` is 0 or less.
    """
    if part <= 0:
        return -1
    cycles = 1
    while draw_below(random, whole) >= part:
        cycles += 1
    return cycles


_PLUGS: dict[type, Callable[..., Any]] = {}
_NEXTS: dict[type, Callable[..., Any]] = {}
_BEGINS: dict[type, Callable[..., Any]] = {}
_DESTINATIONS: dict[type, Callable[..., Any]] = {}
_SIZES: dict[type, Callable[..., Any]] = {}
_made: dict[tuple[Callable[..., Any], ...], type] = {}


@by_type(_PLUGS, default=True)
def plugs(plugged: Any) -> bool:  # noqa: ARG001 - dispatched by type
    """Return whether a class has a plug-in source."""
    return False


@by_type(_NEXTS, default=True)
def next_arrival(plugged: Any, nic: int, queue: int, cycle: int, random: NDArray[np.uint64], nics: int) -> int:  # noqa: ARG001 - dispatched by type
    """Draw the next packet of a class after a cycle and return its cycle, or ``NEVER``."""
    return NEVER


@by_type(_BEGINS, default=True)
def forget(plugged: Any, nic: int, queue: int) -> None:
    """Clear the memory of a source at the beginning of a window."""


@by_type(_DESTINATIONS, default=True)
def drawn_destination(plugged: Any, nic: int, queue: int) -> int:  # noqa: ARG001 - dispatched by type
    """Return the destination of the packet that a source drew last."""
    return 0


@by_type(_SIZES, default=True)
def drawn_size(plugged: Any, nic: int, queue: int) -> int:  # noqa: ARG001 - dispatched by type
    """Return the size of the packet that a source drew last."""
    return 0


def plugged_sources(classes: Sequence[TrafficClass], nics: int) -> Any:
    """Return the state of the plug-in sources of all classes, before cycle 0.

    Returns
    -------
    NoPlugins or a NamedTuple
        The NamedTuple's type belongs to these plug-ins, because compiled code is selected by type. Its fields are:

        - ``which``: array of int64, (classes,): place of the plug-in, -1 for a class without one
        - ``load``: array of int64, (classes,): load in millionths
        - ``largest``: array of int64, (classes,): largest size in bytes
        - ``values``: array of int64, (classes, 16): values from the study
        - ``memory``: array of int64, (NICs, classes, words): memory of the plug-ins
        - ``drawn``: array of int64, (NICs, classes, 3): destination and size of the last packet, and the number of
          packets before it in the same cycle
        - ``fault``: array of int64, (7,): first result that is out of range
    """
    plugins = list(dict.fromkeys(each.source.plugin for each in classes if each.source is not None))
    if not plugins:
        return NoPlugins()
    made = _state_type(plugins)
    count, words = len(classes), max(1, *(each.options["memory"] for each in plugins))
    state = made(
        which=np.full(count, -1, np.int64),
        load=np.array([round(each.load * LOAD_UNIT) for each in classes], np.int64),
        largest=np.zeros(count, np.int64),
        values=np.zeros((count, MOST_VALUES), np.int64),
        memory=np.zeros((nics, count, words), np.int64),
        drawn=np.zeros((nics, count, 3), np.int64),
        fault=np.zeros(7, np.int64),
    )
    for queue, each in enumerate(classes):
        if each.source is not None:
            state.which[queue] = plugins.index(each.source.plugin)
            state.largest[queue] = each.source.plugin.options["largest_bytes"]
            state.values[queue, : len(each.source.values)] = each.source.values
    return state


def _state_type(plugins: Sequence[Plugin]) -> Any:
    """Return the state type of some plug-ins, an attribute of this module, to which cached code refers by name."""
    key = tuple(each.made for each in plugins)
    if key in _made:
        return _made[key]
    name = f"Sources_{'_'.join(each.name for each in plugins)}_{digest_of(plugins)}"
    arrays = ("which", "load", "largest", "values", "memory", "drawn", "fault")
    made = NamedTuple(name, [(each, NDArray[np.int64]) for each in arrays])  # type: ignore[misc]  # a type for each
    made.__module__ = __name__
    globals()[name] = made
    _know(made, _chosen(plugins))
    _made[key] = made
    return made


def _chosen(plugins: Sequence[Plugin]) -> Callable[..., Any]:
    """Return a function that calls ``draw`` of one of some plug-ins, selected by its place."""
    own = inner(plugins[0].made.draw)  # type: ignore[attr-defined]
    if len(plugins) == 1:

        @inner
        def only(
            which: int,  # noqa: ARG001 - as for several
            host: int,
            hosts: int,
            cycle: int,
            load: int,
            values: Any,
            random: Any,
            memory: Any,
        ) -> Any:
            return own(host, hosts, cycle, load, values, random, memory)

        return only
    others = _chosen(plugins[1:])

    @inner
    def one(which: int, host: int, hosts: int, cycle: int, load: int, values: Any, random: Any, memory: Any) -> Any:
        if which == 0:
            return own(host, hosts, cycle, load, values, random, memory)
        return others(which - 1, host, hosts, cycle, load, values, random, memory)

    return one


def _know(made: type, chosen: Callable[..., Any]) -> None:
    """Register the functions of a state type."""

    @inner
    def has_plugins(plugged: Any) -> bool:  # noqa: ARG001 - dispatched by type
        return True

    @inner
    def next_drawn(plugged: Any, nic: int, queue: int, cycle: int, random: NDArray[np.uint64], nics: int) -> int:
        drawn = plugged.drawn[nic, queue]
        which, load = plugged.which[queue], plugged.load[queue]
        gap, to, size = chosen(which, nic, nics, cycle, load, plugged.values[queue], random, plugged.memory[nic, queue])
        if gap < 0 or gap >= NEVER - cycle:
            return NEVER
        same = drawn[_SAME] + 1 if gap == 0 else 0
        is_wrong = to < 0 or to >= nics or size < 1 or size > plugged.largest[queue] or same >= MOST_AT_ONCE
        if is_wrong:
            fault = plugged.fault
            if fault[FAULTY] == 0:
                fault[FAULTY], fault[FAULT_NIC], fault[FAULT_CLASS], fault[FAULT_CYCLE] = 1, nic, queue, cycle + gap
                fault[FAULT_TO], fault[FAULT_SIZE], fault[FAULT_SAME] = to, size, same
            return NEVER
        drawn[_TO], drawn[_SIZE], drawn[_SAME] = to, size, same
        return int(cycle + gap)

    @inner
    def begin(plugged: Any, nic: int, queue: int) -> None:
        plugged.memory[nic, queue] = 0
        plugged.drawn[nic, queue, _SAME] = 0

    @inner
    def destination(plugged: Any, nic: int, queue: int) -> int:
        return int(plugged.drawn[nic, queue, _TO])

    @inner
    def size(plugged: Any, nic: int, queue: int) -> int:
        return int(plugged.drawn[nic, queue, _SIZE])

    _PLUGS[made], _NEXTS[made], _BEGINS[made] = has_plugins, next_drawn, begin
    _DESTINATIONS[made], _SIZES[made] = destination, size
