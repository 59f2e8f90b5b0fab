"""Cases of the VOQsw study: random networks, tables, traffic, and variations of one factor at a time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vlane.sim_top
from vlane.golden.topologies.topology import irregular
from vlane.sim_top.studies.paper_study import NetworkCase
from vlane.study.file import StudyFile, read_study_file

COLUMNS = ("switches", "network", "tables", "traffic", "variant")
PARTS = {
    "main": "the paper: uniform traffic with four sizes, hot spots with 8 switches",
    "sensitivity": "one factor at a time, 8 and 16 switches",
    "roots": "four roots of the up*/down* tree, 64 switches",
}
BASELINE = "networks8"
"""Virtual networks, the reference of all speed-ups."""
TABLES: Mapping[str, Mapping[str, Any]] = {
    BASELINE: {},
    "full": {"sls": "full"},
    "sls8": {"sls": 8},
    "sls4": {"sls": 4},
    "sls4_vls4": {"sls": 4, "vls": 4},
}
"""``[voqsw]`` sections by name; none for virtual networks."""
SPREAD: Mapping[str, Mapping[str, Any]] = {
    "sls8_spread": {"sls": 8, "rest": "spread"},
    "sls4_spread": {"sls": 4, "rest": "spread"},
}
HOT: Mapping[str, tuple[int, float]] = {
    "hot10": (1, 0.1),
    "hot20": (1, 0.2),
    "hot40": (1, 0.4),
    "hot70": (1, 0.7),
    "four20": (4, 0.2),
    "four40": (4, 0.4),
}
"""Number of hot hosts, and fraction of the traffic sent to them."""
SIZES: Mapping[int, tuple[int, tuple[float, ...]]] = {
    8: (30, (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)),
    16: (30, (0.05, 0.1, 0.15, 0.2, 0.3, 0.6, 1.0)),
    32: (30, (0.025, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0)),
    64: (10, (0.0125, 0.025, 0.0375, 0.05, 0.1, 0.4, 1.0)),
}
"""Number of networks and loads, by number of switches."""
ROOTS = ("main", "root_1", "root_central", "root_remote")
"""Variants with other roots than switch 0: a switch by number, or that of the least or the greatest mean distance."""
ROOT_LOADS = (0.05, 0.06, 0.07, 0.1, 1.0)
"""Loads of the part ``roots``: virtual networks saturate between the first and the last but one."""
ROOT_TABLES = (BASELINE, "full", "sls8")
_QUICK = {8: 3, 16: 2, 32: 1, 64: 1}
_QUICK_RUN = {"run.cycles": 12_000, "run.warm_up_cycles": 4_000}
_SENSITIVE, _ROOTED = 10, 5
_BLOCKS, _NIC_BLOCKS = 16, 65_536
_CONFIG = Path(vlane.sim_top.__file__).resolve().parent / "configs" / "study_voqsw.toml"
_LANES = 8


def networks_of(switches: int, quick: bool) -> range:  # noqa: FBT001 - as that of the cases
    """Return the seeds of the networks of a size."""
    return range(1, (_QUICK[switches] if quick else SIZES[switches][0]) + 1)


def cases(part: str, quick: bool) -> list[NetworkCase]:  # noqa: FBT001 - what every study takes
    """Return the cases of a part."""
    if part == "roots":
        return [
            _case(64, network, tables, "uniform", variant, _root(network, variant), quick=quick, loads=ROOT_LOADS)
            for network in networks_of(64, quick)
            for variant in ROOTS
            for tables in ROOT_TABLES
            if network <= _ROOTED
        ]
    wanted: Iterable[tuple[int, str, str, str, dict[str, Any]]] = _variants()
    if part == "main":
        kept = [tables for tables in TABLES if tables != "full"]
        wanted = [
            *((size, tables, "uniform", "main", {}) for size in SIZES for tables in TABLES),
            *((8, tables, traffic, "main", {}) for traffic in HOT for tables in kept),
        ]
    return [
        _case(size, network, tables, traffic, variant, changes, quick=quick)
        for size, tables, traffic, variant, changes in wanted
        for network in networks_of(size, quick)
        if part != "sensitivity" or network <= _SENSITIVE
    ]


def _variants() -> Iterator[tuple[int, str, str, str, dict[str, Any]]]:
    """Yield the main configuration and its variations of one factor at a time."""
    static = {"buffers.maximum_blocks": _BLOCKS}
    changed: dict[str, dict[str, Any]] = {
        "main": {},
        "payload_256": {"bytes": 282},
        "first_by_level": {"voqsw.first_vl": "level"},
        "nic_1_kb": {f"buffers.nic_{bound}": None for bound in ("blocks", "minimum_blocks", "maximum_blocks")},
        "turns": {"switch.allocation": "turns"},
        "multiplexed": {"switch.crossbar": "multiplexed", **static},
    }
    for size in (8, 16):
        for variant, changes in changed.items():
            for tables in (BASELINE, "full", "sls8", "sls4"):
                if not (tables == BASELINE and any(key.startswith("voqsw.") for key in changes)):
                    yield size, tables, "uniform", variant, changes
        for tables in SPREAD:
            yield size, tables, "uniform", "main", {}


@cache
def _root(network: int, variant: str) -> dict[str, Any]:
    """Return the change that moves the root of a network of 64 switches, if it moves."""
    if variant == "main":
        return {}
    name = variant.removeprefix("root_")
    if name.isdigit():
        return {"network.root": int(name)}
    topology = irregular(64, ports=8, hosts=4, seed=network)
    distances = [sum(topology.distances(root).values()) for root in range(64)]
    return {"network.root": distances.index((min if name == "central" else max)(distances))}


def _case(
    size: int,
    network: int,
    tables: str,
    traffic: str,
    variant: str,
    changes: Mapping[str, Any],
    *,
    quick: bool,
    loads: Sequence[float] = (),
) -> NetworkCase:
    section = {**TABLES, **SPREAD}[tables]
    lanes = section.get("vls", _LANES)
    made = {
        "network.switches": size,
        "network.seed": network,
        "link.data_vls": lanes,
        "buffers.blocks": lanes * _BLOCKS,
        "buffers.nic_blocks": lanes * _NIC_BLOCKS,
        "traffic": _traffic(section, traffic, size, network, changes.get("bytes", 58)),
        **({f"voqsw.{key}": value for key, value in section.items()} if section else {"voqsw": None}),
        **({"measure.apart": _hot_hosts(traffic, size, network)} if traffic in HOT else {}),
        **(_QUICK_RUN if quick else {}),
        **{key: value for key, value in changes.items() if key != "bytes"},
    }
    labels = dict(zip(COLUMNS, (str(size), str(network), tables, traffic, variant), strict=True))
    return NetworkCase(labels, loads or SIZES[size][1], (1,), _base().with_(made))


def _traffic(section: Mapping[str, Any], traffic: str, size: int, network: int, octets: int) -> list[dict[str, Any]]:
    """Return the traffic classes: one with path SLs, or one per virtual network."""
    made: dict[str, Any] = {"bytes": octets, "pattern": "others"}
    if traffic in HOT:
        made |= {"hot_share": HOT[traffic][1], "hot_hosts": _hot_hosts(traffic, size, network)}
    if section:
        return [{**made, "sl": "path"}]
    return [{**made, "sl": sl, "share": 1 / _LANES} for sl in range(_LANES)]


def _hot_hosts(traffic: str, size: int, network: int) -> Sequence[int]:
    return sorted(random.Random(network).sample(range(4 * size), HOT[traffic][0]))  # noqa: S311 - a repeatable choice


@cache
def _base() -> StudyFile:
    return read_study_file(_CONFIG)
