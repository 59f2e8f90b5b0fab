"""Runs of the E2CM study: a network is built and run to its last frame, and measurements are kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from vlane.ethernet.shared import CYCLE_NS
from vlane.golden.engine.bins import bin_minimum
from vlane.golden.ethernet.events import Running, is_over
from vlane.golden.ethernet.network import (
    DIGEST,
    FINE_BITS,
    HOPS,
    NOW,
    TIMES_A_CYCLE,
    Ethernet,
    Options,
    Scheme,
    new_ethernet,
)
from vlane.sim_top.studies.e2cm_scenarios import Scenario, fair_rates, scenario_named

PARTS = 50
"""Number of intervals of a time series, over the time in which sources send."""
SCHEMA: Mapping[str, Any] = {
    "group": pl.UInt16,
    "name": pl.String,
    "flows": pl.UInt16,
    "fair": pl.Float32,
    "rate": pl.Float32,
    "least": pl.Float32,
    "greatest": pl.Float32,
    "off": pl.Float32,
    "fairness": pl.Float32,
    "settled": pl.Float32,
    "messages": pl.UInt64,
    "completed": pl.UInt64,
    "dropped": pl.UInt64,
    "fct_mean": pl.Float32,
    "fct_p99": pl.Float32,
    "fct_max": pl.Float32,
    "course": pl.List(pl.Float32),
    "queue_mean": pl.Float32,
    "queue_most": pl.Float32,
    "queue_course": pl.List(pl.Float32),
    "lost": pl.UInt64,
    "lowering": pl.UInt64,
    "raising": pl.UInt64,
    "sent_ms": pl.Float32,
    "ended": pl.Float32,
    "is_over": pl.Boolean,
    "flit_hops": pl.UInt64,
    "compared": pl.UInt64,
    "decided": pl.UInt64,
    "mismatches": pl.UInt64,
}
"""Columns: of a group of flows (rates in Gb/s, times in ms), from ``queue_mean`` on of its run (queues in KB), and the
last three of a block in hardware."""
_LONGEST_SECONDS = 90.0
_LOOKS, _STEADY_MS, _CLOSE = 50_000, 10, 0.2


@dataclass(frozen=True)
class EthernetRun:
    """Scenario under a congestion management scheme.

    Parameters
    ----------
    scenario : str
        One of ``SCENARIOS``.
    scheme : Scheme
        Congestion management scheme.
    mean_frames : float
        Mean length of a message in frames.
    seconds : float
        Duration for which sources send.
    options : Options
        Options that differ from the defaults.
    content : str
        Digest of the scenario, so that a changed scenario makes a different run.
    """

    scenario: str
    scheme: Scheme
    mean_frames: float
    seconds: float
    options: Options = field(default_factory=Options)
    content: str = ""


def network_after(run: EthernetRun, seed: int, seconds: float, **kept: Any) -> Ethernet:
    """Return a run's network after some seconds or after its last frame. ``kept`` is passed to ``new_ethernet``."""
    scenario = scenario_named(run.scenario)
    running = Running(
        new_ethernet(
            scenario.fabric,
            run.scheme,
            run.options,
            load=np.array(scenario.load),
            shares=scenario.shares,
            mean_frames=run.mean_frames,
            stop_seconds=run.seconds,
            seed=seed,
            services=scenario.services(run.seconds),
            **kept,
        )
    )
    running.until(seconds)
    return running.net


def made_run(run: EthernetRun, seed: int) -> tuple[str, int, float, list[dict[str, Any]]]:
    """Run a network and return digest of deliveries, cycles, CPU seconds and one row per group."""
    scenario, begin = scenario_named(run.scenario), time.process_time()
    net = network_after(
        run,
        seed,
        _LONGEST_SECONDS,
        watched=[scenario.hot],
        part_seconds=1e-3,
        parts=round(run.seconds * 1000) + 1,
        look_seconds=run.seconds / _LOOKS,
        looks=_LOOKS,
    )
    seconds = time.process_time() - begin
    rows = _rows(net, scenario, run, with_course=seed == 1)
    cycles = int(net.common[NOW]) // TIMES_A_CYCLE
    return f"{int(net.common[DIGEST]):016x}", cycles, seconds, rows


def _rows(net: Ethernet, scenario: Scenario, run: EthernetRun, *, with_course: bool) -> list[dict[str, Any]]:
    fair = fair_rates(scenario)
    parts = round(run.seconds * 1000)
    begin, end = (round(part * parts) for part in scenario.measured)
    looked = net.sampled_lengths[round(scenario.measured[0] * _LOOKS) : round(scenario.measured[1] * _LOOKS), 0] / 1000
    switch = net.switch
    of_run = {
        "queue_mean": float(looked.mean()),
        "queue_most": float(net.sampled_lengths.max()) / 1000,
        "lost": int(switch["lost"].sum()),
        "lowering": int(switch["lowering"].sum()),
        "raising": int(switch["raising"].sum()),
        "sent_ms": run.seconds * 1000,
        "ended": _ms(int(net.common[NOW]) // TIMES_A_CYCLE),
        "is_over": is_over(net),
        "flit_hops": int(net.common[HOPS]),
    }
    queue = net.sampled_lengths[:, 0].reshape(PARTS, -1).mean(axis=1) / 1000
    rows = []
    for number, group in enumerate(scenario.groups):
        sources, targets = map(list, zip(*group.flows, strict=True))
        bits = net.delivered_bytes[:parts, sources, targets] * 8
        rates = bits[begin:end].sum(axis=0) / (end - begin) / 1e6
        shares = np.array([fair[flow] for flow in group.flows])
        rows.append(
            {
                "group": number,
                "name": group.name,
                "flows": len(group.flows),
                "fair": float(shares.sum()),
                "rate": float(rates.sum()),
                "least": float(rates.min()),
                "greatest": float(rates.max()),
                "off": float(np.abs(rates / shares - 1).max()),
                "fairness": _jain(rates),
                "settled": _settled(bits[:end] / 1e6, shares),
                **_messages(net, sources, targets),
                "course": _course(bits, parts) if with_course else None,
                "queue_course": queue.tolist() if with_course and number == 0 else None,
                **of_run,
            }
        )
    return rows


def _ms(cycles: float) -> float:
    return cycles * CYCLE_NS * 1e-6


def _jain(rates: NDArray[np.float64]) -> float | None:
    squares = float((rates**2).sum())
    return float(rates.sum() ** 2 / len(rates) / squares) if squares else None


def _course(bits: NDArray[np.int64], parts: int) -> list[float]:
    """Return the total rate of all flows in each interval, in Gb/s."""
    edges = np.linspace(0, parts, PARTS + 1).round().astype(int)
    return [float(bits[one:to].sum() / max(to - one, 1) / 1e6) for one, to in pairwise(edges)]


def _settled(rates: NDArray[np.float64], shares: NDArray[np.float64]) -> float | None:
    """Return the ms from which every flow's 10 ms mean stays within 20 % of its share, or ``None`` if never."""
    count = len(rates) // _STEADY_MS
    means = rates[: count * _STEADY_MS].reshape(count, _STEADY_MS, -1).mean(axis=1)
    wrong = np.flatnonzero((np.abs(means / shares - 1) > _CLOSE).any(axis=1))
    if not len(wrong):
        return 0.0
    return None if wrong[-1] == count - 1 else float((wrong[-1] + 1) * _STEADY_MS)


def _messages(net: Ethernet, sources: list[int], targets: list[int]) -> dict[str, Any]:
    """Return the message counts and completion times of a group."""
    flow = {
        name: net.flow[name][sources, targets] for name in ("messages", "completed", "waited", "longest", "dropped")
    }
    completed = int(flow["completed"].sum())
    histogram = np.cumsum(net.completion[sources, targets].sum(axis=0))
    p99 = bin_minimum(int(np.searchsorted(histogram, 0.99 * completed)), FINE_BITS)
    return {
        "messages": int(flow["messages"].sum()),
        "completed": completed,
        "dropped": int(flow["dropped"].sum()),
        "fct_mean": _ms(float(flow["waited"].sum()) / completed) if completed else None,
        "fct_p99": _ms(p99) if completed else None,
        "fct_max": _ms(float(flow["longest"].max())) if completed else None,
    }
