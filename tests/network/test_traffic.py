"""Traffic classes: loads, connections, weights from files, senders, bursts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import assert_refused, call
from tests.network.networks import IDENTITY, made, pairs_with_traffic
from vlane.errors import InputError
from vlane.golden.network.state import Network
from vlane.golden.topologies.routing import up_down
from vlane.golden.topologies.topology import dumbbell
from vlane.golden.traffic.classes import PairWeights, TrafficClass, random_derangement
from vlane.golden.traffic.messages import new_messages
from vlane.golden.traffic.sources import NEVER, advance_class, draw_packet
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.sim_top.study.simulate import simulate
from vlane.sim_top.study.sweep import study_digest
from vlane.study.file import read_study_file
from vlane.study.traffic import Traffic, class_loads

STUDY = """
[network]
topology = "dumbbell"
left = 3
right = 2
[[traffic]]
sl = 0
{traffic}
[run]
loads = {loads}
cycles = 2000
warm_up_cycles = 200
"""
LIST = "source,destination,weight\n1,3,1\n0,2,3\n0,4,1\n"


def _sent(
    traffic: TrafficClass, cycles: int = 40_000, seed: int = 1, hosts: Iterable[int] = range(5)
) -> list[list[tuple[int, int]]]:
    """Return (generation cycle, destination) of each packet by host, for hosts of a dumbbell of five."""
    topology = dumbbell(3, 2)
    net = made(topology, up_down(topology, IDENTITY), lanes=1, classes=[traffic], cycles=cycles, seed=seed)
    return [_of_host(net, host, cycles) for host in hosts]


def _of_host(net: Network, host: int, cycles: int) -> list[tuple[int, int]]:
    found, messages = [], new_messages(0)
    while net.sources.due[host, 0] < cycles:
        found.append((int(net.sources.due[host, 0]), draw_packet(net.sources, messages, host, 0)[0]))
        advance_class(net.sources, messages, host, 0, found[-1][0])
    return found


def test_loads_of_classes() -> None:
    """Classes with own loads come first, shares divide the rest, and ranges follow the run's load."""
    fixed, rising = Traffic(load=0.2), Traffic(load=[0.1, 0.7])
    falling = Traffic(load=[0.3, 0.2])

    assert class_loads([Traffic(share=0.25), Traffic(share=0.75)], 0.8) == pytest.approx([0.2, 0.6])
    assert class_loads([fixed, Traffic(share=0.25), Traffic(share=0.75)], 1.0) == pytest.approx([0.2, 0.2, 0.6])
    assert class_loads([fixed, Traffic()], 0.2) == pytest.approx([0.2, 0.0])
    assert class_loads([fixed], 0.2) == [0.2]
    for part in (0, 0.25, 1):
        loads = class_loads([fixed, rising, falling], 0.6 + 0.5 * part)
        assert loads == pytest.approx([0.2, 0.1 + 0.6 * part, 0.3 - 0.1 * part])


@pytest.mark.parametrize("capacity", [1, 3, 40])
@pytest.mark.parametrize("burst", [1, 5])
def test_a_full_application_queue_delays_generation(capacity: int, burst: int) -> None:
    """A packet enters a queue of limited capacity once the packet ``capacity`` places before it has left (NET-1).

    The gaps between bursts are those of an unbounded queue with the same random sequence.
    """
    unbounded = TrafficClass(0, 0.5, 64, 64, burst=burst)
    arrivals = [cycle for cycle, _ in _sent(unbounded, 3000, hosts=[0])[0]]
    topology = dumbbell(3, 2)
    bounded = replace(unbounded, queue_packets=capacity)
    sources = made(topology, up_down(topology, IDENTITY), lanes=1, classes=[bounded], cycles=1, seed=1).sources
    messages, left, born = new_messages(0), [-1], [arrivals[0]]
    for number in range(1, len(arrivals)):
        left.append(max(left[-1] + (1, 4, 9)[number % 3], born[-1]))
        due = born[-1] + arrivals[number] - arrivals[number - 1]
        born.append(max(due, left[number - capacity + 1]) if number >= capacity else due)
        draw_packet(sources, messages, 0, 0)
        advance_class(sources, messages, 0, 0, left[-1])
        assert sources.due[0, 0] == born[-1], number
    waited = [b - a for a, b in zip(arrivals, born, strict=True)]
    assert max(waited) > 1000, "the queue was full for most of the time"


def test_bounded_application_queues_bound_latency(tmp_path: Path) -> None:
    """With ``queue_packets``, hosts at an overloaded link generate what the link carries, and latency stays small."""
    study = STUDY.format(
        traffic="hosts = [0, 1, 2]\npattern = 'list'\nfile = 'pairs.csv'{}\n[buffers]\nblocks = 64", loads=[0.9]
    )
    (tmp_path / "pairs.csv").write_text("source,destination\n0,3\n1,3\n2,3\n")
    rows = []
    for text in ("", "\nqueue_packets = 2"):
        (tmp_path / "study.toml").write_text(study.format(text))
        file = read_study_file(tmp_path / "study.toml")
        rows.append(simulate(make_world(file.study, file.base), load=0.9, seed=1)[0].per_sl[0])
    unbounded, bounded = rows

    assert unbounded.offered == pytest.approx(0.54, abs=0.02)
    assert bounded.offered == pytest.approx(0.2, abs=0.01)
    assert bounded.accepted == pytest.approx(unbounded.accepted, abs=0.002)
    assert bounded.latency_max_cycles < unbounded.latency_max_cycles / 3


@pytest.mark.parametrize(
    ("traffic", "load", "words"),
    [
        ([Traffic(share=0.5)], 1.0, ["traffic: the sum of the shares is 0.5"]),
        ([Traffic(load=0.4), Traffic()], 0.3, ["run.loads", "at least 0.4", "0.3"]),
        ([Traffic(load=0.4)], 0.3, ["run.loads", "0.4, the sum", "0.3"]),
        ([Traffic(load=[0.1, 0.4]), Traffic(load=0.1)], 0.51, ["run.loads", "0.2 to 0.5", "0.51"]),
        ([Traffic(load=[0.1, 0.4]), Traffic()], 0.5, ["traffic", "every class needs a load instead of a share"]),
        ([Traffic(load=[0.1, 0.4]), Traffic(load=[0.4, 0.1])], 0.5, ["traffic", "the same sum at both ends, 0.5"]),
    ],
)
def test_loads_that_classes_cannot_make_are_refused(traffic: list[Traffic], load: float, words: list[str]) -> None:
    """Given a load the classes cannot sum to, the error names the possible load."""
    with pytest.raises(InputError) as refused:
        class_loads(traffic, load)
    for word in words:
        assert word in str(refused.value)


def test_connections_are_every_derangement_alike() -> None:
    """Connections of four hosts are uniform over the nine derangements.

    Over 3,600 seeds, each is drawn 320 to 480 times.
    """
    found = Counter(tuple(random_derangement(4, seed, 0).tolist()) for seed in range(3600))

    assert len(found) == 9
    assert all(all(to != host for host, to in enumerate(each)) for each in found)
    assert all(sorted(each) == [0, 1, 2, 3] for each in found)
    assert all(320 < count < 480 for count in found.values())
    with pytest.raises(InputError, match="needs at least 2 hosts"):
        random_derangement(1, 0, 0)


def test_a_connection_is_kept() -> None:
    """All packets of a host go to a single destination, which varies with seed and class."""
    traffic = TrafficClass(0, 0.3, 64, 64, pattern="connections")
    to = [{each for _, each in sent} for sent in _sent(traffic, 2000)]

    assert [len(each) for each in to] == [1] * 5
    assert sorted(each for one in to for each in one) == list(range(5))
    assert all(host not in each for host, each in enumerate(to))
    assert [{each for _, each in sent} for sent in _sent(traffic, 2000)] == to
    assert len({tuple(random_derangement(5, seed, number)) for seed in range(4) for number in range(4)}) > 4


def test_weights_say_load_and_destination() -> None:
    """A host's load follows the sum of its weights, and its destinations follow each weight.

    The mean over sending hosts is the class's load.
    """
    weights = PairWeights(np.array([0, 0, 1, 3]), np.array([2, 4, 3, 0]), np.array([3.0, 1.0, 2.0, 6.0]))
    sent = _sent(TrafficClass(0, 0.4, 128, 128, pattern=weights))

    for host, (load, shares) in enumerate([(0.4, {2: 0.75, 4: 0.25}), (0.2, {3: 1}), (0, {}), (0.6, {0: 1}), (0, {})]):
        found = Counter(to for _, to in sent[host])
        assert 2 * len(sent[host]) / 40_000 == pytest.approx(load, rel=0.05)
        assert set(found) == set(shares)
        for to, share in shares.items():
            assert found[to] / len(sent[host]) == pytest.approx(share, abs=0.02)


def test_weights_that_a_host_cannot_send_are_refused() -> None:
    """Given weights that require more than one flit per cycle of a host, the class is refused."""
    weights = PairWeights(np.array([0, 1]), np.array([1, 0]), np.array([1.0, 0.0001]))
    with pytest.raises(InputError, match=r"at most 0\.5.*host 0"):
        _sent(TrafficClass(0, 0.6, 64, 64, pattern=weights), 10)


def test_only_some_hosts_send() -> None:
    """Given ``senders``, only these hosts generate packets."""
    sent = _sent(TrafficClass(0, 0.5, 64, 64, senders=(1, 4)))

    assert [bool(each) for each in sent] == [False, True, False, False, True]
    assert len(sent[4]) / 40_000 == pytest.approx(0.5, rel=0.05)
    topology = dumbbell(3, 2)
    net = made(
        topology,
        up_down(topology, IDENTITY),
        lanes=1,
        classes=[TrafficClass(0, 0.5, 64, 64, senders=(1, 4))],
        cycles=10,
    )
    assert (net.sources.due[0] == NEVER).all()


@pytest.mark.parametrize("hot", [0.0, 0.5])
def test_a_burst_goes_to_one_destination(hot: float) -> None:
    """With ``burst_to_one``, all packets of a burst go to the destination of its first packet."""
    traffic = TrafficClass(0, 0.5, 64, 64, burst=4, hot_share=hot, hot_hosts=(3,))
    one = TrafficClass(0, 0.5, 64, 64, burst=4, burst_to_one=True, hot_share=hot, hot_hosts=(3,))

    (separate,), (whole,) = _sent(traffic, hosts=[0]), _sent(one, hosts=[0])

    assert not _whole_bursts(separate)
    assert _whole_bursts(whole)
    found = Counter(to for _, to in whole)
    assert found[3] / found.total() == pytest.approx(hot + (1 - hot) / 5, abs=0.03)
    assert len(found) == 5


def _whole_bursts(sent: list[tuple[int, int]]) -> bool:
    bursts = [sent[at : at + 4] for at in range(0, len(sent) - 4, 4)]
    assert all(sooner[-1][0] < later[0][0] for sooner, later in pairwise(bursts))
    return all(len({to for _, to in burst}) == 1 for burst in bursts)


@pytest.mark.parametrize(
    ("traffic", "pairs"),
    [
        (TrafficClass(0, 0.5, 64, 64, pattern="connections"), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
        (TrafficClass(0, 0.5, 64, 64, pattern="connections", senders=(1,)), [[0, 0, 0], [1, 0, 1], [0, 0, 0]]),
        (
            TrafficClass(0, 0, 64, 64, pattern=PairWeights(np.array([0, 2]), np.array([2, 1]), np.ones(2))),
            [[0, 0, 1], [0, 0, 0], [0, 1, 0]],
        ),
    ],
    ids=["connections", "one_sends", "weights"],
)
def test_pairs_that_any_seed_and_load_may_draw(traffic: TrafficClass, pairs: list[list[int]]) -> None:
    """Path checks cover each pair that any seed and load could draw, even at load 0."""
    topology = dumbbell(2, 1)
    net = made(topology, up_down(topology, IDENTITY), lanes=1, classes=[traffic], cycles=100)

    assert pairs_with_traffic(net).astype(int).tolist() == pairs


@pytest.mark.parametrize("pattern", ["list", "matrix"])
def test_pairs_come_from_a_file(pattern: str, tmp_path: Path) -> None:
    """A list and a matrix with equal weights give equal traffic, and the digest covers the file."""
    (tmp_path / "list.csv").write_text(LIST)
    (tmp_path / "matrix.csv").write_text("0,0,3,0,1\n0,0,0,1,0\n0,0,0,0,0\n0,0,0,0,0\n0,0,0,0,0\n")
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(traffic=f'pattern = "{pattern}"\nfile = "{pattern}.csv"', loads=[0.3]))
    study = read_study_file(file)
    net = make_network(make_world(study.study, tmp_path), load=0.3, seed=1)

    assert Counter(to for _, to in _of_host(net, 0, 2000)).keys() == {2, 4}
    assert {to for _, to in _of_host(net, 1, 2000)} == {3}
    assert (net.sources.due[2:] == NEVER).all()
    before = study_digest(study.study, tmp_path)
    named = tmp_path / f"{pattern}.csv"
    named.write_text(named.read_text().replace("3", "2", 1))
    assert study_digest(study.study, tmp_path) != before


@pytest.mark.parametrize(
    ("traffic", "content", "words"),
    [
        ('pattern = "list"', LIST, ["file is missing: pattern list requires it"]),
        ('file = "pairs.csv"', LIST, ["file cannot be used with pattern uniform"]),
        ('pattern = "list"\nfile = "none.csv"', LIST, ["none.csv", "cannot be read"]),
        (
            'pattern = "list"\nfile = "pairs.csv"',
            "source,to\n0,1\n",
            ["pairs.csv: columns: destination missing (found source, to)"],
        ),
        ('pattern = "list"\nfile = "pairs.csv"', LIST + "0,5,1\n", ["pairs.csv:5", "destination", "0 to 4", "5"]),
        (
            'pattern = "list"\nfile = "pairs.csv"',
            LIST + "0,4,1\n",
            ["pairs.csv:5", "connection 0 to 4 is already listed"],
        ),
        ('pattern = "list"\nfile = "pairs.csv"', LIST + "2,4,-1\n", ["pairs.csv:5", "weight", "at least 0", "-1"]),
        ('pattern = "list"\nfile = "pairs.csv"', "source,destination,weight\n0,1,0\n", ["weight", "above 0"]),
        ('pattern = "list"\nfile = "pairs.csv"', LIST + "2,4,1e308\n", ["weight", "at most 1e+12", "1e+308"]),
        ('pattern = "list"\nfile = "pairs.csv"', LIST + "2,4,\n", ["pairs.csv:5", "weight", "an empty cell"]),
        (
            'pattern = "list"\nfile = "pairs.csv"',
            "source,source\n0,1\n",
            ["pairs.csv:1: columns: source is named twice"],
        ),
        ('pattern = "list"\nfile = "pairs.csv"', LIST.replace("3\n", "30\n"), ["load", "at most", "host 0"]),
        ('pattern = "matrix"\nfile = "pairs.csv"', "0,1\n1,0\n", ["5 rows of 5", "2 rows of 2"]),
        ('pattern = "matrix"\nfile = "pairs.csv"', "0,1,1,1,1\n" * 4 + "x,1,1,1,1\n", ["pairs.csv:5", "number", "x"]),
        ("hosts = [0, 5]", "", ["traffic.0.hosts", "0 to 4", "5"]),
        ("hosts = [1, 1]", "", ["hosts", "without repeated hosts"]),
        ("hosts = []", "", ["hosts", "at least 1"]),
        ("load = 0.3\nshare = 1.0", "", ["share cannot be used with load"]),
        ("load = [0.3]", "", ["load"]),
        ("load = 0.3", "", ["run.loads", "0.3", "0.8"]),
        ("queue_packets = 0", "", ["traffic.0.queue_packets", "at least 1", "0"]),
        ("queue_packets = 4\nmessage_bytes = 64", "", ["queue_packets cannot be used with message_bytes"]),
        ("queue_packets = 4\n[congestion]", "", ["traffic.0.queue_packets cannot be used with [congestion]"]),
        ('burst_to = "one"', "", ["burst_to cannot be used without burst"]),
    ],
)
def test_bad_traffic_is_refused(traffic: str, content: str, words: list[str], tmp_path: Path) -> None:
    """Given invalid traffic or weights, the command prints one line and writes no results."""
    (tmp_path / "pairs.csv").write_text(content)
    (tmp_path / "study.toml").write_text(STUDY.format(traffic=traffic, loads=[0.8]))

    assert_refused(call("simulate", tmp_path / "study.toml", "--out", tmp_path / "out"), *words)
    assert not (tmp_path / "out" / "results.parquet").exists()
