"""A study's traffic: parameters of the golden network's sources from sections and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlane.errors import InputError
from vlane.golden.topologies.patterns import PERMUTATIONS, permutation
from vlane.golden.topologies.topology import Topology
from vlane.golden.traffic.classes import NEVER, PATH_SL, PairWeights, TrafficClass
from vlane.plugins import found
from vlane.sim_top.scenario.plugged_world import plugged_destinations
from vlane.study.study import Study
from vlane.study.traffic import FILE_PATTERNS, class_loads
from vlane.study.traffic_pairs import read_connections, read_matrix

_READERS: dict[str, Callable[[Path, int], NDArray[np.float64]]] = dict(
    zip(FILE_PATTERNS, (read_connections, read_matrix), strict=True)
)


def check_traffic(study: Study, hosts: int, *, has_path_sls: bool) -> None:
    """Reject traffic with hosts that the network lacks, or with path SLs where paths have none.

    Raises
    ------
    InputError
        If a class is rejected; names the class.
    """
    for host in study.measure.apart:
        if host >= hosts:
            raise InputError("measure.apart", f"0 to {hosts - 1}", host)
    for number, each in enumerate(study.traffic):
        if each.sl == "path" and not has_path_sls:
            problem = ": path applies only to a captured fabric or with [voqsw]; give an SL, 0 to 15"
            raise InputError(f"traffic.{number}.sl", "0 to 15", each.sl, problem=problem)
        for field in ("hosts", "hot_hosts"):
            for host in getattr(each, field) or ():
                if host >= hosts:
                    raise InputError(f"traffic.{number}.{field}", f"0 to {hosts - 1}", host)


def read_pairs(study: Study, base: Path, hosts: int) -> dict[int, PairWeights]:
    """Return the host pairs from the files of classes, by class number.

    Raises
    ------
    InputError
        If a file is rejected (see ``vlane.study.traffic_pairs``).
    """
    pairs = {}
    for number, each in enumerate(study.traffic):
        if each.file is not None:
            rows = _READERS[each.pattern](base / each.file, hosts)
            pairs[number] = PairWeights(rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2])
    return pairs


def traffic_classes(
    study: Study, topology: Topology, pairs: Mapping[int, PairWeights], load: float
) -> list[TrafficClass]:
    """Return the traffic classes of a run at a load.

    Raises
    ------
    InputError
        If a pattern does not fit the network, or the load does not fit the classes.
    """
    loads = class_loads(study.traffic, load)
    return [
        TrafficClass(
            sl=PATH_SL if each.sl == "path" else each.sl,
            load=loads[number],
            least_bytes=each.sizes[0],
            most_bytes=each.sizes[1],
            pattern=pairs.get(number) or _pattern(each.pattern, topology),
            hot_share=each.hot_share,
            hot_hosts=tuple(each.hot_hosts),
            burst=each.burst,
            burst_to_one=each.burst_to == "one",
            regular=each.regular,
            senders=None if each.hosts is None else tuple(each.hosts),
            active=(0, NEVER) if each.active_cycles is None else (each.active_cycles[0], each.active_cycles[1]),
        )
        for number, each in enumerate(study.traffic)
    ]


def _pattern(name: str, topology: Topology) -> str | tuple[int, ...]:
    """Return the destination of every host, or the name of a pattern that draws destinations."""
    plugin = found("pattern", name)
    if plugin is not None:
        return plugged_destinations(plugin, topology)
    return permutation(name, topology) if name in PERMUTATIONS else name
