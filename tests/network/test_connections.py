"""Constant-bit-rate connections: generation, measurement, admission, checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from vlane.errors import InputError
from vlane.golden.network.connection_meters import FRACTIONS, JITTERS, count_arrival, new_connection_meters
from vlane.golden.traffic.messages import new_messages
from vlane.golden.traffic.source_setup import new_sources
from vlane.golden.traffic.sources import advance_class, draw_packet
from vlane.sim_top.scenario.world import World, make_world
from vlane.sim_top.study.checkpoint import Checkpoint
from vlane.sim_top.study.simulate import simulate
from vlane.study.cbr_list import CbrList
from vlane.study.study import Study

HOSTS = 8
STUDY = {
    "network": {"topology": "irregular", "switches": 4, "ports": 6, "hosts_per_switch": 2, "seed": 3},
    "link": {"data_vls": 4},
    "buffers": {"blocks": 64, "minimum_blocks": 16, "maximum_blocks": 16},
    "scheduler": {"name": "vlarb"},
    "connections": {"file": "list.parquet"},
    "admission": {"distances": [2, 8, 32, 64]},
    "run": {"cycles": 40_000, "warm_up_cycles": 4000},
}


def listed(seed: int, count: int, *, interval: tuple[float, float] = (40.0, 900.0)) -> pl.DataFrame:
    """Return random connections with packets of four flits."""
    random = np.random.default_rng(seed)
    source, hop = random.integers(HOSTS, size=count), random.integers(1, HOSTS, size=count)
    return pl.DataFrame(
        {
            "source": source,
            "destination": (source + hop) % HOSTS,
            "sl": random.integers(4, size=count),
            "bytes": np.full(count, 256),
            "interval_cycles": random.uniform(*interval, size=count),
        }
    )


def world_of(folder: Path, table: pl.DataFrame, **sections: object) -> World:
    table.write_parquet(folder / "list.parquet")
    return make_world(Study.model_validate({**STUDY, **sections}), folder)


def as_list(table: pl.DataFrame) -> CbrList:
    columns = [table[name].to_numpy().astype(np.int64) for name in ("source", "destination", "sl", "bytes")]
    return CbrList(*columns, table["interval_cycles"].to_numpy(), np.zeros(len(table), np.int64), np.arange(len(table)))


def test_every_connection_sends_at_its_distance_in_the_order_of_time() -> None:
    """Each connection sends every packet at its interval, ordered by cycle and connection number."""
    table = listed(1, 60, interval=(3.0, 50.0))
    sources = new_sources(
        [],
        nics=HOSTS,
        flit_bytes=64,
        seed=5,
        lids=np.array([[each, 1] for each in range(HOSTS)]),
        connections=as_list(table),
    )
    sent: dict[int, list[int]] = {}
    messages = new_messages(0)
    for nic in range(HOSTS):
        for number in range(4):
            before = (-1, -1)
            while (due := int(sources.due[nic, number])) < 2000:
                to, dlid, sl, size, flits, connection = map(int, draw_packet(sources, messages, nic, number))
                row = table.row(connection, named=True)
                assert (nic, to, sl, size) == (row["source"], row["destination"], row["sl"], row["bytes"])
                assert (dlid, flits) == (to, 4)
                assert before < (due, connection)
                before = due, connection
                sent.setdefault(connection, []).append(due)
                advance_class(sources, messages, nic, number, due)
    assert sorted(sent) == list(range(60))
    for connection, cycles in sent.items():
        interval = table["interval_cycles"][connection]
        assert 0 <= cycles[0] < interval
        exact = cycles[0] + np.arange(len(cycles)) * interval
        assert np.abs(np.array(cycles) - exact).max() < 2  # phase below one cycle, whole cycles
        assert exact[-1] + interval >= 2000 - 2


def test_deadline_parts_and_jitter_are_counted_exactly() -> None:
    """Latency as a part of the deadline, and jitter, are counted in the correct class at each border."""
    table = listed(2, 1)
    meters = new_connection_meters(as_list(table)._replace(interval=np.array([800.0]), deadline=np.array([1200])))
    cycle, expected, even = 0, [0] * (len(FRACTIONS) + 1), [0] * len(JITTERS)
    random = np.random.default_rng(9)
    gaps = [800, *(int(800 * (1 + each)) + step for each in (*JITTERS, 0.0, 2.0) for step in (-1, 0, 1))]
    for gap in gaps:
        before, cycle = cycle, cycle + max(gap, 0)
        latency = int(random.choice([12, 13, 24, 25, 60, 61, 300, 301, 900, 901, 1200, 1201, 5000]))
        assert count_arrival(meters, 0, 1 - int(meters.each[0].target), latency, cycle + 1) == -1
        late = count_arrival(meters, 0, int(meters.each[0].target), latency, cycle)
        assert late == min(latency * 512 // 1200, 1024)
        place = next((at for at, (a, b) in enumerate(FRACTIONS) if latency * b <= 1200 * a), len(FRACTIONS))
        expected[place] += 1
        if before or gap != gaps[0]:
            deviation = (cycle - before) / 800 - 1
            even[max(at for at, border in enumerate(JITTERS) if border <= max(deviation, -1.0))] += 1
    assert meters.within[0].tolist() == expected
    assert meters.jitter[0].tolist() == even
    assert meters.each[0].packets == len(gaps)


def test_admitted_connections_arrive_within_their_deadlines(tmp_path: Path) -> None:
    """Every packet of an admitted connection arrives within its deadline.

    Refused connections send nothing, and the reported shares are monotonic and end at 1.
    """
    world = world_of(tmp_path, listed(3, 300))
    assert 0 < world.refused < 300
    assert len(world.settings.of_port) > 8
    result, tables = simulate(world, load=1.0, seed=2)

    each = tables["connections"]
    assert len(each) == 300 - world.refused
    expected = 36_000 / each["interval_cycles"]
    assert ((each["packets"] - expected).abs() < 3).all()
    assert each["late"].sum() == 0
    assert (each["latency_max_cycles"] <= each["deadline_cycles"]).all()
    assert sum(level.packets for level in result.deadlines) == each["packets"].sum()
    for level in result.deadlines:
        assert level.within == sorted(level.within)
        assert level.within[-1] == 1.0
        assert level.largest <= 1
        assert sum(level.jitter) == pytest.approx(1)
        assert sum(level.best) >= sum(level.worst)


@pytest.mark.long
def test_cores_make_the_same_run(tmp_path: Path) -> None:
    """A run with connections gives the same deliveries and counters on one and two cores."""
    world = world_of(tmp_path, listed(4, 200))
    one, two = (simulate(world, load=1.0, seed=2, cores=cores) for cores in (1, 2))
    assert one[0].digest == two[0].digest
    assert one[0].deadlines == two[0].deadlines
    assert one[1]["connections"].equals(two[1]["connections"])


class _Killed(Exception):  # noqa: N818 - no error
    pass


def test_run_resumes_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run killed after any slice resumes from its checkpoint with equal deliveries and counters.

    The checkpoint of another run is ignored.
    """
    stalls = [
        {"cycle": 9000, "cycles": 300, "switch": 1, "port": 1},
        {"cycle": 30_000, "cycles": 9, "switch": 0, "port": 2},
    ]
    run = {"cycles": 40_000, "warm_up_cycles": 4000, "loads": [0.1]}
    traffic = [{"sl": 3, "load": 0.1, "bytes": [64, 300]}]
    world = world_of(tmp_path, listed(5, 200), stall=stalls, traffic=traffic, run=run)
    whole, tables = simulate(world, load=0.1, seed=2)
    monkeypatch.setattr("vlane.sim_top.study.simulate.AT_A_TIME", HOSTS * 7000)
    file, saved = tmp_path / "run.checkpoint", []
    save = Checkpoint.save_now_and_then

    def killed(self: Checkpoint, network: object, course: object) -> None:
        save(self, network, course)  # type: ignore[arg-type]
        saved.append(file.stat().st_size)
        if len(saved) in {1, 3}:
            raise _Killed

    monkeypatch.setattr(Checkpoint, "save_now_and_then", killed)
    for _ in range(2):
        with pytest.raises(_Killed):
            simulate(world, load=0.1, seed=2, checkpoint=Checkpoint(file, "this", seconds=0))
    other = Checkpoint(tmp_path / "run.checkpoint", "another", seconds=1000)
    resumed, its = simulate(world, load=0.1, seed=2, checkpoint=Checkpoint(file, "this", seconds=1000))
    anew, _ = simulate(world, load=0.1, seed=2, checkpoint=other)

    assert len(saved) > 3  # killed twice, resumed twice
    for made in (resumed, anew):
        assert (made.digest, made.per_sl, made.deadlines) == (whole.digest, whole.per_sl, whole.deadlines)
    assert its["connections"].equals(tables["connections"])
    assert its["links"].equals(tables["links"])


def test_damaged_checkpoint_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given a checkpoint that is empty, truncated or has a flipped bit, the run starts again."""
    world, file = world_of(tmp_path, listed(6, 50)), tmp_path / "run.checkpoint"
    whole, _ = simulate(world, load=1.0, seed=1)
    monkeypatch.setattr("vlane.sim_top.study.simulate.AT_A_TIME", HOSTS * 30_000)
    simulate(world, load=1.0, seed=1, checkpoint=Checkpoint(file, "this", seconds=0))
    right = file.read_bytes()
    changed = [bytearray(right) for _ in range(6)]
    for place, each in enumerate(changed, 1):
        each[place * len(right) // 7] ^= 0x40
    for damaged in (b"", b"PK\x03\x04 nothing", right[: len(right) // 2], *map(bytes, changed)):
        file.write_bytes(damaged)
        made, _ = simulate(world, load=1.0, seed=1, checkpoint=Checkpoint(file, "this", seconds=1000))
        assert made.digest == whole.digest


def test_unwritable_checkpoint_does_not_stop_a_run(tmp_path: Path) -> None:
    world = world_of(tmp_path, listed(6, 50))
    whole, _ = simulate(world, load=1.0, seed=1)
    made, _ = simulate(world, load=1.0, seed=1, checkpoint=Checkpoint(tmp_path / "no" / "file", "this", seconds=0))
    assert made.digest == whole.digest


def test_misrouted_packets_are_not_counted(tmp_path: Path) -> None:
    """Given a forwarding entry rewritten to another host, misrouted packets are not counted."""
    table = listed(6, 120)
    world = world_of(tmp_path, table)
    switch, _ = world.topology.hosts[3]
    port = world.topology.hosts[2][1] if world.topology.hosts[2][0] == switch else None
    assert port is not None
    rewrite = [{"cycle": 10_000, "switch": switch, "lid": int(world.routes.lids[3, 0]), "port": port + 1}]
    before, after = (
        simulate(world_of(tmp_path, table, rewrite=each), load=1.0, seed=1, cores=cores)[1]["connections"]
        for each, cores in (([], 1), (rewrite, 2))
    )
    own = pl.col("destination") == 3
    assert after.filter(own)["packets"].sum() < 0.3 * before.filter(own)["packets"].sum()
    assert after.filter(~own)["packets"].sum() == pytest.approx(before.filter(~own)["packets"].sum(), abs=20)


def test_a_cycle_may_carry_less_than_a_block(tmp_path: Path) -> None:
    """With flits of 16 bytes, deadlines are about four times as many cycles as with 64 bytes."""
    table = listed(6, 30, interval=(900.0, 3000.0))
    blocks, flits = (world_of(tmp_path, table, link={"data_vls": 4, "flit_bytes": size}) for size in (64, 16))
    assert (flits.connections.deadline > 3.9 * blocks.connections.deadline - 40).all()
    assert (flits.connections.deadline < 4 * blocks.connections.deadline).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": pl.lit(8)}, "list.parquet:2: source must be 0 to 7"),
        ({"interval_cycles": pl.lit(0.5)}, "interval_cycles must be a number, 1 to 268435456, not 0.5"),
        ({"interval_cycles": pl.lit(float("nan"))}, "interval_cycles must be a number, 1 to 268435456"),
        ({"interval_cycles": pl.date(2026, 1, 1)}, "interval_cycles must be a column of numbers, not one of type Date"),
        ({"source": pl.lit(value=True)}, "source must be a column of numbers, not one of type Boolean"),
        ({"sl": pl.lit(16)}, "sl must be a whole number, 0 to 15"),
        ({"sl": pl.lit(4)}, r"list.parquet:2: sl must be an SL with a VL \(link.vl_of_sl, link.data_vls\), not 4"),
        ({"destination": pl.col("source")}, "list.parquet:2: destination must be different from the source"),
        ({"interval_cycles": pl.lit(2.0)}, "list.parquet:2: interval_cycles must be at least 4"),
    ],
)
def test_lists_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, pl.Expr], said: str) -> None:
    with pytest.raises(InputError, match=said):
        world_of(tmp_path, listed(7, 20).with_columns(**change))


def test_levels_without_a_distance_are_refused(tmp_path: Path) -> None:
    said = r"list.parquet:\d+: sl must be below 2, the length of admission.distances"
    with pytest.raises(InputError, match=said):
        world_of(tmp_path, listed(7, 20), admission={"distances": [2, 4]})


def test_admission_without_any_connection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="admission: none of the 20 connections was admitted"):
        world_of(tmp_path, listed(7, 20), admission={"distances": [2, 4, 8, 64], "budget": 1e-9})


@pytest.mark.parametrize(
    ("sections", "field"),
    [
        ({"connections": None, "traffic": [{}], "run": {"loads": [0.1]}}, "admission"),
        ({"scheduler": {"name": "rr"}}, "admission"),
        ({"scheduler": {"name": "vlarb", "table": "t.toml"}}, "scheduler.table"),
        ({"scheduler": {"name": "vlarb", "parameters": {"entries": 16}}}, "scheduler.parameters.entries"),
        ({"switch": {"kind": "opa"}}, "admission"),
        ({"cable": [{"hosts": [0], "relative_rate": 0.5}]}, "cable"),
        ({"link": {"data_vls": 4, "credits": "fcp"}}, "link.credits"),
        ({"run": {"cycles": 40_000, "precision": 0.1}}, r"run.precision cannot be used with \[connections\]"),
    ],
)
def test_sections_that_do_not_go_together_are_refused(sections: dict[str, object], field: str) -> None:
    with pytest.raises(ValueError, match=field):
        Study.model_validate({**STUDY, **sections})
