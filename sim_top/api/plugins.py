"""Decorators that register plug-ins (``docs/plugins.md``), and the functions that plug-ins call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from vlane.errors import InputError
from vlane.golden.topologies.routing import Routes, sl_rows, up_down
from vlane.golden.topologies.topology import Topology
from vlane.golden.traffic.plugged import draw_below, draw_gap
from vlane.plugins import load_file, register
from vlane.schedulers.plugged import plugged_scheduler
from vlane.schedulers.registry import SCHEDULERS
from vlane.sim_top.scenario.plugged_scheduler import check_scheduler, sees_time
from vlane.sim_top.scenario.plugged_source import check_source
from vlane.study.networks import NETWORKS
from vlane.study.sizes import MAX_MESSAGE_BYTES
from vlane.study.traffic import Traffic
from vlane.units import MAX_PACKET_BYTES

__all__ = [
    "InputError",
    "Routes",
    "Topology",
    "draw_below",
    "draw_gap",
    "load_plugin",
    "pattern",
    "routing",
    "scheduler",
    "sl_rows",
    "source",
    "topology",
    "up_down",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)
_TOPOLOGIES = [get_args(each.model_fields["topology"].annotation)[0] for each in NETWORKS]
_ROUTINGS = {
    word
    for each in NETWORKS
    if "routing" in each.model_fields
    for word in get_args(each.model_fields["routing"].annotation)
}
_MOST_MEMORY = 1 << 12


def topology(name: str, *, routing: str = "updown") -> Callable[[_F], _F]:
    """Register a topology: a function from the keys of its ``[network]`` section to a ``vlane.Topology``.

    Each parameter of the function is a key of the section. Its annotation defines the accepted values, for example with
    bounds as ``Annotated[int, Field(ge=2)]``. A parameter without a default is a required key.

    Parameters
    ----------
    name : str
        Value of ``topology =`` in study files.
    routing : str
        Routing of networks that name none. The default, ``updown``, suits every topology.

    Raises
    ------
    InputError
        If the name is taken or not an identifier, or a parameter of the function cannot be a key.
    """

    def decorate(function: _F) -> _F:
        register("topology", name, function, _TOPOLOGIES, keys=_keys(name, function), routing=routing)
        return function

    return decorate


def routing(name: str, *, vls_per_sl: int = 1) -> Callable[[_F], _F]:
    """Register a routing: a function from (``vlane.Topology``, VL by SL) to ``vlane.Routes``.

    Before each run, every path of the tables is followed. A path that does not arrive and a cycle of channel
    dependencies are rejected.

    Parameters
    ----------
    name : str
        Value of ``routing =`` in study files.
    vls_per_sl : int
        Number of VLs per SL. With more than one, packets of SL s start on VL ``s * vls_per_sl``; return
        ``Routes`` with ``by_lane=True``, whose VL table is indexed by incoming VL.

    Raises
    ------
    InputError
        If the name is taken or not an identifier, or ``vls_per_sl`` is not 1 to 8.
    """
    if not isinstance(vls_per_sl, int) or not 1 <= vls_per_sl <= 8:
        raise InputError(f"vls_per_sl of routing {name}", "1 to 8", vls_per_sl)

    def decorate(function: _F) -> _F:
        _check_call("routing", name, function, "a topology and the VL of each SL")
        register("routing", name, function, _ROUTINGS, vls_per_sl=vls_per_sl)
        return function

    return decorate


def pattern(name: str) -> Callable[[_F], _F]:
    """Register a traffic pattern: a function from (host, ``vlane.Topology``) to the destination host, -1 for none.

    Parameters
    ----------
    name : str
        Value of ``pattern =`` in study files.

    Raises
    ------
    InputError
        If the name is taken or not an identifier.
    """

    def decorate(function: _F) -> _F:
        _check_call("pattern", name, function, "a host and a topology")
        register("pattern", name, function, get_args(Traffic.model_fields["pattern"].annotation))
        return function

    return decorate


def scheduler(name: str, *, weights: bool = False, memory: int = 0, title: str = "") -> Callable[[_C], _C]:
    """Register an egress scheduler: a class with ``choose`` and, if it keeps state, ``sent``.

    Both are static methods that are translated to C++ (``docs/compiler.md``). They may use integers and the given
    arrays, but cannot allocate arrays.

    ``choose(active, waiting, sizes, weights, memory)`` returns the requester that sends next, -1 for none. ``active``
    has a bit for each requester with a packet that may start, ``waiting`` a bit for each requester whose packet lacks
    only credits. ``sizes`` are packet sizes in blocks of 64 bytes by requester, 0 for an inactive requester. ``choose``
    is called in every cycle in which data may be sent, and must not modify its arguments.

    ``sent(chosen, sizes, weights, memory)`` is called once for each packet that starts. It may modify ``memory``.

    Both may have two more parameters, ``cycle`` and ``arrivals``: the present cycle, and the cycle in which the offered
    packet of each requester reached the queue, 0 for an inactive requester.

    Parameters
    ----------
    name : str
        Value of ``name =`` in ``[scheduler]``.
    weights : bool
        Whether a table file may set weights: ``[NAME] weight = [...]``, 0 to 2**31 - 1 by requester.
    memory : int
        Number of int64 words of state per port, 0 after reset.
    title : str
        Human-readable name.

    Raises
    ------
    InputError
        If the name is taken or not an identifier, or random requests show a violation of this contract.
    """
    if not isinstance(memory, int) or not 0 <= memory <= _MOST_MEMORY:
        raise InputError(f"memory of scheduler {name}", f"0 to {_MOST_MEMORY} words", memory)

    def decorate(made: _C) -> _C:
        check_scheduler(name, made, memory=memory)
        record = plugged_scheduler(name, title=title or name, weights=weights, sees_time=sees_time(made))
        register("scheduler", name, made, {*SCHEDULERS, "sl2vl"}, memory=memory, record=record)
        return made

    return decorate


def source(
    name: str, *, largest_bytes: int | None = None, messages: bool = False, memory: int = 0
) -> Callable[[_C], _C]:
    """Register a source of packets or messages: a class with a static method ``draw``.

    ``draw(host, hosts, cycle, load, values, random, memory)`` returns (gap, destination, bytes) of the next packet of a
    host. ``draw`` is translated to C++ (``docs/compiler.md``). It takes random numbers only from ``random``, with
    ``vlane.draw_below`` and ``vlane.draw_gap``, and changes nothing but ``random`` and ``memory``.

    Parameters
    ----------
    name : str
        Value of ``source =`` in ``[[traffic]]``.
    largest_bytes : int or None
        Largest size. For packets 1 to 4224 including headers, by default 4224; for messages 1 to 2**40 of payload, by
        default 2**40.
    messages : bool
        Whether sizes are those of messages, which are sent in packets of up to ``nic.mtu_bytes`` payload.
    memory : int
        Number of int64 words of state per host and class, 0 at the beginning of each window.

    Raises
    ------
    InputError
        If the name is taken or not an identifier, or two equal generators show a violation of this contract.
    """
    most = MAX_MESSAGE_BYTES if messages else MAX_PACKET_BYTES
    largest = most if largest_bytes is None else largest_bytes
    if not isinstance(largest, int) or not 1 <= largest <= most:
        raise InputError(f"largest_bytes of source {name}", f"1 to {most}", largest)
    if not isinstance(memory, int) or not 0 <= memory <= _MOST_MEMORY:
        raise InputError(f"memory of source {name}", f"0 to {_MOST_MEMORY} words", memory)

    def decorate(made: _C) -> _C:
        check_source(name, made, memory=memory, largest=largest)
        register("source", name, made, (), memory=memory, largest_bytes=largest, messages=messages)
        return made

    return decorate


def load_plugin(path: str | Path) -> None:
    """Run a file of plug-ins, like ``--plugin``.

    Raises
    ------
    InputError
        If the file fails to run, registers nothing, or registers a name that is taken.
    """
    load_file(Path(path))


def _check_call(kind: str, name: str, function: Callable[..., Any], words: str) -> None:
    """Reject a function that cannot be called with two arguments."""
    try:
        inspect.signature(function).bind(None, None)
    except (TypeError, ValueError):
        raise InputError(f"{kind} {name}", f"a function with two parameters, {words}", f"{function!r}") from None


def _keys(name: str, function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return the keys of a topology's section: (type, default) by name."""
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except (NameError, SyntaxError, TypeError) as error:
        must, problem = "a function with valid annotations", f": cannot evaluate the function's annotations: {error}"
        raise InputError(f"topology {name}", must, str(error), problem=problem) from None
    keys = {}
    for each in parameters:
        field = f"parameter {each.name} of topology {name}"
        if each.kind in {each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY}:
            raise InputError(field, "a keyword parameter", str(each.kind.description))
        if each.name in {"topology", "routing", "root"} or each.name.startswith(("_", "model_")):
            raise InputError(field, "a name other than topology, routing, root, _... or model_...", each.name)
        if each.annotation is each.empty:
            raise InputError(field, "annotated", "no annotation", problem="has no type annotation")
        try:
            TypeAdapter(each.annotation)
        except (PydanticUserError, TypeError) as error:
            reason = str(error).splitlines()[0]
            problem = f"has a type that a study file cannot hold: {reason}"
            raise InputError(field, "of a type that a study file can hold", reason, problem=problem) from None
        keys[each.name] = (each.annotation, ... if each.default is each.empty else each.default)
    return keys
