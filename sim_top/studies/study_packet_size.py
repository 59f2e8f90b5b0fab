"""Packet-size study: guarantees under tables filled in by connection requests (``docs/studies/packet_size.md``)."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from vlane.golden.network.connection_meters import JITTERS
from vlane.sim_top.output.curves import Chart, Curve, Mark
from vlane.sim_top.studies.figures import Bound, Figure, at_least, at_most, within
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.packet_size_requests import LEVELS
from vlane.sim_top.studies.paper_study import PaperStudy
from vlane.sim_top.studies.study_packet_size_cases import COLUMNS, CROSSBARS, MAIN, PARTS, REQUESTS, SIZES, cases
from vlane.sim_top.study.connection_tables import FRACTION_WORDS, JITTER_WORDS
from vlane.units import HEADER_BYTES

_PUBLISHED = {
    256: (0.7258, 0.7348, 1848.67, 1871.75, 111_813),
    1024: (0.7432, 0.7550, 1867.80, 1897.58, 113_233),
    2048: (0.7507, 0.7504, 1882.44, 1881.69, 115_779),
    4096: (0.7607, 0.7513, 1905.32, 1881.63, 118_938),
}
"""Table 2 of the paper by packet size: utilisation of host and of switch links, their reservations in Mb/s,
number of connections."""
_STRICT, _STRICTEST = (0, 1, 2, 3, 4), (0, 1, 2, 3)
"""Levels with all arrivals in the central interval (Fig. 4), and levels of Fig. 5."""
_CENTRAL = JITTERS.index(-0.125)
_UNKNOWN = "the paper does not say in which order and how often levels ask, nor which networks it had"
_GUARANTEE = "all packets of all levels arrive before their deadlines (Fig. 3)"


def _figures(part: str, measured: Measured) -> list[Figure]:
    found: list[Figure] = []
    for labels, rows in _cases(measured.rows):
        found += _of_case(part, labels, rows)
    if part == "main":
        found += _together(measured.rows)
    return found


def _cases(rows: pl.DataFrame) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """Yield labels and rows of every case, sorted by number of switches, rate and packet size."""
    order = [pl.col(name).cast(pl.Float64) for name in ("switches", "gbps", "bytes")]
    for key, own in rows.sort(*order, "sl").partition_by(*COLUMNS, as_dict=True, maintain_order=True).items():
        yield dict(zip(COLUMNS, map(str, key), strict=True)), own


def _words(labels: dict[str, str]) -> str:
    if labels["requests"] != next(iter(REQUESTS)):
        return f"{labels['bytes']} bytes, {labels['requests']}"
    if labels["crossbar"] != next(iter(CROSSBARS)):
        return f"{labels['bytes']} bytes, {labels['crossbar']}"
    if (int(labels["switches"]), float(labels["gbps"])) == MAIN:
        return f"{labels['bytes']} bytes"
    return f"{labels['switches']} switches, {labels['gbps']} Gb/s, {labels['bytes']} bytes"


def _of_case(part: str, labels: dict[str, str], rows: pl.DataFrame) -> Iterator[Figure]:
    words, rows = _words(labels), rows.drop_nulls("within")
    late = [1 - min(each[-1] for each in rows["within"].to_list())]
    yield Figure(f"late packets, {words}", "share", 0.0, late, at_most(0, _GUARANTEE))
    largest = [float(rows["largest"].max())]  # type: ignore[arg-type]
    yield Figure(f"largest delay over deadline, {words}", "", None, largest, at_most(1, _GUARANTEE))
    yield Figure(
        f"delay over deadline, 999 of 1000 packets, {words}",
        "",
        None,
        [] if rows["p999"].has_nulls() else [float(rows["p999"].max())],  # type: ignore[arg-type]
        Bound(None, None, "none", "no figure of the paper"),
    )
    strict = rows.filter(pl.col("sl").is_in(_STRICT))
    even = [min((each[_CENTRAL] for each in strict["jitter"].to_list()), default=0.0)]
    bound = at_least(1, "all arrivals of levels 0 to 4 are in the central interval (Fig. 4)")
    if labels["bytes"] == "4096":
        bound = at_least(0.99, "some arrivals are in other intervals with 4096 bytes (Fig. 4)")
    yield Figure(f"arrivals of levels 0 to 4 in the central interval, least, {words}", "share", None, even, bound)
    if part in {"main", "requests"}:
        yield from _table_2(labels, rows)


def _table_2(labels: dict[str, str], rows: pl.DataFrame) -> Iterator[Figure]:
    """Yield the figures of the paper's table 2."""
    words, size, megabits = _words(labels), int(labels["bytes"]), 1000 * float(labels["gbps"])
    utilisation, switches, host_rate, switch_rate, connections = _PUBLISHED[size]
    accepted, offered = (float(rows[name].sum()) for name in ("accepted", "offered"))
    both = float(rows["link_utilisation_mean"][0] + accepted) / 2
    compared: list[tuple[str, str, float, float]] = [
        ("utilisation of host links", "", utilisation, accepted),
        ("utilisation of switch ports", "", switches, both),
        ("reservation of host links", "Mb/s", host_rate, megabits * offered),
        ("reservation of switch ports", "Mb/s", switch_rate, megabits * both),
    ]
    if labels["requests"] == next(iter(REQUESTS)):  # shorter runs count only the connections that sent
        compared.append(("connections", "", float(connections), float(rows["connections"].sum())))
    for name, unit, published, ours in compared:
        yield Figure(f"{name}, {words}", unit, published, [ours], within(published, 0.1, _UNKNOWN))
    overhead = REQUESTS[labels["requests"]].get("header_bytes", HEADER_BYTES)
    for name, rate, used in (("host links", host_rate, utilisation), ("switch ports", switch_rate, switches)):
        missing = size * (rate / (megabits * used) - 1)
        bound = Bound(missing - 1, missing + 1, "±1", "a byte more or less in each packet; the bound is ours")
        yield Figure(f"bytes a packet in reservation only, {name}, {words}", "", missing, [float(overhead)], bound)
    delivered = at_least(0.999, "delivered traffic is equal to injected traffic (Table 2)")
    yield Figure(f"delivered over injected, {words}", "", 1.0, [accepted / offered], delivered)


def _together(rows: pl.DataFrame) -> Iterator[Figure]:
    """Yield the figures that compare several packet sizes, if all were run."""
    by_size = {int(labels["bytes"]): own for labels, own in _cases(rows)}
    if set(by_size) != set(SIZES):
        return
    grows = [float(by_size[4096]["accepted"].sum()) / float(by_size[256]["accepted"].sum())]
    yield Figure("utilisation, 4096 over 256 bytes", "", 0.7607 / 0.7258, grows, within(0.7607 / 0.7258, 0.1))
    strict = [row for own in by_size.values() for row in own.filter(pl.col("sl").is_in(_STRICTEST)).to_dicts()]
    fair = [best - worst for row in strict for best, worst in zip(row["best"], row["worst"], strict=True)]
    bound = at_most(0.5, "the best and the worst connection of a level are alike (Fig. 5); the bound is ours")
    yield Figure(
        "best less worst connection of levels 0 to 3, most at any part of D", "share", None, [max(fair)], bound
    )


def _charts(part: str, measured: Measured) -> list[Chart]:
    charts: list[Chart] = []
    for labels, rows in _cases(measured.rows):
        words = _words(labels)
        charts.append(_by_level(f"packets in time, {words}", "fraction of deadline D", rows, "within", FRACTION_WORDS))
        across = "deviation of the arrival interval from the generation interval, relative"
        charts.append(_by_level(f"jitter, {words}", across, rows, "jitter", JITTER_WORDS))
        if part == "main":
            charts.append(_best_and_worst(f"best and worst connection, {words}", rows))
    return charts


def _by_level(title: str, across: str, rows: pl.DataFrame, column: str, words: tuple[str, ...]) -> Chart:
    curves = [
        _curve(f"SL {row['sl']}, distance {LEVELS[row['sl']].distance}", number, row[column], words)
        for number, row in enumerate(rows.iter_rows(named=True))
        if row[column] is not None
    ]
    return Chart(title, across, "share of packets", curves, words=list(words))


def _best_and_worst(title: str, rows: pl.DataFrame) -> Chart:
    curves = [
        _curve(f"SL {row['sl']}, {which}", 2 * number + (which == "worst"), row[which], FRACTION_WORDS)
        for number, row in enumerate(rows.filter(pl.col("sl").is_in(_STRICTEST)).iter_rows(named=True))
        for which in ("best", "worst")
    ]
    return Chart(title, "fraction of D", "share of packets", curves, words=list(FRACTION_WORDS))


def _curve(name: str, number: int, values: list[float], words: tuple[str, ...]) -> Curve:
    line = [(float(place), value) for place, value in enumerate(values)]
    marks = [Mark(x, y, "full", f"{name}, {word}: {y:.4%}") for (x, y), word in zip(line, words, strict=True)]
    return Curve(name, number, [line], marks=marks)


STUDY = PaperStudy(
    name="packet-size",
    title="Packet size and the guarantees of connections",
    columns=COLUMNS,
    parts=PARTS,
    cases=cases,
    figures=_figures,
    charts=_charts,
    about=[("Paper", "Studying the Influence of the InfiniBand Packet Size to Guarantee QoS")],
    measures=("deadlines",),
)
