"""A run on several cores delivers equal packets in equal cycles as on one core."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import assert_refused, call
from vlane.errors import InputError
from vlane.golden.compiler.records import Records
from vlane.golden.engine.barrier import new_barrier, wait_for_all
from vlane.golden.engine.kernel import kernel
from vlane.golden.network.cores import ManyCores, OneCore
from vlane.golden.network.division import divide, part_of_each_port
from vlane.golden.network.network import DONE
from vlane.golden.network.runs import new_packet_pool
from vlane.sim_top.scenario.world import make_network, make_world
from vlane.sim_top.study.simulate import StuckError, simulate
from vlane.study.study import Study

TIMES = {"seconds", "flit_hops_per_second", "peak_mib"}
SMALL: dict[str, Any] = {
    "network": {"topology": "tree", "k": 2, "n": 3},
    "buffers": {"blocks": 64},
    "traffic": [{"sl": 0, "share": 0.5, "bytes": [64, 300]}, {"sl": 1, "share": 0.5}],
    "run": {"loads": [0.5], "cycles": 3001, "warm_up_cycles": 501},
}
KINDS: dict[str, dict[str, Any]] = {
    "ib": {},
    "opa": {"switch": {"kind": "opa"}},
    "opa torus": {"switch": {"kind": "opa"}, "network": {"topology": "torus", "size": [4, 3], "hosts_per_switch": 2}},
    "fifo": {"switch": {"allocation": "fifo"}},
    "per_vl": {"switch": {"crossbar": "per_vl"}, "buffers": {"blocks": 40, "minimum_blocks": 20, "maximum_blocks": 20}},
    "per_vl fifo": {
        "switch": {"allocation": "fifo", "crossbar": "per_vl"},
        "buffers": {"blocks": 40, "minimum_blocks": 20, "maximum_blocks": 20},
    },
    "flits": {"switch": {"crossbar": "flits"}},
    "opa flits": {"switch": {"kind": "opa", "crossbar": "flits"}},
    "faster": {"switch": {"speed": 2, "iterations": 2}},
    "small flits": {"link": {"flit_bytes": 16}},
    "irregular": {"network": {"topology": "irregular", "switches": 9, "ports": 8, "hosts_per_switch": 2, "seed": 4}},
}
TORUS = {"network": {"topology": "torus", "size": [4, 3], "hosts_per_switch": 2}}


def world_of(**changes: Any) -> Any:
    """Return the world of the small study with the given sections changed."""
    return make_world(Study.model_validate({**SMALL, **changes}), Path())


def told(world: Any, cores: int, load: float = 0.5) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a run's result without times, and its tables."""
    result, tables = simulate(world, load=load, seed=3, trace=True, cores=cores)
    return {name: value for name, value in asdict(result).items() if name not in TIMES}, tables


def assert_alike(world: Any, *cores: int, load: float = 0.5) -> None:
    """Assert that runs on several cores give the results and tables of one core."""
    expected, tables = told(world, 1, load)
    assert len(tables["trace"]) > 500
    for count in cores:
        given, others = told(world, count, load)
        assert given == expected
        for name, table in tables.items():
            assert table.equals(others[name]), name


@pytest.mark.slow
def test_trees_and_tori() -> None:
    """Trees and tori divided into 2 to 12 parts give the results of one core.

    Compared are flows, links and every delivery.
    """
    measure = {"flows": True}
    assert_alike(world_of(measure=measure), 2, 3, 12)
    assert_alike(world_of(measure=measure, **TORUS), 2, 5)


@pytest.mark.slow
def test_one_way_traffic_takes_packets_along() -> None:
    """Given traffic from one part to another only, free packets are redistributed and stay few."""
    traffic = [{"sl": 0, "hosts": [0, 1, 2, 3], "pattern": "complement"}]
    world = world_of(traffic=traffic, run={"loads": [0.4], "cycles": 20_000, "warm_up_cycles": 100})
    expected = OneCore(make_network(world, load=0.4, seed=1), 64)
    network = ManyCores(make_network(world, load=0.4, seed=1), 64, 2)
    for each in (expected, network):
        assert each.run_to(20_000, deque()) == DONE

    net, packets = network.whole()
    plain, few = expected.whole()
    assert (net.meters.digest == plain.meters.digest).all()
    assert packets.regs[1] == few.regs[1]
    assert int(net.meters.digest[1]) > 20_000
    assert 64 < len(packets.pool) <= 8192


@pytest.mark.slow
def test_faults_and_cables_of_their_own() -> None:
    """Stalls and rewrites act in their cycle in every part, and longer cables may be cut."""
    faults = {
        "stall": [{"cycle": 700, "cycles": 300, "switch": 2, "port": 3}],
        "rewrite": [{"cycle": 901, "switch": 5, "lid": 3, "port": 255}],
    }
    cable = [{"switch": 0, "port": 3, "flight_cycles": 9}, {"hosts": [1], "relative_rate": 0.5}]
    assert_alike(world_of(link={"flight_cycles": 4}, cable=cable, **faults), 2, 4, load=0.3)


@pytest.mark.long
@pytest.mark.parametrize("form", ["exact", "line_rate"])
def test_tables_that_are_swapped(form: str, tmp_path: Path) -> None:
    """Table swaps give the results of one core, whether a scheduler is idle or busy."""
    (tmp_path / "t.toml").write_text("[vlarb]\nhigh = [[0, 4]]\nlow = [[1, 9]]\nlimit_of_high_priority = 1\n")
    table = {"high": [[1, 200]], "low": [[0, 1]], "limit_of_high_priority": 200}
    scheduler = {"name": "vlarb", "table": "t.toml", "parameters": {"form": form}}
    swap = [{"cycle": 40 + 150 * number, "switch": number % 12, **table} for number in range(14)]
    content = {**SMALL, "switch": {"speed": 2, "iterations": 2}, "scheduler": scheduler}

    changed, plain = (make_world(Study.model_validate({**content, "swap": each}), tmp_path) for each in (swap, []))

    assert_alike(changed, 2, 5, load=0.8)
    assert told(changed, 1, 0.8)[0]["digest"] != told(plain, 1, 0.8)[0]["digest"]


@pytest.mark.slow
def test_run_extended_for_precision() -> None:
    """A run extended for precision is extended equally in all parts."""
    run = {"loads": [0.3], "cycles": 903, "warm_up_cycles": 101, "precision": 0.05}
    assert_alike(world_of(run=run), 2, load=0.3)


@pytest.mark.slow
def test_a_network_that_is_stuck_is_so_with_several_cores() -> None:
    """A stuck network is reported with the same chain of waiting packets on one and two cores."""
    ends = [(switch, port) for switch in range(12) for port in range(1, 5 if switch < 8 else 3)]
    stall = [{"cycle": 100, "cycles": 2000, "switch": switch, "port": port} for switch, port in ends]
    run = {"loads": [0.9], "cycles": 3000, "warm_up_cycles": 0, "stuck_cycles": 1000}
    world = world_of(stall=stall, run=run, buffers={"blocks": 16})  # the command refuses stalls of this length
    said = []
    for cores in (1, 2):
        with pytest.raises(StuckError) as error:
            simulate(world, load=0.9, seed=1, cores=cores)
        said.append(str(error.value).partition(": ")[2])

    assert said[0] == said[1]
    assert "waits for" in said[0]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_switch(kind: str) -> None:
    """Every kind of switch gives the results of one core."""
    assert_alike(world_of(**KINDS[kind]), 2, 3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("scheduler", "table"),
    [
        ("vlarb", "high = [[0, 2]]\nlow = [[1, 9]]\nlimit_of_high_priority = 3"),
        ("dtable", "entries = [[0, 8], [1, 12]]"),
        ("drr", "quantum = [8, 24]"),
    ],
)
def test_schedulers_that_look_at_sizes(scheduler: str, table: str, tmp_path: Path) -> None:
    """Schedulers with access to packet sizes give the results of one core."""
    (tmp_path / "table.toml").write_text(f"[{scheduler}]\n{table}\n")
    study = Study.model_validate({**SMALL, "scheduler": {"name": scheduler, "table": "table.toml"}})
    assert_alike(make_world(study, tmp_path), 2, 3)


def test_every_part_has_its_share_of_each_level() -> None:
    """Each part gets an equal share of every tree level or torus slab, with NICs at their switch."""
    net = make_network(world_of(), load=0.5, seed=1)
    owner = part_of_each_port(net, 2)
    of_switches = owner[: len(net.switches.inputs.port)].reshape(12, -1)[:, 0]
    assert of_switches.tolist() == [0, 0, 1, 1] * 3
    assert owner[len(net.switches.inputs.port) :][:8].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]

    net = make_network(world_of(**TORUS), load=0.5, seed=1)
    assert np.bincount(part_of_each_port(net, 5)[: 12 << net.switches.inputs.port_bits]).min() >= 2 << 3


COMMON = {
    "partition": "barrier mail_counts owner packets credits published",  # written alternately
    "meters": "flow_level",
    "meters.messages": "window",
    "sources": "active_window bits burst_cycles_left burst_destination burst_packets_left due exits fraction "
    "gap_bounds hot is_sender last_class lids pace_row pairs patience period place setting target window windows",
    "switches": "output sc2sc sc2vl",
    "switches.inputs": "drop_counts head_route lft port",
    "switches.inputs.queues": "filled queue",
    "switches.requests": "first last next_request requested_lanes",
    "switches.tables": "row vl",
    "switches.centre": "buffer lane last_input last_lane link_free_from next_write_cycle read_port",
    "switches.centre.queues": "filled queue",
    "switches.centre.occupancy": "above_minima bounds lane",
    "out_ports": "counters free_from head largest sending sleep",
    "out_ports.bank": "regs",
    "out_ports.bank.lanes": "last_lane offered_lane requester_of",
    "out_ports.buffer": "above_minima bounds lane",
    "out_ports.remote_credit": "above_minima bounds lane",
    "out_ports.queues": "filled queue",
    "out_ports.returns": "packet row",
    "wiring": "cable nic_channel nic_vl",
    "": "staged_packets",
}
"""Arrays shared by parts: read-only tables, and arrays with one row for each end, switch or NIC."""


def arrays_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each array of a network's state with its name."""
    if isinstance(value, Records):
        yield path, value.array
    elif isinstance(value, np.ndarray):
        yield path, value
    elif hasattr(value, "_fields"):
        for name in value._fields:
            yield from arrays_of(getattr(value, name), f"{path}.{name}".lstrip("."))


@pytest.mark.parametrize("kind", KINDS)
def test_parts_share_only_arrays_with_one_writer(kind: str) -> None:
    """Parts share only arrays each of whose elements has a single writer.

    Otherwise, results would depend on the relative speed of threads.
    """
    net = make_network(world_of(**KINDS[kind]), load=0.5, seed=1)
    (one, _), (other, _) = divide(net, new_packet_pool(net, 256), 2)
    pairs = zip(arrays_of(one), arrays_of(other), strict=True)
    shared = {name for (name, mine), (_, others) in pairs if np.shares_memory(mine, others)}

    known = {f"{path}.{name}".lstrip(".") for path, names in COMMON.items() for name in names.split()}
    assert shared <= known
    assert "out_ports.counters" in shared


def test_barrier_waits_for_all_threads() -> None:
    """Given three threads at a barrier, none passes before all have arrived."""
    barrier, written, seen = new_barrier(), np.zeros((3, 8), np.int64), np.zeros((3, 200), np.int64)

    def run(number: int) -> None:
        _write_and_meet(barrier, written, seen[number], number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (seen == 3 * np.arange(200)).all()


@kernel
def _write_and_meet(barrier: Any, written: Any, seen: Any, number: int) -> None:
    for time in range(len(seen)):
        written[number, 0] = time
        wait_for_all(barrier, 3)
        seen[time] = written[0, 0] + written[1, 0] + written[2, 0]
        wait_for_all(barrier, 3)


def test_indivisible_networks_are_refused(tmp_path: Path) -> None:
    """More parts than switches, and FCP credits on several cores, are refused without output."""
    net = make_network(world_of(), load=0.5, seed=1)
    with pytest.raises(InputError, match="cores must be 1 to 12 for a network of 12 switches, not 13"):
        divide(net, new_packet_pool(net, 1 << 10), 13)

    study = tmp_path / "study.toml"
    study.write_text(
        '[network]\ntopology = "tree"\nk = 2\nn = 2\n[link]\ncredits = "fcp"\n[[traffic]]\nsl = 0\n'
        "[run]\nloads = [0.2]\ncycles = 500\nwarm_up_cycles = 100\n"
    )
    for option, text in (("5", "1 to 4"), ("2", "1 with flow-control packets")):
        assert_refused(call("simulate", str(study), "--cores", option, "--out", str(tmp_path / "out")), text)
    assert not (tmp_path / "out").exists()
