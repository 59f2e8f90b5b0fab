"""Cables with lengths and rates of their own, and NIC buffer sizes, against the plain networks."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import assert_refused, call
from tests.network.networks import IDENTITY, made, replayed
from tests.network.plain_by_name import plain_serve
from vlane.errors import InputError
from vlane.golden.network.assembly import PortSettings
from vlane.golden.network.buffers import Buffers
from vlane.golden.network.state import Network
from vlane.golden.plain.credits import Credits
from vlane.golden.plain.fifo import FifoSwitch
from vlane.golden.plain.link import Sizes
from vlane.golden.plain.network import PlainNetwork, Switch, Tables
from vlane.golden.plain.opa import ChannelTables, PlainOPANetwork
from vlane.golden.plain.per_vl import PerVLSwitch
from vlane.golden.plain.traffic import packets_of, random_trace
from vlane.golden.topologies.cabling import CableForm
from vlane.golden.topologies.routing import up_down, with_channels
from vlane.golden.topologies.topology import Topology, dumbbell, irregular
from vlane.golden.traffic.classes import TrafficClass
from vlane.golden.traffic.messages import new_messages
from vlane.golden.traffic.sources import advance_class, draw_packet
from vlane.sim_top.cosim.network_hardware import hardware_parameters
from vlane.sim_top.scenario.world import make_world
from vlane.study.file import read_study_file

_CYCLES = 800
_LANES = 2
_PACES = (65536, 65537, 98304, 131072)
_RR = PortSettings("rr", {"requesters": 0})
_TOPOLOGIES = {"dumbbell": dumbbell(3, 3), "irregular": irregular(4, ports=6, hosts=2, seed=4)}
_FORMS: dict[str, dict[str, Any]] = {
    "turns": {},
    "fifo": {"allocation": "fifo"},
    "per_vl": {"crossbar": "per_vl"},
    "fcp": {"credit": "fcp", "fcp_blocks": 2, "fcp_period": 60},
    "sideband": {"credit": "sideband", "fcp_period": 30},
}
_SWITCHES: dict[str, type[Switch]] = {"fifo": FifoSwitch, "per_vl": PerVLSwitch}
STUDY = """
[network]
topology = "dumbbell"
left = 3
right = 2
[[traffic]]
sl = 0
{cable}
[run]
loads = [0.4]
cycles = 4000
warm_up_cycles = 1000
"""


def _random_cables(topology: Topology, source: random.Random) -> dict[tuple[int, int], CableForm]:
    """Return a random flight time and rate for about two of three cables, keyed by either end."""
    ends = [*topology.hosts, *(source.choice(cable) for cable in topology.cables)]
    return {
        end: CableForm(source.randrange(1, 20), source.choice((*_PACES, source.randrange(65536, 400000))))
        for end in ends
        if source.random() < 0.7
    }


def _plain_cables(plain: PlainNetwork, cables: dict[tuple[int, int], CableForm]) -> None:
    for end, form in cables.items():
        plain.set_cable(end, form.flight_cycles, Fraction(form.pace, 65536))


@pytest.mark.parametrize("topology", _TOPOLOGIES)
@pytest.mark.parametrize(
    ("form", "flit_bytes"),
    [
        ("turns", 64),
        pytest.param("fcp", 16, marks=pytest.mark.long),
        pytest.param("turns", 8, marks=pytest.mark.long),
        pytest.param("fifo", 64, marks=pytest.mark.long),
        pytest.param("per_vl", 16, marks=pytest.mark.long),
        pytest.param("sideband", 64, marks=pytest.mark.long),
        pytest.param("fcp", 64, marks=pytest.mark.long),
    ],
)
def test_cables_and_nic_buffers_are_those_of_the_plain_network(form: str, flit_bytes: int, topology: str) -> None:
    """Given random cables and larger NIC buffers, each delivery equals the plain network's."""
    net_of, source = _TOPOLOGIES[topology], random.Random(sum(map(ord, form + topology)) + flit_bytes)  # noqa: S311 - repeatable
    routes, apart = up_down(net_of, IDENTITY), form not in {"turns", "fifo"}
    blocks = 16 * _LANES if apart else 20 + source.randrange(20)
    least = (blocks // _LANES if apart else 8,) * _LANES
    most = tuple(blocks - sum(least) + each for each in least)
    nic = Buffers(50, least, tuple(50 - sum(least) + each for each in least), (8,) * _LANES)
    cables = _random_cables(net_of, source)
    trace = random_trace(len(net_of.hosts), range(_LANES), source, 64 / flit_bytes * 0.3, _CYCLES // 2)
    trace = trace[: len(trace) * flit_bytes // 64]
    net = made(
        net_of,
        routes,
        lanes=_LANES,
        trace=trace,
        cycles=_CYCLES,
        largest=8,
        blocks=blocks,
        minimum=least[0],
        nic=nic,
        cables=cables,
        flit_bytes=flit_bytes,
        flight=3,
        **_FORMS[form],
    )
    sizes = Sizes(blocks, least, most, (8,) * _LANES, 64 // flit_bytes)
    told = _FORMS[form]
    by_fcps = Credits(form == "sideband", told.get("fcp_blocks", 0), told["fcp_period"]) if "credit" in told else None
    plain = PlainNetwork(
        net_of.far_ends(),
        net_of.hosts,
        Tables(routes.lft, routes.vl, routes.nic_vl, routes.by_lane),
        sizes,
        packets_of(trace, routes, flit_bytes),
        lambda: plain_serve(_RR, _LANES),
        3,
        _SWITCHES.get(form, Switch),
        by_fcps,
    )
    _plain_cables(plain, cables)
    plain.set_nic_sizes(Sizes(50, nic.minimum, nic.maximum, nic.largest, 64 // flit_bytes))

    got = sorted(each for each in replayed(net, _CYCLES) if each.delivered < _CYCLES)

    assert len(got) > 40
    assert got == plain.run(_CYCLES)


@pytest.mark.parametrize(("given", "step"), [(None, 10), (1, 1), (7, 7)])
@pytest.mark.parametrize("credit", ["fcp", "sideband"])
def test_an_fcp_is_due_after_a_quarter_of_the_partition_by_default(credit: str, given: int | None, step: int) -> None:
    """Given VLs of 43 blocks, a limit is reported after 10 blocks, or after the given growth."""
    topology = dumbbell(2, 1)
    routes = up_down(topology, IDENTITY)
    net = made(topology, routes, lanes=2, cycles=10, blocks=86, minimum=43, credit=credit, fcp_blocks=given)

    assert net.out_ports.remote_credit.fcp_blocks.tolist() == [step, step]


def test_cables_are_those_of_the_plain_hierarchy() -> None:
    """Given random cables in an Omni-Path network, each delivery equals the plain network's."""
    topology, source = dumbbell(5, 6), random.Random(3)  # noqa: S311 - a repeatable choice
    fold = tuple(15 if channel == 15 else channel % _LANES for channel in range(32))
    routes = with_channels(topology, up_down(topology, IDENTITY), tuple(range(32)), fold, data_vls=_LANES)
    cables = _random_cables(topology, source)
    trace = random_trace(11, range(_LANES), source, 0.3, _CYCLES)
    net = made(
        topology, routes, lanes=_LANES, trace=trace, cycles=_CYCLES, largest=8, blocks=30, cables=cables, central=40
    )
    sizes, centre = (Sizes(whole, (8,) * 2, (whole - 8,) * 2, (8,) * 2) for whole in (30, 40))
    tables = ChannelTables(routes.lft, routes.sc2sc, routes.sc2vl, routes.nic_channel, routes.nic_vl)
    packets = packets_of(trace, routes, 64)
    plain = PlainOPANetwork(
        topology.far_ends(), topology.hosts, tables, sizes, centre, packets, lambda: plain_serve(_RR, _LANES)
    )
    _plain_cables(plain, cables)

    got = sorted(each for each in replayed(net, _CYCLES) if each.delivered < _CYCLES)

    assert len(got) > 100
    assert got == plain.run(_CYCLES)


def test_connections_are_those_of_the_plain_network() -> None:
    """Given connection sources with bursts to one host, each delivery equals the plain network's."""
    topology, routes = _TOPOLOGIES["irregular"], up_down(_TOPOLOGIES["irregular"], IDENTITY)
    classes = [
        TrafficClass(0, 0.3, 64, 512, pattern="connections", burst=3),
        TrafficClass(1, 0.2, 1, 64, burst=4, burst_to_one=True, regular=True),
    ]
    trace = _generated(made(topology, routes, lanes=_LANES, classes=classes, cycles=_CYCLES, largest=8))
    net = made(topology, routes, lanes=_LANES, trace=trace, cycles=_CYCLES, largest=8, blocks=24)
    sizes = Sizes(24, (8,) * 2, (16,) * 2, (8,) * 2)
    plain = PlainNetwork(
        topology.far_ends(),
        topology.hosts,
        Tables(routes.lft, routes.vl, routes.nic_vl, routes.by_lane),
        sizes,
        packets_of(trace, routes, 64),
        lambda: plain_serve(_RR, _LANES),
    )

    got = sorted(each for each in replayed(net, _CYCLES) if each.delivered < _CYCLES)

    assert len({(row[1], row[2]) for row in trace if row[3] == 0}) == len(topology.hosts)
    assert len(got) > 100
    assert got == plain.run(_CYCLES)


def _generated(net: Network) -> list[tuple[int, ...]]:
    """Return (cycle, source, destination, SL, bytes) of every generated packet."""
    rows, sources, messages = [], net.sources, new_messages(0)
    for nic in range(len(sources.due)):
        for number in range(sources.due.shape[1]):
            while sources.due[nic, number] < _CYCLES:
                to, _, sl, size, _, _ = draw_packet(sources, messages, nic, number)
                cycle = int(sources.due[nic, number])
                rows.append((cycle, nic, int(to), int(sl), int(size)))
                advance_class(sources, messages, nic, number, cycle)
    return rows


def _study(tmp_path: Path, cable: str) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(cable=cable))
    return file


def test_a_slow_cable_carries_its_part(tmp_path: Path) -> None:
    """Given two of five hosts on cables of relative rate 0.3, accepted load stays below (3 + 0.6) / 5."""
    study = _study(tmp_path, "[[cable]]\nhosts = [3, 4]\nrelative_rate = 0.3\nflight_cycles = 9")
    study.write_text(study.read_text().replace("loads = [0.4]", "loads = [1.0]"))

    called = call("simulate", study, "--out", tmp_path / "out", "--json")

    assert called.status == 0, called.err
    run = json.loads(called.out)["runs"][0]
    assert 0.3 < run["accepted"] < 0.72
    assert run["host_link_utilisation_max"] > 0.35


def test_hardware_takes_lengths_but_no_rates(tmp_path: Path) -> None:
    """Hardware supports cable lengths of their own, while a relative rate below 1 is refused."""
    long = "[[cable]]\nhosts = [0]\nflight_cycles = 9\n[link]\ndata_vls = 2\n[buffers]\nblocks = 8\n"
    hardware_parameters(_world(_study(tmp_path, long)))
    with pytest.raises(InputError, match=r"cable\.0\.relative_rate must be 1 for switches in hardware, not 0\.5"):
        hardware_parameters(_world(_study(tmp_path, long.replace("flight_cycles = 9", "relative_rate = 0.5"))))


def _world(file: Path) -> Any:
    study = read_study_file(file)
    return make_world(study.study, study.base)


@pytest.mark.parametrize(
    ("cable", "words"),
    [
        ("[[cable]]\nhosts = [5]\nflight_cycles = 2", ["cable.0.hosts", "0 to 4", "5"]),
        ("[[cable]]\nswitch = 2\nport = 1\nflight_cycles = 2", ["cable.0.switch", "0 to 1", "2"]),
        ("[[cable]]\nswitch = 0\nport = 5\nflight_cycles = 2", ["cable.0.port", "with a cable", "5"]),
        ("[[cable]]\nswitch = 0\nflight_cycles = 2", ["port", "is missing: it is required with switch"]),
        ("[[cable]]\nport = 1\nhosts = [1]\nflight_cycles = 2", ["port", "cannot be used without switch"]),
        ("[[cable]]\nflight_cycles = 2", ["hosts", "is missing: give hosts, or switch and port"]),
        ("[[cable]]\nhosts = [1]", ["flight_cycles", "is missing: give flight_cycles or relative_rate"]),
        ("[[cable]]\nhosts = [1]\nrelative_rate = 0.001", ["relative_rate", "0.015625", "0.001"]),
        (
            "[[cable]]\nhosts = [1]\nflight_cycles = 2\n" * 2,
            ["cable.1.hosts", "the cable at switch 0 port 2 already has a [[cable]] section", "switch 0 port"],
        ),
        ("[buffers]\nnic_blocks = 0", ["nic_blocks", "1"]),
        ("[buffers]\nlargest_blocks = 4\nnic_blocks = 2", ["buffers.nic_blocks", "at least 4", "2"]),
        (
            "[buffers]\nnic_minimum_blocks = [1, 2]",
            ["buffers.nic_minimum_blocks", "must be one number or 1 (one per VL), not 2 numbers"],
        ),
        (
            "[switch]\ncentral_minimum_blocks = 4",
            ["switch.central_minimum_blocks", "cannot be used with switch.kind ib", "ib"],
        ),
        ('[switch]\nkind = "opa"\ncentral_minimum_blocks = 4\ncentral_blocks = 3', ["central_blocks", "at least 4"]),
    ],
)
def test_bad_cables_and_buffers_are_refused(cable: str, words: list[str], tmp_path: Path) -> None:
    """Given an invalid cable or buffer, the command prints one line and writes no results."""
    assert_refused(call("simulate", _study(tmp_path, cable), "--out", tmp_path / "out"), *words)
    assert not (tmp_path / "out" / "results.parquet").exists()
