"""A study's network: from a study to an idle network, ready for the checks in ``sim_top/scenario/path_checks.py``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError, misplaced
from vlane.fabric.capture import load_fabric
from vlane.golden.network.assembly import Credits, PortSettings, assemble
from vlane.golden.network.buffers import Buffers
from vlane.golden.network.congestion import Congestion
from vlane.golden.network.meters import new_meters
from vlane.golden.network.state import Network
from vlane.golden.switches.kinds import central_buffers
from vlane.golden.topologies import topology as topologies
from vlane.golden.topologies.cabling import CableForm
from vlane.golden.topologies.captured import from_fabric
from vlane.golden.topologies.edge_list import read_edges
from vlane.golden.topologies.routing import (
    ChannelRoutes,
    Routes,
    dimension_order,
    dmodk,
    up_down,
    valiant,
    with_channels,
)
from vlane.golden.topologies.topology import End, Topology
from vlane.golden.traffic.classes import PairWeights, Replies
from vlane.golden.traffic.source_setup import new_sources
from vlane.plugins import found
from vlane.sim_top.scenario.admitted import ConnectionPaths, admit_all, port_tables, with_deadlines
from vlane.sim_top.scenario.congestion_settings import congestion_settings
from vlane.sim_top.scenario.equipment import buffers_of, cables_of
from vlane.sim_top.scenario.planned_voqsw import with_voqsw
from vlane.sim_top.scenario.plugged_world import plugged_routes, plugged_topology
from vlane.sim_top.scenario.port_settings import admitted_settings, port_settings
from vlane.sim_top.scenario.traffic import (
    check_traffic,
    largest_packet,
    largest_reply,
    read_all_sizes,
    read_courses,
    read_pairs,
    read_replies,
    traffic_classes,
)
from vlane.study.cbr_list import CbrList, read_cbr_list
from vlane.study.courses import Course
from vlane.study.networks import BY_LMC, lmc_of, trunk_choice_of, vls_per_sl
from vlane.study.packet_trace import read_packet_trace
from vlane.study.sizes import Distribution
from vlane.study.study import Study
from vlane.tables.sc import SC15, SC_COUNT
from vlane.tables.sl2vl import SL_COUNT, VL_DROP
from vlane.units import blocks_of

_MOST_FLOWS = 1 << 22
"""Largest number of separately measured flows, 1,072 bytes each."""


@dataclass(frozen=True)
class World:
    """Data shared by all runs of a study.

    Parameters
    ----------
    study : Study
        Study.
    base : Path
        Folder against which relative names of files are resolved.
    topology : Topology
        Cables.
    routes : Routes
        Tables.
    path_sl : array of int16, (hosts, hosts)
        SL of each path; empty if the traffic classes set the SLs.
    pairs : dict of int to PairWeights
        Host pairs of classes with a file, by class number.
    sizes : list of Distribution
        Sizes of packets or messages of each class.
    courses : dict of int to Course
        Factors of the load over time of classes with a file of rates, by class number.
    replies : dict of int to Replies
        Replies to the messages of classes, by class number.
    replayed : array of int64, (packets, 5)
        Cycle, source, destination, SL and bytes of each replayed packet.
    levels : dict
        Size in bytes of the largest packet of each SL in use; ``path`` stands for the SLs of paths.
    data_vls : int
        Number of data lanes of every port.
    buffers : Buffers
        Buffer sizes.
    nic : Buffers or None
        Sizes of the NICs' send buffers, if they differ.
    cables : dict of (int, int) to CableForm
        Cables with a form of their own, by the (switch, port) of one end.
    central : Buffers or None
        Sizes of the central buffers of Omni-Path switches.
    settings : PortSettings
        Schedulers.
    connections : CbrList
        Connections that send.
    refused : int
        Number of connections rejected by admission.
    congestion : Congestion or None
        Settings of congestion control, if there is any.
    rates : dict of (int, int) to str
        Captured rates of cables, by the (switch, port) of an end.
    """

    study: Study
    base: Path
    topology: Topology
    routes: Routes | ChannelRoutes
    path_sl: NDArray[np.int16]
    pairs: dict[int, PairWeights]
    sizes: list[Distribution]
    courses: dict[int, Course]
    replies: dict[int, Replies]
    replayed: NDArray[np.int64]
    levels: dict[int | str, int]
    data_vls: int
    buffers: Buffers
    nic: Buffers | None
    cables: dict[End, CableForm]
    central: Buffers | None
    settings: PortSettings
    connections: CbrList
    refused: int = 0
    congestion: Congestion | None = None
    rates: dict[End, str] = field(default_factory=dict)


def make_world(study: Study, base: Path) -> World:
    """Return the network of a study. Relative names of files are resolved against ``base``.

    Raises
    ------
    InputError
        If the study is inconsistent.
    """
    captured, path_sl = None, np.zeros((0, 0), np.int16)
    kind = study.switch.record
    replayed = read_packet_trace(base / study.trace.file) if study.trace else np.zeros((0, 5), np.int64)
    listed, refused = _listed(study, base), 0
    sizes, replies = read_all_sizes(study, base), read_replies(study, base)
    levels = _levels(study, sizes, replies, replayed, listed)
    if study.network.topology == "fabric":
        captured = from_fabric(load_fabric(base / study.network.folder))
        topology, plain, lanes = captured.topology, captured.routes, captured.data_vls
        path_sl = captured.path_sl
    else:
        topology = _topology(study.network, base)
        lanes = study.link.data_vls or _named_lanes(study, {sl for sl in levels if isinstance(sl, int)})
        plain = _routes(study, topology, lanes)
        if study.voqsw is not None:
            plain, path_sl = with_voqsw(study.voqsw, topology, plain)
    routes = _channel_routes(study, topology, plain, lanes) if kind.by_channel else plain
    check_traffic(study, len(topology.hosts), has_path_sls=bool(path_sl.size))
    _check_replayed(study, replayed, topology)
    largest = _largest(levels, routes, lanes)
    if study.buffers.largest_blocks is not None:
        if study.buffers.largest_blocks < max(largest):
            raise InputError("buffers.largest_blocks", f"at least {max(largest)}", study.buffers.largest_blocks)
        largest = (study.buffers.largest_blocks,) * lanes
    buffers, nic, central = buffers_of(study, largest)
    _check_connected(study, listed, topology, plain, lanes)
    if study.admission is not None:
        paths = ConnectionPaths(topology, plain)
        ports, taken = admit_all(
            study.admission,
            listed,
            paths,
            plain,
            study.link.flit_bytes,
            study.connections.file,  # type: ignore[union-attr]
        )
        refused = len(listed.source) - len(taken.source)
        listed = with_deadlines(
            study.admission,
            taken,
            paths,
            largest=max(largest),
            flight=study.link.flight_cycles,
            flit_bytes=study.link.flit_bytes,
        )
        settings = admitted_settings(study, lanes, port_tables(ports, lanes))
    else:
        settings = port_settings(study, lanes, base, captured)
    return World(
        study=study,
        base=base,
        topology=topology,
        routes=routes,
        path_sl=path_sl,
        pairs=read_pairs(study, base, len(topology.hosts)),
        sizes=sizes,
        courses=read_courses(study, base),
        replies=replies,
        replayed=replayed,
        levels=levels,
        data_vls=lanes,
        buffers=buffers,
        nic=nic,
        cables=cables_of(study, topology, captured.rates if captured else {}),
        central=central,
        settings=settings,
        connections=listed,
        refused=refused,
        congestion=congestion_settings(study, base),
        rates=captured.rates if captured else {},
    )


def _listed(study: Study, base: Path) -> CbrList:
    if study.connections is None:
        return CbrList.none()
    return read_cbr_list(base / study.connections.file, levels=study.switch.record.levels)


def _check_connected(
    study: Study, listed: CbrList, topology: Topology, routes: Routes | ChannelRoutes, lanes: int
) -> None:
    """Reject connections of missing hosts, from a host to itself, and on SLs without a VL."""
    hosts = f"0 to {len(topology.hosts) - 1}"

    def check_column(name: str, must: str, column: NDArray[np.int64], wrong: NDArray[np.bool_]) -> None:
        for at in np.flatnonzero(wrong)[:1].tolist():
            source = study.connections.file if study.connections else ""
            raise InputError(name, must, int(column[at]), source=source, line=at + 2)

    for name, column in (("source", listed.source), ("destination", listed.target)):
        check_column(name, hosts, column, column >= len(topology.hosts))
    check_column("destination", "different from the source", listed.target, listed.target == listed.source)
    dropped = routes.nic_vl[listed.source, listed.sl] >= lanes
    check_column("sl", "an SL with a VL (link.vl_of_sl, link.data_vls)", listed.sl, dropped)


def _levels(
    study: Study, sizes: list[Distribution], replies: dict[int, Replies], replayed: NDArray[np.int64], listed: CbrList
) -> dict[int | str, int]:
    """Return the size in bytes of the largest packet of each SL in use. ``path`` stands for the SLs of paths."""
    levels: dict[int | str, int] = {}
    for number, (each, own) in enumerate(zip(study.traffic, sizes, strict=True)):
        levels[each.sl] = max(levels.get(each.sl, 0), largest_packet(each, own, study.nic.mtu_bytes))
        if number in replies:
            answer, sl = largest_reply(replies[number], study.nic.mtu_bytes), each.reply_sl
            levels[sl] = max(levels.get(sl, 0), answer)
    for sl in map(int, np.unique(replayed[:, 3])):
        levels[sl] = max(levels.get(sl, 0), int(replayed[replayed[:, 3] == sl, 4].max()))
    for sl in map(int, np.unique(listed.sl)):
        levels[sl] = max(levels.get(sl, 0), int(listed.bytes[listed.sl == sl].max()))
    return levels


def _topology(network: Any, base: Path) -> Topology:
    if network.topology == "tree":
        return topologies.tree(network.k, network.n)
    if network.topology == "fat_tree":
        return topologies.fat_tree(network.m, network.n)
    if network.topology == "torus":
        return topologies.torus(tuple(network.size), hosts=network.hosts_per_switch, trunks=network.trunks)
    if network.topology == "irregular":
        return topologies.irregular(
            network.switches, ports=network.ports, hosts=network.hosts_per_switch, seed=network.seed
        )
    if network.topology == "dumbbell":
        return topologies.dumbbell(network.left, network.right, trunks=network.trunks)
    if network.topology == "edges":
        return read_edges(base / network.file)
    return plugged_topology(network)


def _named_lanes(study: Study, sls: set[int]) -> int:
    """Return the number of lanes that the SLs need."""
    each = vls_per_sl(getattr(study.network, "routing", ""))
    if study.voqsw is not None:
        return study.voqsw.vls
    if each > 1:
        return each * (max(sls, default=0) + 1)
    if study.switch.record.by_channel:
        channels, lanes = _channel_rows(study)
        vls = [lanes[channels[sl]] for sl in sls if channels[sl] != SC15]
        used = [vl - (vl > SC15) for vl in vls if vl != SC15]
    else:
        row = study.link.vl_of_sl
        used = [row[sl] if row else sl for sl in sls if not row or row[sl] != VL_DROP]
    return max(used, default=0) + 1


def _channel_rows(study: Study) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a study's SC by SL and VL by SC. Both are identities by default."""
    same = tuple(range(SC_COUNT))
    return tuple(study.link.sc_of_sl or same), tuple(study.link.vl_of_sc or same)


def _routes(study: Study, topology: Topology, lanes: int) -> Routes:
    routing = study.network.routing  # type: ignore[union-attr]
    each, row, lmc = vls_per_sl(routing), study.link.vl_of_sl, lmc_of(study.network)
    if lmc and routing not in BY_LMC:
        raise InputError("network.lmc", f"0 with routing {routing}", lmc)
    if each > 1:
        if row is not None:
            raise misplaced("link.vl_of_sl", f"with routing {routing}, which gives each SL {each} VLs")
        if lanes % each:
            raise InputError("link.data_vls", f"a multiple of {each} with routing {routing}", lanes)
    vls = tuple(row) if row else tuple(each * sl if each * sl < lanes else VL_DROP for sl in range(SL_COUNT))
    plugin = found("routing", routing)
    if plugin is not None:
        made = plugged_routes(plugin, topology, vls, data_vls=lanes)
        for key, given in (("voqsw", study.voqsw), ("admission", study.admission)):
            if given is not None and made.lft.ndim > 2:
                raise misplaced(key, f"with routing {routing}, whose tables depend on the input port")
        return made
    if routing == "dor":
        return dimension_order(topology, lanes // each, keeps_member=study.switch.record.by_channel, lmc=lmc)
    if routing == "updown":
        return up_down(topology, vls, root=getattr(study.network, "root", 0))
    return dmodk(topology, vls, lmc=lmc) if routing == "dmodk" else valiant(topology, vls)


def _channel_routes(study: Study, topology: Topology, routes: Routes, lanes: int) -> ChannelRoutes:
    """Return the same paths for Omni-Path. With datelines, channels equal VLs."""
    channels, vls = _channel_rows(study)
    if routes.by_lane:
        channels = (*map(int, routes.nic_vl[0]), *(SC15,) * (SC_COUNT - SL_COUNT))
    return with_channels(topology, routes, channels, vls, data_vls=lanes)


def _check_replayed(study: Study, replayed: NDArray[np.int64], topology: Topology) -> None:
    highest = study.switch.record.levels - 1
    for column, name, most in (
        (1, "source", len(topology.hosts) - 1),
        (2, "destination", len(topology.hosts) - 1),
        (3, "sl", highest),
    ):
        if len(replayed) and int(replayed[:, column].max()) > most:
            got = int(replayed[:, column].max())
            raise InputError(name, f"0 to {most}", got, source=study.trace.file if study.trace else "")
    if study.trace and int(replayed[:, 0].min()) >= study.run.cycles:
        first = int(replayed[:, 0].min())
        problem = f": the first packet starts in cycle {first}, after the end of the run ({study.run.cycles} cycles)"
        raise InputError("cycle", f"below {study.run.cycles}", first, source=study.trace.file, problem=problem)


def _largest(levels: dict[int | str, int], routes: Routes | ChannelRoutes, lanes: int) -> tuple[int, ...]:
    """Return the size in blocks of the largest packet of each lane."""
    largest = [1] * lanes
    for sl, size in levels.items():
        for lane in routes.lanes_of(sl if isinstance(sl, int) else None) & set(range(lanes)):
            largest[lane] = max(largest[lane], blocks_of(size))
    return tuple(largest)


def make_network(world: World, *, load: float, seed: int, trace_rows: int = 0) -> Network:
    """Return the idle network of one run."""
    study, flit = world.study, world.study.link.flit_bytes
    sources = new_sources(
        traffic_classes(study, world.topology, world.pairs, world.sizes, world.courses, world.replies, load),
        nics=len(world.topology.hosts),
        flit_bytes=flit,
        seed=seed,
        lids=world.routes.lids,
        path_sl=world.path_sl,
        trace=world.replayed if study.trace else None,
        connections=world.connections,
    )
    levels = _flow_levels(world) if study.measure.flows else []
    meters = new_meters(
        first_cycle=study.run.warm_up_cycles,
        end_cycle=study.run.cycles,
        nics=len(world.topology.hosts),
        trace_rows=trace_rows,
        flow_levels=levels,
        apart=study.measure.apart,
        sls=world.routes.nic_vl.shape[1],
        connections=world.connections,
        sources=study.measure.sources,
        message_rows=2 * len(sources.setting) if sources.mtu else 0,
    )
    return assemble(
        world.topology,
        world.routes,
        world.buffers,
        world.settings,
        sources,
        meters,
        allocation=study.switch.allocation,
        crossbar=study.switch.crossbar,
        iterations=study.switch.iterations,
        speed=study.switch.speed,
        central=world.central,
        credit=Credits(study.link.credits, study.link.fcp_blocks, study.link.fcp_period_cycles),
        nic=world.nic,
        flight=study.link.flight_cycles,
        cables=world.cables,
        flit_bytes=flit,
        patience=study.run.stuck_cycles,
        congestion=world.congestion,
        trunk_choice=trunk_choice_of(study.network),
        trunk_seed=seed,
    )


def _flow_levels(world: World) -> list[int]:
    """Return the SLs whose flows are measured separately.

    Raises
    ------
    InputError
        If there are too many flows.
    """
    levels = {sl for sl in world.levels if isinstance(sl, int)} | set(
        map(int, np.unique(world.path_sl) if "path" in world.levels else ())
    )
    flows = len(world.topology.hosts) ** 2 * len(levels)
    if flows > _MOST_FLOWS:
        problem = f": {flows} flows exceed the limit of {_MOST_FLOWS}; set it to false"
        raise InputError("measure.flows", "false", "true", problem=problem)
    return sorted(levels)


def show_end(topology: Topology, end: int, net: Network, *, names: bool = True) -> str:
    """Return a readable name of a sending end or a central buffer. Ports and MPorts count from 1.

    With ``names``, named nodes appear with their name: ``switch 3 (leaf-3) port 1``.
    """
    bits, past = net.switches.inputs.port_bits, end - len(net.wiring.cable)
    show_switch = topology.show_switch if names else "switch {}".format
    show_host = topology.show_host if names else "host {}".format
    if past >= 0:
        mports = central_buffers(net.switches)
        return f"{show_switch(past // mports)} central buffer {past % mports + 1}"
    if end >= topology.switches << bits:
        return show_host(end - (topology.switches << bits))
    return f"{show_switch(end >> bits)} port {(end & ((1 << bits) - 1)) + 1}"
