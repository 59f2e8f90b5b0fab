"""InfiniBand switches that allocate again, move two flits or take turns by flits: cycles written by hand."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

import pytest
from vlane.golden.network.routing import up_down
from vlane.golden.network.topology import dumbbell
from vlane.golden.switches.ib_switch import FasterIBSwitches
from vlane.sim_top.study.world import make_network, make_world

from tests.conftest import STUDY, uncompiled
from tests.networks import IDENTITY, made, replayed
from vlane.errors import InputError
from vlane.study_model import read_study

LONE = 1 + 1 + (4 + 1)
"""Cycles from the generation of a packet of one flit to its delivery over one switch, with a flight of 1."""


Packets = tuple[tuple[int, int, int, int], ...]
"""Source, destination, SL and flits of each, all of cycle 0."""

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
    """Return by source and destination when one switch delivers the packets of each case."""
    found, topology = [], dumbbell(4, 1)
    for packets, how in CASES:
        trace = [(0, source, to, sl, 64 * flits) for source, to, sl, flits in packets]
        net = made(topology, up_down(topology, IDENTITY), lanes=3, trace=trace, cycles=60, largest=8, blocks=64, **how)
        found.append({(each.source, each.target): each.delivered for each in replayed(net, 60)})
    return found


@cache
def _found() -> list[dict[tuple[int, int], int]]:
    """Return the same, without compiling each of them."""
    return ast.literal_eval(uncompiled("deliveries()", "tests.test_faster_switches"))  # type: ignore[no-any-return]


def _delivered(packets: Packets, **how: Any) -> dict[tuple[int, int], int]:
    return _found()[CASES.index((packets, how))]


@pytest.mark.parametrize(("iterations", "second", "third"), [(1, 3, 4), (2, 1, 3), (8, 1, 3)])
def test_an_input_that_was_refused_asks_for_another_output_in_the_same_cycle(
    iterations: int, second: int, third: int
) -> None:
    """And its turn stays where it was: the packet that was refused is the next one (IBS-I1, IBS-I2)."""
    got = _delivered(REFUSED, iterations=iterations)

    of_the_refused = {(2, 3): LONE + 2, (2, 0): LONE + second, (2, 1): LONE + third}
    assert got == {(0, 3): LONE, (1, 3): LONE + 1, **of_the_refused}


@pytest.mark.parametrize(("speed", "late"), [(1, 16), (2, 10)])
def test_a_packet_that_waited_crosses_two_flits_at_a_time(speed: int, late: int) -> None:
    """The one before it, which crosses as it arrives, lets go two cycles earlier too (IBS-S1, IBS-S2)."""
    got = _delivered(WAITING, speed=speed)

    assert got == {(0, 3): LONE + 7, (1, 3): LONE + 15, (1, 2): LONE + 7 + late}


def test_a_packet_whose_flits_take_turns_leaves_whole() -> None:
    """It waits at the output for its last flit (IBS-F5)."""
    assert _delivered(ALONE, crossbar="flits") == {(0, 3): LONE + 7 + 7}


def test_flits_of_packets_for_one_output_take_turns() -> None:
    """The short one crosses third; the others' last flits 16th and 17th (IBS-F3)."""
    got = _delivered(TOGETHER, crossbar="flits")

    assert got == {(2, 3): LONE + 2, (0, 3): LONE + 15 + 7, (1, 3): LONE + 15 + 7 + 8}


def test_a_study_says_which(tmp_path: Any) -> None:
    """What a file asks for is what the network has."""
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace("[buffers]", "[switch]\niterations = 3\nspeed = 2\n[buffers]"))

    net = make_network(make_world(read_study(file), tmp_path), load=0.2, seed=1)

    assert isinstance(net.switches, FasterIBSwitches)
    assert (net.switches.iterations, net.switches.speed, net.out_ports.returns.speed) == (3, 2, 2)


@pytest.mark.parametrize("how", [{"iterations": 0}, {"iterations": 9}, {"speed": 3}, {"crossbar": "flits", "speed": 2}])
def test_what_no_switch_can_is_refused(how: dict[str, Any]) -> None:
    """Also where no study stands before it."""
    topology = dumbbell(1, 1)

    with pytest.raises(InputError, match=r"iterations|speed"):
        made(topology, up_down(topology, IDENTITY), lanes=1, trace=[], cycles=10, **how)
