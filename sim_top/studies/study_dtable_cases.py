"""Cases of the Deficit Table study: networks, switches, and variations of one factor at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import vlane.sim_top
from vlane.schedulers.registry import LINE_RATE
from vlane.sim_top.studies.paper_study import NetworkCase
from vlane.study.file import StudyFile, read_study_file
from vlane.switches.switch_kinds import SWITCH_KINDS

COLUMNS = ("network", "switch", "variant")
PARTS = {
    "main": "the paper",
    "sensitivity": "one factor at a time at three loads",
    "schedulers": "other schedulers at three loads",
    "tried": "other readings tried once, at three loads",
}
MAIN = "main"
"""Variant of the main results."""
ONE_FLIT, ONE_MESSAGE = "one_flit", "one_message"
READINGS = {
    MAIN: "parameters fixed beforehand",
    ONE_FLIT: "packets of one flit, table 4's turns",
    ONE_MESSAGE: "packets of one flit, one message per visit",
}
"""Variants of the part ``main``: readings of the paper, compared with its figures."""
SWITCHES = ("ib", "opa")
FIRST, SHOWN_LOAD, LAST = 0.5735, 0.7, 0.9935
"""Loads: smallest of table 4, load of the published latencies, greatest of table 4."""
LOADS = tuple(sorted({*(round(FIRST + 0.03 * step, 4) for step in range(15)), SHOWN_LOAD}))
_REDUCED = (FIRST, SHOWN_LOAD, LAST)
_CONFIGS = Path(vlane.sim_top.__file__).resolve().parent / "configs"
_BLOCKS, _NIC_BLOCKS, _CENTRAL_BLOCKS = 1792, 3584, 3584
_QUEUE_PACKETS = 16
"""Capacity of the application queues of the variant ``finite_queues``, in messages of the paper."""


@dataclass(frozen=True)
class _Network:
    """Network of the study.

    Parameters
    ----------
    section : mapping
        ``[network]`` section.
    data_vls : int
        Number of data lanes of every port.
    seeds, reduced_seeds : int
        Numbers of seeds of the main grid and of the reduced grid.
    quick : (int, int, int)
        Cycles, warm-up cycles and number of seeds of a quick run.
    """

    section: Mapping[str, Any]
    data_vls: int
    seeds: int
    reduced_seeds: int
    quick: tuple[int, int, int]

    @property
    def vls_per_sl(self) -> int:
        return self.data_vls // 7


NETWORKS = {
    "tree43": _Network({"topology": "tree", "k": 4, "n": 3, "routing": "valiant"}, 7, 30, 3, (20_000, 5_000, 3)),
    "tree242": _Network({"topology": "tree", "k": 24, "n": 2, "routing": "valiant"}, 7, 30, 3, (12_000, 4_000, 2)),
    "torus88": _Network(
        {"topology": "torus", "size": [8, 8], "hosts_per_switch": 8, "trunks": 10, "routing": "dor"},
        14,
        30,
        3,
        (12_000, 4_000, 2),
    ),
    "torus888": _Network(
        {"topology": "torus", "size": [8, 8, 8], "hosts_per_switch": 4, "trunks": 4, "routing": "dor"},
        14,
        5,
        1,
        (6_000, 2_000, 1),
    ),
}
"""Networks of the paper, by the study's names."""


def cases(part: str, quick: bool) -> list[NetworkCase]:  # noqa: FBT001 - what every study takes
    """Return the cases of a part."""
    return [
        _case(name, switch, variant, changes, loads=_loads(part, variant, quick=quick), part=part, quick=quick)
        for name, network in NETWORKS.items()
        for switch in SWITCHES
        for variant, changes in _variants(part, network, switch)
    ]


def _loads(part: str, variant: str, *, quick: bool) -> Sequence[float]:
    return LOADS if part == "main" and variant == MAIN and not quick else _REDUCED


def _case(
    name: str, switch: str, variant: str, changes: Mapping[str, Any], *, loads: Sequence[float], part: str, quick: bool
) -> NetworkCase:
    network = NETWORKS[name]
    centre = {"switch.central_blocks": _CENTRAL_BLOCKS} if SWITCH_KINDS[switch].has_centre else {}
    made = {"network": dict(network.section), "switch.kind": switch, **centre, **changes}
    seeds = network.seeds if part == "main" else network.reduced_seeds
    if quick:
        cycles, warm_up, seeds = network.quick
        made = {"run.cycles": cycles, "run.warm_up_cycles": warm_up, **made}
    labels = dict(zip(COLUMNS, (name, switch, variant), strict=True))
    return NetworkCase(labels, loads, tuple(range(1, seeds + 1)), _base().with_(made))


@cache
def _base() -> StudyFile:
    return read_study_file(_CONFIGS / "study_dtable.toml")


def _variants(part: str, network: _Network, switch: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if part == "tried":
        yield from _tried(network, switch)
        return
    yield MAIN, {}
    if part == "main":
        yield from _readings(network)
    elif part == "sensitivity":
        yield from _factors(network, switch)
    elif part == "schedulers":
        yield from _schedulers(network)


def _readings(network: _Network) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the readings in which a packet has one flit and a message is whole on links only."""
    one_flit: dict[str, Any] = {"switch.crossbar": "flits", "link.flight_cycles": 8}
    if network.section["topology"] == "torus":
        one_flit["network.lmc"] = 2
    yield ONE_FLIT, one_flit
    yield ONE_MESSAGE, {**one_flit, "scheduler.table": "study_dtable_visits.toml"}


def _tried(network: _Network, switch: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the reading of one message per visit, and the same with one change that the paper's text may suggest."""
    one_message = dict(_readings(network))[ONE_MESSAGE]
    yield ONE_MESSAGE, one_message
    yield "shares", {**one_message, **_parts(network, switch, minimum=0.5, maximum=2.0)}
    yield "warm_up_counted", {**one_message, "run.warm_up_cycles": 0}
    yield "finite_queues", {**one_message, **{f"traffic.{sl}.queue_packets": _QUEUE_PACKETS for sl in range(7)}}
    if network.section["topology"] == "torus" and not SWITCH_KINDS[switch].has_centre:
        yield "trunk_packet", {**one_message, "network.lmc": 0, "network.trunk_choice": "packet"}


def _factors(network: _Network, switch: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the main configuration with one factor changed at a time, and one pair of factors."""
    static = _parts(network, switch)
    yield "flight_8", {"link.flight_cycles": 8}
    yield "flight_15", {"link.flight_cycles": 15}
    yield "static", static
    yield "cl_connections", {"traffic.3.pattern": "connections"}
    if network.section["topology"] == "torus":
        yield "lmc_2", {"network.lmc": 2}
    if not SWITCH_KINDS[switch].has_centre:
        per_vl = {"switch.crossbar": "per_vl", **static}
        yield "fifo", {"switch.allocation": "fifo"}
        yield "per_vl", per_vl
        yield "flits", {"switch.crossbar": "flits"}
        yield "speed_2", {"switch.speed": 2}
        yield "per_vl_flight_15", {**per_vl, "link.flight_cycles": 15}


def _parts(network: _Network, switch: str, *, minimum: float = 1.0, maximum: float = 1.0) -> dict[str, Any]:
    """Return the changes that guarantee and limit each lane to multiples of an equal part of each buffer."""
    places = {"buffers.": _BLOCKS, "buffers.nic_": _NIC_BLOCKS}
    if SWITCH_KINDS[switch].has_centre:
        places["switch.central_"] = _CENTRAL_BLOCKS
    return {
        f"{prefix}{bound}_blocks": int(part * (blocks // network.data_vls))
        for prefix, blocks in places.items()
        for bound, part in (("minimum", minimum), ("maximum", maximum))
    }


def _schedulers(network: _Network) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield other schedulers with table 4's weights. Tables that name lanes only where each level has one lane."""
    for name in ("drr", "scfq"):
        yield name, {"scheduler": {"name": name, "table": f"study_dtable_{name}.toml"}}
    if network.vls_per_sl == 1:
        yield "vlarb", {"scheduler": {"name": "vlarb", "table": "study_dtable_vlarb.toml"}}
        yield "line_rate", {"scheduler.parameters": {"form": LINE_RATE}}
