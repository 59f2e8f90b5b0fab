"""Random networks of Omni-Path switches that are allocated flit by flit: each delivery equals the plain network's."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.conftest import long_but
from tests.network.networks import IDENTITY, made, replayed
from tests.network.test_random_networks import case_of
from vlane.golden.topologies.routing import up_down, with_channels
from vlane.golden.topologies.topology import dumbbell

NETWORKS = 200
_SCHEDULERS = ("rr", "wrr", "drr", "dtable", "scfq", "vlarb")
_STORED = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "opa_flits.json"


def _compared(seed: int, scheduler: str) -> list[tuple[int, ...]]:
    """Return the deliveries of a seed's network, which must equal the plain network's."""
    case = case_of(seed, ("opa", "turns", "flits", "returns", scheduler))
    got, expected = case.golden(), case.plain()
    first = next((pair for pair in zip(got, expected, strict=False) if pair[0] != pair[1]), "a prefix of the other")
    assert got == expected, f"seed {seed}, {case}: {len(got)} and {len(expected)} deliveries, {first}"
    return got


@pytest.mark.parametrize("seed", long_but(range(4), range(10)))
def test_every_delivery_flit_by_flit_is_that_of_the_plain_network(seed: int) -> None:
    """Given a random Omni-Path network with crossbar flits and Deficit Tables, deliveries equal the plain network's."""
    assert _compared(seed, "dtable")


@pytest.mark.long
def test_two_hundred_networks_agree_with_the_plain_network() -> None:
    """Given 200 random networks with six schedulers, every delivery agrees, and the summary is the stored one."""
    digest, deliveries = hashlib.sha256(), 0
    for seed in range(NETWORKS):
        found = _compared(seed, _SCHEDULERS[seed % len(_SCHEDULERS)])
        digest.update(repr([tuple(map(int, each)) for each in found]).encode())
        deliveries += len(found)

    summary = {"networks": NETWORKS, "deliveries": deliveries, "differences": 0, "digest": digest.hexdigest()[:16]}
    assert summary == json.loads(_STORED.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("target", "latency"), [(1, 1 + 1 + 7 + 4 + 1 + 7), (4, 1 + 1 + 7 + 7 + 1 + 7)])
def test_a_lone_packet_waits_for_its_last_flit_at_the_switch(target: int, latency: int) -> None:
    """Given one packet of 8 flits, the switch adds 4 + F + n - 1 cycles, or 7 + F + n - 1 through its centre."""
    topology = dumbbell(5, 1)
    routes = with_channels(topology, up_down(topology, IDENTITY), tuple(range(32)), (0,) * 32, data_vls=1)
    trace = [(3, 0, target, 0, 512)]

    net = made(topology, routes, lanes=1, trace=trace, cycles=200, largest=8, blocks=16, central=16, crossbar="flits")

    assert [each.delivered - each.generated for each in replayed(net, 200)] == [latency]
