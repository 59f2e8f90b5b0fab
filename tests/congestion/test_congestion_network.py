"""Congestion control in the compiled network against the plain model: deliveries and counters."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.congestion.congestion_case import KINDS, Case, case_of, compared, received_by, run
from vlane.golden.plain.congestion_settings import HostsWrite, MarkerWrite
from vlane.golden.plain.pacing import Level
from vlane.golden.plain.starvation import CreditReturn, StarvationWrite

BUSY = {"plain": (6, 7, 15, 33), "inputs": (7, 8, 10, 26, 32), "speed": (25, 26, 31), "fcp": (3, 19, 27)}
"""Seeds of networks that mark and hold packets and return CNPs."""
LOSING = [
    ("fcp", 27),
    ("inputs", 7),
    ("inputs", 8),
    ("inputs", 10),
    ("inputs", 26),
    ("inputs", 32),
    ("speed", 25),
    ("speed", 26),
    ("fcp", 19),
]
"""Networks in which some BECNs also find no free entry."""


def first_of(seeds_of: Mapping[str, Sequence[int]], *, long: Collection[str] = ()) -> list[Any]:
    """Return (kind, seed) pairs: the first seed of each kind, and as long tests the other seeds and some kinds."""
    return [
        pytest.param(kind, seed, marks=[pytest.mark.long] * (seed != seeds[0] or kind in long))
        for kind, seeds in seeds_of.items()
        for seed in seeds
    ]


@pytest.mark.parametrize(("kind", "seed"), first_of(BUSY))
def test_every_delivery_and_count_is_that_of_the_plain_network(kind: str, seed: int) -> None:
    """Given busy networks, each delivery, FECN, BECN and counter equals the plain model's.

    Every case marks packets, sends CNPs and holds packets.
    """
    counts = compared(case_of(seed, kind))

    assert min(counts.marked, counts.fecns, counts.cnps, counts.becns, counts.held) > 0
    assert (counts.lost > 0) == ((kind, seed) in LOSING)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_every_delivery_of_a_random_network_is_that_of_the_plain_one(seed: int, kind: str) -> None:
    """Given random networks, each delivery and counter equals the plain model's."""
    compared(case_of(seed, kind))


def written(case: Case, seed: int) -> Case:
    """Return a case with settings for ports and SLs that are rewritten during the run."""
    source = random.Random(f"written {seed}")  # noqa: S311 - a repeatable choice
    ends, cycles = [*case.topology.far_ends(), *case.topology.hosts], case.cycles

    def element() -> tuple[int, int, int]:
        return source.choice((0, 4, 12, 15, 15)), source.choice((0, 0, 3)), source.choice((0, 1, 2))

    def level() -> Level:
        return Level(source.choice((1, 3)), source.choice((1, 2, 4)), source.choice((0, 2)), source.choice((0, 0, 1)))

    def marker_write() -> MarkerWrite:
        cycle, (switch, port) = source.randrange(cycles), source.choice(ends)
        ports = [each for each in range(case.topology.ports) if source.random() < 0.5]
        return source.choice(
            (
                MarkerWrite(cycle, switch, mask=ports),
                MarkerWrite(cycle, switch, limits=element()[:2]),
                MarkerWrite(cycle, switch, rate=element()[2]),
                MarkerWrite(cycle, switch, element=(port, element() if source.random() < 0.7 else None)),
            )
        )

    of_sl = {sl: level() for sl in range(case.lanes) if source.random() < 0.7}
    settings = replace(case.settings, of_sl=of_sl, elements={end: element() for end in ends if source.random() < 0.3})
    hosts = []
    for cycle in sorted(source.sample(range(cycles), 40)):
        kind, values = source.choice(("port_control", "ccti_limit", "of_sl", "of_sl", "table")), {}
        if kind == "of_sl":
            of_sl = {**of_sl, source.randrange(case.lanes): level()}
            values = {"of_sl": of_sl}
        elif kind == "table":
            values = {"table": _table(source, len(settings.table))}
        elif kind == "port_control":
            values = {"port_control": source.randrange(2)}
        else:
            values = {"ccti_limit": source.randrange(3, len(settings.table))}
        hosts.append(HostsWrite(cycle, values))
    return replace(
        case, settings=settings, marker_writes=tuple(marker_write() for _ in range(60)), host_writes=tuple(hosts)
    )


def _table(source: random.Random, entries: int) -> Sequence[tuple[int, int]]:
    return [(shift := source.randrange(4), (i << shift) // source.choice((1, 2, 4))) for i in range(entries)]


WRITTEN = {"plain": (6, 7, 15, 33), "inputs": (7, 10), "speed": (25, 31), "fcp": (3, 27)}
"""Seeds of networks whose results depend on the writes."""


@pytest.mark.parametrize(("kind", "seed"), first_of(WRITTEN))
def test_settings_of_ports_and_sls_that_are_written_under_traffic_are_those_of_the_plain_network(
    kind: str, seed: int
) -> None:
    """Given settings rewritten under traffic, deliveries and counters equal the plain model's.

    Without the writes, the counters differ.
    """
    case = written(case_of(seed, kind), seed)

    counts = compared(case)

    assert min(counts.marked, counts.cnps, counts.becns, counts.held) > 0
    assert counts != run(replace(case, marker_writes=(), host_writes=()).plain(), case.cycles)[1]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_random_networks_with_settings_written_under_traffic(seed: int, kind: str) -> None:
    """Given random networks with settings rewritten under traffic, both models agree."""
    compared(written(case_of(seed, kind), seed))


def hosts_apart(case: Case, seed: int) -> Case:
    """Return a case with settings for single hosts, some of which are rewritten during the run."""
    source = random.Random(f"hosts {seed}")  # noqa: S311 - a repeatable choice
    hosts, entries = range(len(case.topology.hosts)), len(case.settings.table)

    def levels() -> dict[int, Level]:
        return {
            sl: Level(source.choice((1, 3)), source.choice((0, 1, 4)), source.choice((0, 2)), source.choice((0, 1)))
            for sl in range(case.lanes)
        }

    def settings() -> dict[str, Any]:
        found = {
            "of_sl": levels(),
            "table": _table(source, entries),
            "port_control": source.randrange(2),
            "ccti_limit": source.randrange(3, entries),
        }
        return {name: found[name] for name in source.sample(sorted(found), source.randrange(1, 5))}

    own = {host: {"of_sl": levels(), **settings()} for host in hosts if source.random() < 0.5}
    writes = [
        HostsWrite(
            cycle, settings(), source.choice((None, [host for host in hosts if source.random() < 0.5] or [hosts[-1]]))
        )
        for cycle in sorted(source.sample(range(case.cycles // 2, case.cycles), 12))
    ]
    changed = replace(case.settings, of_sl=levels(), of_host=own)
    return replace(case, settings=changed, host_writes=tuple(writes))


APART = {"plain": (24, 25), "inputs": (8, 26), "speed": (25, 31), "fcp": (3, 27)}
"""Seeds of networks whose results depend on settings of single hosts."""


@pytest.mark.parametrize(("kind", "seed"), first_of(APART))
def test_settings_of_single_hosts_are_those_of_the_plain_network(kind: str, seed: int) -> None:
    """Given settings of single hosts, deliveries and counters equal the plain model's.

    With common settings, or with writes applied to all hosts, the deliveries differ.
    """
    case = hosts_apart(case_of(seed, kind), seed)

    counts = compared(case)

    assert min(counts.marked, counts.cnps, counts.becns, counts.held) > 0
    usual = replace(case, settings=replace(case.settings, of_host={}))
    assert received_by(usual.golden(), case.cycles) != received_by(case.golden(), case.cycles)
    everywhere = replace(case, host_writes=tuple(each._replace(hosts=None) for each in case.host_writes))
    assert received_by(everywhere.golden(), case.cycles) != received_by(case.golden(), case.cycles)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_random_networks_with_settings_of_single_hosts(seed: int, kind: str) -> None:
    """Given random networks with settings of single hosts, both models agree."""
    compared(hosts_apart(case_of(seed, kind), seed))


def starved(case: Case, seed: int, *, written: bool) -> Case:
    """Return a case whose switches withhold credits, with elements for single ports."""
    source = random.Random(f"starved {seed}")  # noqa: S311 - a repeatable choice
    ends = [*case.topology.far_ends(), *case.topology.hosts]

    def rule() -> CreditReturn:
        return CreditReturn(source.choice((0, 8, 14, 15, 15)), source.randrange(4), source.choice((0, 5, 16, 40, 90)))

    def write() -> StarvationWrite:
        cycle, (switch, port) = source.randrange(case.cycles), source.choice(ends)
        ports = [each for each in range(case.topology.ports) if source.random() < 0.7]
        return source.choice(
            (
                StarvationWrite(cycle, switch, mask=ports),
                StarvationWrite(cycle, switch, of_switch=rule()),
                StarvationWrite(cycle, switch, element=(port, rule() if source.random() < 0.7 else None)),
            )
        )

    elements = {end: rule() for end in ends if source.random() < 0.2}
    settings = replace(
        case.settings,
        starves=True,
        credit_mask=source.choice(("all", "all", "hosts")),
        credit_elements=elements,
        credit_return=CreditReturn(15, source.randrange(3), source.choice((6, 20, 50))),
        elements={end: values for end, values in case.settings.elements.items() if end not in elements},
    )
    return replace(case, settings=settings, starvation_writes=tuple(write() for _ in range(40 * written)))


STARVED = {"plain": (6, 15), "inputs": (8,), "speed": (25, 31), "fcp": (3, 27)}
"""Seeds of networks that withhold credits."""


@pytest.mark.parametrize("written", [False, True], ids=["", "written"])
@pytest.mark.parametrize(("kind", "seed"), first_of(STARVED, long=("speed", "fcp")))
def test_room_that_is_held_back_is_that_of_the_plain_network(kind: str, seed: int, written: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Given switches that withhold credits, deliveries and counters equal the plain model's.

    Without credit starvation, the deliveries differ.
    """
    case = starved(case_of(seed, kind), seed, written=written)

    compared(case)

    plain = case.plain()
    plain.run(case.cycles)
    assert plain.withheld > 0
    free = replace(case, settings=replace(case.settings, starves=False), starvation_writes=())
    assert received_by(free.golden(), case.cycles) != received_by(case.golden(), case.cycles)


@pytest.mark.long
@pytest.mark.parametrize("written", [False, True], ids=["", "written"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(40))
def test_random_networks_that_hold_room_back(seed: int, kind: str, written: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Given random networks that withhold credits, both models agree."""
    compared(starved(case_of(seed, kind), seed, written=written))


PORTS = {"plain": (7, 15), "inputs": (8, 26), "speed": (26,), "fcp": (19,)}
"""Seeds of networks whose results depend on gaps per port."""


@pytest.mark.parametrize(("kind", "seed"), first_of(PORTS))
def test_ports_with_one_gap_for_all_flows_are_those_of_the_plain_network(kind: str, seed: int) -> None:
    """Given one gap per port for all flows, deliveries equal the plain model's and no packet is held.

    With gaps per flow, the deliveries differ.
    """
    case = written(case_of(seed, kind), seed)
    by_port = replace(case, settings=replace(case.settings, by_port=True))

    counts = compared(by_port)

    assert min(counts.marked, counts.cnps, counts.becns) > 0
    assert counts.held == 0
    assert received_by(by_port.golden(), case.cycles) != received_by(case.golden(), case.cycles)
