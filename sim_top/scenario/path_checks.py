"""Checks of a study's paths: rejects lost packets, dependency cycles and unserved lanes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.network.dependencies import find_cycle
from vlane.golden.network.paths import Paths, follow_paths
from vlane.golden.network.state import Network
from vlane.golden.schedulers.bank import Write
from vlane.golden.schedulers.served import served_lanes
from vlane.golden.switches.inputs import DROPPED, UNKNOWN_LID, switch_of
from vlane.golden.switches.kinds import route
from vlane.golden.topologies.wiring import NOWHERE, nic_of_end
from vlane.schedulers.plugged import find_scheduler
from vlane.sim_top.scenario.swaps import swaps_of
from vlane.sim_top.scenario.world import World, make_network, show_end


def check_world(world: World) -> None:
    """Reject tables that lose packets, have cyclic channel dependencies or never serve a lane with traffic.

    Raises
    ------
    InputError
        If a path does not arrive (named), channels form a cycle (one link per line of the details), or a table does not
        serve a lane (both named).
    """
    net = make_network(world, load=max(world.study.run.loads), seed=1)
    sls = np.array(sorted(sl for sl in world.levels if isinstance(sl, int)), np.int64)
    path_sl = world.path_sl if "path" in world.levels else world.path_sl[:0, :0]
    paths = follow_paths(net, sls, path_sl)
    if paths.lost[0]:
        _refuse_lost(world, net, sls, path_sl)
    circle = find_cycle(net, paths)
    if circle:
        got = f"a cycle of {len(circle)} channels"
        problem = f": {len(circle)} channels (link and VL) wait for each other in a cycle, which can deadlock"
        details = [_show_link(world, net, *each) for each in circle]
        raise InputError("routes", "free of cycles", got, problem=problem, details=details)
    _check_served(world, net, paths)


def _refuse_lost(world: World, net: Network, sls: NDArray[np.int64], path_sl: NDArray[np.int16]) -> NoReturn:
    """Reject paths that do not arrive: pairs of one SL are counted, and the first pair is shown with its walk."""
    none = path_sl[:0, :0]
    lost = {str(sl): follow_paths(net, np.array([sl], np.int64), none).lost for sl in sls.tolist()}
    lost["of the path"] = follow_paths(net, sls[:0], path_sl).lost
    level, (count, source, lid) = next((level, each.tolist()) for level, each in lost.items() if each[0])
    first = int(level) if level.isdigit() else int(path_sl[source, _nic_of_lid(net, lid)])
    others = [other for other, each in lost.items() if each[0] and other != level]
    also = f" (and on SL {', '.join(others)})" * bool(others)
    walk = " -> ".join(_walk(world, net, source, lid, first))
    pairs = f"{count} pair{'s' * (count != 1)} of a host and a LID"
    problem = f": {pairs} cannot communicate on SL {level}{also}: {walk}"
    raise InputError("routes", "complete", f"{count} lost pairs", problem=problem)


def _nic_of_lid(net: Network, lid: int) -> int:
    lids = net.sources.lids
    return int(np.flatnonzero((lids[:, 0] <= lid) & (lid < lids[:, 0] + lids[:, 1]))[0])


def _walk(world: World, net: Network, source: int, lid: int, sl: int) -> Iterator[str]:
    """Yield the hops of a path that does not arrive. The last hop states the reason."""
    inputs, topology = net.switches.inputs, world.topology
    end, lane, channel = (
        len(inputs.port) + source,
        int(net.wiring.nic_vl[source, sl]),
        int(net.wiring.nic_channel[source, sl]),
    )
    if lane >= inputs.queues.queue.shape[1]:
        yield f"{topology.show_host(source)}: no VL for SL {sl}"
        return
    yield topology.show_host(source)
    for _ in range(len(inputs.drop_counts) + 1):
        port = int(net.wiring.cable[end].far_input)
        if port == NOWHERE:
            yield "no cable"
            return
        if port < 0:
            yield f"{topology.show_host(nic_of_end(port))}, which does not have LID {lid}"
            return
        switch = switch_of(inputs, port)
        output, following, channel = route(net.switches, port, lid, sl, lane, channel)
        if output == DROPPED:
            reason = f"no entry for LID {lid}" if following == UNKNOWN_LID else f"its tables drop SL {sl}"
            yield f"{topology.show_switch(switch)}: {reason}"
            return
        yield f"{topology.show_switch(switch)} port {output + 1}"
        end, lane = (switch << inputs.port_bits) + output, following
    yield "and so on, in a circle"


def _show_link(world: World, net: Network, end: int, lane: int) -> str:
    """Return a readable name of a waiting channel: both ends and the VL, or the central buffer and the VL."""
    shown, vl = show_end(world.topology, end, net), _vl_of(world, lane)
    if end >= len(net.wiring.cable):
        return f"{shown}, VL {vl}"
    return f"{shown} -> {show_end(world.topology, int(net.wiring.cable[end].far_input), net)}, VL {vl}"


def _vl_of(world: World, lane: int) -> int:
    """Return the VL of a lane. Omni-Path's lanes skip VL15."""
    return world.routes.kind.vl_of_lane(lane)


def _check_served(world: World, net: Network, paths: Paths) -> None:
    settings, bits, lanes = world.settings, net.switches.inputs.port_bits, world.data_vls
    carried = paths.carried.reshape(len(net.wiring.cable), lanes)
    own = {(switch << bits) + port: writes for (switch, port), writes in settings.of_port.items()}
    own |= {(world.topology.switches << bits) + nic: writes for nic, writes in settings.of_nic.items()}
    used: dict[tuple[str, tuple[Write, ...]], list[int]] = {}
    for end in np.flatnonzero((carried >= 0).any(axis=1)).tolist():
        used.setdefault(("", tuple(own.get(end, settings.writes))), []).append(end)
    for swap in swaps_of(world):
        used[f"swap.{swap.number}", tuple(swap.writes)] = [(swap.switch << bits) + port for port in swap.ports]
    for (given_by, writes), ends in used.items():
        asked = np.flatnonzero((carried[ends] >= 0).any(axis=0)).tolist()
        served = served_lanes(settings.scheduler, asked, data_vls=lanes, writes=writes, **settings.parameters)
        for end in ends:
            for lane in asked:
                sl = int(carried[end, lane])
                if sl >= 0 and lane not in served:
                    _refuse_unserved(world, show_end(world.topology, end, net), _vl_of(world, lane), sl, given_by)


def _refuse_unserved(world: World, where: str, vl: int, sl: int, given_by: str) -> NoReturn:
    table, section = world.study.scheduler.table, find_scheduler(world.settings.scheduler).section
    field, at, source = given_by or "scheduler.table", f"at {where}", ""
    tables = sorted(world.study.scheduler.tables)
    if tables and not given_by:
        field = given_by = f"scheduler.{tables[0]}"
    if not given_by and table is None:
        field, at = f"captured table of {where}", "there"
        table = getattr(world.study.network, "folder", "")
    if not given_by:
        source = str(world.base / str(table))
    gives = section.gives if section else "a requester"
    problem = f"does not give VL {vl} {gives}, but packets of SL {sl} use it {at}"
    raise InputError(field, f"a table with {gives} for VL {vl}", "none", source=source, problem=problem)
