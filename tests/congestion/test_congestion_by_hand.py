"""Congestion control in a golden network, cycle by cycle as written out by hand from ``docs/congestion.md``.

Hosts 0 to 2 send to host 3 of the same switch, or to host 4 behind another one. A packet of n flits that is taken in
cycle t, and never waits, is received by host 3 in t + 7 + n - 1 and by host 4 in t + 12 + n - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.network.networks import IDENTITY, made, run_to
from vlane.golden.network.congestion import Congestion
from vlane.golden.network.network import Network
from vlane.golden.network.pacing import HELD
from vlane.golden.switches.packets import BECN
from vlane.golden.topologies.routing import up_down
from vlane.golden.topologies.topology import dumbbell
from vlane.golden.traffic.classes import TrafficClass
from vlane.tables.sl2vl import SL_COUNT

BIG, SMALL = 512, 64
AT_ONCE = Congestion(
    threshold=15,
    packet_size=0,
    marking_rate=0,
    victim_mask="none",
    by_inputs=True,
    busy_blocks=16,
    level_blocks=1000,
    idle_blocks=1,
    port_control=0,
    ccti_limit=1,
    levels=[(20, 1, 0, 0)] * SL_COUNT,
    table=[(0, 0), (0, 7)],
    shift_first=False,
    flows=64,
    tick_cycles=64,
    cnp_interval=0,
    held_packets=1000,
)
"""A VL is over from 17 blocks on, and a flow that has got a BECN sends a packet of a block every 8 cycles."""

Row = tuple[int, int, int, int]


def network(trace: Sequence[tuple[int, ...]], settings: Congestion, cycles: int, *, first_psn: int = 0) -> Network:
    """Return the network after that many cycles; one VL with room for four packets of eight blocks in each buffer.

    The first packet of every flow has the sequence number ``first_psn``.
    """
    topology = dumbbell(4, 1)
    net = made(
        topology,
        up_down(topology, IDENTITY),
        lanes=1,
        trace=trace,
        cycles=cycles,
        largest=8,
        blocks=32,
        minimum=32,
        congestion=settings,
    )
    net.pacing.psn[:] = first_psn
    run_to(net, cycles)
    return net


def received(trace: Sequence[tuple[int, ...]], settings: Congestion, cycles: int = 400) -> list[Row]:
    """Return (cycle, source, target, what the transport header says) of what is received, by cycle."""
    net = network(trace, settings, cycles)
    return sorted((row[6], row[0], row[1], row[11]) for row in net.meters.trace[: net.meters.traced[0]].tolist())


TWO_TO_ONE = [(0, host, 3, 0, BIG) for host in (0, 1) for _ in range(4)]
"""Packets start at the output to host 3 in cycles 6, 14, ..., 62, of host 0 and 1 in turn, and the level is then 0, 8,
..., 56. The switch has five ports, so that the sweep is at that output in cycles 3, 8, 13, ...; what counts as they
start was found in 3, 8, 18, 23, 33, 43, 48 and 58: 0, 8, 16, 24, 32, 24, 16 and 8 blocks that waited at the inputs."""


@pytest.mark.parametrize(
    ("change", "marked"),
    [
        ({}, [3, 4, 5]),
        ({"busy_blocks": 25}, [4, 5]),
        ({"busy_blocks": 32}, [4, 5]),
        ({"busy_blocks": 41}, []),
        ({"busy_blocks": 41, "victim_mask": "hosts"}, [3, 4, 5]),
        ({"level_blocks": 16}, [3, 4, 5]),
        ({"marking_rate": 1}, [3, 5]),
        ({"marking_rate": 2}, [3]),
        ({"packet_size": 8}, [3, 4, 5]),
        ({"packet_size": 9}, []),
        ({"threshold": 5}, [3, 4, 5]),
        ({"threshold": 4}, [3, 4, 5]),
        ({"threshold": 3}, [4]),
        ({"threshold": 0}, []),
    ],
    ids=str,
)
def test_the_packets_are_marked_that_the_rules_say(change: dict[str, int | str], marked: list[int]) -> None:
    """Over is from 17 blocks on, with Threshold 5, 4 and 3 from 22, 24 and 26; a packet does not count for itself."""
    got = received(TWO_TO_ONE, replace(AT_ONCE, **change))  # type: ignore[arg-type]

    data = [row for row in got if row[3] != 2]
    assert data == [(14 + 8 * at, at % 2, 3, int(at in marked)) for at in range(8)]


@pytest.mark.parametrize(
    ("level_blocks", "idle_blocks", "marked"),
    [(1000, 0, [3, 4, 5]), (1000, 1, [3, 4, 5]), (1000, 2, []), (50, 1, [4, 5]), (41, 1, [5])],
)
def test_the_level_falls_while_the_link_is_idle(level_blocks: int, idle_blocks: int, marked: list[int]) -> None:
    """The same packets 100 cycles later: their level begins with that of the first ones, less 36 idle cycles."""
    settings = replace(AT_ONCE, busy_blocks=41, level_blocks=level_blocks, idle_blocks=idle_blocks)
    later = [(100, *packet[1:]) for packet in TWO_TO_ONE]

    got = received([*TWO_TO_ONE, *later], settings)

    first, second = ([row for row in got if row[3] != 2 and (row[0] > 100) == is_late] for is_late in (False, True))
    assert first == [(14 + 8 * at, at % 2, 3, 0) for at in range(8)]
    assert second == [(114 + 8 * at, at % 2, 3, int(at in marked)) for at in range(8)]


def test_a_cnp_comes_back_in_the_cycles_of_the_page() -> None:
    """NCC-6: taken in the cycle after the last flit, and of one flit."""
    got = received(TWO_TO_ONE, AT_ONCE)

    assert [row for row in got if row[3] == 2] == [(1 + at + 7, 3, to, 2) for at, to in ((38, 1), (46, 0), (54, 1))]


@pytest.mark.parametrize(("interval", "kept"), [(0, 2), (16, 2), (17, 1)])
def test_within_the_interval_no_cnp_is_made(interval: int, kept: int) -> None:
    """NCC-7: host 1's packets with FECN are received whole in cycles 38 and 54."""
    got = received(TWO_TO_ONE, replace(AT_ONCE, cnp_interval=interval))

    assert len([row for row in got if row[2:] == (1, 2)]) == kept


MARKED_ONCE = [(0, host, 3, 0, BIG) for host in (1, 2) for _ in range(4)] + [(10, 0, 3, 0, BIG)]
"""The one of host 0 starts at the output in 22; in 18 24 blocks were found. It is received in 30, the CNP in 38."""


def test_a_becn_acts_after_the_question_of_its_cycle() -> None:
    """NCC-9: received in 38, it acts in 39; so the packet of 40 is the first that counts, and the next one goes in 48.

    As a flow is an SL here, the packets to host 4, which nothing delays, are of the same one.
    """
    trace = [*MARKED_ONCE, *((cycle, 0, 4, 0, SMALL) for cycle in range(34, 46))]

    got = received(trace, replace(AT_ONCE, port_control=1))

    assert (38, 3, 0, 2) in got
    taken = [cycle - 12 for cycle, _, target, _ in got if target == 4]
    assert taken == [34, 35, 36, 37, 38, 39, 40, 48, 56, 64, 72, 80]


def test_a_flow_that_is_held_holds_no_other() -> None:
    """NCC-11: to host 3 a packet every 4 cycles, of which every second one waits; to host 4 as they come."""
    held = [(100 + 4 * at, 0, 3, 0, SMALL) for at in range(6)]
    others = [(102 + 4 * at, 0, 4, 0, SMALL) for at in range(6)]

    net = network([*MARKED_ONCE, *held, *others], AT_ONCE, 400)

    rows = net.meters.trace[: net.meters.traced[0]].tolist()
    late = sorted((row[6], row[5], row[1]) for row in rows if row[5] >= 100)
    assert [(at, born) for at, born, to in late if to == 3] == [(107 + 8 * at, 100 + 4 * at) for at in range(6)]
    assert [(at, born) for at, born, to in late if to == 4] == [(114 + 4 * at, 102 + 4 * at) for at in range(6)]


@pytest.mark.parametrize(("most", "taken"), [(1, 125), (2, 117), (3, 109), (4, 104)])
def test_a_class_stops_when_as_many_wait_as_may(most: int, taken: int) -> None:
    """NCC-12: behind four packets of a flow, which go in 100, 108, 116 and 124, that of another flow waits for a place.

    With two places those of 101 and 102 wait; in 109 that of 103 comes to wait, and after that of 102 went in 116 there
    is a place.
    """
    trace = [*MARKED_ONCE, *((cycle, 0, 3, 0, SMALL) for cycle in range(100, 104)), (104, 0, 4, 0, SMALL)]

    got = received(trace, replace(AT_ONCE, held_packets=most))

    assert [cycle - 12 for cycle, _, target, _ in got if target == 4] == [taken]
    assert [cycle - 7 for cycle, source, target, _ in got if (source, target) == (0, 3)][1:] == [100, 108, 116, 124]


def _with_classes(classes: Sequence[TrafficClass], cycles: int) -> list[tuple[int, int]]:
    """Return (cycle of generation, cycle received) of what is received of classes, CNPs left out."""
    topology = dumbbell(4, 1)
    net = made(
        topology,
        up_down(topology, IDENTITY),
        lanes=1,
        classes=classes,
        cycles=cycles,
        largest=8,
        blocks=32,
        minimum=32,
        congestion=replace(AT_ONCE, table=[(0, 0), (0, 30)]),
        trace_rows=4000,
    )
    run_to(net, cycles)
    return [(row[5], row[6]) for row in net.meters.trace[: net.meters.traced[0]].tolist() if row[11] < 2]


def test_a_class_sends_in_its_active_cycles_only() -> None:
    """What waits for its flow as they end is not sent any more: it would come for thousands of cycles (NCC-12)."""
    end, drained = 1500, 300
    hot = TrafficClass(sl=0, load=0.5, least_bytes=BIG, most_bytes=BIG, pattern=(3, 3, 3, -1, -1), active=(500, end))

    got = _with_classes([hot], 4000)

    born, at = zip(*got, strict=True)
    assert len(got) > 20
    assert 500 <= min(born) <= 540
    assert max(born) < end
    assert max(at) < end + drained


def test_another_class_goes_on_when_one_ends() -> None:
    """And begins before it."""
    hot = TrafficClass(sl=0, load=0.5, least_bytes=BIG, most_bytes=BIG, pattern=(3, 3, 3, -1, -1), active=(500, 1500))
    always = TrafficClass(sl=0, load=0.1, least_bytes=SMALL, most_bytes=SMALL, pattern=(4, 4, 4, -1, -1))

    born = [each for each, _ in _with_classes([hot, always], 4000)]

    assert min(born) < 100
    assert max(born) > 3800


LAST_PSN = (1 << 24) - 1


def test_sequence_numbers_of_a_flow_are_consecutive_and_begin_again_behind_the_last_one() -> None:
    """NCC-18: also where packets of the flow were held; a CNP has 0 and takes none."""
    trace = [(cycle, host, to, 0, BIG) for cycle in range(8) for host, to in ((0, 3), (1, 3), (2, 3), (2, 4))]

    net = network(trace, AT_ONCE, 2000, first_psn=LAST_PSN - 2)

    assert net.pacing.counts[:, HELD].sum() > 0
    rows = net.meters.trace[: net.meters.traced[0]]
    data, cnps = rows[rows[:, 11] < BECN], rows[rows[:, 11] >= BECN]
    for host, to in ((0, 3), (1, 3), (2, 3), (2, 4)):
        flow = data[(data[:, 0] == host) & (data[:, 1] == to)]
        assert flow[:, 12].tolist() == [LAST_PSN - 2, LAST_PSN - 1, LAST_PSN, 0, 1, 2, 3, 4]
    assert len(cnps) > 0
    assert not cnps[:, 12].any()


def test_a_sequence_number_that_differs_makes_another_digest() -> None:
    """The digest is of every delivery with its number."""
    first, second = (network(TWO_TO_ONE, AT_ONCE, 400, first_psn=number).meters.digest[0] for number in (0, 1))

    assert first != second
