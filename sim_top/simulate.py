"""Runs of a study: each on its own, several at a time, kept as they finish, resumed where they stopped."""

from __future__ import annotations

import hashlib
import json
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from vlane.golden.kernel import source_digest
from vlane.golden.meters import BATCHES, latency_at
from vlane.golden.network import DONE, STUCK, Network, run, run_to, waiting_flits
from vlane.golden.opa_switch import OPASwitches
from vlane.golden.packets import IN_USE, NOBODY, Packets, new_packets
from vlane.golden.switches import buffer_between, central_buffers
from vlane.sim_top.faults import check_faults, faults_of
from vlane.sim_top.run_tables import delivery_table, flow_table, link_table
from vlane.sim_top.workers import Cluster, made_by_processes
from vlane.sim_top.world import World, check_world, make_network, show_end

from vlane.files import usable_folder, write_whole

__all__ = ["PerSL", "RunResult", "StuckError", "run_study", "simulate"]

_STUDENT_95 = 2.093  # of 19 degrees of freedom: BATCHES - 1
_SATURATED_SHARE = 0.02
_TRACE_ROWS = 1 << 16


class StuckError(RuntimeError):
    """Nothing moves any more although packets are there; says who waits for whom."""


@dataclass(frozen=True)
class PerSL:
    """What a service level got, in the measured stretch.

    Parameters
    ----------
    sl, packets : int
        The level; packets received.
    offered, accepted : float
        Flits generated and received per cycle and host.
    latency_mean_cycles, latency_ci95_cycles : float
        From generation to the reception of the last flit; half the width of the 95 % confidence interval (batch
        means). ``None`` without packets, or for the interval with empty batches.
    latency_p50, latency_p99, latency_max : int or None
        In cycles; percentiles to 3 %.
    mean_switches : float
        Switches passed.
    """

    sl: int
    packets: int
    offered: float
    accepted: float
    latency_mean_cycles: float | None
    latency_ci95_cycles: float | None
    latency_p50: int | None
    latency_p99: int | None
    latency_max: int | None
    mean_switches: float | None


@dataclass(frozen=True)
class RunResult:
    """One run.

    Parameters
    ----------
    load : float
        Asked, flits per cycle and host.
    seed, cycles : int
        Of the run; all its cycles.
    saturated : bool
        Whether the application queues grew: more than 2 % of what was generated never left them.
    offered, accepted : float
        All service levels together.
    flit_hops : int
        Flits delivered times switches passed, in all cycles.
    flit_hops_per_second : float
        Per CPU second.
    seconds : float
        CPU time.
    peak_mib : float
        Memory of the process, at most.
    digest : str
        Of every delivery and its cycle.
    link_utilisation_mean, link_utilisation_max : float
        Of the links between switches, in all cycles.
    per_sl : list of PerSL
        Levels that had traffic.
    """

    load: float
    seed: int
    cycles: int
    saturated: bool
    offered: float
    accepted: float
    flit_hops: int
    flit_hops_per_second: float
    seconds: float
    peak_mib: float
    digest: str
    link_utilisation_mean: float
    link_utilisation_max: float
    per_sl: list[PerSL]


def simulate(world: World, *, load: float, seed: int, trace: bool = False) -> tuple[RunResult, dict[str, pl.DataFrame]]:
    """Make one run; return its result and tables: ``links``, ``flows`` and ``trace`` where they are asked for.

    Parameters
    ----------
    trace : bool
        Whether every delivery is kept.

    Raises
    ------
    StuckError
        If nothing moves for ``stuck_cycles``.
    """
    net = make_network(world, load=load, seed=seed, trace_rows=_TRACE_ROWS if trace else 0)
    packets = new_packets(1 << 14)
    _warm_compile(net, packets)
    frames: list[pl.DataFrame] = []
    changes = faults_of(world)
    start = time.thread_time()
    end = world.study.run.cycles
    while True:
        reason, packets = run_to(net, packets, end, changes=changes)
        if reason == STUCK:
            raise StuckError(_waiting_chain(world, net, packets))
        if reason == DONE:
            break
        frames.append(delivery_table(world, net.meters))
    seconds = time.thread_time() - start
    result = _result(world, net, packets, load=load, seed=seed, seconds=seconds)
    made = {
        "links": lambda: link_table(world, net, packets),
        "flows": lambda: flow_table(net),
        "trace": lambda: pl.concat([*frames, delivery_table(world, net.meters)]),
    }
    return result, {name: made[name]() for name in _tables_of(world, trace=trace)}


def _warm_compile(net: Network, packets: Packets) -> None:
    """Compile before time is taken; no cycle is run."""
    run(net, packets, 0)


def _result(world: World, net: Network, packets: Packets, *, load: float, seed: int, seconds: float) -> RunResult:
    study, hosts = world.study, len(world.topology.hosts)
    measured = (study.run.cycles - study.run.warm_up_cycles) * hosts
    left = waiting_flits(net, packets)
    generated, received = net.sources.generated, net.meters.total
    used = [sl for sl in range(len(generated)) if generated[sl, 0] or received[sl, 0]]
    inner = net.links.sent["flits"][net.wiring.cable["far"] >= 0].sum(axis=1)[:-hosts] / study.run.cycles
    flit_hops = int(net.meters.digest[1])
    whole = float(generated[:, 1].sum())
    return RunResult(
        load=load,
        seed=seed,
        cycles=study.run.cycles,
        saturated=bool(left > _SATURATED_SHARE * max(whole, 1.0) and left > 2 * hosts * max(world.buffers.largest)),
        offered=whole / measured,
        accepted=float(received[:, 1].sum()) / measured,
        flit_hops=flit_hops,
        flit_hops_per_second=flit_hops / max(seconds, 1e-9),
        seconds=seconds,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        digest=f"{int(net.meters.digest[0]):016x}",
        link_utilisation_mean=float(inner.mean()) if len(inner) else 0.0,
        link_utilisation_max=float(inner.max()) if len(inner) else 0.0,
        per_sl=[_per_sl(net, sl, measured) for sl in used],
    )


def _per_sl(net: Network, sl: int, measured: int) -> PerSL:
    packets, flits, latency, most, hops = (int(value) for value in net.meters.total[sl])
    histogram, batch = net.meters.histogram[sl], net.meters.batch[sl]
    timed = int(histogram.sum())
    interval = None
    if timed and batch[:, 0].min() > 0:
        means = batch[:, 1] / batch[:, 0]
        interval = float(_STUDENT_95 * means.std(ddof=1) / np.sqrt(BATCHES))
    return PerSL(
        sl, packets, int(net.sources.generated[sl, 1]) / measured, flits / measured,
        latency / timed if timed else None, interval, _percentile(histogram, 0.5), _percentile(histogram, 0.99),
        most if timed else None, hops / timed if timed else None,
    )  # fmt: skip


def _percentile(histogram: NDArray[np.int64], share: float) -> int | None:
    whole = int(histogram.sum())
    if not whole:
        return None
    return latency_at(int(np.searchsorted(np.cumsum(histogram), share * whole)))


def _waiting_chain(world: World, net: Network, packets: Packets) -> str:
    """Say for one blocked head after the other what it waits for, until one comes again."""
    inputs, ends = net.switches.inputs, len(net.wiring.cable)
    heads = np.full((ends, inputs.queues.queue.shape[1]), NOBODY, np.int64)
    heads[: len(inputs.queues.queue)] = inputs.queues.queue["head"]
    if isinstance(net.switches, OPASwitches):
        heads = np.concatenate([heads, net.switches.centre.queues.queue["head"]])
    held = int(packets.regs[IN_USE])
    steps: list[str] = []
    seen: set[int] = set()
    blocked = np.flatnonzero((heads != NOBODY).any(axis=1))
    place = int(blocked[0]) if len(blocked) else -1
    while place >= 0 and place not in seen:
        seen.add(place)
        lane = int(np.flatnonzero(heads[place] != NOBODY)[0])
        output = int(packets.pool[heads[place, lane]].output)
        buffer = buffer_between(net.switches, place, output) if place < ends else -1
        if buffer >= 0:
            target = following = ends + buffer
        else:
            switch = place >> inputs.port_bits if place < ends else (place - ends) // central_buffers(net.switches)
            target = (switch << inputs.port_bits) + output
            following = int(net.wiring.cable[target].far)
        steps.append(
            f"{show_end(world.topology, place, net)} VL {lane} waits for {show_end(world.topology, target, net)}"
        )
        place = following if following >= 0 and (heads[following] != NOBODY).any() else -1
    return f"cycle {int(net.clock[0])}: {held} packets and nothing moves; {'; '.join(steps) or 'all wait at NICs'}"


def run_study(
    world: World,
    out: Path,
    *,
    jobs: int,
    resume: bool,
    trace: bool,
    told: Callable[[RunResult, int, int], None],
    cluster: Cluster | None = None,
) -> list[RunResult]:
    """Make all runs of a study, and keep each as it finishes; return them by load and seed.

    Parameters
    ----------
    world : World
        The study's; it is checked first.
    out : Path
        Folder for ``results.parquet``, and ``runs/`` with a file for each run.
    jobs : int
        Runs at a time, each in a process of its own if more than 1.
    resume : bool
        Whether finished runs of the same study are taken as they are.
    trace : bool
        Whether each run writes its deliveries.
    told : callable
        Called with (result, runs finished, runs in all).
    cluster : Cluster, optional
        Makes the runs instead of processes here.
    """
    check_world(world)
    check_faults(world)
    usable_folder(out / "runs", option="--out")
    key = _key(world)
    wanted = [(load, seed) for load in world.study.run.loads for seed in world.study.run.seeds]
    done: dict[tuple[float, int], RunResult] = {}
    for load, seed in wanted if resume else []:
        kept = _kept(out, load, seed, key)
        if kept and all(_table_file(out, load, seed, name).exists() for name in _tables_of(world, trace=trace)):
            done[load, seed] = kept
            told(kept, len(done), len(wanted))
    missing = [each for each in wanted if each not in done]
    make = partial(_one, world, trace)
    for result, tables in cluster.made(make, missing) if cluster else made_by_processes(make, missing, jobs):
        _keep(out, key, result, tables)
        done[result.load, result.seed] = result
        told(result, len(done), len(wanted))
    results = [done[each] for each in wanted]
    _write_parquet(_frame(results), out / "results.parquet")
    return results


def _one(world: World, trace: bool, load: float, seed: int) -> tuple[RunResult, dict[str, pl.DataFrame]]:  # noqa: FBT001 - partial
    return simulate(world, load=load, seed=seed, trace=trace)


def _keep(out: Path, key: str, result: RunResult, tables: dict[str, pl.DataFrame]) -> None:
    """Write a run's files, the one that says that it is whole at the end."""
    for name, table in tables.items():
        _write_parquet(table, _table_file(out, result.load, result.seed, name))
    text = json.dumps({"key": key, "result": asdict(result)}, indent=1)
    write_whole(_run_file(out, result.load, result.seed), text + "\n", option="--out")


def _run_file(out: Path, load: float, seed: int) -> Path:
    return out / "runs" / f"load{load:g}-seed{seed}.json"


def _table_file(out: Path, load: float, seed: int, name: str) -> Path:
    return out / "runs" / f"load{load:g}-seed{seed}.{name}.parquet"


def _tables_of(world: World, *, trace: bool) -> list[str]:
    """Return the names of a run's tables."""
    return ["links", *["flows"] * world.study.measure.flows, *["trace"] * trace]


def _key(world: World) -> str:
    """Return what a kept run must have been made with: the study, files it names, and the model's source."""
    study = world.study
    digest = hashlib.sha256(source_digest().encode())
    digest.update(study.model_dump_json(exclude={"run": {"loads", "seeds"}}).encode())
    named = (study.scheduler.table, getattr(study.network, "file", None), study.trace and study.trace.file)
    for name in filter(None, named):
        digest.update((world.base / name).read_bytes())
    folder = getattr(study.network, "folder", None)
    for file in sorted((world.base / folder).rglob("*")) if folder else []:
        if file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _kept(out: Path, load: float, seed: int, key: str) -> RunResult | None:
    try:
        document = json.loads(_run_file(out, load, seed).read_text())
        if document["key"] != key:
            return None
        result = document["result"]
        return RunResult(**{**result, "per_sl": [PerSL(**each) for each in result["per_sl"]]})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _frame(results: list[RunResult]) -> pl.DataFrame:
    """Return a row per run and service level."""
    rows: list[dict[str, Any]] = []
    for result in results:
        whole = {f"run_{name}": value for name, value in asdict(result).items() if name != "per_sl"}
        rows += [{**whole, **asdict(each)} for each in result.per_sl]
    return pl.DataFrame(rows, infer_schema_length=None)


def _write_parquet(frame: pl.DataFrame, file: Path) -> None:
    part = file.with_name(f"{file.name}.part")
    frame.write_parquet(part)
    part.replace(file)
