"""One run of a study at one load and seed, and its results."""

from __future__ import annotations

import copy
import resource
from collections import deque
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vlane.golden.engine.pool import IN_USE
from vlane.golden.network.clock import NOW
from vlane.golden.network.cores import OneCore, Running, double_window, start_network
from vlane.golden.network.meters import MADE, PARTS, RECEIVED, Meters
from vlane.golden.network.network import DONE, STUCK, discard_waiting
from vlane.golden.network.runs import AT_A_TIME, Change
from vlane.golden.network.state import Network
from vlane.golden.switches.kinds import buffer_between, central_buffers, central_heads
from vlane.golden.switches.packets import NOBODY, Packets
from vlane.golden.topologies.wiring import NOWHERE
from vlane.sim_top.scenario.faults import faults_of
from vlane.sim_top.scenario.plugged_source import check_drawn
from vlane.sim_top.scenario.world import World, make_network, show_end
from vlane.sim_top.study.checkpoint import Checkpoint
from vlane.sim_top.study.congestion_counts import OfCongestion, congestion_of
from vlane.sim_top.study.connection_tables import OfDeadlines, connection_table, deadlines_of
from vlane.sim_top.study.course import Course, level_course, link_course
from vlane.sim_top.study.latencies import PERCENTILES, histogram_table, quantile
from vlane.sim_top.study.message_tables import OfMessages, message_table, messages_of
from vlane.sim_top.study.progress import Heartbeat
from vlane.sim_top.study.run_tables import delivery_table, flow_table, link_table, trace_table
from vlane.sim_top.study.steady import judge_backlog, latency_half_width, latency_rises
from vlane.sim_top.study.table_effect import TableEffect, table_effects

_TRACE_ROWS = 1 << 16


class StuckError(RuntimeError):
    """Deadlock: packets exist but none moves. The message names the chain of waiting buffers."""


@dataclass(frozen=True)
class PerSL:
    """Results of a service level in the measurement window.

    Parameters
    ----------
    sl : int
        Service level.
    packets : int
        Packets received.
    offered, accepted : float
        Flits generated and received per cycle and host.
    saturated : bool
        Whether the backlog between generation and delivery grows without bound. The latencies of a saturated level only
        reflect the length of the run.
    decided : bool
        Whether the run was long enough to decide saturation; if not, ``saturated`` is False.
    backlog_growth : float
        Trend of the backlog in flits per cycle and host.
    backlog_growth_ci95 : float
        Half the width of the 95 % confidence interval of the trend.
    warmed_up : bool
        Whether the window shows no rest of the warm-up: the latency does not rise after the first quarter, and the
        backlog does not grow ever more slowly. If not, saturation is undecided and the latency has no interval.
    latency_mean_cycles : float
        Mean latency from generation to the reception of the last flit; ``None`` without packets.
    latency_ci95_cycles : float
        Half the width of the mean's 95 % confidence interval; ``None`` without packets, and if the window is
        too short for it.
    latency_p50_cycles, latency_p95_cycles, latency_p99_cycles, latency_p999_cycles : float or None
        Percentiles of the latency, accurate to 1.6 %.
    latency_min_cycles, latency_max_cycles : int or None
        Shortest and longest latency.
    mean_switches : float
        Mean number of switches on the path.
    precise : bool or None
        Whether the mean latency has the precision of ``run.precision``; ``None`` without ``run.precision``.
    offered_parts, accepted_parts : list of float
        Time series of ``offered`` and ``accepted``: values in each fortieth of the measurement window.
    fairness : float or None
        Jain's index of the flits received from each host that sends on the level: 1 if all are equal, 1/n if only one
        of n has any; ``None`` without ``measure.sources``.
    table_programmed_share, table_measured_share, table_contested_share : float or None
        Effect of a scheduler's table, as in ``TableEffect``; ``None`` without a table.
    """

    sl: int
    packets: int
    offered: float
    accepted: float
    saturated: bool
    decided: bool
    warmed_up: bool
    backlog_growth: float
    backlog_growth_ci95: float
    latency_mean_cycles: float | None
    latency_ci95_cycles: float | None
    latency_min_cycles: int | None
    latency_p50_cycles: float | None
    latency_p95_cycles: float | None
    latency_p99_cycles: float | None
    latency_p999_cycles: float | None
    latency_max_cycles: int | None
    mean_switches: float | None
    precise: bool | None
    offered_parts: list[float]
    accepted_parts: list[float]
    fairness: float | None = None
    table_programmed_share: float | None = None
    table_measured_share: float | None = None
    table_contested_share: float | None = None

    def document(self) -> dict[str, Any]:
        """Return the fields by name. Latencies of a saturated level are ``None``."""
        document = asdict(self)
        if self.saturated:
            document |= {name: None for name in document if name.startswith("latency_")}
        return document


@dataclass(frozen=True)
class RunResult:
    """Result of one run.

    Parameters
    ----------
    load : float
        Configured load, flits per cycle and host.
    seed : int
        Seed.
    cycles : int
        Total number of cycles.
    saturated : bool
        Whether any service level is saturated.
    decided : bool
        Whether saturation is decided for all.
    offered, accepted : float
        Sums over all service levels.
    flit_hops : int
        Delivered flits times switches on their paths, over all cycles.
    flit_hops_per_second : float
        Flit-hops per CPU second.
    seconds : float
        CPU time over all cores.
    peak_mib : float
        Peak memory of the process.
    digest : str
        Digest of all deliveries with their cycles.
    link_utilisation_mean, link_utilisation_max : float
        Utilisation of links between switches, per direction, over all cycles; 0 without such links.
    host_link_utilisation_mean, host_link_utilisation_max : float
        Utilisation of links between hosts and switches, likewise.
    per_sl : list of PerSL
        Results of levels with traffic.
    deadlines : list of OfDeadlines
        Statistics of levels with connections that have deadlines.
    congestion : OfCongestion or None
        Counts of congestion control; ``None`` without it.
    messages : list of OfMessages
        Results of traffic classes that send messages.
    """

    load: float
    seed: int
    cycles: int
    saturated: bool
    decided: bool
    offered: float
    accepted: float
    flit_hops: int
    flit_hops_per_second: float
    seconds: float
    peak_mib: float
    digest: str
    link_utilisation_mean: float
    link_utilisation_max: float
    host_link_utilisation_mean: float
    host_link_utilisation_max: float
    per_sl: list[PerSL]
    deadlines: list[OfDeadlines]
    congestion: OfCongestion | None = None
    messages: list[OfMessages] = field(default_factory=list)


def simulate(
    world: World,
    *,
    load: float,
    seed: int,
    trace: bool = False,
    with_tables: bool = True,
    cores: int = 1,
    checkpoint: Checkpoint | None = None,
) -> tuple[RunResult, dict[str, pl.DataFrame]]:
    """Make one run and return its result and the requested tables: the names are those of ``tables_of``.

    Parameters
    ----------
    trace : bool
        Whether to record every delivery.
    with_tables : bool
        Whether to make tables of links, flows and connections.
    cores : int
        Number of threads that share the network; results do not depend on it.
    checkpoint : Checkpoint or None
        Checkpoint to resume from and to update periodically; used only with one core and without a trace.

    Raises
    ------
    InputError
        If the network cannot be divided among so many cores.
    StuckError
        If no flit moves for ``stuck_cycles``.
    """
    made = make_network(world, load=load, seed=seed, trace_rows=_TRACE_ROWS if trace else 0)
    network = start_network(made, cores=cores)
    network.warm()
    frames: list[pl.DataFrame] = []
    changes = faults_of(world)
    course = Course(int(made.meters.window[0]), world.study.measure.every)
    keeping = checkpoint if isinstance(network, OneCore) and not trace else None
    if keeping is not None and isinstance(network, OneCore) and keeping.resume(network, course):
        while changes and changes[0].cycle < made.clock[NOW]:
            changes.popleft()
    heart = Heartbeat(f"load {load!r}, seed {seed}")
    _run_on(world, network, changes, course, frames, keeping, heart)
    while not _is_enough(world, network):
        double_window(network)
        _run_on(world, network, changes, course, frames, keeping, heart)
    net, packets = network.whole()
    discard_waiting(net, packets)
    check_drawn(world, network.plugged)
    result = _result(world, net, load=load, seed=seed, seconds=network.cpu_seconds)
    links = link_table(world, net, packets, course.start) if with_tables else pl.DataFrame()
    tables = {
        "links": lambda: links,
        "levels_over_time": lambda: level_course(course, net),
        "links_over_time": lambda: link_course(course, net, links),
        "flows": lambda: flow_table(world, net, {level.sl for level in result.per_sl if level.saturated}),
        "histograms": lambda: histogram_table(net.meters),
        "messages": lambda: message_table(result.messages),
        "connections": lambda: connection_table(world.connections, net.meters),
        "trace": lambda: trace_table(world, network, frames, net, packets),
    }
    return result, {name: tables[name]() for name in tables_of(world, trace=trace, with_tables=with_tables)}


def _run_on(
    world: World,
    network: Running,
    changes: deque[Change],
    course: Course,
    frames: list[pl.DataFrame],
    keeping: Checkpoint | None,
    heart: Heartbeat,
) -> None:
    """Run to the end of the measurement window. Deliveries are appended whenever the record is full."""
    end = int(network.meters()[0].window[1])
    now = 0
    while True:
        due = course.next_after(now)
        until = end if due is None else min(end, due)
        if isinstance(network, OneCore):
            now = int(network.net.clock[NOW])
            heart.beat(now, end)
            until = min(until, now + max(1, AT_A_TIME // len(world.topology.hosts)))
        reason = network.run_to(until, changes)
        check_drawn(world, network.plugged)
        if reason == STUCK:
            raise StuckError(_waiting_chain(world, *network.whole()))
        if reason == DONE:
            now = until
            course.take(*network.whole()) if until == due else None
        if reason == DONE and until == end:
            return
        if reason == DONE:
            if keeping is not None and isinstance(network, OneCore):
                keeping.save_now_and_then(network, course)
        else:
            frames.extend(delivery_table(world, meters) for meters in network.meters())


def _is_enough(world: World, network: Running) -> bool:
    """Return whether every level is saturated or precise enough, or a window twice as long would exceed the limit."""
    asked, window = world.study.run, network.meters()[0].window
    first, end = int(window[0]), int(window[1])
    if asked.precision is None or 2 * end - first > asked.longest_cycles:
        return True
    levels = _levels(world, _with_waiting(*network.whole()))
    return all(level.saturated or level.precise for level in levels)


def _with_waiting(net: Network, packets: Packets) -> Meters:
    """Return the meters including the packets in application queues, without modifying the network."""
    meters = net.meters._replace(part=net.meters.part.copy(), flow=net.meters.flow[:0, :0].copy())
    aside = net._replace(sources=copy.deepcopy(net.sources), staged_packets=net.staged_packets.copy(), meters=meters)
    discard_waiting(aside, copy.deepcopy(packets))
    return meters


def _result(world: World, net: Network, *, load: float, seed: int, seconds: float) -> RunResult:
    levels, effects = _levels(world, net.meters), table_effects(world, net)
    levels = [_with_effect(level, effects.get(level.sl)) for level in levels]
    flit_hops = int(net.meters.digest[1])
    between, to_hosts = _utilisations(world, net)
    return RunResult(
        load=load,
        seed=seed,
        cycles=int(net.clock[NOW]),
        saturated=any(level.saturated for level in levels),
        decided=all(level.decided for level in levels),
        offered=sum(level.offered for level in levels),
        accepted=sum(level.accepted for level in levels),
        flit_hops=flit_hops,
        flit_hops_per_second=flit_hops / max(seconds, 1e-9),
        seconds=seconds,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        digest=f"{int(net.meters.digest[0]):016x}",
        link_utilisation_mean=float(between.mean()) if len(between) else 0.0,
        link_utilisation_max=float(between.max()) if len(between) else 0.0,
        host_link_utilisation_mean=float(to_hosts.mean()),
        host_link_utilisation_max=float(to_hosts.max()),
        per_sl=levels,
        deadlines=deadlines_of(world.connections, net.meters),
        congestion=congestion_of(net),
        messages=messages_of(world.study, net.meters.messages, {level.sl for level in levels if level.saturated}),
    )


def _with_effect(level: PerSL, effect: TableEffect | None) -> PerSL:
    if effect is None:
        return level
    return replace(
        level,
        table_programmed_share=effect.programmed,
        table_measured_share=effect.measured,
        table_contested_share=effect.contested,
    )


def _utilisations(world: World, net: Network) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the flits per cycle of links between switches, and of links between hosts and switches."""
    far, of_switches = net.wiring.cable["far_input"], world.topology.switches << net.switches.inputs.port_bits
    sent = net.out_ports.counters["flits"].sum(axis=1) / int(net.clock[NOW])
    is_cabled, is_switch = far != NOWHERE, np.arange(len(far)) < of_switches
    is_between = is_switch & (far >= 0)
    return sent[is_between], sent[is_cabled & ~is_between]


def _levels(world: World, meters: Meters) -> list[PerSL]:
    """Return the results of each level with traffic."""
    traffic = meters.part[:, :, [MADE, RECEIVED]].any(axis=(1, 2))
    return [_per_sl(world, meters, sl) for sl in np.flatnonzero(traffic).tolist()]


def _per_sl(world: World, meters: Meters, sl: int) -> PerSL:
    packets, flits, latency, most, hops, shortest = (int(value) for value in meters.total[sl])
    histogram, part, hosts = meters.histogram[sl], meters.part[sl], len(world.topology.hosts)
    cycles = int(meters.window[1] - meters.window[0])
    timed, mean = int(histogram.sum()), None
    p50, p95, p99, p999 = (quantile(histogram, share, least=shortest, most=most) for share in PERCENTILES.values())
    backlog = judge_backlog(part, cycles)
    warmed_up = backlog.saturated or not (backlog.is_slowing or latency_rises(part))
    interval = latency_half_width(part) if warmed_up else None
    decided = backlog.decided and warmed_up
    precise, asked = None, world.study.run.precision
    if timed:
        mean = latency / timed
    if asked is not None:
        is_sure = mean is not None and interval is not None and interval <= asked * mean
        precise = is_sure and decided and not backlog.saturated
    course = part * (PARTS / (cycles * hosts))
    return PerSL(
        sl,
        packets,
        int(part[:, MADE].sum()) / (cycles * hosts),
        flits / (cycles * hosts),
        backlog.saturated,
        decided,
        warmed_up,
        backlog.growth / hosts,
        backlog.growth_ci95 / hosts,
        mean,
        interval,
        shortest if timed else None,
        p50,
        p95,
        p99,
        p999,
        most if timed else None,
        hops / timed if timed else None,
        precise,
        course[:, MADE].tolist(),
        course[:, RECEIVED].tolist(),
        _fairness(world, meters, sl),
    )


def _fairness(world: World, meters: Meters, sl: int) -> float | None:
    """Return Jain's index over the hosts that may send on a level, or ``None`` if hosts are not measured separately."""
    got = meters.by_source[:, sl] if meters.by_source.size else np.zeros(0)
    if not got.any():
        return None
    hosts = [range(len(got)) if each.hosts is None else each.hosts for each in world.study.traffic if each.sl == sl]
    shares = got[sorted({host for some in hosts for host in some})].astype(float) if hosts else got[got > 0]
    return float(shares.sum() ** 2 / (len(shares) * (shares**2).sum()))


def _waiting_chain(world: World, net: Network, packets: Packets) -> str:
    """Return a description of the chain of blocked heads, followed until it repeats."""
    inputs, ends = net.switches.inputs, len(net.wiring.cable)
    heads = np.full((ends, inputs.queues.queue.shape[1]), NOBODY, np.int64)
    heads[: len(inputs.queues.queue)] = inputs.queues.queue["head"]
    heads = np.concatenate([heads, central_heads(net.switches)])
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
            following = int(net.wiring.cable[target].far_input)
        steps.append(
            f"{show_end(world.topology, place, net)} VL {lane} waits for {show_end(world.topology, target, net)}"
        )
        place = following if following >= 0 and (heads[following] != NOBODY).any() else -1
    return f"cycle {int(net.clock[0])}: none of {held} packets moves: {'; '.join(steps) or 'all wait at NICs'}"


def verdict_of(level: PerSL) -> str:
    """Return the verdict on a level's saturation as a word for tables, empty for a steady level."""
    if not level.warmed_up:
        return "cannot tell"
    return "yes" if level.saturated else "" if level.decided else "undecided"


def tables_of(world: World, *, trace: bool, with_tables: bool = True) -> list[str]:
    """Return the names of a run's tables."""
    measure = world.study.measure
    has = {"links": True, "flows": measure.flows, "histograms": measure.histograms}
    has["messages"] = any(each.in_messages for each in world.study.traffic)
    has |= dict.fromkeys(("levels_over_time", "links_over_time"), measure.every is not None)
    has["connections"] = world.study.connections is not None
    return [*(name for name, there in has.items() if there and with_tables), *["trace"] * trace]
