"""VOQsw study: virtual output queuing in software against virtual networks (``docs/studies/voqsw.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean, stdev

import polars as pl

from vlane.golden.topologies.routing import up_down
from vlane.golden.topologies.topology import irregular
from vlane.planning.voqsw import plan_voqsw
from vlane.sim_top.output.curves import Chart, Curve, Mark
from vlane.sim_top.scenario.planned_voqsw import tuples_of
from vlane.sim_top.studies.figures import Bound, Figure, at_least, within
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.paper_study import PaperStudy
from vlane.sim_top.studies.study_voqsw_cases import (
    BASELINE,
    COLUMNS,
    HOT,
    PARTS,
    ROOT_TABLES,
    ROOTS,
    SIZES,
    SPREAD,
    TABLES,
    cases,
)
from vlane.tables.sl2vl import SL_COUNT

_PAYLOAD, _PACKET_FLITS, _HOSTS_PER_SWITCH = 32, 8, 4
_PUBLISHED = {
    8: (12, 0.58, 0.12, {"full": 1.82, "sls8": 1.87, "sls4": 1.75}),
    16: (40, 0.15, 0.08, {"full": 1.86, "sls8": 1.61, "sls4": 1.58}),
    32: (108, 0.16, 0.10, {"full": 1.74, "sls8": 1.47, "sls4": 1.46}),
    64: (257, 0.16, 0.09, {"full": 3.35, "sls8": 3.29, "sls4": 3.14}),
}
"""Table 1 of the paper by number of switches: SLs for full VOQ, VOQ shares with 8 and 4 SLs, speed-ups."""
_AXES = {
    (8, "sls8"): (0.35, 0.4),
    (16, "sls8"): (0.12, 0.14),
    (32, "sls8"): (0.08, 0.09),
    (64, "sls8"): (0.06, 0.07),
    (8, "full"): (0.35, 0.4),
    (32, "full"): (0.08, 0.1),
}
"""Last interval of the axes of accepted traffic in the paper's figures 6 and 9, by switches and tables."""
_NAMES = {
    BASELINE: "8 virtual networks",
    "full": "full VOQ, 8 VLs",
    "sls8": "8 SLs, 8 VLs",
    "sls4": "4 SLs, 8 VLs",
    "sls4_vls4": "4 SLs, 4 VLs",
    "sls8_spread": "8 SLs, 8 VLs, spread",
    "sls4_spread": "4 SLs, 8 VLs, spread",
}
_BY_NETWORK = "throughput depends on the network: the paper does not say on how many, and which, it measured"
_DEVIATIONS = "a count or a share of random networks; the paper does not say of how many"
_WORDS = "the paper says so in words, without a number"
_OURS = Bound(None, None, "none", "no figure of the paper")

ByNetwork = Mapping[str, float]
"""One value per network."""


def _figures(part: str, measured: Measured) -> list[Figure]:
    throughputs = _Throughputs(measured)
    if part == "main":
        return [*_uniform_figures(throughputs), *_greatest_figures(throughputs), *_hot_figures(throughputs)]
    if part == "roots":
        return list(_root_figures(throughputs))
    return list(_variant_figures(throughputs))


class _Throughputs:
    """Greatest accepted load of every case over its loads, in flits per cycle and host."""

    def __init__(self, measured: Measured) -> None:
        rows = measured.rows
        runs = rows.group_by(*COLUMNS, "load").agg(
            pl.col("accepted").cast(pl.Float64).sum().alias("both"),
            pl.col("accepted").filter(pl.col("sl") == 1).cast(pl.Float64).sum().alias("hot"),
            (pl.col("latency_mean_cycles") * pl.col("packets")).sum().alias("waited"),
            pl.col("packets").filter(pl.col("latency_mean_cycles").is_not_null()).sum().alias("timed"),
        )
        timed = pl.when(pl.col("timed") > 0).then(pl.col("timed").cast(pl.Float64))
        self.runs = runs.with_columns((pl.col("waited") / timed).alias("latency"))
        self.clock = measured.clock

    def of(self, switches: int, tables: str, traffic: str = "uniform", variant: str = "main") -> ByNetwork:
        """Return the throughput of each network."""
        best = self._case(switches, tables, traffic, variant).group_by("network").agg(pl.col("both").max())
        return dict(best.iter_rows())

    def gain(self, switches: int, tables: str, variant: str) -> list[float]:
        """Return the throughput of each network relative to virtual networks, whose hosts do not choose VLs."""
        base = self.of(switches, BASELINE, variant="main" if variant == "first_by_level" else variant)
        return _ratio(self.of(switches, tables, variant=variant), base)

    def parts(self, switches: int, tables: str, traffic: str) -> tuple[ByNetwork, ByNetwork]:
        """Return the rates received at the greatest load by hot hosts and by all other hosts, per network."""
        case = self._case(switches, tables, traffic, "main")
        last = case.filter(pl.col("load") == pl.col("load").max().over("network"))
        hot = dict(last.select("network", "hot").iter_rows())
        both = dict(last.select("network", "both").iter_rows())
        return hot, {network: both[network] - hot[network] for network in both}

    def at_full_load(self, switches: int, tables: str, variant: str = "main") -> ByNetwork:
        """Return the accepted load of each network at load 1."""
        case = self._case(switches, tables, "uniform", variant).filter(pl.col("load") == 1.0)
        return dict(case.select("network", "both").iter_rows())

    def curve(self, switches: int, tables: str, traffic: str) -> list[tuple[float, float, float]]:
        """Return mean (load, accepted, latency in ns) over networks per load. Loads without latencies are omitted."""
        case = self._case(switches, tables, traffic, "main")
        shown = case.group_by("load").agg(pl.col("both").mean(), pl.col("latency").mean()).sort("load")
        return [(load, both, self.clock.ns(latency)) for load, both, latency in shown.drop_nulls().iter_rows()]

    def _case(self, switches: int, tables: str, traffic: str, variant: str) -> pl.DataFrame:
        labels = {"switches": str(switches), "tables": tables, "traffic": traffic, "variant": variant}
        return self.runs.filter(*(pl.col(name) == text for name, text in labels.items()))


def _uniform_figures(throughputs: _Throughputs) -> Iterator[Figure]:
    for switches, (levels, share8, share4, factors) in _PUBLISHED.items():
        base = throughputs.of(switches, BASELINE)
        planned = [_planned(switches, int(network)) for network in sorted(base)]
        counts = (
            ("SLs for full VOQ", levels, [float(each[0]) for each in planned]),
            ("share of VOQ with 8 SLs", share8, [each[1] for each in planned]),
            ("share of VOQ with 4 SLs", share4, [each[2] for each in planned]),
        )
        for name, published, values in counts:
            yield Figure(f"{name}, {switches} switches", "", published, values, _deviations(published, values))
        for tables, published in factors.items():
            values = _ratio(throughputs.of(switches, tables), base)
            name = f"throughput over {_NAMES[BASELINE]}, {switches} switches, {_NAMES[tables]}"
            yield Figure(name, "", published, values, within(published, 0.25, _BY_NETWORK))
            yield Figure(f"{name}: a gain", "", published, values, at_least(1, "the paper's main finding"))
            past = _ratio(throughputs.at_full_load(switches, tables), throughputs.at_full_load(switches, BASELINE))
            yield Figure(f"accepted at load 1, {name.removeprefix('throughput ')}", "", None, past, _OURS)
    payload = [_payload(value) for value in throughputs.of(8, BASELINE).values()]
    name = "throughput of 8 virtual networks, 8 switches"
    yield Figure(name, "bytes/ns/switch", 0.22, payload, within(0.22, 0.25, _BY_NETWORK))
    eight = throughputs.of(8, "sls8")
    for tables, published in (("sls4", 1.08), ("sls4_vls4", 1.18)):
        less = _ratio(eight, throughputs.of(8, tables))
        yield Figure(f"{_NAMES['sls8']} over {_NAMES[tables]}, 8 switches", "", published, less, within(published, 0.1))
    part = _ratio(throughputs.of(32, "sls8"), throughputs.of(32, "full"))
    why = "a low percentage of VOQ is enough for more than 75 % of the throughput of full VOQ"
    yield Figure(f"{_NAMES['sls8']} over full VOQ, 32 switches", "", None, part, at_least(0.75, why))


def _greatest_figures(throughputs: _Throughputs) -> Iterator[Figure]:
    """Yield the throughputs themselves, which the paper's figures bound by the ends of their axes."""
    why = "the last interval of the axis of figure 6 or 9, ±25 %: a program that chooses its axis ends it so"
    for switches in SIZES:
        for tables in (BASELINE, "full", "sls8"):
            values = [_payload(value) for value in throughputs.of(switches, tables).values()]
            low, high = _AXES.get((switches, tables), (None, None))
            bound = _OURS
            if low is not None and high is not None:
                bound = Bound(0.75 * low, 1.25 * high, f"{low:g} to {high:g}, ±25 %", why)
            name = f"greatest accepted load, {switches} switches, {_NAMES[tables]}"
            yield Figure(name, "bytes/ns/switch", None, values, bound)


def _root_figures(throughputs: _Throughputs) -> Iterator[Figure]:
    for variant in ROOTS:
        for tables in ROOT_TABLES:
            case = f"64 switches, {_NAMES[tables]}, {variant}"
            values = [_payload(value) for value in throughputs.of(64, tables, variant=variant).values()]
            yield Figure(f"greatest accepted load, {case}", "bytes/ns/switch", None, values, _OURS)
            if tables == BASELINE:
                continue
            published = _PUBLISHED[64][3][tables]
            bound = within(published, 0.25, _BY_NETWORK)
            gain = throughputs.gain(64, tables, variant)
            yield Figure(f"throughput over {_NAMES[BASELINE]}, {case}", "", published, gain, bound)
            base = throughputs.at_full_load(64, BASELINE, variant)
            past = _ratio(throughputs.at_full_load(64, tables, variant), base)
            yield Figure(f"accepted at load 1, over {_NAMES[BASELINE]}, {case}", "", None, past, _OURS)


def _hot_figures(throughputs: _Throughputs) -> Iterator[Figure]:
    gains = {}
    for traffic, (hosts, share) in HOT.items():
        words = f"{hosts} hot host{'s' * (hosts > 1)} with {100 * share:g} %"
        base = throughputs.of(8, BASELINE, traffic)
        base_hot, base_others = throughputs.parts(8, BASELINE, traffic)
        for tables in ("sls8", "sls4", "sls4_vls4"):
            gains[traffic, tables] = gain = _ratio(throughputs.of(8, tables, traffic), base)
            name = f"throughput over {_NAMES[BASELINE]}, {words}, {_NAMES[tables]}"
            yield Figure(name, "", None, gain, at_least(1, _WORDS))
        hot, others = throughputs.parts(8, "sls8", traffic)
        name = f"accepted at load 1 over {_NAMES[BASELINE]}, {words}, {_NAMES['sls8']}"
        bound = within(1, 0.1, "one hot host is full with either: only other traffic gains") if hosts == 1 else _OURS
        yield Figure(f"{name}: to hot hosts", "", 1.0 if hosts == 1 else None, _ratio(hot, base_hot), bound)
        yield Figure(f"{name}: to others", "", None, _ratio(others, base_others), at_least(1, _WORDS))
    most, least = gains["hot70", "sls8"], gains["hot10", "sls8"]
    if most and least:
        value = [high / low for high, low in zip(most, least, strict=False)]
        name = "gain with 70 % to the hot host over that with 10 %, 8 SLs, 8 VLs"
        yield Figure(name, "", None, value, at_least(1, "the higher the hot-spot traffic, the higher the improvement"))


def _variant_figures(throughputs: _Throughputs) -> Iterator[Figure]:
    for switches in (8, 16):
        for variant, tables in _variants(switches):
            gain = throughputs.gain(switches, tables, variant)
            published = _PUBLISHED[switches][3].get(tables.removesuffix("_spread"))
            bound = _OURS if published is None else within(published, 0.25, _BY_NETWORK)
            name = f"throughput over {_NAMES[BASELINE]}, {switches} switches, {_NAMES[tables]}, {variant}"
            yield Figure(name, "", published, gain, bound)


@cache
def _variants(switches: int) -> list[tuple[str, str]]:
    found = [case.labels for case in cases("sensitivity", quick=True) if case.labels["switches"] == str(switches)]
    return list(dict.fromkeys((each["variant"], each["tables"]) for each in found if each["tables"] != BASELINE))


@cache
def _planned(switches: int, network: int) -> tuple[int, float, float]:
    """Return the SLs for full VOQ of a random network, and its VOQ shares with 8 and 4 SLs."""
    topology = irregular(switches, ports=8, hosts=4, seed=network)
    routes = up_down(topology, tuple(range(SL_COUNT)))
    tuples = tuples_of(topology, routes)
    eight, four = (plan_voqsw(tuples, levels) for levels in (8, 4))
    return eight.levels_for_full, eight.share, four.share


def _deviations(published: float, values: list[float]) -> Bound:
    """Return the bound of two standard deviations of our values around the published value."""
    if len(values) < 2:
        return Bound(None, None, "none", "one network has no standard deviation")
    room = 2 * stdev(values)
    return Bound(published - room, published + room, "±2 standard deviations of ours", _DEVIATIONS)


def _ratio(above: ByNetwork, below: ByNetwork) -> list[float]:
    return [above[network] / below[network] for network in sorted(above.keys() & below.keys())]


def _payload(accepted: float) -> float:
    """Convert flits per cycle and host to payload bytes per ns and switch, at 32 ns per cycle."""
    return accepted / _PACKET_FLITS * _PAYLOAD * _HOSTS_PER_SWITCH / 32


def _charts(part: str, measured: Measured) -> list[Chart]:
    throughputs = _Throughputs(measured)
    if part == "main":
        tables = tuple(each for each in TABLES if each != "full")
        made = [
            *(_curves(throughputs, f"{switches} switches", switches, "uniform", tuple(TABLES)) for switches in SIZES),
            *(_curves(throughputs, f"8 switches, {traffic}", 8, traffic, tables) for traffic in HOT),
        ]
    elif part == "roots":
        made = [_gains(throughputs, 64, list(ROOTS), ROOT_TABLES[1:])]
    else:
        tables = ("full", "sls8", "sls4", *SPREAD)
        words = {switches: list(dict.fromkeys(variant for variant, _ in _variants(switches))) for switches in (8, 16)}
        made = [_gains(throughputs, switches, words[switches], tables) for switches in (8, 16)]
    return [chart for chart in made if any(curve.marks for curve in chart.curves)]


def _curves(throughputs: _Throughputs, title: str, switches: int, traffic: str, tables: tuple[str, ...]) -> Chart:
    curves = []
    for name in tables:
        points = throughputs.curve(switches, name, traffic)
        line = [(_payload(accepted), latency) for _, accepted, latency in points]
        marks = [
            Mark(x, y, "full", f"{_NAMES[name]}, offered {load:g}: {x:.4g} bytes/ns/switch, {y:,.4g} ns")
            for (x, y), (load, _, _) in zip(line, points, strict=True)
        ]
        curves.append(Curve(_NAMES[name], list(TABLES).index(name), [line], marks=marks))
    return Chart(title, "accepted payload (bytes/ns/switch)", "mean latency (ns)", curves, is_logarithmic=True)


def _gains(throughputs: _Throughputs, switches: int, words: list[str], every: Sequence[str]) -> Chart:
    """Return the chart of the speed-ups of all variants."""
    curves = []
    for number, tables in enumerate(every):
        marks = []
        for place, variant in enumerate(words):
            values = throughputs.gain(switches, tables, variant)
            if values:
                said = f"{_NAMES[tables]}, {variant}: {fmean(values):.3g}"
                marks.append(Mark(place, fmean(values), "full", said, (min(values), max(values))))
        curves.append(Curve(_NAMES[tables], number, marks=marks))
    return Chart(f"{switches} switches", "variant", f"throughput over {_NAMES[BASELINE]}", curves, words=words)


STUDY = PaperStudy(
    name="voqsw",
    title="Virtual output queuing in software against virtual networks",
    columns=COLUMNS,
    parts=PARTS,
    cases=cases,
    figures=_figures,
    charts=_charts,
    about=[("Paper", "VOQsw: a methodology to reduce HOL blocking in InfiniBand networks")],
    level_of=lambda sl: int(sl >= SL_COUNT),
)
