"""Random members of trunks: deliveries of the plain network, spread over the members, refusals (NET-6)."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.network.networks import IDENTITY, made, replayed
from tests.network.plain_by_name import plain_serve
from vlane.errors import InputError
from vlane.golden.network.assembly import PortSettings
from vlane.golden.plain.link import Sizes
from vlane.golden.plain.network import PlainNetwork, Tables
from vlane.golden.plain.opa import ChannelTables, PlainOPANetwork
from vlane.golden.plain.opa_flits import OPAFlitSwitch
from vlane.golden.plain.traffic import packets_of, random_trace
from vlane.golden.plain.trunks import Trunks
from vlane.golden.topologies.routing import dimension_order, up_down, with_channels
from vlane.golden.topologies.topology import dumbbell, torus
from vlane.sim_top.scenario.path_checks import check_world
from vlane.sim_top.scenario.world import make_world
from vlane.study.study import Study

_SETTINGS, _CYCLES, _LARGEST = PortSettings("rr", {"requesters": 0}), 1200, 8


def _sizes(blocks: int, lanes: int) -> Sizes:
    return Sizes(blocks, (_LARGEST,) * lanes, (blocks - _LARGEST * (lanes - 1),) * lanes, (_LARGEST,) * lanes)


@pytest.mark.parametrize("choice", ["flow", "packet"])
@pytest.mark.parametrize("world", ["torus", "dumbbell"])
def test_random_members_are_those_of_the_plain_network(world: str, choice: str) -> None:
    """Given trunks with random members and random traffic, every delivery equals the plain network's."""
    topology = torus((3, 3), hosts=2, trunks=3) if world == "torus" else dumbbell(5, 6, trunks=3)
    routes = dimension_order(topology, 1) if world == "torus" else up_down(topology, IDENTITY)
    source = random.Random(choice + world)  # noqa: S311 - a repeatable choice
    sls = [0] if world == "torus" else [0, 1]
    trace = random_trace(len(topology.hosts), sls, source, 0.6, _CYCLES)
    how: dict[str, Any] = {"trunk_choice": choice, "trunk_seed": 7}

    net = made(topology, routes, lanes=2, trace=trace, cycles=_CYCLES, largest=_LARGEST, blocks=24, **how)
    got = sorted(each for each in replayed(net, _CYCLES) if each.delivered < _CYCLES)
    trunks = Trunks.of(topology.far_ends(), choice, 7)
    tables = Tables(routes.lft, routes.vl, routes.nic_vl, routes.by_lane, trunks=trunks)
    packets = packets_of(trace, routes, 64)
    plain = PlainNetwork(
        topology.far_ends(), topology.hosts, tables, _sizes(24, 2), packets, lambda: plain_serve(_SETTINGS, 2)
    )

    assert len(got) > 100
    assert got == plain.run(_CYCLES)


@pytest.mark.long
@pytest.mark.parametrize("choice", ["flow", "packet"])
def test_random_members_of_omni_path_are_those_of_the_plain_network(choice: str) -> None:
    """Given Omni-Path switches with trunks across MPorts, flit by flit, every delivery equals the plain network's."""
    topology, lanes = dumbbell(6, 7, trunks=4), 2
    routes = with_channels(
        topology, up_down(topology, IDENTITY), tuple(range(32)), tuple(at % 2 for at in range(32)), data_vls=lanes
    )
    source = random.Random(choice)  # noqa: S311 - a repeatable choice
    trace = random_trace(len(topology.hosts), [0, 1, 2], source, 0.7, _CYCLES)
    sizes, central = _sizes(24, lanes), _sizes(20, lanes)
    trunks = Trunks.of(topology.far_ends(), choice, 3)
    tables = ChannelTables(routes.lft, routes.sc2sc, routes.sc2vl, routes.nic_channel, routes.nic_vl, trunks)

    net = made(
        topology,
        routes,
        lanes=lanes,
        trace=trace,
        cycles=_CYCLES,
        largest=_LARGEST,
        blocks=24,
        central=20,
        crossbar="flits",
        trunk_choice=choice,
        trunk_seed=3,
    )
    got = sorted(each for each in replayed(net, _CYCLES) if each.delivered < _CYCLES)
    packets = packets_of(trace, routes, 64)
    plain = PlainOPANetwork(
        topology.far_ends(),
        topology.hosts,
        tables,
        sizes,
        central,
        packets,
        lambda: plain_serve(_SETTINGS, lanes),
        switch=OPAFlitSwitch,
    )

    assert len(got) > 100
    assert got == plain.run(_CYCLES)


_STUDY: dict[str, Any] = {
    "network": {"topology": "torus", "size": [4, 4], "hosts_per_switch": 2, "trunks": 4},
    "buffers": {"blocks": 32},
    "scheduler": {"name": "rr"},
    "traffic": [{"sl": 0, "load": 0.3, "bytes": 64}],
    "run": {"cycles": 3000, "warm_up_cycles": 1000, "loads": [0.3]},
}


def _follow(choice: str, kind: str) -> None:
    """Make the world of a torus study, whose paths are checked."""
    network = {**_STUDY["network"], "trunk_choice": choice}
    check_world(make_world(Study.model_validate({**_STUDY, "network": network, "switch": {"kind": kind}}), Path()))


def test_random_members_of_a_torus_have_circular_dependencies_with_central_buffers_only() -> None:
    """Given random members in a torus, InfiniBand's switches are accepted and Omni-Path's are refused."""
    _follow("packet", "ib")
    _follow("lid", "opa")

    with pytest.raises(InputError, match="wait for each other in a cycle"):
        _follow("packet", "opa")


def test_tables_of_voqsw_need_members_by_lid() -> None:
    """Given [voqsw] and random members, the study is refused."""
    network = {"topology": "dumbbell", "left": 2, "right": 2, "trunks": 2, "trunk_choice": "flow"}
    traffic = [{"sl": "path", "load": 0.3, "bytes": 64}]

    with pytest.raises(ValueError, match=r"network\.trunk_choice must be lid with"):
        Study.model_validate({**_STUDY, "network": network, "traffic": traffic, "voqsw": {"sls": 4, "vls": 4}})


@pytest.mark.parametrize(("choice", "used"), [("lid", 1), ("flow", 1), ("packet", 4)])
def test_members_that_a_flow_uses(choice: str, used: int) -> None:
    """Given one flow over a trunk of 4, all members carry packets if each packet draws, otherwise one member does."""
    topology = dumbbell(1, 1, trunks=4)
    trace = [(3 * at, 0, 1, 0, 64) for at in range(400)]

    net = made(
        topology, up_down(topology, IDENTITY), lanes=1, trace=trace, cycles=3000, trunk_choice=choice, trunk_seed=1
    )
    assert len(replayed(net, 3000)) == 400

    counts = Counter({port: int(net.out_ports.counters[port, 0].packets) for port in range(1, 5)})
    assert sum(count > 0 for count in counts.values()) == used
    assert max(counts.values()) < 200 or used == 1
