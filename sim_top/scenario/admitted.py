"""Admission of a study's connections, and the resulting arbitration tables of all ports."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vlane.errors import InputError, misplaced
from vlane.golden.topologies.routing import Routes
from vlane.golden.topologies.topology import Topology
from vlane.planning.admission import Admission, path_deadline
from vlane.planning.voqsw_paths import Ints, Paths, follow_paths
from vlane.schedulers.vlarb import VLArbTable
from vlane.sim_top.scenario.planned_voqsw import as_cabled
from vlane.study.cbr_list import CbrList
from vlane.study.connections import AdmissionSection
from vlane.units import BLOCK_BYTES

_STAGES = 4
"""Latency of an unloaded InfiniBand switch in cycles, first flit in to first flit out."""

Port = tuple[str, int, int]
"""``("switch", number, port)`` or ``("host", number, 0)``; all numbers start at 0."""


class ConnectionPaths:
    """Sending ports on the paths of connections, by source and destination host.

    Parameters
    ----------
    topology : Topology
        Cables.
    routes : Routes
        Tables; each host has one LID.

    Raises
    ------
    InputError
        If hosts have several LIDs, whose paths differ, or ``as_cabled`` rejects the routes.
    """

    def __init__(self, topology: Topology, routes: Routes) -> None:
        if (routes.lids[:, 1] > 1).any():
            raise misplaced("admission", "where hosts have several LIDs, each with its own path")
        self._hosts = len(topology.hosts)
        self._paths: Paths = follow_paths(as_cabled(topology, routes), routes.lft)
        self._number: Ints = np.full((self._hosts, self._hosts), -1, np.int64)
        self._number[self._paths.source, self._paths.target] = np.arange(len(self._paths.source))

    def of(self, source: int, target: int) -> list[Port]:
        """Return the ports in path order, or none if the tables do not connect the hosts or they are the same host."""
        number = int(self._number[source, target])
        if number < 0:
            return []
        ports, paths = self._paths.cabled.ports, self._paths
        rows = paths.row[paths.first[number] : paths.first[number + 1]].tolist()
        return [("host", source, 0), *(("switch", row // ports // ports, row % ports) for row in rows)]


def admit_all(
    section: AdmissionSection,
    listed: CbrList,
    paths: ConnectionPaths,
    routes: Routes,
    flit_bytes: int,
    source_file: str,
) -> tuple[Admission, CbrList]:
    """Request admission of all connections in list order and return the port states and the admitted connections.

    Raises
    ------
    InputError
        If a connection's SL has no distance, its hosts are not connected, its VL changes along the path, it needs more
        than a link, or no connection is admitted.
    """
    ports = Admission(budget=Fraction(str(section.budget)), fit=section.fit)
    taken = np.zeros(len(listed.source), np.bool_)
    asking = zip(listed.source.tolist(), listed.target.tolist(), listed.sl.tolist(), strict=True)
    for number, (source, target, sl) in enumerate(asking):
        where = {"source": source_file, "line": number + 2}
        if sl >= len(section.distances):
            must = f"below {len(section.distances)}, the length of admission.distances"
            raise InputError("sl", must, sl, **where)  # type: ignore[arg-type]
        path = paths.of(source, target)
        if not path:
            problem = f": no path from host {source} to host {target}"
            raise InputError("destination", "a reachable host", target, problem=problem, **where)  # type: ignore[arg-type]
        lanes = routes.lanes_of(sl)
        if len(lanes) != 1:
            raise misplaced("admission", f"where an SL has several VLs: SL {sl} has {len(lanes)}")
        flits = -(-int(listed.bytes[number]) // flit_bytes)
        load = Fraction(flits) / Fraction(float(listed.interval[number]))
        if load > 1:
            must = f"at least {flits} (the connection would exceed the link's rate)"
            raise InputError("interval_cycles", must, float(listed.interval[number]), **where)  # type: ignore[arg-type]
        (vl,) = lanes
        asked = ports.ask(path, vl=vl, distance=section.distances[sl], load=load)
        taken[number] = asked is not None
    if not taken.any():
        problem = f": none of the {len(taken)} connections was admitted"
        raise InputError("admission", "able to admit a connection", f"none of {len(taken)}", problem=problem)
    return ports, listed.of(taken)


def port_tables(ports: Admission, lanes: int) -> dict[Port, VLArbTable]:
    """Return the table of every port used by a connection. The low list has every VL that the high list lacks."""
    tables: dict[Port, VLArbTable] = {}
    for port in ports.ports():
        high = {entry.vl for entry in ports.table(port).high if entry.weight}
        low = [vl for vl in range(lanes) if vl not in high]
        tables[port] = ports.table(port, low=low)  # type: ignore[index]
    return tables


def with_deadlines(
    section: AdmissionSection, listed: CbrList, paths: ConnectionPaths, *, largest: int, flight: int, flit_bytes: int
) -> CbrList:
    """Return the connections, with missing deadlines filled in from distance and path.

    Parameters
    ----------
    largest : int
        Size in blocks of the largest packet of any VL.
    flight : int
        Propagation delay of a cable in cycles.
    flit_bytes : int
        Bytes that a link carries per cycle.
    """
    deadline = listed.deadline.copy()
    for number in np.flatnonzero(deadline == 0).tolist():
        hops = len(paths.of(int(listed.source[number]), int(listed.target[number]))) - 1
        distance = section.distances[int(listed.sl[number])]
        deadline[number] = path_deadline(
            hops,
            distance=distance,
            blocks=largest,
            flight=flight,
            stages=_STAGES,
            cycles_per_block=BLOCK_BYTES // flit_bytes,
        )
    return listed._replace(deadline=deadline)
