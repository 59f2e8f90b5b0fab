"""Runs of a study: reuses stored runs, makes missing runs and stores them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import polars as pl
from pydantic import TypeAdapter, ValidationError

import vlane
from vlane.credits.credit_schemes import CREDIT_SCHEMES
from vlane.errors import misplaced
from vlane.golden.engine.kernel import source_digest
from vlane.golden.network.cores import start_network
from vlane.golden.network.division import check_parts
from vlane.golden.topologies.topology import End, Topology
from vlane.plugins import portable_plugins
from vlane.rates import NAMED_RATES, rate_of
from vlane.sim_top.output.console import note
from vlane.sim_top.scenario.congestion_settings import flows_held
from vlane.sim_top.scenario.equipment import fastest_captured
from vlane.sim_top.scenario.world import World, make_network
from vlane.sim_top.study.checkpoint import Checkpoint
from vlane.sim_top.study.record import write_record
from vlane.sim_top.study.result_frames import MadeRun, level_frame, parameter_columns, run_frame
from vlane.sim_top.study.run_store import TABLES, JoinedPart, RunKey, RunStore
from vlane.sim_top.study.simulate import RunResult, StuckError, simulate, tables_of
from vlane.sim_top.study.sweep import Sweep, SweepPoint
from vlane.sim_top.study.workers import Cluster, Task, made_by_processes
from vlane.study.file import shown_changes
from vlane.study.packet_trace import trace_remarks
from vlane.tables.lft import FIRST_MULTICAST
from vlane.units import blocks_of


def run_sweep(
    sweep: Sweep,
    out: Path,
    *,
    jobs: int,
    resume: bool,
    trace: bool,
    told: Callable[[MadeRun, int, int], None],
    cluster: Cluster | None = None,
    with_tables: bool = True,
    cores: int = 1,
    remark: Callable[[str], None] = note,
) -> list[MadeRun]:
    """Make all runs of a study's points, storing each when it finishes, and return them by point, load and seed.

    Parameters
    ----------
    sweep : Sweep
        Checked points.
    out : Path
        Folder for ``manifest.json``, the tables of all runs, and ``runs/`` with the files of each run.
    jobs : int
        Number of concurrent runs, of any points; each has a process of its own if more than 1.
    resume : bool
        Whether to reuse finished runs of the same points.
    trace : bool
        Whether each run writes its packets.
    told : callable
        Receives (run, finished runs, total runs).
    cluster : Cluster, optional
        Makes the runs instead of local processes.
    with_tables : bool
        Whether each run stores its tables of links and flows.
    cores : int
        Number of threads per run.
    remark : callable
        Receives notable lines that are not results.

    Raises
    ------
    InputError
        If the folder is not usable or holds runs of another study, a trace is requested but headers cannot hold the
        LIDs, or a network cannot be divided among so many cores.
    StuckError
        If no flit moves for ``stuck_cycles``.
    WorkerLostError
        If two processes died during the same run.
    """
    if trace:
        _check_headers(sweep)
    for point in sweep.points:
        study = point.world.study
        check_parts(
            cores,
            point.world.topology.switches,
            with_fcps=CREDIT_SCHEMES[study.link.credits].by_fcps,
            with_congestion=study.congestion is not None,
            with_messages=any(each.in_messages for each in study.traffic),
        )
    wanted = [(key, point) for point in sweep.points for key in point.runs()]
    done: dict[RunKey, MadeRun] = {}
    clocks = {point.digest: point.world.study.link.clock for point in sweep.points}

    def finished(key: RunKey, result: RunResult) -> None:
        done[key] = MadeRun(key, result, clocks[key.point])
        told(done[key], len(done), len(wanted))

    with RunStore(out, sweep.study, version=vlane.__version__, model=model_digest()) as store:
        if store.removed:
            remark(f"removed {store.removed} runs made by another version of vlane")
        if sweep.command:
            studies = (point.world.study for point in sweep.points)
            write_record(out, sweep.command, studies, trace=trace, source=model_digest())
        for said in dict.fromkeys(said for point in sweep.points for said in _remarks(point.world)):
            remark(said)
        for key, point in wanted if resume else []:
            kept = _kept(store, key, tables_of(point.world, trace=trace, with_tables=with_tables), remark)
            if kept:
                finished(key, kept)
        for key, _ in wanted:
            if key in done or not resume:
                _checkpoint(out, sweep, key).forget()
        tasks = [
            Task(
                shown_run(key),
                partial(
                    _one,
                    point.world,
                    key,
                    trace=trace,
                    with_tables=with_tables,
                    cores=cores,
                    checkpoint=None if cluster else _checkpoint(out, sweep, key),
                ),
            )
            for key, point in wanted
            if key not in done
        ]
        if jobs > 1 and len(tasks) > 1 and not cluster:
            portable_plugins()  # refuses plug-ins that another process cannot have, before one starts
            _compile_once([point for point in sweep.points if any(key not in done for key in point.runs())])
        making = cluster.made(tasks) if cluster else made_by_processes(tasks, jobs)
        with contextlib.closing(making):
            for key, result, tables in making:
                store.keep(key, asdict(result), tables)
                _checkpoint(out, sweep, key).forget()
                finished(key, result)
        results = [done[key] for key, _ in wanted]
        columns = parameter_columns([key.parameters for key, _ in wanted])
        levels, runs = level_frame(results, columns), run_frame(results, columns)
        joined: dict[str, list[JoinedPart]] = {name: [] for name in TABLES}
        for row, (key, point) in enumerate(wanted):
            for name in set(tables_of(point.world, trace=False, with_tables=with_tables)) & set(TABLES):
                which = runs.select(*columns, "load", "seed").slice(row, 1)
                joined[name].append((key, which, clocks[key.point]))
        store.keep_results(levels, runs, joined)
    return results


def _compile_once(points: list[SweepPoint]) -> None:
    """Compile golden for each kind of network before processes would do so at the same time."""
    kinds: dict[str, SweepPoint] = {}
    for point in points:
        study = point.world.study
        parts = (
            study.switch,
            study.scheduler.name,
            study.scheduler.parameters,
            study.link.credits,
            point.world.data_vls,
        )
        more = (study.congestion is None, study.connections is None, study.network.topology, study.measure)
        kinds.setdefault(repr((*parts, *more)), point)
    for point in kinds.values():
        run = point.runs()[0]
        start_network(make_network(point.world, load=run.load, seed=run.seed), cores=1).warm()


def shown_run(key: RunKey) -> str:
    """Return a readable name of a run."""
    words = [shown_changes(key.parameters)] * bool(key.parameters)
    return ", ".join([*words, f"load {key.load!r}", f"seed {key.seed}"])


def _check_headers(sweep: Sweep) -> None:
    """Reject traces of packets whose LIDs or SLs do not fit into headers."""
    for point in sweep.points:
        routes = point.world.routes
        if len(routes.rule):
            raise misplaced("--trace", f"with more than {FIRST_MULTICAST - 1} LIDs: headers cannot hold them")
        if routes.nic_vl.shape[1] > routes.kind.levels:
            raise misplaced("--trace", f"with more than {routes.kind.levels} SLs: headers cannot hold them")


def _remarks(world: World) -> list[str]:
    return [
        *_golden_only(world),
        *_captured_rates(world),
        *_not_taken_in(world),
        *_flows_held(world),
        *trace_remarks(world.replayed, cycles=world.study.run.cycles),
    ]


def _captured_rates(world: World) -> Iterator[str]:
    """Yield remarks about captured link rates: simulated ones and ignored ones."""
    fastest = fastest_captured(world.rates)
    if not fastest:
        if world.rates:
            yield "the capture names no rates of cables: all have the rate of the links"
        return
    link, captured = rate_of(world.study.link.rate_gbps), NAMED_RATES[fastest].data_gbps
    slower: dict[str, list[End]] = {}
    for end, name in sorted(world.rates.items()):
        if name != fastest:
            slower.setdefault(name, []).append(end)
    for name, ends in slower.items():
        where = _shown_cable(world.topology, ends[0]) + (f" and {len(ends) - 1} more" if len(ends) > 1 else "")
        if name in NAMED_RATES:
            yield f"cables captured at {name} have {NAMED_RATES[name].data_gbps / captured:.4g} of the rate: {where}"
        else:
            yield f"cables of unknown rate ({name or 'none named'}) are taken as {fastest}: {where}"
    if not math.isclose(link, captured, rel_tol=1e-3):
        yield (
            f"the fastest cables were captured at {fastest}, {captured:g} Gb/s: times and Gb/s are those of "
            f"link.rate_gbps or --rate, {link:g} Gb/s"
        )


def _shown_cable(topology: Topology, end: End) -> str:
    """Return a cable by its host, or by the switch and port of its first end."""
    if end in topology.hosts:
        return topology.show_host(topology.hosts.index(end))
    return f"{topology.show_switch(end[0])} port {end[1] + 1}"


def _not_taken_in(world: World) -> Iterator[str]:
    if world.refused:
        asked = world.refused + len(world.connections.source)
        yield f"{world.refused} of {asked} connections were not admitted: a port on their path had too few free entries"


def _flows_held(world: World) -> Iterator[str]:
    """Yield remarks on the number of flows that congestion control can hold, one per group of equal SLs."""
    if world.congestion is None or not world.congestion.threshold:
        return
    alike: dict[tuple[int, int, int], list[int]] = {}
    for sl, size in sorted((sl, size) for sl, size in world.levels.items() if isinstance(sl, int)):
        blocks = blocks_of(size)
        alike.setdefault((blocks, *flows_held(world.congestion, sl, blocks)), []).append(sl)
    for (blocks, by_timer, by_cct), sls in alike.items():
        why = f"{by_timer} by CCTI_Timer and CCTI_Increase, {by_cct} by the CCT"
        names = ", ".join(map(str, sls))
        yield (
            f"congestion control can hold up to {min(by_timer, by_cct)} flows to one host, "
            f"with packets of {blocks} blocks "
            f"on SL {names} ({why}); more flows remain a hot spot"
        )


def _golden_only(world: World) -> Iterator[str]:
    if len(world.routes.rule):
        count = int(world.routes.lids[:, 1].sum())
        yield f"{count} LIDs exceed a subnet's {FIRST_MULTICAST - 1}: switches forward by rule, without tables"
    levels, most = world.routes.nic_vl.shape[1], world.routes.kind.levels
    if levels > most:
        yield f"{levels} SLs exceed the {most} of a packet header: only golden switches support them"


def _checkpoint(out: Path, sweep: Sweep, key: RunKey) -> Checkpoint:
    """Return the checkpoint of a run."""
    whose = "/".join((sweep.study.digest, key.point, repr(key.load), str(key.seed), vlane.__version__, model_digest()))
    return Checkpoint(out / f"{key.stem}.checkpoint", whose)


def _one(
    world: World, key: RunKey, *, trace: bool, with_tables: bool, cores: int, checkpoint: Checkpoint | None
) -> tuple[RunKey, RunResult, dict[str, pl.DataFrame]]:
    try:
        result, tables = simulate(
            world,
            load=key.load,
            seed=key.seed,
            trace=trace,
            with_tables=with_tables,
            cores=cores,
            checkpoint=checkpoint,
        )
    except StuckError as error:
        if not key.parameters:
            raise
        raise StuckError(f"{error} ({shown_run(key)})") from None
    return key, result, tables


def _kept(store: RunStore, key: RunKey, tables: list[str], remark: Callable[[str], None]) -> RunResult | None:
    """Return a stored run if it is intact, otherwise print a remark."""
    document, why = store.whole(key, tables)
    if document is not None:
        try:
            made = TypeAdapter(RunResult).validate_python(document)
        except ValidationError:
            made = None
        if made is not None and asdict(made) == document:
            return made
        why = "its result has another format"
    if why:
        remark(f"repeating {shown_run(key)}: {why}")
    return None


@functools.cache
def model_digest() -> str:
    """Return a digest of all sources of vlane that determine a run and its results."""
    digest = hashlib.sha256(source_digest().encode())
    own = Path(__file__).resolve().parent.parent
    for file in (*sorted(own.rglob("*.py")), *sorted(Path(vlane.__file__).resolve().parent.rglob("*.py"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()
