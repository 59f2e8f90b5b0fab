"""InfiniBand switches with several allocation rounds, speed-up 2 or a flit-wise crossbar.

Delivery cycles are written by hand and compared with the plain model.
"""

from __future__ import annotations

import ast
import random
from functools import cache
from typing import Any

import pytest

from tests.conftest import STUDY, uncompiled
from tests.network.networks import IDENTITY, made, replayed
from tests.network.plain_by_name import plain_serve
from vlane.errors import InputError
from vlane.golden.network.assembly import PortSettings
from vlane.golden.plain.faster import faster
from vlane.golden.plain.flits import FlitSwitch
from vlane.golden.plain.link import Sizes
from vlane.golden.plain.network import PlainNetwork, Switch, Tables
from vlane.golden.plain.traffic import packets_of, random_trace
from vlane.golden.switches.ib_switch import FasterIBSwitches
from vlane.golden.topologies.routing import Routes, up_down
from vlane.golden.topologies.topology import dumbbell
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.study.model import read_study
from vlane.tables.lft import UNASSIGNED

LONE = 1 + 1 + (4 + 1)
"""Cycles from generation to delivery of a packet of one flit over one switch, with a flight time of 1."""


Packets = tuple[tuple[int, int, int, int], ...]
"""Source, destination, SL and flits of each packet, all generated in cycle 0."""

REFUSED: Packets = ((0, 3, 0, 1), (1, 3, 0, 1), (2, 3, 0, 1), (2, 0, 1, 1), (2, 1, 2, 1))
WAITING: Packets = ((0, 3, 0, 8), (1, 3, 0, 8), (1, 2, 0, 8))
ALONE: Packets = ((0, 3, 0, 8),)
TOGETHER: Packets = ((0, 3, 0, 8), (1, 3, 0, 8), (2, 3, 1, 1))
CASES: list[tuple[Packets, dict[str, Any]]] = [
    *((REFUSED, {"iterations": iterations}) for iterations in (1, 2, 8)),
    *((WAITING, {"speed": speed}) for speed in (1, 2)),
    *((packets, {"crossbar": "flits"}) for packets in (ALONE, TOGETHER)),
]


def deliveries() -> list[dict[tuple[int, int], int]]:
    """Return, for each case, the delivery cycles by source and destination."""
    found, topology = [], dumbbell(4, 1)
    for packets, how in CASES:
        trace = [(0, source, to, sl, 64 * flits) for source, to, sl, flits in packets]
        net = made(topology, up_down(topology, IDENTITY), lanes=3, trace=trace, cycles=60, largest=8, blocks=64, **how)
        found.append({(each.source, each.target): each.delivered for each in replayed(net, 60)})
    return found


@cache
def _found() -> list[dict[tuple[int, int], int]]:
    """Return ``deliveries()`` of uncompiled golden code, evaluated in one process."""
    return ast.literal_eval(uncompiled("deliveries()", "tests.switches.test_faster_switches"))  # type: ignore[no-any-return]


def _delivered(packets: Packets, **how: Any) -> dict[tuple[int, int], int]:
    return _found()[CASES.index((packets, how))]


@pytest.mark.parametrize(("iterations", "second", "third"), [(1, 3, 4), (2, 1, 3), (8, 1, 3)])
def test_an_input_that_was_refused_asks_for_another_output_in_the_same_cycle(
    iterations: int, second: int, third: int
) -> None:
    """An input that loses an output requests a second output in the same cycle (IBS-I1, IBS-I2).

    The round-robin pointer does not move, so the losing packet stays next in turn.
    """
    got = _delivered(REFUSED, iterations=iterations)

    of_the_refused = {(2, 3): LONE + 2, (2, 0): LONE + second, (2, 1): LONE + third}
    assert got == {(0, 3): LONE, (1, 3): LONE + 1, **of_the_refused}


@pytest.mark.parametrize(("speed", "late"), [(1, 16), (2, 10)])
def test_a_packet_that_waited_crosses_two_flits_at_a_time(speed: int, late: int) -> None:
    """With speed-up 2, a packet that waited crosses two flits per cycle (IBS-S1, IBS-S2).

    The packet before it crosses as it arrives and also releases the crossbar two cycles earlier.
    """
    got = _delivered(WAITING, speed=speed)

    assert got == {(0, 3): LONE + 7, (1, 3): LONE + 15, (1, 2): LONE + 7 + late}


def test_a_packet_whose_flits_take_turns_leaves_whole() -> None:
    """With a flit-wise crossbar, a packet leaves only after its last flit has crossed (IBS-F5)."""
    assert _delivered(ALONE, crossbar="flits") == {(0, 3): LONE + 7 + 7}


def test_flits_of_packets_for_one_output_take_turns() -> None:
    """Flits of packets for one output are interleaved (IBS-F3).

    The short packet crosses third; the last flits of the other two cross in cycles 16 and 17.
    """
    got = _delivered(TOGETHER, crossbar="flits")

    assert got == {(2, 3): LONE + 2, (0, 3): LONE + 15 + 7, (1, 3): LONE + 15 + 7 + 8}


HOWS: dict[str, tuple[dict[str, Any], type[Switch]]] = {
    "again": ({"iterations": 3}, faster(iterations=3)),
    "faster": ({"speed": 2}, faster(speed=2)),
    "both": ({"iterations": 2, "speed": 2}, faster(iterations=2, speed=2)),
    "flits": ({"crossbar": "flits"}, FlitSwitch),
}
CYCLES, LANES, FLIT_BYTES = 220, 3, 32


def _random_trace() -> list[tuple[int, ...]]:
    source = random.Random(6)  # noqa: S311 - a repeatable choice
    return random_trace(6, range(LANES), source, 0.9, CYCLES, 256)


def _routes() -> Routes:
    """Return the routes of two switches, with switch 0 dropping packets for one of its hosts."""
    routes = up_down(dumbbell(3, 3), IDENTITY)
    routes.lft[0, int(routes.lids[1, 0])] = UNASSIGNED
    return routes


def random_deliveries() -> list[list[tuple[int, ...]]]:
    """Return the deliveries of two overloaded switches of each form."""
    found, topology = [], dumbbell(3, 3)
    for how, _ in HOWS.values():
        net = made(
            topology,
            _routes(),
            lanes=LANES,
            trace=_random_trace(),
            cycles=CYCLES,
            largest=4,
            blocks=16,
            flit_bytes=FLIT_BYTES,
            **how,
        )
        found.append([tuple(each) for each in sorted(replayed(net, CYCLES)) if each.delivered < CYCLES])
    return found


@cache
def _found_at_random() -> list[list[tuple[int, ...]]]:
    """Return ``random_deliveries()`` of uncompiled golden code, evaluated in one process."""
    return ast.literal_eval(uncompiled("random_deliveries()", "tests.switches.test_faster_switches"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", HOWS)
def test_every_delivery_is_that_of_the_plain_network(name: str) -> None:
    """Under random overload with tight buffers and drops, each delivery equals the plain network's.

    Larger networks are compared in ``tests/network/test_plain_network.py``.
    """
    topology, sizes = dumbbell(3, 3), Sizes(16, (4,) * LANES, (8,) * LANES, (4,) * LANES, 64 // FLIT_BYTES)
    routes = _routes()
    tables = Tables(routes.lft, routes.vl, routes.nic_vl)
    settings = PortSettings("rr", {"requesters": 0})
    plain = PlainNetwork(
        topology.far_ends(),
        topology.hosts,
        tables,
        sizes,
        packets_of(_random_trace(), routes, FLIT_BYTES),
        lambda: plain_serve(settings, LANES),
        1,
        HOWS[name][1],
    )

    got = _found_at_random()[list(HOWS).index(name)]

    assert len(got) > 50
    assert got == plain.run(CYCLES)


def test_study_sets_iterations_and_speed(tmp_path: Any) -> None:
    """A study's ``iterations`` and ``speed`` configure all switches of the network."""
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace("[buffers]", "[switch]\niterations = 3\nspeed = 2\n[buffers]"))

    net = make_network(make_world(read_study(file), tmp_path), load=0.2, seed=1)

    assert isinstance(net.switches, FasterIBSwitches)
    assert (net.switches.iterations, net.switches.speed, net.out_ports.returns.speed) == (3, 2, 2)


@pytest.mark.parametrize("how", [{"iterations": 0}, {"iterations": 9}, {"speed": 3}, {"crossbar": "flits", "speed": 2}])
def test_values_out_of_range_are_refused(how: dict[str, Any]) -> None:
    """Given iterations or speed-up out of range, building a network in Python is refused."""
    topology = dumbbell(1, 1)

    with pytest.raises(InputError, match=r"iterations|speed"):
        made(topology, up_down(topology, IDENTITY), lanes=1, trace=[], cycles=10, **how)
