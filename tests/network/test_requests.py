"""Requests, replies and windows: closed loops against theory, and against the plain model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.network.networks import IDENTITY, made, replayed
from tests.network.plain_by_name import plain_serve
from vlane.errors import InputError
from vlane.golden.network.assembly import PortSettings
from vlane.golden.plain.link import Sizes
from vlane.golden.plain.network import Tables
from vlane.golden.plain.requests import RequestNetwork, Requests
from vlane.golden.topologies.routing import up_down
from vlane.golden.topologies.topology import dumbbell
from vlane.golden.traffic.classes import Replies, TrafficClass
from vlane.golden.traffic.senders import Senders, mark_senders, senders_of
from vlane.sim_top.scenario.path_checks import check_world
from vlane.sim_top.scenario.world import make_world
from vlane.sim_top.study.message_tables import OfMessages
from vlane.sim_top.study.simulate import RunResult, simulate
from vlane.study.sizes import Distribution
from vlane.study.study import Study

LOOP: dict[str, Any] = {"pattern": "others", "window": 1, "message_bytes": 38, "reply": {"message_bytes": 38}}


def study(*traffic: dict[str, Any], left: int = 1, right: int = 1, cycles: int = 20_000, **run: Any) -> Study:
    return Study.model_validate(
        {
            "network": {"topology": "dumbbell", "left": left, "right": right},
            "nic": {"mtu_bytes": 256},
            "traffic": list(traffic),
            "run": {"cycles": cycles, "warm_up_cycles": 1000, **run},
        }
    )


def result_of(given: Study, load: float = 1.0) -> RunResult:
    world = make_world(given, Path())
    check_world(world)
    return simulate(world, load=load, seed=3)[0]


def of_kind(result: RunResult) -> dict[str, OfMessages]:
    return {each.kind: each for each in result.messages}


@pytest.mark.parametrize(("think", "delay", "size"), [(0, 0, 38), (100, 20, 1000)])
def test_one_client_has_the_exact_round_trip(think: int, delay: int, size: int) -> None:
    """One client with window 1 over h = 2 switches completes a request every T cycles.

    T = L(1) + 1 + delay + L(n) + 1 + think with L(n) = 1 + F + h (4 + F) + n - 1 and F = 1, for a request of 1 flit and
    a reply of n flits.
    """
    flits = {38: 1, 1000: 3 * 5 + 5}[size]  # 282 and 258 bytes take 5 flits
    lone = 1 + 1 + 2 * 5 - 1
    trip = (lone + 1) + 1 + delay + (lone + flits)
    reply = {"message_bytes": size, "delay_cycles": delay, "sl": 1}
    result = result_of(study({**LOOP, "hosts": [0], "think_cycles": think, "regular": True, "reply": reply}))
    found = of_kind(result)

    assert found["request"].latency_max_cycles == lone + 1
    assert found["reply"].latency_min_cycles == found["reply"].latency_max_cycles == lone + flits
    assert found["round trip"].latency_min_cycles == found["round trip"].latency_max_cycles == trip
    assert abs(found["round trip"].messages - 19_000 / (trip + 1 + think)) <= 2


def test_clients_of_one_server_agree_with_theory() -> None:
    """Four clients with window 1 and one server agree with the machine-repairman model to 1 %.

    With exponential service of mean S at one queue and a delay D elsewhere, mean value analysis gives the throughput
    X(n) = n / (D + R(n)) with R(n) = S (1 + X(n - 1) R(n - 1)). Replies are 5 flits times a geometric number of mean
    50, so S = 250. D is the mean think time, one cycle each before a reply and a request, the request's
    1 + F + h (4 + F) cycles, and the reply's F + h (4 + F), with h = 1 and F = 1.
    """
    packets = np.arange(1, 1500)
    weights = 0.02 * 0.98 ** (packets - 1)
    sizes = [[float(256 * count), float(weight)] for count, weight in zip(packets, weights, strict=True)]
    loop = {"hosts": [1, 2, 3, 4], "hot_share": 1.0, "hot_hosts": [0], "think_cycles": 400}
    result = result_of(study({**LOOP, **loop, "reply": {"message_bytes": sizes}}, left=5, cycles=12_000_000))
    service, delay, queued, rate = 250.0, 400 + 2 + (1 + 1 + 5) + (1 + 5), 0.0, 0.0
    for clients in range(1, 5):
        response = service * (1 + queued)
        rate = clients / (delay + response)
        queued = rate * response

    measured = of_kind(result)["round trip"].messages / (12_000_000 - 1000)
    assert measured == pytest.approx(rate, rel=0.01)
    trip = of_kind(result)["round trip"].latency_mean_cycles
    assert trip == pytest.approx(4 / rate - 400 - 1, rel=0.01)


def test_window_bounds_the_requests_under_way() -> None:
    """With window W and no think time, W = X (T + 1) for throughput X and mean round trip T (Little's law)."""
    for window in (2, 7):
        loop = {"hosts": [0], "window": window, "reply": {"message_bytes": 2000}}
        trips = of_kind(result_of(study({**LOOP, **loop}, cycles=100_000)))["round trip"]

        assert trips.latency_mean_cycles is not None
        assert trips.messages / 99_000 * (trips.latency_mean_cycles + 1) == pytest.approx(window, rel=0.01)


def test_open_requests_are_answered() -> None:
    """Requests with a load of 0.05 flits are each answered, in time for all but the last."""
    traffic = {"pattern": "others", "load": 0.05, "message_bytes": 38, "reply": {"message_bytes": 500}}
    result = result_of(study(traffic, left=3, loads=[0.05]), load=0.05)
    found = of_kind(result)

    assert found["request"].messages > 3000
    assert found["request"].messages - found["reply"].messages < 20


@pytest.mark.parametrize(("window", "delay", "think"), [(1, 0, 0), (3, 7, 11)])
def test_deliveries_equal_the_plain_model(window: int, delay: int, think: int) -> None:
    """Requests of 600 and replies of 3,000 bytes between all hosts are delivered as in the plain network."""
    topology, target, cycles = dumbbell(2, 2), (3, 2, 1, 0), 1500
    routes, settings = up_down(topology, IDENTITY), PortSettings("rr", {"requesters": 0})
    traffic = TrafficClass(
        0,
        0.0,
        600,
        600,
        pattern=target,
        mtu=256,
        replies=Replies(1, Distribution.of([(3000, 3000, 1)]), delay),
        window=window,
        think=think,
        regular=True,
    )
    net = made(topology, routes, lanes=2, classes=[traffic], cycles=cycles, largest=5, blocks=24, trace_rows=20_000)
    plain = RequestNetwork(
        topology.far_ends(),
        topology.hosts,
        Tables(routes.lft, routes.vl, routes.nic_vl),
        Sizes(24, (5, 5), (19, 19), (5, 5)),
        new_serve=lambda: plain_serve(settings, 2),
        requests=Requests(target, routes.lids[:, 0].tolist(), window, (0, 1), 600, 3000, 256, delay=delay, think=think),
    )

    found = [each for each in replayed(net, cycles) if each.delivered < cycles]
    assert len(found) > 150
    assert sorted(found) == plain.run(cycles)


@pytest.mark.parametrize("pattern", ["uniform", "others", (2, 0, -1, 1), (1, 1, 1, 1)])
@pytest.mark.parametrize("hot_share", [0.0, 0.5])
def test_replies_go_from_destinations_to_sources(pattern: str | tuple[int, ...], hot_share: float) -> None:
    """The pairs of the replies' SL, whose paths are checked, are those of the requests, exchanged."""
    topology = dumbbell(2, 2)
    traffic = TrafficClass(
        0,
        0.1,
        64,
        64,
        pattern=pattern,
        mtu=256,
        replies=Replies(1, Distribution.of([(64, 64, 1)])),
        hot_share=hot_share,
        hot_hosts=(3,),
        senders=(0, 1, 2),
    )
    net = made(topology, up_down(topology, IDENTITY), lanes=2, classes=[traffic], cycles=100)
    requests, replies = (_pairs(senders_of(net.sources, sl, 100)) for sl in (0, 1))

    np.fill_diagonal(requests, val=False)
    np.fill_diagonal(replies, val=False)
    assert requests.any()
    assert (replies == requests.T).all()


def _pairs(senders: Senders) -> NDArray[np.bool_]:
    """Return whether each source sends to each destination."""
    pairs = np.zeros((4, 4), np.bool_)
    for to, sends in enumerate(pairs.T):
        mark_senders(senders, to, sends)
    return pairs


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        ({"reply": {"message_bytes": 5}}, "message_bytes is missing: reply requires it"),
        ({"window": 1, "message_bytes": 5}, "reply is missing: window requires it"),
        ({"think_cycles": 5}, "window is missing: think_cycles requires it"),
        ({**LOOP, "load": 0.1}, "load cannot be used with window"),
        ({**LOOP, "rates": "x.csv"}, "rates cannot be used with window"),
        ({**LOOP, "active_cycles": [[0, 5], [7, 9]]}, "active_cycles: window allows only one interval"),
        ({**LOOP, "reply": {"message_bytes": 0}}, "message_bytes must be 1 to 1099511627776"),
        ({**LOOP, "reply": {"message_bytes": 5, "sl": 16}}, r"traffic\.0\.reply\.sl must be 0 to 15"),
    ],
)
def test_keys_that_do_not_go_together_are_refused(traffic: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        study(traffic)


def test_loads_belong_to_open_classes() -> None:
    """A study with windows only has no run.loads, and one with an open class needs loads."""
    with pytest.raises(ValueError, match=r"run\.loads cannot be used without \[\[traffic\]\] that has a load"):
        study(LOOP, loads=[0.1])
    with pytest.raises(ValueError, match=r"run\.loads is missing"):
        study(LOOP, {"message_bytes": 64})


def test_reply_on_an_sl_without_a_path_is_refused() -> None:
    """The SL of replies is checked like the SL of a class."""
    with pytest.raises(InputError, match=r"traffic\.0\.reply\.sl: path applies only to"):
        make_world(study({**LOOP, "reply": {"message_bytes": 5, "sl": "path"}}), Path())
