"""Topologies, routes and destinations from plug-ins, each checked when it is made."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from vlane.errors import InputError, shown
from vlane.golden.topologies.routing import Routes
from vlane.golden.topologies.topology import Topology
from vlane.plugins import Plugin, found
from vlane.tables.lft import UNASSIGNED
from vlane.tables.sl2vl import SL_COUNT, VL_DROP


def plugged_topology(network: Any) -> Topology:
    """Return the topology of a section whose topology is a plug-in.

    Raises
    ------
    InputError
        If the plug-in rejects its keys, raises another error, or does not return a topology.
    """
    plugin = found("topology", network.topology)
    if plugin is None:
        problem = f": no plug-in registers the topology {network.topology}"
        raise InputError("network.topology", "a known topology", network.topology, problem=problem)
    keys = {name: getattr(network, name) for name in plugin.options["keys"]}
    made, again = (_of_type(plugin, _called(plugin, plugin.made, **keys), Topology) for _ in range(2))
    for part in ("name", "switches", "ports", "cables", "hosts"):
        _check_same(plugin, part, getattr(made, part), getattr(again, part))
    return made


def plugged_routes(plugin: Plugin, topology: Topology, vl_of_sl: tuple[int, ...], *, data_vls: int) -> Routes:
    """Return the routes of a plug-in's routing. Lost paths and dependency cycles are checked later, before a run.

    Raises
    ------
    InputError
        If the plug-in rejects the topology, raises another error, or returns tables with a wrong shape or invalid
        entries.
    """
    made, again = (_of_type(plugin, _called(plugin, plugin.made, topology, vl_of_sl), Routes) for _ in range(2))
    for part in ("lft", "vl", "nic_vl", "lids"):
        _check_same(plugin, part, getattr(made, part), getattr(again, part))
    what = f"routing {plugin.name}"
    switches, ports, hosts = topology.switches, topology.ports, len(topology.hosts)
    lids = np.asarray(made.lids)
    if lids.shape != (hosts, 2) or lids.dtype != np.int64 or (lids < 1).any():
        raise _refused(plugin, f"{what} lids", f"int64 of shape ({hosts}, 2), all at least 1", _described(lids))
    by_input = (ports,) if np.asarray(made.lft).ndim == 3 else ()
    for name, shape in (
        ("lft", (switches, *by_input, int(lids.sum(axis=1).max()))),
        ("vl", (switches, ports, ports, SL_COUNT)),
        ("nic_vl", (hosts, SL_COUNT)),
    ):
        table = np.asarray(getattr(made, name))
        if table.dtype != np.uint8 or table.shape != shape:
            raise _refused(plugin, f"{what} {name}", f"uint8 of shape {shape}", _described(table))
        most = ports if name == "lft" else data_vls
        none = UNASSIGNED if name == "lft" else VL_DROP
        wrong = np.argwhere((table >= most) & (table != none))
        if name == "vl" and made.by_lane:
            wrong = wrong[wrong[:, 3] < data_vls]  # rows of unused VLs may hold anything
        if len(wrong):
            place = tuple(wrong[0].tolist())
            must = f"below {most}, or {none} for an unused entry"
            raise _refused(plugin, f"{what} {name}{list(place)}", must, int(table[place]))
    taken = np.concatenate([np.arange(first, first + count) for first, count in lids.tolist()])
    if len(np.unique(taken)) < len(taken):
        problem = "assigns a LID to several NICs"
        raise InputError(f"{what} lids", "unique", "shared", source=plugin.origin.shown, problem=problem)
    return made


def plugged_destinations(plugin: Plugin, topology: Topology) -> tuple[int, ...]:
    """Return the destination of every host under a plug-in's pattern, -1 for a host that sends nothing.

    Raises
    ------
    InputError
        If the plug-in rejects the topology, raises another error, or returns something other than a host or -1.
    """
    hosts = len(topology.hosts)
    made = []
    for host in range(hosts):
        to = _called(plugin, plugin.made, host, topology)
        if isinstance(to, bool) or not isinstance(to, int | np.integer) or not -1 <= to < hosts:
            raise _refused(plugin, f"pattern {plugin.name}", f"a host, 0 to {hosts - 1}, or -1 for none", f"{to!r}")
        _check_same(plugin, f"the destination of host {host}", to, _called(plugin, plugin.made, host, topology))
        made.append(int(to))
    return tuple(made)


def _called(plugin: Plugin, function: Callable[..., Any], *given: Any, **keys: Any) -> Any:
    """Call a plug-in and return its result. Unexpected errors are reported with the plug-in's line."""
    try:
        with redirect_stdout(sys.stderr):  # stdout is for results
            return function(*given, **keys)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - code of somebody else
        frames = [(each.f_code.co_filename, line) for each, line in traceback.walk_tb(error.__traceback__)]
        file, line = next((each for each in reversed(frames) if each[0] != __file__), ("", 0))
        own = [each for each in frames if Path(each[0]) == Path(function.__code__.co_filename)]
        file, line = own[-1] if own else (file, line)
        said = f"{type(error).__name__}: {error}"
        field, problem = f"{plugin.kind} {plugin.name}", f"failed: {said}"
        raise InputError(field, "free of errors", said, source=file, line=line, problem=problem) from None


def _of_type(plugin: Plugin, made: Any, kind: type) -> Any:
    if not isinstance(made, kind):
        field, problem = f"{plugin.kind} {plugin.name}", f"returned {shown(made)}, not {kind.__name__}"
        raise InputError(field, kind.__name__, f"{made!r}", source=plugin.origin.shown, problem=problem)
    return made


def _check_same(plugin: Plugin, part: str, once: Any, again: Any) -> None:
    """Reject a plug-in that returns different results for equal arguments."""
    if not np.array_equal(np.asarray(once, object), np.asarray(again, object)):
        problem = (
            f"is not deterministic: {part} differs between two calls with equal arguments; use a generator with a "
            "seed, created in the function, instead of shared random numbers, the time or global variables"
        )
        field = f"{plugin.kind} {plugin.name}"
        raise InputError(field, "deterministic", "different results", source=plugin.origin.shown, problem=problem)


def _refused(plugin: Plugin, field: str, must: str, got: object) -> InputError:
    return InputError(field, must, got, source=plugin.origin.shown)


def _described(table: Any) -> str:
    return f"{table.dtype} of shape {table.shape}"
