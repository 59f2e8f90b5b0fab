"""Admission along paths: all-or-nothing reservation, budget, wait bounds, deadlines."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlane.errors import InputError
from vlane.planning.admission import Admission, path_deadline
from vlane.planning.vlarb_waits import longest_wait, wait_of_distance
from vlane.schedulers.vlarb import MAX_ENTRIES, MAX_WEIGHT, VLArbEntry, VLArbTable

PORTS = range(6)
_WHOLE = MAX_ENTRIES * MAX_WEIGHT


def state_of(ports: Admission) -> list[tuple[object, ...]]:
    return [(port, ports.reserved(port), tuple(ports.table(port).high)) for port in PORTS]


@pytest.mark.parametrize("seed", range(4))
def test_a_connection_is_taken_in_at_all_ports_or_at_none(seed: int) -> None:
    """After random requests and releases, each port holds exactly the reservations of its connections.

    A refused request changes no port.
    """
    draw, ports = random.Random(seed), Admission(budget=Fraction(3, 4))  # noqa: S311 - a repeatable choice
    for port in PORTS:
        ports.table(port)
    held: dict[int, tuple[list[int], int, int, Fraction]] = {}
    refused = 0
    for _ in range(1500):
        if held and draw.random() < 0.3:
            number = draw.choice(sorted(held))
            ports.release(number)
            del held[number]
        else:
            path, vl = draw.sample(PORTS, draw.randint(1, 4)), draw.randrange(6)
            distance, load = 2 ** draw.randint(1, 6), Fraction(draw.randint(1, 120), 1000)
            before = state_of(ports)
            number_or_none = ports.ask(path, vl=vl, distance=distance, load=load)
            if number_or_none is None:
                refused += 1
                assert state_of(ports) == before
                continue
            held[number_or_none] = path, vl, distance, load
        for port in PORTS:
            own = [each for each in held.values() if port in each[0]]
            whole = sum((load for *_, load in own), Fraction(0))
            assert whole <= Fraction(3, 4)
            assert ports.reserved(port) == pytest.approx(float(whole), abs=1e-6)
            high = ports.table(port).high
            for vl in {each[1] for each in own}:
                weight = sum(entry.weight for entry in high if entry.vl == vl)
                assert weight >= sum(load for _, its, _, load in own if its == vl) * _WHOLE
                places = [place for place, entry in enumerate(high) if entry.vl == vl and entry.weight]
                gaps = [
                    (after - place - 1) % MAX_ENTRIES + 1
                    for place, after in zip(places, places[1:] + places[:1], strict=True)
                ]
                assert max(gaps) <= min(distance for _, its, distance, _ in own if its == vl)
    assert refused > 100
    for number in list(held):
        ports.release(number)
    assert all(reserved == 0 and not any(entry.weight for entry in high) for _, reserved, high in state_of(ports))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_list_with_entries_so_near_waits_longer(data: st.DataObject) -> None:
    """For any table with a VL's entries at a given distance, the longest wait is within the bound."""
    bits, largest = data.draw(st.integers(0, 6)), data.draw(st.integers(1, 65))
    distance = 1 << bits
    entries = [
        VLArbEntry(0 if place % distance == 0 else data.draw(st.integers(1, 7)), data.draw(st.integers(1, MAX_WEIGHT)))
        for place in range(MAX_ENTRIES)
    ]
    table = VLArbTable(tuple(entries), (VLArbEntry(9, 255),), 255)
    assert longest_wait(table, 0, most=dict.fromkeys(range(10), largest)) <= wait_of_distance(distance, largest=largest)


def test_the_wait_of_a_distance_is_reached() -> None:
    """Given entries of maximum weight between a VL's entries, the wait equals the distance's bound."""
    entries = [VLArbEntry(int(place % 8 != 0), MAX_WEIGHT) for place in range(MAX_ENTRIES)]
    table = VLArbTable(tuple(entries), (), 255)
    assert longest_wait(table, 0, most={0: 64, 1: 64}) == wait_of_distance(8, largest=64)
    assert wait_of_distance(15, largest=64) == wait_of_distance(8, largest=64)


def test_the_deadline_of_a_path() -> None:
    """A path of two switches has the deadline of three waits and packets plus its unloaded latency.

    The unloaded latency is 1 + F + h (4 + F) cycles for flight time F and h switches.
    """
    assert path_deadline(2, distance=4, blocks=16, flight=3, stages=4) == 3 * (16 + 3 * 270 + 16) + 1 + 3 + 2 * 7


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"path": ()}, "path must be a list of at least one port without repetitions"),
        ({"path": (1, 1)}, "path must be a list of at least one port without repetitions"),
        ({"load": 0}, "load must be above 0, up to 1"),
        ({"load": 1.5}, "load must be above 0, up to 1"),
        ({"distance": 65}, "distance must be 1 to 64"),
    ],
)
def test_requests_out_of_range_are_refused(asked: dict[str, object], said: str) -> None:
    request: dict[str, object] = {"path": (1,), "vl": 0, "distance": 2, "load": 0.1, **asked}
    path = request.pop("path")
    with pytest.raises(InputError, match=said):
        Admission().ask(path, **request)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [0, 1.01, -1])
def test_budgets_out_of_range_are_refused(budget: float) -> None:
    with pytest.raises(InputError, match="budget must be above 0, up to 1"):
        Admission(budget=budget)
