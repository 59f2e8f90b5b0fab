"""Times and rates next to cycles and flits, in a study's documents and tables (``docs/network.md``, Units)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from vlane.rates import LinkClock

_LATENCIES = ("mean", "ci95", "min", "p50", "p95", "p99", "p999", "max", "least", "most")
_NS = {
    **{f"latency_{name}_cycles": f"latency_{name}_ns" for name in _LATENCIES},
    "mean_queue_cycles": "mean_queue_ns",
    "waited_cycles": "waited_ns",
    "cycles": "simulated_ns",
}
"""Fields in cycles, with the name of their value in nanoseconds."""
_GBPS = {
    "offered": "offered_gbps",
    "accepted": "accepted_gbps",
    "backlog_growth": "backlog_growth_gbps",
    "backlog_growth_ci95": "backlog_growth_ci95_gbps",
    "utilisation": "gbps",
}
"""Fields in flits per cycle, with the name of their value in Gb/s."""
_OF_RUN = "run_"
"""Prefix of a run's columns in a table of service levels."""


def _timed_name(name: str) -> tuple[str, bool]:
    """Return the name of the converted field, empty if there is none, and whether it is a time."""
    of_run = _OF_RUN if name.startswith(_OF_RUN) else ""
    bare = name.removeprefix(of_run)
    beside = _NS.get(bare, "") or _GBPS.get(bare, "")
    return of_run + beside if beside else "", bare in _NS


_UNITS = {
    "cycles": "cycles",
    "cycle": "cycles",
    "ns": "ns",
    "gbps": "Gb/s",
    "blocks": "blocks of 64 bytes",
    "bytes": "bytes",
    "flits": "flits",
    "packets": "packets",
    "seconds": "s",
    "mib": "MiB",
    "share": "1",
    "switches": "switches",
}
"""Unit by the last word of a column's name."""
_FLITS_PER_HOST = "flits per cycle and host"
_OTHER_UNITS = {
    **dict.fromkeys(("load", "offered", "accepted", "offered_parts", "accepted_parts"), _FLITS_PER_HOST),
    **dict.fromkeys(("backlog_growth", "backlog_growth_ci95"), _FLITS_PER_HOST),
    **dict.fromkeys(("utilisation", "link_utilisation_mean", "link_utilisation_max"), "flits per cycle"),
    **dict.fromkeys(("host_link_utilisation_mean", "host_link_utilisation_max"), "flits per cycle"),
    "flit_hops": "flits times switches",
    "flit_hops_per_second": "flits times switches per s",
    "fairness": "1",
    "fcps": "packets",
}
"""Units of columns whose names do not end in a unit."""


def unit_of(name: str) -> str:
    """Return the unit of a column, or an empty text for names, numbers and verdicts.

    Examples
    --------
    >>> unit_of("latency_p99_ns"), unit_of("run_offered"), unit_of("sl")
    ('ns', 'flits per cycle and host', '')
    """
    bare = name.removeprefix(_OF_RUN)
    return _OTHER_UNITS.get(bare) or _UNITS.get(bare.rpartition("_")[2], "")


def unit_metadata(names: Iterable[str]) -> dict[str, str]:
    """Return the metadata of a Parquet file: ``vlane.units``, a JSON object of units by column."""
    return {"vlane.units": json.dumps({name: unit_of(name) for name in names if unit_of(name)})}


def timed_document(document: Mapping[str, Any], clock: LinkClock) -> dict[str, Any]:
    """Return a document with times and rates added after fields in cycles and flits, also in nested lists.

    Examples
    --------
    >>> timed_document({"offered": 0.5, "latency_p50_cycles": 10}, LinkClock(100.0))
    {'offered': 0.5, 'offered_gbps': 50.0, 'latency_p50_cycles': 10, 'latency_p50_ns': 51.2}
    """
    made: dict[str, Any] = {}
    for name, value in document.items():
        inner = isinstance(value, list) and value and isinstance(value[0], Mapping)
        made[name] = [timed_document(each, clock) for each in value] if inner else value
        beside, is_time = _timed_name(name)
        if beside:
            made[beside] = None if value is None else clock.ns(value) if is_time else clock.gbps(value)
    return made


def timed_types(types: Mapping[str, Any]) -> dict[str, Any]:
    """Return the types of a table's columns, including those that ``timed_document`` adds."""
    made: dict[str, Any] = {}
    for name, kind in types.items():
        made[name] = kind
        beside, _ = _timed_name(name)
        if beside:
            made[beside] = pl.Float64
    return made


def timed_frame(frame: pl.LazyFrame, clock: LinkClock) -> pl.LazyFrame:
    """Return a table with converted columns added after their originals, or null stays null."""
    columns: list[pl.Expr] = []
    for name in frame.collect_schema().names():
        columns.append(pl.col(name))
        beside, is_time = _timed_name(name)
        if beside:
            factor = clock.cycle_ns if is_time else clock.rate_gbps
            columns.append((pl.col(name).cast(pl.Float64) * factor).alias(beside))
    return frame.select(columns)
