"""Messages and sizes: distributions, segmentation, completion, bursts, windows and rates over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.network.networks import IDENTITY, made
from vlane.errors import InputError
from vlane.golden.engine.kernel import kernel
from vlane.golden.engine.pool import IN_USE
from vlane.golden.engine.random_bits import seeded_rng
from vlane.golden.network.runs import new_packet_pool, run_to
from vlane.golden.topologies.routing import up_down
from vlane.golden.topologies.topology import dumbbell
from vlane.golden.traffic.classes import TrafficClass, mean_flits
from vlane.golden.traffic.distributions import draw_number, stack_ranges
from vlane.golden.traffic.messages import NONE, Messages, new_messages
from vlane.golden.traffic.sources import Sources, advance_class, draw_packet, window_has_ended
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.sim_top.study.simulate import RunResult, simulate
from vlane.study.courses import lengths, read_course
from vlane.study.sizes import Distribution, read_sizes
from vlane.study.study import Study

HOSTS = 4


def study(*traffic: dict[str, Any], **sections: dict[str, Any]) -> Study:
    """Return a study of four hosts at two switches."""
    run = {"cycles": 20_000, "warm_up_cycles": 1000, **sections.pop("run", {"loads": [0.3]})}
    content = {"network": {"topology": "dumbbell", "left": 2, "right": 2}, "traffic": list(traffic), "run": run}
    return Study.model_validate({**content, **sections})


def result_of(given: Study, folder: Path = Path(), load: float = 0.3, seed: int = 1) -> RunResult:
    return simulate(make_world(given, folder), load=load, seed=seed)[0]


def drawn(each: Distribution, count: int = 20_000) -> NDArray[np.int64]:
    """Return numbers drawn from a distribution."""
    ranges, places = stack_ranges([None, each])
    found = np.zeros(count, np.int64)
    _draw(ranges, *places[1].tolist(), seeded_rng(7), found)
    return found


@kernel
def _draw(ranges: NDArray[np.int64], first: int, past: int, bits: NDArray[np.uint64], found: NDArray[np.int64]) -> None:
    for place in range(len(found)):
        found[place] = draw_number(ranges, first, past, bits)


def test_listed_sizes_have_their_weights() -> None:
    """Of 20,000 sizes, each listed one has its share within four deviations, and weight 0 never occurs."""
    sizes, counts = np.unique(drawn(Distribution.of([(64, 64, 3), (100, 100, 0), (2112, 2112, 1)])), return_counts=True)

    assert sizes.tolist() == [64, 2112]
    assert abs(counts[0] - 15_000) < 4 * np.sqrt(20_000 * 0.75 * 0.25)


def test_cumulative_sizes_are_even_between_rows(tmp_path: Path) -> None:
    """A file with P(10) = 0.2, P(20) = 0.2, P(120) = 1 gives 10 in a fifth of the cases, otherwise 21 to 120 evenly."""
    file = tmp_path / "sizes.csv"
    file.write_text("bytes,cumulative\n10,0.2\n20,0.2\n120,1\n")
    found = drawn(read_sizes(file, 4224))
    inner = found[found != 10]

    assert abs((found == 10).mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 20_000)
    assert (inner.min(), inner.max()) == (21, 120)
    assert abs(inner.mean() - 70.5) < 4 * np.sqrt((100**2 - 1) / 12 / len(inner))


def _flits(size: int, mtu: int, flit: int) -> int:
    whole, rest = divmod(size, mtu)
    return whole * -(-(mtu + 26) // flit) + (-(-(rest + 26) // flit) if rest else 0)


@pytest.mark.parametrize("flit", [8, 64])
def test_mean_flits_of_messages_are_those_of_every_size(flit: int) -> None:
    """The closed form of the mean equals the sum over every size of two ranges with weights 2 and 1."""
    each = TrafficClass(0, 0.5, 0, 0, mtu=256, sizes=Distribution.of([(1, 700, 2), (1000, 1030, 1)]))
    means = [np.mean([_flits(size, 256, flit) for size in sizes]) for sizes in (range(1, 701), range(1000, 1031))]

    assert mean_flits(each, flit) == pytest.approx((2 * means[0] + means[1]) / 3, rel=1e-12)


@pytest.mark.parametrize(("size", "mtu"), [(1, 4096), (4096, 4096), (4097, 4096), (10_000, 256), (1024, 1024)])
def test_lone_message_takes_the_time_of_its_flits(size: int, mtu: int) -> None:
    """A message of N flits over h = 2 switches takes 1 + F + h (4 + F) + N - 1 cycles with F = 1 (MSG-4).

    One host sends one message at a time to the other switch, so no message waits.
    """
    flits = _flits(size, mtu, 64)
    given = study(
        {"message_bytes": size, "pattern": "complement", "hosts": [0], "regular": True},
        nic={"mtu_bytes": mtu},
        run={"loads": [0.05]},
    )
    (messages,) = result_of(given, load=0.05).messages

    assert messages.messages >= 5
    assert messages.bytes == messages.messages * size
    assert messages.latency_min_cycles == messages.latency_max_cycles == 1 + 1 + 2 * (4 + 1) + flits - 1


def test_messages_arrive_whole_and_in_packets_of_the_mtu() -> None:
    """Every message's packets carry its payload, all but the last with the MTU, and no record is left over."""
    given = study(
        {"message_bytes": [[100, 3], [5000, 1]], "pattern": "others", "active_cycles": [[0, 9000], [9500, 15_000]]}
    )
    world = make_world(given, Path())
    net = make_network(world, load=0.3, seed=2, trace_rows=20_000)
    _, packets = run_to(net, new_packet_pool(net, 64), 20_000)
    rows = net.meters.trace[: net.meters.traced[0]]
    found: dict[tuple[int, int], list[int]] = {}
    for source, born, size in rows[:, [0, 5, 8]].tolist():
        found.setdefault((source, born), []).append(size - 26)
    payloads = [sum(sizes) for sizes in found.values()]

    assert len(found) > 300
    assert payloads.count(100) + payloads.count(5000) >= len(payloads) - 2 * HOSTS  # cut at the end of a window
    assert all(sorted(sizes) in ([100], [904, 4096]) for sizes in found.values() if sum(sizes) in {100, 5000})
    assert packets.messages.regs[IN_USE] == 0
    assert not ((rows[:, 5] >= 9000) & (rows[:, 5] < 9500)).any()


def test_load_of_messages_is_as_asked() -> None:
    """The offered load of messages of two sizes is the load of the run within 3 %, and all latencies are counted."""
    result = result_of(
        study({"message_bytes": [[100, 3], [3000, 1]], "pattern": "others"}, run={"cycles": 200_000, "loads": [0.3]})
    )
    (messages,) = result.messages

    assert result.offered == pytest.approx(0.3, rel=0.03)
    assert messages.bytes / messages.messages == pytest.approx((300 + 3000) / 4, rel=0.03)
    assert messages.latency_min_cycles == 1 + 1 + 5 + 2 - 1  # one switch, two flits
    assert messages.latency_p50_cycles is not None
    assert messages.latency_mean_cycles is not None


def _arrivals(traffic: TrafficClass, cycles: int, host: int = 0) -> NDArray[np.int64]:
    """Return the generation cycles of a host's packets."""
    topology = dumbbell(2, 2)
    net = made(topology, up_down(topology, IDENTITY), lanes=1, classes=[traffic], cycles=cycles)
    found = np.zeros(cycles, np.int64)
    return found[: _collect(net.sources, new_messages(0), host, found)]


@kernel
def _collect(sources: Sources, messages: Messages, host: int, found: NDArray[np.int64]) -> int:
    """Store the generation cycles of a host's packets before cycle ``len(found)`` and return their number."""
    count = 0
    while sources.due[host, 0] < len(found):
        found[count] = sources.due[host, 0]
        cycle = int(sources.due[host, 0])
        count += not window_has_ended(sources, host, 0, cycle)
        draw_packet(sources, messages, host, 0)
        advance_class(sources, messages, host, 0, cycle)
    return count


@pytest.mark.parametrize("shape", [None, 2.5])
def test_bursts_have_their_mean_and_their_load(shape: float | None) -> None:
    """With bursts of 50 and pauses of 200 cycles, packets come at load 0.9 in bursts and at 0.18 over all."""
    traffic = TrafficClass(0, 0.18, 64, 64, on=lengths(50, shape), off=lengths(200, shape))
    found = _arrivals(traffic, 400_000)
    gaps = np.diff(found)

    assert len(found) / 400_000 == pytest.approx(0.18, rel=0.08)
    assert (gaps == 1).mean() == pytest.approx(0.9 - 1 / 50, abs=0.03)  # the next cycle is in the burst, and sends


def test_regular_bursts_keep_their_distance() -> None:
    """Equal distances of 4 cycles hold within bursts, and a pause adds its length."""
    found = _arrivals(
        TrafficClass(0, 0.05, 64, 64, regular=True, on=lengths(400, None), off=lengths(1600, None)), 100_000
    )
    gaps = np.diff(found)

    assert np.median(gaps) == 4
    assert (gaps >= 4).all()
    assert len(found) == pytest.approx(5000, rel=0.25)


@pytest.mark.parametrize("mean", [1.0, 3.5, 100.0])
@pytest.mark.parametrize("shape", [None, 1.2, 3.0])
def test_lengths_have_their_mean(mean: float, shape: float | None) -> None:
    """The mean of the tabulated lengths is exact, and the tail of Pareto lengths has its exponent."""
    each = lengths(mean, shape)
    weight = each.weight / each.weight.sum()

    assert (weight * (each.least + each.most) / 2).sum() == pytest.approx(mean, rel=1e-6)
    if shape is not None and mean > 50:
        above = [weight[each.least > bound].sum() for bound in (1000, 16_000)]
        assert np.log2(above[0] / above[1]) / 4 == pytest.approx(shape, rel=0.05)


def test_rates_follow_their_file() -> None:
    """Factors 1, 0 and 2 give loads of 0.2, 0 and 0.4 in their cycles, within four standard deviations."""
    course = ((0, 1.0), (40_000, 0.0), (60_000, 2.0), (80_000, 0.0))
    found = _arrivals(TrafficClass(0, 0.2, 64, 64, course=course), 200_000)
    counts = np.histogram(found, [0, 40_000, 60_000, 80_000, 200_000])[0]

    for count, cycles, load in ((counts[0], 40_000, 0.2), (counts[2], 20_000, 0.4)):
        assert abs(count - cycles * load) < 4 * np.sqrt(cycles * load * (1 - load))
    assert (counts[1], counts[3]) == (0, 0)


def test_every_window_sends_at_the_load() -> None:
    """Given a low load and windows shorter than its distances, the windows together send as often as one long one."""
    windows = tuple((start, start + 50) for start in range(0, 100_000, 100))
    found = _arrivals(TrafficClass(0, 0.02, 64, 64, active=windows), 100_000)

    assert abs(len(found) - 1000) < 4 * np.sqrt(1000)
    assert (found % 100 < 50).all()


def test_ended_message_is_forgotten() -> None:
    """At the end of a window the rest of a message is never sent, and the next window starts a new message."""
    topology = dumbbell(2, 2)
    traffic = TrafficClass(0, 0.5, 0, 0, mtu=256, sizes=Distribution.of([(2000, 2000, 1)]), active=((0, 50), (60, 90)))
    net = made(topology, up_down(topology, IDENTITY), lanes=1, classes=[traffic], cycles=100, largest=5)
    _, packets = run_to(net, new_packet_pool(net, 64), 5000)

    assert packets.messages.regs[IN_USE] == 0
    assert (net.sources.backlog["sending"] == NONE).all()


FILES = {
    "none.csv": "size,weight\n1,1\n",
    "both.csv": "bytes,weight,cumulative\n1,1,1\n",
    "zero.csv": "bytes,weight\n64,0\n",
    "large.csv": "bytes,weight\n64,1\n5000,1\n",
    "down.csv": "bytes,cumulative\n64,0.5\n64,1\n",
    "back.csv": "bytes,cumulative\n64,0.5\n65,0.4\n",
    "short.csv": "bytes,cumulative\n64,0.5\n65,0.9\n",
    "late.csv": "cycle,factor\n5,1\n",
    "again.csv": "cycle,factor\n0,1\n0,2\n",
    "nothing.csv": "cycle,factor\n0,0\n",
    "high.csv": "cycle,factor\n0,1\n9,4\n",
}


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        ({"bytes": "none.csv"}, r"none.csv: columns: bytes missing \(found size, weight\)"),
        ({"bytes": "both.csv"}, "both.csv: columns: give either weight or cumulative"),
        ({"bytes": "zero.csv"}, "zero.csv: weight must be above 0 in at least one row"),
        ({"bytes": "large.csv"}, "large.csv:3: bytes must be a whole number, 1 to 4224, not 5000"),
        ({"bytes": "down.csv"}, "down.csv:3: bytes must be above 64, the row before, not 64"),
        ({"bytes": "back.csv"}, "back.csv:3: cumulative must be at least 0.5, not 0.4"),
        ({"bytes": "short.csv"}, "short.csv:3: cumulative must be 1 in the last row, not 0.9"),
        ({"bytes": "gone.csv"}, "gone.csv: file of sizes cannot be read"),
        ({"rates": "late.csv"}, "late.csv:2: cycle must be 0 in the first row, not 5"),
        ({"rates": "again.csv"}, "again.csv:3: cycle must be above 0, the row before, not 0"),
        ({"rates": "nothing.csv"}, "nothing.csv: factor must be above 0 in at least one row"),
        ({"rates": "high.csv"}, "load must be at most 0.25, or a host sends 1.2 flits per cycle at times, not 0.3"),
        ({"on_cycles": 10, "off_cycles": 90}, "load must be at most 0.1, or a host sends 3 flits per cycle at times"),
    ],
)
def test_files_and_loads_that_do_not_fit_are_refused(traffic: dict[str, Any], said: str, tmp_path: Path) -> None:
    """One line names file, line, column and the accepted value."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said):
        make_network(make_world(study(traffic), tmp_path), load=0.3, seed=1)


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        ({"bytes": [[64, 1], [5000, 1]]}, "bytes.1.0 must be a whole number, 1 to 4224, not 5000"),
        ({"bytes": [[64, -1]]}, "bytes.0.1 must be a weight, at least 0, not -1"),
        ({"bytes": [[64, 0]]}, "bytes: all weights are 0"),
        ({"bytes": 64, "message_bytes": 64}, "bytes cannot be used with message_bytes"),
        ({"burst": 2, "message_bytes": 64}, "burst cannot be used with message_bytes"),
        ({"message_bytes": 0}, "message_bytes must be 1 to 1099511627776"),
        ({"on_cycles": 5}, "off_cycles is missing: on_cycles requires it"),
        ({"off_cycles": 5}, "on_cycles is missing: off_cycles requires it"),
        ({"pareto_shape": 1.5}, "on_cycles is missing: pareto_shape requires it"),
        ({"rates": "x.csv", "regular": True}, "regular cannot be used with rates"),
        ({"rates": "x.csv", "on_cycles": 5, "off_cycles": 5}, "on_cycles cannot be used with rates"),
        ({"active_cycles": [[0, 10], [5, 20]]}, "active_cycles must be in order, from cycle 10 on"),
        ({"active_cycles": [[10, 10]]}, r"active_cycles must be \[from, to\] with from < to"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(traffic: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        study(traffic)


def test_messages_exclude_precision_and_cores() -> None:
    """Precision, several cores, and a [nic] section without messages are refused."""
    with pytest.raises(ValueError, match=r"run\.precision cannot be used with traffic\.message_bytes"):
        study({"message_bytes": 64}, run={"loads": [0.1], "precision": 0.1})
    with pytest.raises(ValueError, match=r"nic cannot be used without traffic\.message_bytes"):
        study({"bytes": 64}, nic={"mtu_bytes": 256})
    with pytest.raises(
        InputError, match="2 cores cannot share a network whose traffic consists of messages; use --cores 1, and --jobs"
    ):
        simulate(make_world(study({"message_bytes": 64}), Path()), load=0.1, seed=1, cores=2)


def test_course_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("cycle,factor\n0,0.5\n100,2\n")
    assert read_course(file) == ((0, 0.5), (100, 2.0))
