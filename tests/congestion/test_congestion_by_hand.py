"""Congestion control in golden, against cycles computed by hand from ``docs/congestion.md``.

Hosts 0 to 2 send to host 3 of the same switch or to host 4 behind another switch. A packet of n flits injected in cycle
t without waiting is received by host 3 in cycle t + 7 + n - 1 and by host 4 in cycle t + 12 + n - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.network.networks import IDENTITY, made, run_to
from vlane.golden.network.buffers import Buffers
from vlane.golden.network.congestion import Congestion, masked_ports
from vlane.golden.network.meters import TRACE_BORN, TRACE_BTH, TRACE_DELIVERED, TRACE_PSN, TRACE_SOURCE, TRACE_TARGET
from vlane.golden.network.pacing import HELD
from vlane.golden.network.state import Network
from vlane.golden.switches.marking import note_link_pause
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
"""A VL is over its limit from 17 blocks on. After a BECN, a flow sends one packet of one block every 8 cycles."""

Row = tuple[int, int, int, int]


@pytest.mark.parametrize(
    ("mask", "first", "second"),
    [
        ("none", set(), set()),
        ("all", {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}),
        ("hosts", {0, 1, 2, 3}, {0}),
        (0b1, set(), set()),
        (0b10, {0}, {0}),
        (0b110100, {1, 3, 4}, {1, 3, 4}),
    ],
)
def test_bit_1_of_a_mask_is_the_first_port(mask: str | int, first: set[int], second: set[int]) -> None:
    """Masks by name and by number select the same ports for golden, for hardware and for Credit_Mask.

    Switch 0 has hosts at ports 0 to 3, switch 1 has one at port 0. Each has five ports, numbered from 1 in a mask.
    """
    topology, settings = dumbbell(4, 1), replace(AT_ONCE, victim_mask=mask, credit_mask=mask, starves=True)
    buffers = Buffers(32, (32,), (32,), (8,))

    port_bits = 3
    state = settings.marking(topology, port_bits, buffers).markers.port["victim_mask"].reshape(2, 1 << port_bits)
    for switch, ports in enumerate((first, second)):
        bits = sum(1 << port for port in ports)
        assert masked_ports(mask, topology, switch) == ports
        assert set(state[switch].nonzero()[0].tolist()) == ports
        assert settings.writes(topology, switch)[0].victim_mask == bits
        assert settings.starvation_writes(topology, switch)[0].credit_mask == bits


def test_stalled_link_is_neither_free_nor_idle() -> None:
    """The busy level falls in the idle cycles before a stall and not during it (NCC-5).

    The link is free from cycle 10 on and stalls in cycles 15 to 24, 25 to 29, and once more within the second stall.
    """
    marking = AT_ONCE.marking(dumbbell(4, 1), 3, Buffers(32, (32,), (32,), (8,)))
    outputs = len(marking.idle_from)
    marking.markers.port[0].level, marking.idle_from[0] = 20, 10

    levels = []
    for first, end in ((15, 25), (25, 30), (28, 29)):
        for port in (0, outputs):  # ports of NICs have no markers
            note_link_pause(marking, port, first, end)
        levels.append((int(marking.markers.port[0].level), int(marking.idle_from[0])))

    assert levels == [(15, 25), (15, 30), (15, 30)]


def network(trace: Sequence[tuple[int, ...]], settings: Congestion, cycles: int, *, first_psn: int = 0) -> Network:
    """Return a network after ``cycles`` cycles, with one VL and 32 blocks in each buffer.

    Each flow starts with sequence number ``first_psn``.
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
    """Return (cycle, source, target, BTH flags) of each received packet, by cycle."""
    net = network(trace, settings, cycles)
    return sorted(
        (row[TRACE_DELIVERED], row[TRACE_SOURCE], row[TRACE_TARGET], row[TRACE_BTH])
        for row in net.meters.trace[: net.meters.traced[0]].tolist()
    )


TWO_TO_ONE = [(0, host, 3, 0, BIG) for host in (0, 1) for _ in range(4)]
"""Packets of hosts 0 and 1 start alternately at the output to host 3 in cycles 6, 14, ..., 62, at utilisation levels
0, 8, ..., 56. With five ports, the sweep visits this output in cycles 3, 8, 13, ... The visits that count for these
packets are in cycles 3, 8, 18, 23, 33, 43, 48 and 58, with 0, 8, 16, 24, 32, 24, 16 and 8 blocks waiting at the
inputs."""


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
def test_marked_packets_follow_the_rules(change: dict[str, int | str], marked: list[int]) -> None:
    """Given two senders to one host, exactly the packets predicted by the marking rules carry FECN.

    A VL is over its limit from 17 blocks at Threshold 15, and a packet does not count itself.
    """
    got = received(TWO_TO_ONE, replace(AT_ONCE, **change))  # type: ignore[arg-type]

    data = [row for row in got if row[3] != 2]
    assert data == [(14 + 8 * at, at % 2, 3, int(at in marked)) for at in range(8)]


@pytest.mark.parametrize(
    ("level_blocks", "idle_blocks", "marked"),
    [(1000, 0, [3, 4, 5]), (1000, 1, [3, 4, 5]), (1000, 2, []), (50, 1, [4, 5]), (41, 1, [5])],
)
def test_the_level_falls_while_the_link_is_idle(level_blocks: int, idle_blocks: int, marked: list[int]) -> None:
    """The utilisation level falls in idle cycles, so it decides which later packets are marked.

    The same packets repeat 100 cycles later and start at the first group's level minus 36 idle cycles.
    """
    settings = replace(AT_ONCE, busy_blocks=41, level_blocks=level_blocks, idle_blocks=idle_blocks)
    later = [(100, *packet[1:]) for packet in TWO_TO_ONE]

    got = received([*TWO_TO_ONE, *later], settings)

    first, second = ([row for row in got if row[3] != 2 and (row[0] > 100) == is_late] for is_late in (False, True))
    assert first == [(14 + 8 * at, at % 2, 3, 0) for at in range(8)]
    assert second == [(114 + 8 * at, at % 2, 3, int(at in marked)) for at in range(8)]


def test_a_cnp_comes_back_in_the_cycles_of_the_page() -> None:
    """A CNP is injected in the cycle after the marked packet's last flit and has one flit (NCC-6)."""
    got = received(TWO_TO_ONE, AT_ONCE)

    assert [row for row in got if row[3] == 2] == [(1 + at + 7, 3, to, 2) for at, to in ((38, 1), (46, 0), (54, 1))]


@pytest.mark.parametrize(("interval", "kept"), [(0, 2), (16, 2), (17, 1)])
def test_within_the_interval_no_cnp_is_made(interval: int, kept: int) -> None:
    """Within the CNP interval, no second CNP is sent (NCC-7).

    Host 1's packets with FECN arrive completely in cycles 38 and 54.
    """
    got = received(TWO_TO_ONE, replace(AT_ONCE, cnp_interval=interval))

    assert len([row for row in got if row[2:] == (1, 2)]) == kept


MARKED_ONCE = [(0, host, 3, 0, BIG) for host in (1, 2) for _ in range(4)] + [(10, 0, 3, 0, BIG)]
"""Host 0's packet starts at the output in cycle 22 (24 blocks found in 18), arrives in 30, and its CNP in 38."""


def test_becn_takes_effect_after_the_injection_of_its_cycle() -> None:
    """A BECN received in cycle 38 takes effect in cycle 39, after that cycle's injection (NCC-9).

    With one flow per SL, the undelayed packets to host 4 belong to the throttled flow. The packet of cycle 40 is the
    first to count, so the next one starts in cycle 48.
    """
    trace = [*MARKED_ONCE, *((cycle, 0, 4, 0, SMALL) for cycle in range(34, 46))]

    got = received(trace, replace(AT_ONCE, port_control=1))

    assert (38, 3, 0, 2) in got
    taken = [cycle - 12 for cycle, _, target, _ in got if target == 4]
    assert taken == [34, 35, 36, 37, 38, 39, 40, 48, 56, 64, 72, 80]


def test_a_flow_that_is_held_holds_no_other() -> None:
    """A throttled flow does not delay packets of other flows (NCC-11).

    Every second packet to host 3 waits, while packets to host 4 start as generated.
    """
    held = [(100 + 4 * at, 0, 3, 0, SMALL) for at in range(6)]
    others = [(102 + 4 * at, 0, 4, 0, SMALL) for at in range(6)]

    net = network([*MARKED_ONCE, *held, *others], AT_ONCE, 400)

    rows = net.meters.trace[: net.meters.traced[0]].tolist()
    late = sorted((row[TRACE_DELIVERED], row[TRACE_BORN], row[TRACE_TARGET]) for row in rows if row[TRACE_BORN] >= 100)
    assert [(at, born) for at, born, to in late if to == 3] == [(107 + 8 * at, 100 + 4 * at) for at in range(6)]
    assert [(at, born) for at, born, to in late if to == 4] == [(114 + 4 * at, 102 + 4 * at) for at in range(6)]


@pytest.mark.parametrize(("most", "taken"), [(1, 125), (2, 117), (3, 109), (4, 104)])
def test_a_class_stops_when_as_many_wait_as_may(most: int, taken: int) -> None:
    """A traffic class stops when ``held_packets`` packets wait for their flow (NCC-12).

    Four packets of a throttled flow start in cycles 100, 108, 116 and 124. The other flow's packet starts when a place
    becomes free.
    """
    trace = [*MARKED_ONCE, *((cycle, 0, 3, 0, SMALL) for cycle in range(100, 104)), (104, 0, 4, 0, SMALL)]

    got = received(trace, replace(AT_ONCE, held_packets=most))

    assert [cycle - 12 for cycle, _, target, _ in got if target == 4] == [taken]
    assert [cycle - 7 for cycle, source, target, _ in got if (source, target) == (0, 3)][1:] == [100, 108, 116, 124]


def _with_classes(classes: Sequence[TrafficClass], cycles: int) -> list[tuple[int, int]]:
    """Return (generation cycle, reception cycle) of each data packet of the given classes."""
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
    return [
        (row[TRACE_BORN], row[TRACE_DELIVERED])
        for row in net.meters.trace[: net.meters.traced[0]].tolist()
        if row[TRACE_BTH] < 2
    ]


def test_a_class_sends_in_its_active_cycles_only() -> None:
    """Given active cycles 500 to 1500, a class sends no packet that waited beyond its end (NCC-12)."""
    end, drained = 1500, 300
    hot = TrafficClass(sl=0, load=0.5, least_bytes=BIG, most_bytes=BIG, pattern=(3, 3, 3, -1, -1), active=((500, end),))

    got = _with_classes([hot], 4000)

    born, at = zip(*got, strict=True)
    assert len(got) > 20
    assert 500 <= min(born) <= 540
    assert max(born) < end
    assert max(at) < end + drained


def test_end_of_a_class_does_not_affect_other_classes() -> None:
    """A class without active cycles sends before, during and after another class's active cycles."""
    hot = TrafficClass(
        sl=0, load=0.5, least_bytes=BIG, most_bytes=BIG, pattern=(3, 3, 3, -1, -1), active=((500, 1500),)
    )
    always = TrafficClass(sl=0, load=0.1, least_bytes=SMALL, most_bytes=SMALL, pattern=(4, 4, 4, -1, -1))

    born = [each for each, _ in _with_classes([hot, always], 4000)]

    assert min(born) < 100
    assert max(born) > 3800


LAST_PSN = (1 << 24) - 1


def test_sequence_numbers_of_a_flow_are_consecutive_and_begin_again_behind_the_last_one() -> None:
    """A flow's sequence numbers are consecutive and wrap from 2^24 - 1 to 0 (NCC-18).

    Held packets keep their order, and CNPs use number 0 without consuming one.
    """
    trace = [(cycle, host, to, 0, BIG) for cycle in range(8) for host, to in ((0, 3), (1, 3), (2, 3), (2, 4))]

    net = network(trace, AT_ONCE, 2000, first_psn=LAST_PSN - 2)

    assert net.pacing.counts[:, HELD].sum() > 0
    rows = net.meters.trace[: net.meters.traced[0]]
    data, cnps = rows[rows[:, TRACE_BTH] < BECN], rows[rows[:, TRACE_BTH] >= BECN]
    for host, to in ((0, 3), (1, 3), (2, 3), (2, 4)):
        flow = data[(data[:, TRACE_SOURCE] == host) & (data[:, TRACE_TARGET] == to)]
        assert flow[:, TRACE_PSN].tolist() == [LAST_PSN - 2, LAST_PSN - 1, LAST_PSN, 0, 1, 2, 3, 4]
    assert len(cnps) > 0
    assert not cnps[:, TRACE_PSN].any()


def test_a_sequence_number_that_differs_makes_another_digest() -> None:
    """Given another first sequence number, the digest of deliveries differs."""
    first, second = (network(TWO_TO_ONE, AT_ONCE, 400, first_psn=number).meters.digest[0] for number in (0, 1))

    assert first != second
