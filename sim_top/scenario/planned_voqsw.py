"""Virtual output queuing in software for a study's network: SL2VL tables and the SL of every path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError, misplaced
from vlane.golden.topologies.routing import Routes
from vlane.golden.topologies.topology import Topology
from vlane.planning.voqsw import VOQswTables, make_tables, plan_voqsw
from vlane.planning.voqsw_paths import Cabled, Paths, Tuples, find_tuples, follow_paths
from vlane.study.voqsw import MOST_LEVELS, VOQswSection
from vlane.tables.sl2vl import SL_COUNT, VL_DROP


def as_cabled(topology: Topology, routes: Routes) -> Cabled:
    """Return a topology as arrays, with the LIDs of its routes.

    Raises
    ------
    InputError
        If there are too many hosts for forwarding tables, or if switches choose VLs by incoming VL, which SL2VL tables
        cannot express.
    """
    if not routes.lft.shape[1]:
        got = f"{len(topology.hosts)} hosts"
        problem = f": {got} are too many for forwarding tables"
        raise InputError("network", "one with forwarding tables", got, problem=problem)
    if routes.by_lane:
        problem = "chooses VLs by incoming VL, which SL2VL tables cannot express; use updown"
        raise InputError("routing", "one without VLs of its own", "one by incoming VL", problem=problem)
    far = np.full(topology.switches * topology.ports, -1, np.int64)
    for (switch, port), (other, its_port) in topology.far_ends().items():
        far[switch * topology.ports + port] = other * topology.ports + its_port
    hosts = np.array([switch * topology.ports + port for switch, port in topology.hosts], np.int64)
    return Cabled(topology.switches, topology.ports, far, hosts, routes.lids)


def tuples_of(topology: Topology, routes: Routes) -> Tuples:
    """Return VOQsw's 4-tuples of a network: (switch, input, output, output at the next switch) of each path.

    Raises
    ------
    InputError
        If ``as_cabled`` rejects the routes.
    """
    return find_tuples(follow_paths(as_cabled(topology, routes), routes.lft))


def with_voqsw(section: VOQswSection, topology: Topology, routes: Routes) -> tuple[Routes, NDArray[np.int16]]:
    """Return routes with the planned tables, and the SL of each path by source and destination.

    Golden switches support as many SLs as the plan needs; InfiniBand packets can carry at most 16.

    Raises
    ------
    InputError
        If ``as_cabled`` rejects the routes, a host has several LIDs, or full virtual output queuing needs too many SLs.
    """
    if (routes.lids[:, 1] > 1).any():
        raise misplaced("voqsw", "where hosts have several LIDs: their paths may need different SLs")
    most = MOST_LEVELS if section.sls == "full" else section.sls
    tuples = tuples_of(topology, routes)
    paths = tuples.paths
    plan = plan_voqsw(tuples, most, section.search, rest=section.rest)
    if section.sls == "full" and not plan.full:
        problem = f": full VOQ of this network needs more than {MOST_LEVELS} SLs; give a number"
        raise InputError("voqsw.sls", "a number", "full", problem=problem)
    levels = plan.levels_used if section.sls == "full" else section.sls
    sls, vls = tuple(range(levels)), tuple(range(section.vls))
    tables = make_tables(plan, sls, vls, _widened(routes.vl, levels), _widened(routes.nic_vl, levels))
    if section.first_vl == "output":
        tables = _by_first_output(tables, paths, section.vls)
    path_sl = np.zeros((len(topology.hosts),) * 2, np.int16)
    path_sl[paths.source, paths.target] = tables.path_sl
    return replace(routes, vl=tables.vl, nic_vl=tables.nic_vl), path_sl


def _by_first_output(tables: VOQswTables, paths: Paths, vls: int) -> VOQswTables:
    """Return tables in which hosts choose the VL by the output of the first switch: one SL for each level and VL."""
    first = paths.row[paths.first[:-1]] % paths.cabled.ports % vls
    used, path_sl = np.unique(tables.path_sl * vls + first, return_inverse=True)
    nic_vl = np.tile((used % vls).astype(np.uint8), (len(tables.nic_vl), 1))
    missing = max(0, SL_COUNT - len(used))
    return VOQswTables(
        _widened(tables.vl[..., used // vls], len(used) + missing), _widened(nic_vl, len(used) + missing), path_sl
    )


def _widened(table: NDArray[np.uint8], levels: int) -> NDArray[np.uint8]:
    """Return a table with at least ``levels`` SLs. Added SLs drop packets."""
    more = [(0, 0)] * (table.ndim - 1) + [(0, max(0, levels - table.shape[-1]))]
    return np.pad(table, more, constant_values=VL_DROP)
