"""Cases of the E2CM study: scenarios and schemes, with PAUSE and with drops, and variations of one factor at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vlane.golden.ethernet.network import Options, Scheme
from vlane.sim_top.studies.e2cm_hardware import HardwareRun, followed, hardware_digest
from vlane.sim_top.studies.e2cm_runs import EthernetRun, made_run
from vlane.sim_top.studies.e2cm_scenarios import SCENARIOS, scenario_named
from vlane.sim_top.studies.paper_study import DescribedCase, RowsOfRun

COLUMNS = ("scenario", "scheme", "flow_control", "traffic", "variant")
PARTS = {
    "main": "scenarios of the slides under all schemes",
    "sensitivity": "one factor at a time",
    "map": "gain and set point of probes",
    "hardware": "congestion points of switch 1 and the reaction point of node 1 in hardware",
}
SCHEMES: Mapping[str, tuple[bool, str]] = {
    "none": (False, "none"),
    "ecm": (True, "none"),
    "e2cm": (True, "limited"),
    "continuous": (True, "all"),
    "probing": (False, "all"),
}
"""Schemes: whether outputs are congestion points, and which flows are probed."""
FLOWS: Mapping[str, bool] = {"drops": False, "pause": True}
"""Flow controls: whether inputs pause their neighbours."""
TRAFFIC: Mapping[str, float] = {"bernoulli": 1.0, "bursty": 40.0}
"""Mean message length in frames: 1,500 and 60,000 bytes."""
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "Qeq 18750": {"cp": {"set_point_bytes": 18_750}, "rp": {"set_point_bytes": 18_750}},
    "Qeq 50000": {"cp": {"set_point_bytes": 50_000}, "rp": {"set_point_bytes": 50_000}},
    "Qeq,flow 1875": {"prober": {"set_point_bytes": 1_875}},
    "Qeq,flow 7500": {"prober": {"set_point_bytes": 7_500}},
    "Qeq,flow 37500": {"prober": {"set_point_bytes": 37_500}},
    "W 0": {"cp": {"weight": 0}, "rp": {"weight": 0}, "prober": {"weight": 0}},
    "W 1": {"cp": {"weight": 1}, "rp": {"weight": 1}, "prober": {"weight": 1}},
    "Gi 0.05": {"rp": {"gain": 205, "probe_gain": 205}},
    "Gi 0.2": {"rp": {"gain": 819, "probe_gain": 819}},
    "Gi 0.1 of the current rate": {"rp": {"gain_of": "current"}},
    "Gi 0.5 of the current rate": {"rp": {"gain_of": "current", "gain": 2_048, "probe_gain": 2_048}},
    "Gd 0.125": {"rp": {"set_point_bytes": 150_000, "gain": 1_638, "probe_gain": 1_638}},
    "Gd 0.25": {"rp": {"set_point_bytes": 75_000, "gain": 819, "probe_gain": 819}},
    "Gd 1, a cut of half at most": {"rp": {"set_point_bytes": 18_750, "gain": 205, "probe_gain": 205}},
    "drift": {"drift_cycles": 19_531},
    "Gi 0.5 of the current rate, drift": {
        "rp": {"gain_of": "current", "gain": 2_048, "probe_gain": 2_048},
        "drift_cycles": 19_531,
    },
    "associated CPID only": {"rp": {"strict": True}},
    "base delay learned": {"prober": {"base": "learned"}},
    "fixed sampling": {"cp": {"sampling": "fixed"}},
    "BCN(0,0)": {"cp": {"bcn_stop": True}},
    "flight 0.2 us": {"flight_times": 250},
    "flight 5 us": {"flight_times": 6_250},
    "inputs in turns": {"by_arrival": False},
}
"""Options that differ from the main part, by variant.

The limiter divides feedback by a multiple of its Qeq and cuts the rate by half of that. Gd is therefore varied with
another Qeq of the limiter and a compensating gain.
"""
GAINS, SET_POINTS = (51, 102, 205, 410, 819, 1_638), (938, 1_875, 3_750, 7_500, 15_000, 37_500)
"""Gi of probes in 1/4096, and Qeq,flow in bytes."""
VARIED = ("legacy", "tree16", "mixed_out")
"""Scenarios of the sensitivity part."""
MAPPED = ("legacy", "mixed_out")
"""Scenarios of the map."""
_SECONDS, _QUICK_SECONDS = 1.0, 0.3
_HARDWARE_SECONDS, _QUICK_HARDWARE_SECONDS = 0.3, 0.05
_SEEDS = 5


def cases(part: str, quick: bool) -> list[DescribedCase]:  # noqa: FBT001 - what every study takes
    """Return the cases of a part."""
    if part == "main":
        names = [name for name in SCENARIOS if not (quick and name == "tree32")]
        traffic = list(TRAFFIC)[: 1 if quick else None]
        return [
            _case(name, scheme, flow, burst, "", {}, quick=quick)
            for name in names
            for burst in traffic
            for flow in FLOWS
            for scheme in SCHEMES
        ]
    if part == "sensitivity":
        return [
            _case(name, scheme, flow, "bernoulli", variant, given, quick=quick)
            for variant, given in VARIANTS.items()
            for name in VARIED
            for flow in FLOWS
            for scheme in ("continuous", "probing")
        ]
    if part == "hardware":
        return [_in_hardware(scheme, flow, quick=quick) for flow in FLOWS for scheme in ("ecm", "continuous")]
    return [
        _case(
            name,
            "probing",
            "pause",
            "bernoulli",
            mapped(gain, point),
            {"rp": {"probe_gain": gain}, "prober": {"set_point_bytes": point}},
            quick=quick,
        )
        for name in MAPPED
        for gain in GAINS
        for point in SET_POINTS
    ]


def mapped(gain: int, point: int) -> str:
    """Return the variant name of a gain and a set point."""
    return f"Gi {gain}/4096, Qeq,flow {point}"


def _case(
    name: str, scheme: str, flow: str, traffic: str, variant: str, given: Mapping[str, Any], *, quick: bool
) -> DescribedCase:
    seconds = _QUICK_SECONDS if quick else _SECONDS
    run = _run(name, scheme, flow, traffic, given, seconds)
    seeds = tuple(range(1, 2 if quick or variant else _SEEDS + 1))
    return _described((name, scheme, flow, traffic, variant), run, run, seeds)


def _in_hardware(scheme: str, flow: str, *, quick: bool) -> DescribedCase:
    """Return a hardware case of the slides' first scenario: three outputs of switch 1, and node 1."""
    run = _run("legacy", scheme, flow, "bernoulli", {}, _QUICK_HARDWARE_SECONDS if quick else _HARDWARE_SECONDS)
    given = HardwareRun(run, ((7, 0), (7, 1), (7, 10)), 0, hardware_digest())
    return _described(("legacy", scheme, flow, "bernoulli", "in hardware"), given, run, (1,))


def _run(name: str, scheme: str, flow: str, traffic: str, given: Mapping[str, Any], seconds: float) -> EthernetRun:
    points, probing = SCHEMES[scheme]
    options = Options(**{**given, "prober": {"base": "given", **given.get("prober", {})}})
    return EthernetRun(
        name, Scheme(points, probing, FLOWS[flow]), TRAFFIC[traffic], seconds, options, scenario_named(name).digest
    )


def _described(words: tuple[str, ...], description: object, run: EthernetRun, seeds: tuple[int, ...]) -> DescribedCase:
    fabric = scenario_named(run.scenario).fabric
    labels = dict(zip(COLUMNS, words, strict=True))
    return DescribedCase(labels, (1.0,), seeds, description, fabric.nodes * fabric.switches * run.seconds, 10.0)


def make(run: EthernetRun | HardwareRun, load: float, seed: int) -> RowsOfRun:  # noqa: ARG001 - what every study takes
    """Make a run. ``load`` is ignored, because the scenario sets the load."""
    return RowsOfRun(*(followed(run, seed) if isinstance(run, HardwareRun) else made_run(run, seed)))
