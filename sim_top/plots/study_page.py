"""Page of a study: curves or bars, the network coloured by link load, and tables (``docs/pages.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from vlane.golden.network.meters import PARTS
from vlane.rates import LinkClock, shown_ns
from vlane.sim_top.output.curves import Bars, Chart, Curve, Mark, drawn
from vlane.sim_top.output.page import Column, Drawing, Page, Section, Table, Verdict, write
from vlane.sim_top.plots.network_loads import load_drawing, load_table, loads_of_links
from vlane.sim_top.plots.plot_replay import LATENCIES, course, heights, levels_of
from vlane.sim_top.plots.study_points import (
    BANDS,
    MEASURES,
    SATURATED,
    UNDECIDED,
    Measure,
    Point,
    band,
    joined,
    points_of,
    strip_places,
    words_of,
)
from vlane.sim_top.scenario.world import World
from vlane.sim_top.study.simulate import PerSL, RunResult, verdict_of

_LOAD = "offered load, sum of SLs (flits per cycle and host)"
_MOST_MARKS = 900
"""Largest number of marks over all panels; beyond it, a page omits some loads."""


def write_study_page(
    file: Path, world: World, runs: Sequence[RunResult], links: Sequence[tuple[float, pl.DataFrame]], *, title: str
) -> Path:
    """Write the page of a study's runs.

    Parameters
    ----------
    file : Path
        Output file.
    world : World
        World of the study.
    runs : sequence of RunResult
        At least one run.
    links : sequence of (float, DataFrame)
        Load and table of links of each run; empty to omit the network.
    title : str
        Title of the page.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    clock, is_replay = world.study.link.clock, not world.study.traffic
    sections = []
    if is_replay:
        sections.append(Section("Latency and rates over time", [_replay(list(runs), world, clock)]))
    elif len({run.load for run in runs}) > 1:
        sections.append(_curves(list(runs), clock))
    if links:
        loads = loads_of_links(links)
        sections.append(
            Section(
                "Network", [load_drawing(world.topology, loads, clock, is_replay=is_replay), load_table(loads, clock)]
            )
        )
    sections.append(Section("Service levels", [_levels(runs, clock, is_replay=is_replay)]))
    sections.append(Section("Runs", [_runs(runs, clock, is_replay=is_replay)]))
    page = Page(title, sections, [_verdict(runs, is_replay=is_replay)], _facts(world, runs, clock, is_replay=is_replay))
    return write(page, file, option="--out")


def _verdict(runs: Sequence[RunResult], *, is_replay: bool) -> Verdict:
    levels = [(run, level) for run in runs for level in run.per_sl]
    full = [(run.load, level.sl) for run, level in levels if level.saturated]
    unsure = sum(not level.decided for _, level in levels)
    detail = (
        f"Saturation is undecided for {unsure} of {len(levels)} levels because the runs are too short."
        if unsure
        else ""
    )
    if full:
        load = min(full)[0]
        sls = ", ".join(str(sl) for sl in sorted({sl for at, sl in full if at == load}))
        said = f"Saturated: SL {sls}." if is_replay else f"Saturation starts at load {load:g}, with SL {sls}."
        return Verdict("warn", said, detail)
    return Verdict("warn" if unsure else "good", "No service level is saturated.", detail)


def _facts(world: World, runs: Sequence[RunResult], clock: LinkClock, *, is_replay: bool) -> list[tuple[str, str]]:
    study, topology = world.study, world.topology
    cycles = sorted({run.cycles for run in runs})
    length = f"{cycles[0]:,}" if len(cycles) == 1 else f"{cycles[0]:,} to {cycles[-1]:,}"
    measured = cycles[-1] - study.run.warm_up_cycles
    seeds = sorted({run.seed for run in runs})
    loads = sorted({run.load for run in runs})
    packets = sum(level.packets for run in runs for level in run.per_sl)
    sure = f"95 % over {len(seeds)} seeds" if len(seeds) > 1 else "95 % from the run's 20 batches"
    if study.run.precision is not None:
        sure += f"; runs are extended until the intervals are within {100 * study.run.precision:g} % of the means"
    return [
        ("Network", f"{topology.name}: {topology.switches:,} switches, {len(topology.hosts):,} hosts"),
        ("Switches and schedulers", f"{study.switch.kind}, {study.scheduler.name}, {world.data_vls} data VLs"),
        ("Links", f"{clock.rate_gbps:g} Gb/s, {clock.flit_bytes} bytes and {clock.cycle_ns:g} ns per cycle"),
        ("Length", f"{length} cycles per run ({shown_ns(clock.ns(cycles[-1]))}), measured over the last {measured:,}"),
        (
            "Runs",
            f"{len(runs)}: "
            + ("a replay" if is_replay else f"{_number(len(loads), 'load')}, {_number(len(seeds), 'seed')}"),
        ),
        ("Packets received", f"{packets:,}"),
        ("Confidence intervals", sure),
        (
            "Cost",
            f"{sum(run.seconds for run in runs):.1f} CPU s, peak memory {max(run.peak_mib for run in runs):.0f} MiB",
        ),
    ]


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def _curves(runs: list[RunResult], clock: LinkClock) -> Section:
    loads = sorted({run.load for run in runs})
    levels = len({level.sl for run in runs for level in run.per_sl})
    step = -(-len(loads) * levels * len(MEASURES) // _MOST_MARKS)
    kept = {*loads[::-1][::step], loads[0]}
    runs = [run for run in runs if run.load in kept]
    charts = [_chart(runs, measure, clock) for measure in MEASURES]
    points = [it for level in points_of(runs, MEASURES[0]).values() for it in level]
    said = [SATURATED] * any(it.saturated for it in points) + [UNDECIDED] * any(not it.decided for it in points)
    notes = [f"{_capital(each)}." for each in (*said, BANDS[any(len(it.levels) > 1 for it in points)])]
    if len(kept) < len(loads):
        notes.append(f"Only {len(kept)} of {len(loads)} loads are drawn; the tables list all.")
    return Section("Against offered load", [drawn(charts, caption="A curve for each service level", notes=notes)])


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _chart(runs: list[RunResult], measure: Measure, clock: LinkClock) -> Chart:
    by_sl = points_of(runs, measure)
    places = strip_places(by_sl) if measure.is_latency else {}
    curves = [
        _curve(number, sl, points, measure, places.get(sl, []), clock)
        for number, (sl, points) in enumerate(by_sl.items())
    ]
    right = ("ns", clock.cycle_ns) if measure.is_latency else ("Gb/s per host", clock.rate_gbps)
    return Chart(
        _capital(measure.name),
        _LOAD,
        measure.unit,
        curves,
        is_logarithmic=measure.is_latency,
        right=right,
        strip="saturated (no latency):" if places else "",
    )


def _curve(number: int, sl: int, points: list[Point], measure: Measure, places: list[float], clock: LinkClock) -> Curve:
    lines, bands, marks, edge = [], [], [], iter(places)
    for stretch in joined(points, is_latency=measure.is_latency):
        loads, values, low, high = band(stretch, measure)
        lines.append(list(zip(loads, values, strict=True)))
        if any(it.ci95 is not None for it in stretch):
            bands.append(list(zip(loads, low, high, strict=True)))
    for it in points:
        words = "\n".join(words_of(sl, it, clock))
        if it.value is None:
            if measure.is_latency and it.saturated:
                marks.append(Mark(next(edge), None, "none", words))
            continue
        fill = "none" if it.saturated else "full" if it.decided else "half"
        _, _, (low_end,), (high_end,) = band([it], measure)
        marks.append(Mark(it.load, it.value, fill, words, None if it.decided else (low_end, high_end)))
    return Curve(f"SL {sl}", number, lines, bands, marks)


def _replay(runs: list[RunResult], world: World, clock: LinkClock) -> Drawing:
    levels, first = levels_of(runs), world.study.run.warm_up_cycles
    borders = [first + number * (runs[0].cycles - first) / PARTS for number in range(PARTS + 1)]
    bars = Bars([f"SL {sl}" for sl in levels], {name: heights(levels, value) for name, value in LATENCIES})
    curves = []
    for number, (sl, level) in enumerate(levels.items()):
        for is_offered in (True, False):
            values = course(level, (lambda it: it.offered_parts) if is_offered else (lambda it: it.accepted_parts))
            steps = [
                point
                for at, value in enumerate(values[:-1])
                for point in ((borders[at], value), (borders[at + 1], value))
            ]
            curves.append(Curve(f"SL {sl}", number, [steps], dotted=is_offered))
    charts = [
        Chart("Latency (cycles)", "service level", "latency (cycles)", right=("ns", clock.cycle_ns), bars=bars),
        Chart(
            "Offered and accepted",
            f"cycle ({clock.cycle_ns:g} ns each)",
            "flits per cycle and host",
            curves,
            right=("Gb/s per host", clock.rate_gbps),
        ),
    ]
    packets = sum(level.packets for level in runs[0].per_sl)
    caption = (
        f"Replay: {packets:,} packets received in {runs[0].cycles:,} cycles ({shown_ns(clock.ns(runs[0].cycles))})"
    )
    notes = ["Dotted: offered; solid: accepted."]
    waiting = [sl for sl, level in levels.items() if any(it.saturated for it in level)]
    notes += [f"The backlog still grows at the end: SL {', '.join(map(str, waiting))}."] * bool(waiting)
    return drawn(charts, caption=caption, notes=notes)


def _levels(runs: Sequence[RunResult], clock: LinkClock, *, is_replay: bool) -> Table:
    columns = [
        Column("load", is_number=not is_replay, form=".6g"),
        Column("seed"),
        Column("SL"),
        Column("offered", form=".4f"),
        Column("Gb/s", form=".2f"),
        Column("accepted", form=".4f"),
        Column("Gb/s", form=".2f"),
        Column("mean latency, cycles", form=",.1f"),
        Column("± 95 %", form=",.1f"),
        Column("mean, ns", form=",.0f"),
        Column("p50, cycles"),
        Column("p99, cycles"),
        Column("p99, ns", form=",.0f"),
        Column("longest, cycles"),
        Column("longest, ns", form=",.0f"),
        Column("growth", meaning="growth of the backlog, flits per cycle and host", form=".4f"),
        Column("± 95 %", form=".4f"),
        Column("saturated", is_number=False),
        Column("packets"),
    ]
    rows = [
        (
            "replay" if is_replay else run.load,
            run.seed,
            level.sl,
            level.offered,
            clock.gbps(level.offered),
            level.accepted,
            clock.gbps(level.accepted),
            *_latencies(level, clock),
            level.backlog_growth,
            level.backlog_growth_ci95,
            verdict_of(level),
            level.packets,
        )
        for run in runs
        for level in run.per_sl
    ]
    caption = "Runs by service level; rates in flits per cycle and host; saturated levels have no steady latency"
    return Table(caption, columns, rows, rest="results.parquet has all")


def _latencies(level: PerSL, clock: LinkClock) -> list[float | None]:
    if level.saturated:
        return [None] * 8

    def ns(cycles: float | None) -> float | None:
        return None if cycles is None else clock.ns(cycles)

    return [
        level.latency_mean_cycles,
        level.latency_ci95_cycles,
        ns(level.latency_mean_cycles),
        level.latency_p50_cycles,
        level.latency_p99_cycles,
        ns(level.latency_p99_cycles),
        level.latency_max_cycles,
        ns(level.latency_max_cycles),
    ]


def _runs(runs: Sequence[RunResult], clock: LinkClock, *, is_replay: bool) -> Table:
    columns = [
        Column("load", is_number=not is_replay, form=".6g"),
        Column("seed"),
        Column("cycles"),
        Column("us", form=",.2f"),
        Column("offered", form=".4f"),
        Column("accepted", form=".4f"),
        Column("Gb/s per host", form=".2f"),
        Column("links, mean %", form=".2f"),
        Column("links, max %", form=".2f"),
        Column("host links, mean %", form=".2f"),
        Column("host links, max %", form=".2f"),
        Column("CPU seconds", form=".2f"),
        Column("digest", is_number=False),
    ]
    rows = [
        (
            "replay" if is_replay else run.load,
            run.seed,
            run.cycles,
            clock.ns(run.cycles) / 1000,
            run.offered,
            run.accepted,
            clock.gbps(run.accepted),
            100 * run.link_utilisation_mean,
            100 * run.link_utilisation_max,
            100 * run.host_link_utilisation_mean,
            100 * run.host_link_utilisation_max,
            run.seconds,
            run.digest,
        )
        for run in runs
    ]
    return Table("Runs; the digest covers every delivery and its cycle", columns, rows, rest="results.parquet has all")
