"""Uncompiled plug-ins: sources, schedulers that see the time, and routings by input port."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlane
import vlane.plugins
from tests.conftest import ROOT
from vlane.errors import InputError
from vlane.sim_top.scenario.faults import check_faults
from vlane.sim_top.scenario.path_checks import check_world
from vlane.sim_top.scenario.world import make_world
from vlane.sim_top.study.simulate import RunResult, simulate
from vlane.study.file import study_of

EXAMPLES = ROOT / "docs" / "examples" / "vlane_example_plugins" / "vlane_example_plugins"
TWO_HOSTS = {"topology": "dumbbell", "left": 1, "right": 1}
pytestmark = pytest.mark.filterwarnings("ignore:overflow")  # of uncompiled digests


@pytest.fixture(autouse=True)
def _uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test without the compiler, with an empty plug-in registry."""
    monkeypatch.setattr("vlane.golden.compiler.kernel.MODE", "python")
    monkeypatch.setattr(vlane.plugins, "_registered", {})
    monkeypatch.setattr(vlane.plugins, "_loaded", {})


def run(network: dict[str, Any], *traffic: dict[str, Any], seed: int = 1, cycles: int = 400, **more: Any) -> RunResult:
    """Run a study of some classes at load 0.5 and return its result."""
    settings = {"loads": [0.5], "cycles": cycles, "warm_up_cycles": 0}
    file = study_of({"network": network, "traffic": list(traffic), "run": settings, **more}, Path())
    with file.refusals():
        world = make_world(file.study, file.base)
        check_world(world)
        return simulate(world, load=0.5, seed=seed)[0]


def _class_of(text: str, **names: Any) -> type:
    """Return the class that a text defines."""
    before = set(names)
    exec(text, names)  # noqa: S102 - the text is ours
    return next(each for name, each in names.items() if name not in before and isinstance(each, type))


def _drawing(expression: str, before: str = "", **names: Any) -> type:
    """Return a source whose ``draw`` returns an expression, after a statement."""
    text = f"""
class Drawing:
    @staticmethod
    def draw(host, hosts, cycle, load, values, random, memory):
        {before}
        return {expression}
"""
    return _class_of(text, **names)


def source_of(*packets: tuple[int, int, int], name: str = "listed", **options: Any) -> None:
    """Register a source that sends the given packets from every host, then none."""
    drawn = _drawing("table[min(memory[0], len(table)) - 1]", "memory[0] += 1", table=(*packets, (-1, 0, 1)))
    vlane.source(name, memory=1, **options)(drawn)


def test_a_source_sends_packets_at_its_gaps() -> None:
    """Three packets of 64, 128 and 64 bytes are delivered, and the source then ends."""
    source_of((5, 1, 64), (0, 1, 128), (20, 1, 64))

    made = run(TWO_HOSTS, {"source": "listed", "hosts": [0]})

    assert made.per_sl[0].packets == 3
    assert made.flit_hops == 4 * 2


def test_a_source_of_messages_uses_the_message_engine() -> None:
    """A message of 10,000 bytes is segmented and answered. The round trip is the sum of both latencies and 1."""
    source_of((0, 1, 10_000), name="bulk", messages=True)

    made = run(TWO_HOSTS, {"source": "bulk", "hosts": [0], "reply": {"message_bytes": 64}}, cycles=600)

    request, reply, trip = made.messages
    assert (request.kind, request.messages, request.bytes) == ("request", 1, 10_000)
    assert (reply.messages, trip.messages) == (1, 1)
    assert request.latency_max_cycles is not None
    assert reply.latency_max_cycles is not None
    assert trip.latency_max_cycles == request.latency_max_cycles + reply.latency_max_cycles + 1


def test_values_load_and_windows_reach_a_source() -> None:
    """A source receives the load in millionths and the study's values, and begins anew in each window."""
    seen: set[tuple[int, ...]] = set()
    note = "memory[0] += 1; seen.add((int(load), int(values[0]), int(values[1]), int(memory[0])))"
    vlane.source("seeing", memory=1)(_drawing("(3 if memory[0] < 3 else -1, 0, 64)", note, seen=seen))
    seen.clear()

    part = {"source": "seeing", "source_values": [7, -2], "active_cycles": [[0, 50], [100, 200]], "hosts": [1]}
    made = run(TWO_HOSTS, part)

    assert seen == {(500_000, 7, -2, count) for count in (1, 2, 3)}
    assert made.per_sl[0].packets == 2 * 2


def test_two_sources_of_a_study_are_drawn_separately() -> None:
    """Two classes with different sources send the packets of their own source."""
    source_of((1, 1, 64), name="one")
    source_of((1, 1, 640), (1, 1, 640), name="other")

    both = ({"source": name, "share": 0.5, "hosts": [0], "sl": sl} for sl, name in enumerate(("one", "other")))
    made = run(TWO_HOSTS, *both)

    assert [(level.packets, level.accepted) for level in made.per_sl] == [(1, 1 / 800), (2, 20 / 800)]


def test_packets_follow_the_seed() -> None:
    """The example source sends about the load of its class. Equal seeds give equal deliveries, others do not."""
    vlane.load_plugin(EXAMPLES / "read_ahead.py")
    part = {"source": "read_ahead", "source_values": [4, 512]}

    first, again, other = (run({"topology": "tree", "k": 2, "n": 2}, part, seed=seed) for seed in (1, 1, 2))

    assert first.digest == again.digest != other.digest
    assert first.offered == pytest.approx(0.5, rel=0.5)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(1, next(count) % hosts, 64)", "source q is not deterministic: two equal generators give different packets"),
        ("(1, hosts, 64)", "destination of source q must be a host, 0 to 1, not 2"),
        ("(1, 0, 4225)", "bytes of source q must be 1 to 4224, not 4225"),
        ("(1, 0)", r"draw of source q returned \(1, 0\), not three integers"),
        ("(1 // 0, 0, 64)", "draw of source q failed: ZeroDivisionError"),
        ("(1, 0, 64 + 0 * values.sum())", ""),
    ],
)
def test_sources_that_break_the_contract_are_refused(expression: str, said: str) -> None:
    """Given a source with a wrong result, or one that is not deterministic, registration raises one line."""
    made = _drawing(expression, "pass" if said else "values[0] = 1", count=itertools.count())
    with pytest.raises(InputError, match=said or "draw of source q changed values"):
        vlane.source("q")(made)


def test_a_wrong_class_is_refused() -> None:
    """Given no class, no static method, other parameters or options out of range, registration raises one line."""
    for made, said in (
        (len, "source q must be a class with draw"),
        (type("Q", (), {}), "draw of source q is missing"),
        (type("Q", (), {"draw": len}), "draw of source q is not a static method"),
        (type("Q", (), {"draw": staticmethod(len)}), r"draw of source q has the parameters \(obj\)"),
    ):
        with pytest.raises(InputError, match=said):
            vlane.source("q")(made)  # type: ignore[type-var]
    with pytest.raises(InputError, match="memory of source q must be"):
        vlane.source("q", memory=-1)
    with pytest.raises(InputError, match="largest_bytes of source q must be 1 to 4224, not 5000"):
        vlane.source("q", largest_bytes=5000)


@pytest.mark.parametrize(
    ("packet", "said"),
    [
        ((60, 2, 64), "source q at host 0 in cycle 60 returned destination 2, expected 0 to 1"),
        ((60, 1, 0), "source q at host 0 in cycle 60 returned 0 bytes, expected 1 to 4224"),
        ((0, 1, 64), "source q at host 0 in cycle 0 returned gap 0 3 times in a row"),
    ],
)
def test_late_faults_name_source_host_and_cycle(
    packet: tuple[int, int, int], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a result out of range, or too many packets in one cycle, the run is refused in one line."""
    for module in ("golden.traffic.plugged", "sim_top.scenario.plugged_source"):
        monkeypatch.setattr(f"vlane.{module}.MOST_AT_ONCE", 3)
    vlane.source("q")(_drawing("(1, 0, 64)"))
    plugin = vlane.plugins.plugins_of("source")["q"]
    vlane.plugins._registered["source", "q"] = dataclasses.replace(plugin, made=_drawing(f"{packet}"))

    with pytest.raises(InputError, match=said):
        run(TWO_HOSTS, {"source": "q", "hosts": [0]})


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"source": "listed", "bytes": 64}, r"traffic.0.bytes cannot be used with source"),
        ({"source": "listed", "reply": {"message_bytes": 64}}, "reply cannot be used with a source of packets"),
        ({"source": "nobody"}, r"traffic.0.source must be a source of a loaded plug-in \(listed\), not nobody"),
        ({"source_values": [1]}, "traffic.0.source is missing: source_values requires it"),
    ],
)
def test_keys_that_a_source_replaces_are_refused(part: dict[str, Any], said: str) -> None:
    """Given a class with a source and a key that the source replaces, the study is refused."""
    source_of((1, 1, 64))
    with pytest.raises(InputError, match=said):
        run(TWO_HOSTS, part)


def test_draws_follow_their_distributions() -> None:
    """``draw_gap`` has the mean of a geometric distribution and ends at part 0, and ``draw_below`` is uniform."""
    random = np.array([12345], np.uint64)

    gaps = [vlane.draw_gap(random, 1, 5) for _ in range(2000)]
    drawn = [vlane.draw_below(random, 4) for _ in range(2000)]

    assert np.mean(gaps) == pytest.approx(5, rel=0.07)
    assert min(gaps) == 1
    assert np.bincount(drawn) == pytest.approx(500, rel=0.15)
    assert vlane.draw_gap(random, 0, 10) == -1


def _blocks() -> Iterator[tuple[str, str]]:
    """Yield the complete Python examples of the page on plug-ins, by the name that they register."""
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "plugins.md").read_text(), re.DOTALL):
        found = re.search(r'@vlane\.(?:pattern|routing|scheduler|source)\("(\w+)"', block)
        if found and ": ..." not in block and not block.rstrip().endswith(":"):
            yield found[1], block


def test_examples_of_the_page_run() -> None:
    """The page's scheduler by arrivals, routing by input port, source and pattern run together in one study."""
    blocks = dict(_blocks())
    assert {"rotation", "by_input", "read_ahead", "oldest_first"} <= set(blocks)
    for block in blocks.values():
        exec(block, {"vlane": vlane})  # noqa: S102 - our own page
    traffic = [{"source": "read_ahead", "share": 0.5}, {"pattern": "rotation", "share": 0.5, "sl": 1}]

    network = {"topology": "tree", "k": 2, "n": 2, "routing": "by_input"}
    made = run(network, *traffic, scheduler={"name": "oldest_first"})

    assert [level.sl for level in made.per_sl if level.packets] == [0, 1]


def test_a_scheduler_sees_cycle_and_arrivals() -> None:
    """The packet that waits longest goes first, unless a head start outweighs its wait."""
    vlane.load_plugin(EXAMPLES / "oldest_first.py")
    choose = vlane.plugins.plugins_of("scheduler")["oldest_first"].made.choose  # type: ignore[attr-defined]
    sizes, memory = np.ones(2, np.int64), np.zeros(0, np.int64)

    def chosen(weights: list[int], arrivals: list[int]) -> int:
        return int(choose(3, 0, sizes, np.array(weights), memory, 50, np.array(arrivals)))

    assert [chosen([0, 0], [30, 10]), chosen([0, 0], [10, 30])] == [1, 0]
    assert [chosen([0, 20], [10, 30]), chosen([0, 21], [10, 30])] == [0, 1]


def test_a_scheduler_that_waits_for_a_cycle_sends_in_that_cycle() -> None:
    """A scheduler that sends only in every 64th cycle delivers packets then. Arrivals are never after the cycle."""
    text = """
class Slotted:
    @staticmethod
    def choose(active, waiting, sizes, weights, memory, cycle, arrivals):
        assert (arrivals <= cycle).all()
        return 0 if cycle % 64 == 0 and active & 1 else -1
"""
    vlane.scheduler("slotted")(_class_of(text))
    source_of((1, 1, 64), (1, 1, 64))

    made = run(TWO_HOSTS, {"source": "listed", "hosts": [0]}, scheduler={"name": "slotted"})

    assert made.per_sl[0].packets == 2
    assert made.per_sl[0].latency_max_cycles == 64 * 4 + 1 - 2


def test_a_scheduler_that_is_not_deterministic_is_refused() -> None:
    """A scheduler whose choices depend on earlier runs is refused in one line."""
    text = """
class Unsure:
    @staticmethod
    def choose(active, waiting, sizes, weights, memory):
        return -1 if next(count) % 7 == 0 else (active & -active).bit_length() - 1
"""
    with pytest.raises(InputError, match="scheduler unsure is not deterministic: its choices differ"):
        vlane.scheduler("unsure")(_class_of(text, count=itertools.count()))


def _by_host(topology: vlane.Topology, vl_of_sl: tuple[int, ...]) -> vlane.Routes:
    """Return routes of a dumbbell of 2 + 2 hosts in which packets of host 1 use the second cable."""
    made = vlane.up_down(topology, vl_of_sl)
    lft = np.repeat(made.lft[:, np.newaxis], topology.ports, axis=1)
    lft[0, 1, 3:5] = 3
    return vlane.Routes(lft, made.vl, made.nic_vl, made.lids)


_BY_HOST = {"topology": "dumbbell", "left": 2, "right": 2, "trunks": 2, "routing": "by_host"}


def test_a_routing_may_choose_outputs_by_input_port() -> None:
    """Given two parallel cables and tables by input port, each of two hosts uses a cable of its own."""
    vlane.routing("by_host")(_by_host)
    vlane.pattern("across")(lambda host, _topology: (host + 2) % 4)
    settings = {"loads": [0.5], "cycles": 300, "warm_up_cycles": 0}
    traffic = [{"pattern": "across", "hosts": [0, 1]}]
    world = make_world(study_of({"network": _BY_HOST, "traffic": traffic, "run": settings}, Path()).study, Path())
    check_world(world)

    links = simulate(world, load=0.5, seed=1)[1]["links"]

    between = links.filter((links["from_kind"] == "switch") & (links["to_kind"] == "switch"))
    sent = {(row["from_id"], row["from_port"]): row["packets"] for row in between.iter_rows(named=True)}
    assert min(sent[0, 3], sent[0, 4]) > 100


def test_tables_by_input_port_are_refused_where_a_switch_has_one_table() -> None:
    """Given tables by input port, rewritten entries are refused, and so are tables of another shape."""
    vlane.routing("by_host")(_by_host)
    rewrite = [{"cycle": 5, "switch": 0, "lid": 1, "port": 1}]
    content = {"network": _BY_HOST, "traffic": [{}], "rewrite": rewrite, "run": {"loads": [0.5]}}
    with pytest.raises(InputError, match="rewrite cannot be used with routing by_host"):
        check_faults(make_world(study_of(content, Path()).study, Path()))

    def cut(topology: vlane.Topology, vl_of_sl: tuple[int, ...]) -> vlane.Routes:
        made = _by_host(topology, vl_of_sl)
        return vlane.Routes(made.lft[:, 1:], made.vl, made.nic_vl, made.lids)

    vlane.routing("by_host")(cut)
    with pytest.raises(InputError, match=r"routing by_host lft must be uint8 of shape \(2, 4, 5\)"):
        run(_BY_HOST, {})
