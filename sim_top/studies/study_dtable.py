"""Deficit Table study: Omni-Path's switch against InfiniBand's (``docs/studies/dtable.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vlane.sim_top.output.curves import Chart, Curve, Mark
from vlane.sim_top.studies.figures import Bound, Figure, at_least, at_most, within
from vlane.sim_top.studies.measured import Measured
from vlane.sim_top.studies.paper_study import PaperStudy
from vlane.sim_top.studies.study_dtable_cases import (
    COLUMNS,
    FIRST,
    LAST,
    MAIN,
    NETWORKS,
    PARTS,
    READINGS,
    SHOWN_LOAD,
    SWITCHES,
    cases,
)
from vlane.switches.switch_kinds import SWITCH_KINDS

LEVELS = ("NC", "VO", "VI", "CL", "EE", "BE", "BK")
"""Names of the service levels, by SL."""
_BACKGROUND = 6


@dataclass(frozen=True)
class _Published:
    """Published NC latencies in ns by switch, with the accepted deviation of Omni-Path's at load 0.7."""

    title: str
    latency: Mapping[str, float]
    ratio: float
    growth: Mapping[str, float]
    part: float


_PUBLISHED = {
    "tree43": _Published("4-ary 3-tree", {"ib": 780.41, "opa": 647.1}, 0.83, {"ib": 55.78, "opa": 44.6}, 0.15),
    "tree242": _Published("24-ary 2-tree", {"ib": 604.01, "opa": 446.87}, 0.74, {"ib": 144.95, "opa": 35.95}, 0.20),
    "torus88": _Published("8 x 8 torus", {"ib": 840.95, "opa": 758.1}, 0.90, {"ib": 267.66, "opa": 69.45}, 0.20),
    "torus888": _Published(
        "8 x 8 x 8 torus", {"ib": 1330.24, "opa": 1115.85}, 0.84, {"ib": 229.89, "opa": 80.36}, 0.20
    ),
}
_TREES = ("tree43", "tree242")
_OPEN = "the paper gives neither flight time nor the delay of each stage"
_WORDS = "the paper says so in words, without a number"
_OURS = Bound(None, None, "none", "no figure of the paper")


def _figures(part: str, measured: Measured) -> list[Figure]:
    if part == "main":
        main, *others = [
            [each for network in _PUBLISHED for each in _of_network(network, measured, reading)] for reading in READINGS
        ]
        names = list(READINGS)[1:]
        return [
            replace(figure, readings={name: each.values for name, each in zip(names, same, strict=True)})
            for figure, *same in zip(main, *others, strict=True)
        ]
    found = [
        each
        for network in _PUBLISHED
        for switch in SWITCHES
        for variant in _variants(part, network, switch)
        for each in _of_variant(part, network, switch, variant, measured)
    ]
    return [figure for figure in found if figure.values]


def _of_network(network: str, measured: Measured, variant: str) -> Iterator[Figure]:
    published, title = _PUBLISHED[network], _PUBLISHED[network].title
    latency = {switch: _latency(measured, network, switch, variant) for switch in SWITCHES}
    ratio = _ratio(latency["opa"], latency["ib"])
    for switch in SWITCHES:
        name = f"NC latency at 0.7, {title}, {switch.upper()}"
        yield Figure(name, "ns", published.latency[switch], _all(latency[switch]), _latency_bound(network, switch))
    name = f"NC latency at 0.7, {title}, OPA / IB"
    yield Figure(name, "", published.ratio, ratio, within(published.ratio, 0.1))
    yield Figure(f"{name}: OPA below IB", "", published.ratio, ratio, at_most(1, "the paper's main finding"))
    growth = {(switch, sl): _growth(measured, network, switch, sl, variant) for switch in SWITCHES for sl in (0, 1, 2)}
    for switch in SWITCHES:
        name = f"growth of NC latency from 0.5735 to 0.9935, {title}, {switch.upper()}"
        value = published.growth[switch]
        yield Figure(name, "ns", value, _all(growth[switch, 0]), within(value, 0.1))
    for sl in (1, 2):
        name = f"growth of {LEVELS[sl]} latency from 0.5735 to 0.9935, {title}, OPA / IB"
        yield Figure(name, "", None, _ratio(growth["opa", sl], growth["ib", sl]), at_most(1, _WORDS))
    if network in _TREES:
        yield from _throughput(network, measured, variant)


def _throughput(network: str, measured: Measured, variant: str) -> Iterator[Figure]:
    title = _PUBLISHED[network].title
    for switch in SWITCHES:
        got = [_got(measured, network, switch, sl, variant) for sl in range(len(LEVELS))]
        if SWITCH_KINDS[switch].has_centre:
            for sl in range(4):
                name = f"accepted / offered of {LEVELS[sl]} at 0.9935, {title}, OPA"
                yield Figure(name, "", 1.0, _all(got[sl]), at_least(0.98, _WORDS))
        seeds = sorted(set.intersection(*(set(each) for each in got)))
        less = [got[_BACKGROUND][seed] - min(each[seed] for each in got[:_BACKGROUND]) for seed in seeds]
        name = f"accepted / offered of BK less the least of the others at 0.9935, {title}, {switch.upper()}"
        yield Figure(name, "", None, less, at_most(0, f"{_WORDS}: BK alone loses a little"))


def _of_variant(part: str, network: str, switch: str, variant: str, measured: Measured) -> Iterator[Figure]:
    published, words = _PUBLISHED[network], f"{_PUBLISHED[network].title}, {switch.upper()}, {variant}"
    latency = _latency(measured, network, switch, variant)
    if part in ("sensitivity", "tried"):
        bound = _latency_bound(network, switch)
        yield Figure(f"NC latency at 0.7, {words}", "ns", published.latency[switch], _all(latency), bound)
        growth, value = _growth(measured, network, switch, 0, variant), published.growth[switch]
        yield Figure(f"growth of NC latency, {words}", "ns", value, _all(growth), within(value, 0.1))
        return
    yield Figure(f"NC latency at 0.7, {words}", "ns", None, _all(latency), _OURS)
    for load in (SHOWN_LOAD, LAST):
        for sl in (0, 1, 2):
            for column, shown in (("latency_p99", "99 % of"), ("latency_max", "longest")):
                found = measured.ns(measured.values(column, load=load, sl=sl, labels=_labels(network, switch, variant)))
                yield Figure(f"{shown} {LEVELS[sl]} latency at {load:g}, {words}", "ns", None, _all(found), _OURS)
    got = [_got(measured, network, switch, sl, variant) for sl in range(len(LEVELS))]
    seeds = sorted(set.intersection(*(set(each) for each in got)))
    fair = [_fairness([each[seed] for each in got]) for seed in seeds]
    yield Figure(f"fairness among levels (Jain) at 0.9935, {words}", "", None, fair, _OURS)


def _fairness(shares: list[float]) -> float:
    """Return Jain's index: 1 if all shares are equal, 1 / n if one has all.

    Examples
    --------
    >>> _fairness([0.5, 0.5]), _fairness([1.0, 0.0])
    (1.0, 0.5)
    """
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def _variants(part: str, network: str, switch: str) -> list[str]:
    labels = [case.labels for case in cases(part, quick=True)]
    return [each["variant"] for each in labels if (each["network"], each["switch"]) == (network, switch)]


def _latency_bound(network: str, switch: str) -> Bound:
    value = _PUBLISHED[network].latency[switch]
    return within(value, _PUBLISHED[network].part, _OPEN) if SWITCH_KINDS[switch].has_centre else within(value, 0.1)


def _labels(network: str, switch: str, variant: str = MAIN) -> dict[str, str]:
    return dict(zip(COLUMNS, (network, switch, variant), strict=True))


def _latency(
    measured: Measured, network: str, switch: str, variant: str = MAIN, *, load: float = SHOWN_LOAD, sl: int = 0
) -> dict[int, float]:
    """Return the mean latency in ns by seed."""
    return measured.ns(
        measured.values("latency_mean_cycles", load=load, sl=sl, labels=_labels(network, switch, variant))
    )


def _growth(measured: Measured, network: str, switch: str, sl: int, variant: str = MAIN) -> dict[int, float]:
    first, last = (_latency(measured, network, switch, variant, load=load, sl=sl) for load in (FIRST, LAST))
    return {seed: last[seed] - first[seed] for seed in sorted(first.keys() & last.keys())}


def _got(measured: Measured, network: str, switch: str, sl: int, variant: str = MAIN) -> dict[int, float]:
    """Return a level's accepted divided by offered load at the greatest load, by seed."""
    labels = _labels(network, switch, variant)
    accepted, offered = (measured.values(name, load=LAST, sl=sl, labels=labels) for name in ("accepted", "offered"))
    return {seed: accepted[seed] / offered[seed] for seed in sorted(accepted) if offered.get(seed)}


def _ratio(above: Mapping[int, float], below: Mapping[int, float]) -> list[float]:
    return [above[seed] / below[seed] for seed in sorted(above.keys() & below.keys()) if below[seed]]


def _all(values: Mapping[int, float]) -> list[float]:
    return [values[seed] for seed in sorted(values)]


def _charts(part: str, measured: Measured) -> list[Chart]:
    if part != "main":
        made = [_by_variant(part, network, measured) for network in NETWORKS]
    else:
        made = [
            _by_load(network, switch, measured, is_latency=is_latency)
            for network in NETWORKS
            for is_latency in (True, False)
            for switch in SWITCHES
        ]
        made += [_by_variant(part, network, measured) for network in NETWORKS]
    return [chart for chart in made if any(curve.marks for curve in chart.curves)]


def _by_load(network: str, switch: str, measured: Measured, *, is_latency: bool) -> Chart:
    labels, curves = _labels(network, switch), []
    unit = measured.clock.ns(1.0) if is_latency else 1.0
    for sl, level in enumerate(LEVELS):
        found = measured.curve("latency_mean_cycles" if is_latency else "accepted", sl=sl, labels=labels)
        points = [(load, mean * unit, least * unit, most * unit) for load, mean, least, most in found]
        marks = [
            Mark(
                load,
                mean,
                "none" if measured.saturated(load=load, sl=sl, labels=labels) else "full",
                f"{level} at {load:g}: {mean:,.4g} ({least:,.4g} to {most:,.4g})",
            )
            for load, mean, least, most in points
        ]
        line, band = [[it[:2] for it in points]], [[(load, least, most) for load, _, least, most in points]]
        curves.append(Curve(level, sl, line, band, marks))
    if is_latency:
        value = _PUBLISHED[network].latency[switch]
        marks = [Mark(SHOWN_LOAD, value, "full", f"NC, published: {value:,.5g} ns")] * bool(curves[0].marks)
        curves.append(Curve("NC, published", 7, marks=marks))
    name = "mean latency" if is_latency else "accepted load"
    return Chart(
        f"{_PUBLISHED[network].title}, {switch.upper()}: {name}",
        "offered load (flits per cycle and host)",
        "ns" if is_latency else "flits per cycle and host",
        curves,
        is_logarithmic=is_latency,
    )


def _by_variant(part: str, network: str, measured: Measured) -> Chart:
    words = list(dict.fromkeys(each for switch in SWITCHES for each in _variants(part, network, switch)))
    curves = []
    for number, switch in enumerate(SWITCHES):
        marks = []
        for place, variant in enumerate(words):
            values = _all(_latency(measured, network, switch, variant))
            if values:
                mean = sum(values) / len(values)
                said = f"{switch.upper()}, {variant}: {mean:,.5g} ns"
                marks.append(Mark(place, mean, "full", said, (min(values), max(values))))
        curves.append(Curve(switch.upper(), number, marks=marks))
        value = _PUBLISHED[network].latency[switch]
        line = [[(0.0, value), (len(words) - 1.0, value)]]
        curves.append(Curve(f"{switch.upper()}, published", number + 2, line, dotted=True))
    title = f"{_PUBLISHED[network].title}: NC latency at 0.7"
    return Chart(title, "variant", "ns", curves, words=words)


STUDY = PaperStudy(
    name="dtable",
    title="The Deficit Table study: Omni-Path against InfiniBand",
    columns=COLUMNS,
    parts=PARTS,
    cases=cases,
    figures=_figures,
    charts=_charts,
    about=[("Paper", "a comparison of InfiniBand and Omni-Path switches under the Deficit Table scheduler")],
)
