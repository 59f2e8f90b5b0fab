"""Compare tables of the study pages with the figures of the summaries that the studies keep.

    python docs/_ext/study_tables.py --store [STUDY ...]

A table after ``<!-- figures: STUDY/PART TABLE -->`` quotes figures of that part of a study. ``TABLES`` names the figure
of each of its cells. ``--store`` computes the figures of every part of the studies from ``docs/studies/data``, as
``vlane study NAME --part PART --resume`` prints them, and writes them into ``docs/evidence/study_figures.parquet``.
``tests/study/test_study_tables.py`` compares the tables with that file, and the file with the summaries.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import fmean

import polars as pl

from vlane.rates import LinkClock
from vlane.sim_top.studies.by_name import study_by_name
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.summary import Summary

__all__ = ["FIGURES", "STUDIES", "TABLES", "Figure", "differences", "figures_of", "stored_figures"]

_ROOT = Path(__file__).resolve().parent.parent.parent
FIGURES = _ROOT / "docs" / "evidence" / "study_figures.parquet"
"""The stored figures."""
STUDIES = ("congestion", "dtable", "e2cm", "packet-size", "voqsw")
"""Studies whose figures are stored."""
_MARKER = re.compile(r"^<!-- figures: ([\w-]+/\w+) (\w+) -->\n((?:\|.*\n)+)", re.MULTILINE)
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-\d+)?")


@dataclass(frozen=True)
class Figure:
    """A figure of a study: mean, minimum and maximum over its seeds or networks, or NaN without runs."""

    mean: float
    least: float
    greatest: float


Quotes = Iterator[tuple[int, int, str, str, float]]
"""Column of the cell, place of the number in the cell, name of the figure, member of ``Figure``, scale."""


def figures_of(study: str, part: str) -> dict[str, Figure]:
    """Return the figures of a part of a study by name, from the summary that is kept."""
    made = study_by_name(study)
    file = _ROOT / "docs" / "studies" / "data" / f"{study}.parquet"
    if study == "packet-size":
        rows, clock = _packet_size_rows(pl.read_parquet(file), part), LinkClock(1.0)  # its figures have no times
    else:
        own = made.own_runs.schema if made.own_runs else None
        kept = Summary.read(file, made.columns, made.level_of, measures=made.measures, own=own)
        cases = made.cases(part, False)  # noqa: FBT003 - the callable of a study has no names
        wanted = {(case.digest, load, seed) for case in cases for load in case.loads for seed in case.seeds}
        rows, clock = kept.rows(sorted(wanted)), cases[0].clock
    figures = made.figures(part, Measured(rows, clock))
    named = [(each.name, each.values) for each in figures]
    named += [(f"{each.name}, {name}", values) for each in figures for name, values in each.readings.items()]
    return {name: Figure(fmean(values), min(values), max(values)) for name, values in named if values}


def _packet_size_rows(rows: pl.DataFrame, part: str) -> pl.DataFrame:
    """Return the rows of a part of the packet-size study by their labels.

    Its cases take minutes to make. The runs of the part ``crossbars`` with the usual crossbar are a tenth as long as
    the runs of the part ``main``.
    """
    if part == "requests":
        return rows.filter(pl.col("requests") != "mixed")
    rows = rows.filter(pl.col("requests") == "mixed")
    usual = (pl.col("switches") == "16") & (pl.col("gbps") == "2.5")
    longest = pl.col("cycles") == pl.col("cycles").max().over("switches", "gbps", "bytes")
    main = usual & (pl.col("crossbar") == "speed2") & longest
    return rows.filter({"main": main, "checks": ~usual, "crossbars": usual & ~main}[part])


def stored_figures(file: Path = FIGURES) -> dict[str, dict[str, Figure]]:
    """Return the stored figures by ``STUDY/PART`` and name."""
    found: dict[str, dict[str, Figure]] = {}
    for part, name, *values in pl.read_parquet(file).iter_rows():
        found.setdefault(part, {})[name] = Figure(*values)
    return found


def differences(page: str, figures: Mapping[str, Mapping[str, Figure]]) -> list[str]:
    """Return a text for each number of a page's marked tables that is not its figure, and for each row without one."""
    wrong = []
    for part, table, text in _MARKER.findall(page):
        head, _, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.splitlines()]
        for row in rows:
            quotes = list(TABLES[table](head, row))
            for column, place, name, member, scale in quotes:
                numbers = _NUMBER.findall(row[column].replace("**", ""))
                figure = figures[part].get(name)
                value = None if figure is None else getattr(figure, member) * scale
                shown = numbers[place] if place < len(numbers) else row[column]
                if value is None or not _is(shown, value):
                    wrong.append(f"{table}, {row[0]}, {head[column]}: {shown} is not {value}, {member} of {name}")
            if not quotes and "published" not in row[0]:
                wrong.append(f"{table}: no figure of the row {row[0]}")
    return wrong


def _is(shown: str, value: float) -> bool:
    """Return whether a number is a value, rounded to the digits that the number has."""
    if shown in {f"{value:,.4g}", f"{value:,.3g}"}:
        return True
    decimals = len(shown.partition(".")[2])
    return (decimals > 0 or len(shown) > 1) and shown.removeprefix("-") == f"{abs(value):,.{decimals}f}"


def _spread(column: int, name: str, scale: float = 1) -> Quotes:
    """Yield a cell ``mean (least to greatest)``."""
    for place, member in enumerate(("mean", "least", "greatest")):
        yield column, place, name, member, scale


def _listed(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per figure: name and unit, published, ours, least, greatest."""
    name = re.sub(r" \(ns\)$", "", row[0])
    for column, member in ((2, "mean"), (3, "least"), (4, "greatest")):
        yield column, 0, name, member, 1


def _sensitivity(head: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per switch and variant of the Deficit Table study."""
    switch, _, variant = row[0].replace("`", "").partition(", ")
    for column in range(1, len(head), 2):
        if row[column] and not row[0].startswith("**"):
            network = head[column].removesuffix(" at 0.7")
            yield column, 0, f"NC latency at 0.7, {network}, {switch}, {variant}", "mean", 1
            yield column + 1, 0, f"growth of NC latency, {network}, {switch}, {variant}", "mean", 1


def _readings(head: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per figure of the Deficit Table study, a column per reading of the paper."""
    name = re.sub(r" \(ns\)$", "", row[0])
    for column in range(2, len(head)):
        reading = head[column].strip("`")
        if row[column]:
            yield column, 0, name if reading == "main" else f"{name}, {reading}", "mean", 1


_SCHEDULERS = {
    2: "NC latency at 0.7",
    3: "99 % of NC latency at 0.7",
    4: "longest NC latency at 0.7",
    5: "99 % of VO latency at 0.7",
    6: "99 % of NC latency at 0.9935",
    7: "99 % of VO latency at 0.9935",
    8: "longest VO latency at 0.9935",
    9: "fairness among levels (Jain) at 0.9935",
}


def _schedulers(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per network and scheduler of the Deficit Table study, latencies in us."""
    switch, _, network = row[0].partition(", ")
    name = {"`dtable`": "main", "`dtable`, line rate": "line_rate"}.get(row[1], row[1].strip("`"))
    for column, figure in _SCHEDULERS.items():
        yield column, 0, f"{figure}, {network}, {switch}, {name}", "mean", 1 if column == 9 else 1e-3


_HOT_SPOTS = {
    "dumbbell": "dumbbell, 5 of 8 hosts to one, a victim that shares the middle",
    "two_levels": "FT(8, 2), 6 of 32 hosts to one, a victim that shares a link to the roots with three of them",
    "parking_lot": "four switches in a row, flows join one after the other",
    "tree43": "4-ary 3-tree, 40 % of 64 hosts to one",
    "ft36": "FT(36, 2), 40 % of 648 hosts to one",
    "moving": "4-ary 3-tree, 40 % of 64 hosts, the hot spot moves every 2 ms",
}


def _hot_spots(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per scenario and figure of the congestion study."""
    name = f"{row[1]}, {_HOT_SPOTS[row[0].strip('`')]}"
    means = {2: "nothing", 3: "congestion control", 5: "a VL for the hot spot", 6: "VOQsw, 4 VLs"}
    for column, word in means.items():
        if row[column]:
            yield column, 0, f"{name}: {word}", "mean", 1
    if row[4]:
        yield 4, 0, f"{name}: congestion control", "least", 1
        yield 4, 1, f"{name}: congestion control", "greatest", 1


_SHARES = {
    "4-ary 3-tree, 10 % of hosts": ("4-ary 3-tree, 10 % of 64 hosts to one",) * 2,
    "4-ary 3-tree, 80 % of hosts": ("4-ary 3-tree, 80 % of 64 hosts to one",) * 2,
    "hot spot moves every 1 ms": ("4-ary 3-tree, 40 % of 64 hosts, the hot spot moves every 1 ms",) * 2,
    "FT(36, 2), `many_flows`": (f"{_HOT_SPOTS['ft36']}, many_flows",) * 2,
    'dumbbell, speed 1, `measure = "output"`': tuple(
        f"{_HOT_SPOTS['dumbbell']}, {form}" for form in ("speed1", "speed1_output")
    ),
    'dumbbell, speed 1, `measure = "inputs"`': tuple(
        f"{_HOT_SPOTS['dumbbell']}, {form}" for form in ("speed1", "speed1_inputs")
    ),
    '4-ary 3-tree, speed 1, `measure = "output"`': tuple(
        f"{_HOT_SPOTS['tree43']}, {form}" for form in ("speed1", "speed1_output")
    ),
    '4-ary 3-tree, speed 1, `measure = "inputs"`': tuple(
        f"{_HOT_SPOTS['tree43']}, {form}" for form in ("speed1", "speed1_inputs")
    ),
}
"""Names of a row's network in the figures, without and with congestion control."""


def _shares(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per network and figure of the congestion study's part ``shares``."""
    without, with_control = _SHARES[row[0]]
    yield 2, 0, f"{row[1]}, {without}: nothing", "mean", 1
    yield 3, 0, f"{row[1]}, {with_control}: congestion control", "mean", 1
    if row[4]:
        yield 4, 0, f"{row[1]}, {with_control}: congestion control", "least", 1
        yield 4, 1, f"{row[1]}, {with_control}: congestion control", "greatest", 1


def _sizes(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per figure of the VOQsw study, two columns per size: published and ours."""
    for column, switches in zip((2, 4, 6, 8), (8, 16, 32, 64), strict=True):
        word, _, case = row[0].partition(", ")
        if row[0].startswith("SLs"):
            yield from _spread(column, f"{row[0]}, {switches} switches")
        elif row[0].startswith("share"):
            sls = row[0].removeprefix("share with ").removesuffix(" (%)")
            yield from _spread(column, f"share of VOQ with {sls}, {switches} switches", 100)
        else:
            case = case if "VLs" in case else f"{case}, 8 VLs"
            name = {"throughput": "throughput over 8 virtual networks"}.get(word, f"{word}, over 8 virtual networks")
            name = f"{name}, {switches} switches, {case}"
            yield from _spread(column, name) if word == "throughput" else [(column, 0, name, "mean", 1)]


def _ratios(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per ratio of the VOQsw study."""
    name = row[0].replace(" (bytes of payload/ns/switch)", "")
    yield from _spread(2, name if name.endswith(" switches") else f"{name}, 8 switches")


def _hot_hosts(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per kind of hot spot of the VOQsw study."""
    hosts = row[0]
    for column, case in ((1, "8 SLs, 8 VLs"), (2, "4 SLs, 8 VLs"), (3, "4 SLs, 4 VLs")):
        yield column, 0, f"throughput over 8 virtual networks, {hosts}, {case}", "mean", 1
    for column, to in ((4, "to hot hosts"), (5, "to others")):
        yield column, 0, f"accepted at load 1 over 8 virtual networks, {hosts}, 8 SLs, 8 VLs: {to}", "mean", 1


def _variants(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per variant of the VOQsw study, cells with 8 and with 16 switches."""
    variant = row[0].strip("`")
    for column, case in ((1, "full VOQ, 8 VLs"), (2, "8 SLs, 8 VLs"), (3, "4 SLs, 8 VLs")):
        for place, switches in enumerate((8, 16)):
            if row[column] and variant != "published":
                name = f"throughput over 8 virtual networks, {switches} switches, {case}"
                yield column, place, f"{name}, {'spread, main' if variant == 'spread' else variant}", "mean", 1


def _greatest(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per number of switches of the VOQsw study, absolute throughputs."""
    for column, case in ((2, "8 SLs, 8 VLs"), (4, "8 virtual networks"), (5, "full VOQ, 8 VLs")):
        yield column, 0, f"greatest accepted load, {row[0]} switches, {case}", "mean", 1


def _roots(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per root of the VOQsw study."""
    variant, base = row[0].strip("`"), "64 switches"
    for column, case in ((1, "8 virtual networks"), (2, "full VOQ, 8 VLs"), (3, "8 SLs, 8 VLs")):
        yield column, 0, f"greatest accepted load, {base}, {case}, {variant}", "mean", 1
    for column, case in ((4, "full VOQ, 8 VLs"), (5, "8 SLs, 8 VLs")):
        yield from _spread(column, f"throughput over 8 virtual networks, {base}, {case}, {variant}")
        yield column + 2, 0, f"accepted at load 1, over 8 virtual networks, {base}, {case}, {variant}", "mean", 1


def _managers(head: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per traffic, flow control and scheme of the E2CM study.

    Completion times have no figures.
    """
    traffic, _, flow = row[0].partition(", ")
    scheme = {"E2CM, all probed": "E2CM, all flows probed"}.get(row[1], row[1])
    of = f"{head[0].strip('`')}, {scheme}, {flow}, {traffic}"
    for column, title in enumerate(head):
        if title.partition(", ")[0] == "least to greatest rate":
            yield column, 0, f"least rate of a hot flow, {of}", "least", 1
            yield column, 1, f"greatest rate of a hot flow, {of}", "greatest", 1
        elif title in _MANAGED:
            yield column, 0, f"{_MANAGED[title]}, {of}", "mean", 100 if "share" in title else 1
        elif title == "whole messages" and scheme.startswith("E2CM"):
            yield column, 0, f"messages completed, {of}", "mean", 1


_MANAGED = {
    "farthest from its share": "farthest hot flow from its share",
    "mean hot queue, KB": "mean hot queue",
    "drops": "frames dropped",
    "node 11 to 1, MB/s": "node 11 to 1",
    "nodes 2 to 10 to 1, mean, MB/s": "nodes 2 to 10 to 1, mean",
    "cold while hot, Gb/s": "cold traffic while hot",
    "Jain's index": "Jain's index of flows to the hot port",
}
"""Figures of columns of the E2CM study's tables."""


def _hardware(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per block of the E2CM study in hardware."""
    scheme, _, flow = row[0].rpartition(", ")
    of = f"{row[1]}, {scheme.replace('all probed', 'all flows probed')}, {flow}"
    yield 3, 0, f"decisions in hardware, {of}", "mean", 1
    yield 4, 0, f"mismatches, {of}", "mean", 1


def _guarantees(head: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per figure of the packet-size study, of one size or of all."""
    size, name = head[0].removeprefix("figure, "), row[0].removesuffix(" of the level with the largest")
    yield 2, 0, name if size == "all sizes" else f"{name}, {size}", "mean", 1


_CROSSBARS = {
    "`speed = 2`": "",
    "`speed = 1`": ", speed1",
    "`speed = 1`, `iterations = 4`": ", iterations4",
    "a port for each VL": ", per_vl",
}


def _crossbars(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per size and crossbar of the packet-size study."""
    of = f"{row[0]} bytes{_CROSSBARS[row[1]]}"
    yield 3, 0, f"late packets, {of}", "mean", 100
    yield 4, 0, f"largest delay over deadline, {of}", "mean", 1
    yield 5, 0, f"arrivals of levels 0 to 4 in the central interval, least, {of}", "mean", 100


def _checks(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per number of switches and rate of the packet-size study."""
    of = f"{row[0]} switches, {row[1]} Gb/s, 1024 bytes"
    yield 4, 0, f"late packets, {of}", "mean", 1
    yield 5, 0, f"largest delay over deadline, {of}", "mean", 1
    yield 6, 0, f"arrivals of levels 0 to 4 in the central interval, least, {of}", "mean", 100


def _requests(_: Sequence[str], row: Sequence[str]) -> Quotes:
    """Yield the figures of a row per size and order or overhead of the packet-size study."""
    of = f"{row[1]} bytes, {row[0].strip('`')}"
    names = ("utilisation of host links", "utilisation of switch ports")
    names += ("reservation of host links", "reservation of switch ports")
    for column, name in enumerate(names, 2):
        yield column, 0, f"{name}, {of}", "mean", 1
    yield 6, 0, f"bytes a packet in reservation only, host links, {of}", "mean", 1
    yield 7, 0, f"late packets, {of}", "mean", 1


TABLES: Mapping[str, Callable[[Sequence[str], Sequence[str]], Quotes]] = {
    "listed": _listed,
    "readings": _readings,
    "sensitivity": _sensitivity,
    "schedulers": _schedulers,
    "hot_spots": _hot_spots,
    "shares": _shares,
    "sizes": _sizes,
    "ratios": _ratios,
    "hot_hosts": _hot_hosts,
    "variants": _variants,
    "managers": _managers,
    "hardware": _hardware,
    "guarantees": _guarantees,
    "crossbars": _crossbars,
    "checks": _checks,
    "greatest": _greatest,
    "roots": _roots,
    "requests": _requests,
}
"""Kinds of tables: the figure of each cell, by the table's head and a row."""


def _main() -> int:
    parser = argparse.ArgumentParser(description="Store the figures of the studies that are kept.")
    parser.add_argument("--store", nargs="*", choices=STUDIES, required=True, help="studies; all unless given")
    chosen = parser.parse_args().store or STUDIES
    stored = stored_figures() if FIGURES.exists() else {}
    stored |= {f"{study}/{part}": figures_of(study, part) for study in chosen for part in study_by_name(study).parts}
    rows = [(part, name, *astuple(each)) for part in sorted(stored) for name, each in stored[part].items()]
    columns = ["part", "figure", "mean", "least", "greatest"]
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(FIGURES)
    sys.stdout.write(f"{FIGURES.name}: {len(rows)} figures\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
