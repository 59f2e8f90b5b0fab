"""Tables that ``vlane simulate`` prints: a row per point and level, and details of every run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from statistics import fmean

from vlane.rates import LinkClock
from vlane.sim_top.output.console import plain_table, say, show, table
from vlane.sim_top.study.connection_tables import FRACTION_WORDS
from vlane.sim_top.study.result_frames import MadeRun
from vlane.sim_top.study.simulate import PerSL, RunResult, verdict_of
from vlane.sim_top.study.steady import half_width
from vlane.sim_top.study.table_effect import BACKLOGGED
from vlane.study.file import shown_changes, shown_value

MOST_ROWS = 120
"""Largest number of rows of the summary."""
_SHOWN_PARTS = ("D/10", "D/2", "D")
_COUNTS = {
    "marked": "marked",
    "fecns": "with FECN",
    "cnps": "CNPs sent",
    "becns": "CNPs received",
    "held": "held back",
    "lost": "lost",
    "logged": "logged",
    "withheld": "blocks withheld",
}
"""Column titles of the displayed counts of congestion control."""
_UNITS = "rates in flits per cycle and host; latencies in cycles; growth of the backlog"


def print_summary(runs: list[MadeRun], *, is_replay: bool, most: int | None) -> None:
    """Print one row per point and level: means over seeds, with their 95 % intervals.

    A parameter with the same value at all points has a line before the rows instead of a column.

    Parameters
    ----------
    most : int or None
        Largest number of rows; ``None`` for all.
    """
    given = runs[0].parameters if runs else {}
    swept = [key for key, value in given.items() if any(run.parameters[key] != value for run in runs)]
    names = _short_names(swept)
    columns = [*(f">{name}" for name in names), ">load", ">SL", ">seeds", ">offered", ">accepted"]
    columns += [">mean", ">± 95 %", ">p99", "saturated"]
    rows = [row for made in _by_point(runs) for row in _summary_rows(made, swept, is_replay=is_replay)]
    if len(swept) < len(given):
        say(shown_changes({key: value for key, value in given.items() if key not in swept}))
    say("means over seeds; rates in flits per cycle and host, latencies in cycles", style="bold")
    for line in plain_table(columns, rows[:most]):
        say(line)
    if most is not None and len(rows) > most:
        say(f"{len(rows) - most} more rows: --verbose, or results.parquet")
    clocks = {run.clock for run in runs}
    if len(clocks) == 1:
        (clock,) = clocks
        say(f"a cycle is {clock.cycle_ns:g} ns, 1 flit per cycle is {clock.rate_gbps:g} Gb/s")
    for made in _by_point(runs) if len(list(_by_point(runs))) == 1 else ():
        results = [run.result for run in made]
        _print_shares(results)
        _print_messages(results)
        _print_deadlines(results)
        _print_congestion(results)


def _by_point(runs: list[MadeRun]) -> Iterator[list[MadeRun]]:
    for _, made in groupby(runs, lambda run: run.parameters):
        yield list(made)


def _short_names(keys: list[str]) -> list[str]:
    """Return the last words of keys, or the whole keys if the last words are not unique."""
    last = [key.rpartition(".")[2] for key in keys]
    return last if len(set(last)) == len(last) else keys


def _summary_rows(made: list[MadeRun], swept: list[str], *, is_replay: bool) -> Iterator[list[str]]:
    """Yield the rows of a point, by load and level, with the values of the swept keys."""
    found: dict[tuple[float, int], list[PerSL]] = {}
    for run in made:
        for level in run.result.per_sl:
            found.setdefault((run.result.load, level.sl), []).append(level)
    words = [shown_value(made[0].parameters[key]) for key in swept]
    for (load, sl), levels in sorted(found.items()):
        yield [
            *words,
            "replay" if is_replay else f"{load:g}",
            str(sl),
            str(len(levels)),
            f"{fmean(level.offered for level in levels):.4f}",
            f"{fmean(level.accepted for level in levels):.4f}",
            *_mean_latencies(levels),
            _verdict(levels),
        ]


def _mean_latencies(levels: list[PerSL]) -> list[str]:
    """Return mean, interval and p99 over seeds, or "grows" if the level is saturated with any seed."""
    if any(level.saturated for level in levels):
        return ["grows", "", ""]
    means = [level.latency_mean_cycles for level in levels if level.latency_mean_cycles is not None]
    ranks = [level.latency_p99_cycles for level in levels if level.latency_p99_cycles is not None]
    width = half_width(means) if len(levels) > 1 else levels[0].latency_ci95_cycles
    return [
        _shown(fmean(means) if means else None, ".1f", 1),
        _shown(width, ".1f", 1),
        _shown(fmean(ranks) if ranks else None, ".0f", 1),
    ]


def _verdict(levels: list[PerSL]) -> str:
    """Return the verdict that all seeds share, or each verdict with its number of seeds."""
    found = [verdict_of(level) or "no" for level in levels]
    counts = {word: found.count(word) for word in dict.fromkeys(found)}
    short = ["not precise"] * any(level.precise is False and not level.saturated for level in levels)
    if len(counts) == 1:
        return ", ".join([found[0]] * (found[0] != "no") + short)
    return ", ".join([*(f"{word} {count}" for word, count in counts.items()), *short])


def print_details(runs: list[MadeRun], *, is_replay: bool) -> None:
    """Print tables of every run and level, by point of the sweep."""
    for parameters, made in groupby(runs, lambda run: run.parameters):
        words = [shown_changes(parameters)] * bool(parameters)
        _print_point(list(made), "; ".join([*words, _UNITS]), is_replay=is_replay)


def _print_point(made: list[MadeRun], title: str, *, is_replay: bool) -> None:
    runs = [run.result for run in made]
    with_precision = any(level.precise is not None for run in runs for level in run.per_sl)
    rows = [
        [
            "replay" if is_replay else f"{run.load:g}",
            str(run.seed),
            str(level.sl),
            f"{level.offered:.4f}",
            f"{level.accepted:.4f}",
            *_latencies(level),
            f"{level.backlog_growth:.4f}",
            f"{level.backlog_growth_ci95:.4f}",
            verdict_of(level),
            *[f"{run.cycles:,}", "" if level.precise or level.saturated else "not reached"] * with_precision,
        ]
        for run in runs
        for level in run.per_sl
    ]
    columns = [">load", ">seed", ">SL", ">offered", ">accepted", ">mean latency", ">± 95 %", ">p50", ">p99", ">longest"]
    more = [">cycles", "precision"] * with_precision
    columns += [">growth", ">± 95 %", "saturated", *more]
    show(table(title, columns, rows))
    _print_times(runs, made[0].clock, is_replay=is_replay)


def _print_shares(runs: list[RunResult]) -> None:
    """Print programmed and measured shares of tables, as means over seeds."""
    found: dict[tuple[float, int], list[PerSL]] = {}
    for run in runs:
        for level in run.per_sl:
            if level.table_contested_share is not None:
                found.setdefault((run.load, level.sl), []).append(level)

    def mean(levels: list[PerSL], name: str) -> str:
        values = [value for level in levels if (value := getattr(level, f"table_{name}_share")) is not None]
        return f"{fmean(values):.1%}" if values else ""

    rows = [
        [f"{load:g}", str(sl), *(mean(levels, name) for name in ("programmed", "measured", "contested"))]
        for (load, sl), levels in found.items()
    ]
    if rows:
        title = f"table's shares at outputs busy for {BACKLOGGED:.0%} of the time; contested: starts with a choice"
        show(table(title, [">load", ">SL", ">programmed", ">measured", ">contested"], rows))


def _print_messages(runs: list[RunResult]) -> None:
    """Print the latencies of messages, from generation to the last flit, if traffic consists of messages."""
    rows = [
        [
            f"{run.load:g}",
            str(run.seed),
            str(each.traffic),
            each.kind,
            f"{each.messages:,}",
            _shown(each.bytes / each.messages if each.messages else None, ",.0f", 1),
            _shown(each.latency_mean_cycles, ",.1f", 1),
            *(_shown(rank, ",.0f", 1) for rank in (each.latency_p50_cycles, each.latency_p99_cycles)),
            _shown(each.latency_max_cycles, ",.0f", 1),
        ]
        for run in runs
        for each in run.messages
    ]
    if rows:
        columns = [
            ">load",
            ">seed",
            ">traffic",
            "kind",
            ">messages",
            ">mean bytes",
            ">mean",
            ">p50",
            ">p99",
            ">longest",
        ]
        show(table("messages: latencies from generation to the last flit, in cycles", columns, rows))


def _print_deadlines(runs: list[RunResult]) -> None:
    """Print the packets of connections that met parts of their deadline D, if any have deadlines."""
    rows = [
        [
            str(run.seed),
            str(level.sl),
            f"{level.connections:,}",
            f"{level.packets:,}",
            *(f"{level.within[FRACTION_WORDS.index(word)]:.2%}" for word in _SHOWN_PARTS),
            "above 2" if level.p999 is None else f"{level.p999:.3g}",
            f"{level.largest:.3g}",
        ]
        for run in runs
        for level in run.deadlines
    ]
    if rows:
        columns = [">seed", ">SL", ">connections", ">packets", *(f">within {word}" for word in _SHOWN_PARTS)]
        title = "packets within fractions of their deadline D; latencies divided by D"
        show(table(title, [*columns, ">99.9 % below", ">largest"], rows))


def _print_congestion(runs: list[RunResult]) -> None:
    """Print the counts of congestion control for runs with it."""
    rows = [
        [
            f"{run.load:g}",
            str(run.seed),
            *(f"{getattr(run.congestion, name):,}" for name in _COUNTS),
            f"{run.congestion.cnp_share:.2%}",
        ]
        for run in runs
        if run.congestion is not None
    ]
    if rows:
        columns = [">load", ">seed", *(f">{words}" for words in _COUNTS.values()), ">CNP share"]
        show(table("congestion control: packets since the start of the run", columns, rows))


def _print_times(runs: list[RunResult], clock: LinkClock, *, is_replay: bool) -> None:
    """Print rates in Gb/s and latencies in ns."""
    rows = [
        [
            "replay" if is_replay else f"{run.load:g}",
            str(run.seed),
            str(level.sl),
            f"{clock.gbps(level.offered):.2f}",
            f"{clock.gbps(level.accepted):.2f}",
            *_latencies(level, clock.cycle_ns),
        ]
        for run in runs
        for level in run.per_sl
    ]
    columns = [">load", ">seed", ">SL", ">offered", ">accepted", ">mean latency", ">± 95 %", ">p50", ">p99", ">longest"]
    title = (
        f"rates in Gb/s per host, latencies in ns; {clock.cycle_ns:g} ns per cycle on links of {clock.rate_gbps:g} Gb/s"
    )
    show(table(title, columns, rows))


def _latencies(level: PerSL, unit: float = 1) -> list[str]:
    """Return mean, interval, p50, p99 and maximum of latency in cycles times ``unit``, or "grows" if saturated."""
    if level.saturated:
        return ["grows", "", "", "", ""]
    means = [level.latency_mean_cycles, level.latency_ci95_cycles]
    ranks = [level.latency_p50_cycles, level.latency_p99_cycles, level.latency_max_cycles]
    return [*(_shown(each, ".1f", unit) for each in means), *(_shown(each, ".0f", unit) for each in ranks)]


def _shown(value: float | None, form: str, unit: float) -> str:
    return "" if value is None else format(value * unit, form)
