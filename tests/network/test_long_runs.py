"""Runs near cycle 2^40, which must equal runs from cycle 0."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.network.test_connections import listed
from vlane.golden.compiler.records import Records
from vlane.golden.network.cores import OneCore, start_network
from vlane.golden.network.network import DONE
from vlane.golden.network.state import Network
from vlane.golden.traffic.sources import NEVER
from vlane.sim_top.scenario.world import World, make_network, make_world
from vlane.sim_top.study.run_tables import delivery_table
from vlane.study.study import MAX_CYCLES, Study

LATER = (1 << 40) - (1 << 15)
"""A multiple of the calendar's length and of the FCP period."""
CYCLES = 6000
SWITCHES: dict[str, dict[str, Any]] = {
    "turns": {},
    "fifo": {"switch": {"allocation": "fifo"}},
    "per_vl": {"switch": {"crossbar": "per_vl"}},
    "per_vl_fifo": {"switch": {"crossbar": "per_vl", "allocation": "fifo"}},
    "flits": {"switch": {"crossbar": "flits"}},
    "faster": {"switch": {"speed": 2, "iterations": 2}},
    "opa": {"switch": {"kind": "opa"}, "admission": None},
    "fcp": {"link": {"data_vls": 4, "credits": "fcp"}, "admission": None},
}


def world_of(folder: Path, sections: dict[str, Any]) -> World:
    listed(8, 120).write_parquet(folder / "list.parquet")
    traffic = [{"sl": sl, "load": 0.2, "bytes": [64, 640]} for sl in (1, 3)]
    study = {
        "network": {"topology": "irregular", "switches": 4, "ports": 6, "hosts_per_switch": 2, "seed": 3},
        "link": {"data_vls": 4},
        "buffers": {"blocks": 64, "minimum_blocks": 16, "maximum_blocks": 16},
        "scheduler": {"name": "vlarb"} if sections.get("admission", True) else {"name": "rr"},
        "connections": {"file": "list.parquet"},
        "admission": {"distances": [2, 8, 32, 64]},
        "traffic": traffic,
        "run": {"cycles": CYCLES, "warm_up_cycles": 1000, "loads": [0.4]},
        **sections,
    }
    return make_world(Study.model_validate(study), folder)


def set_later(net: Network) -> None:
    """Shift a network before its first cycle by ``LATER`` cycles."""
    sources = net.sources
    for due in (sources.due, sources.earliest, sources.connections.each["due"], sources.connections.heap["due"]):
        due[due < NEVER] += LATER
    net.clock[:] += LATER
    net.meters.window[:2] += LATER
    remote = net.out_ports.remote_credit
    if isinstance(getattr(remote, "end", None), Records):
        remote.end["periods"] += LATER // remote.fcp_period


def run(net: Network, world: World, end: int) -> tuple[OneCore, Any]:
    network = start_network(net)
    assert isinstance(network, OneCore)
    assert network.run_to(end, deque()) == DONE
    return network, delivery_table(world, net.meters)


@pytest.mark.parametrize(
    "switches", [each if each in {"turns", "opa"} else pytest.param(each, marks=pytest.mark.long) for each in SWITCHES]
)
def test_cycles_past_40_bits_are_as_the_first_ones(switches: str, tmp_path: Path) -> None:
    """A run that ends beyond cycle 2^40 equals the same run from cycle 0, shifted in time.

    Compared are deliveries and all counters of service levels, links and connections.
    """
    world = world_of(tmp_path, SWITCHES[switches])
    first, later = (make_network(world, load=0.4, seed=4, trace_rows=1 << 14) for _ in range(2))
    set_later(later)
    _, one = run(first, world, CYCLES)
    _, other = run(later, world, LATER + CYCLES)

    assert len(one) > 1000
    moved = other.with_columns(other["cycle"] - LATER, other["delivered_cycle"] - LATER)
    assert moved.equals(one)
    for name in ("total", "part", "histogram", "lateness"):
        assert np.array_equal(getattr(first.meters, name), getattr(later.meters, name)), name
    for field in ("packets", "flits", "queued_cycles"):
        assert np.array_equal(first.out_ports.counters[field], later.out_ports.counters[field]), field
    assert np.array_equal(first.out_ports.head["credit_wait_cycles"], later.out_ports.head["credit_wait_cycles"])
    connected = [net.meters.connections for net in (first, later)]
    assert np.array_equal(connected[0].within, connected[1].within)
    assert np.array_equal(connected[0].jitter, connected[1].jitter)
    assert first.meters.digest[1] == later.meters.digest[1]
    assert first.meters.digest[0] != later.meters.digest[0]


def test_a_study_may_have_2_40_cycles() -> None:
    assert MAX_CYCLES == 1 << 40
    content = {
        "network": {"topology": "dumbbell", "left": 1, "right": 1},
        "traffic": [{}],
        "run": {"loads": [0.1], "cycles": MAX_CYCLES, "warm_up_cycles": MAX_CYCLES - 100},
    }
    assert Study.model_validate(content).run.cycles == MAX_CYCLES
