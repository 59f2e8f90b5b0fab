"""Cases of the congestion study: networks, senders to the hot spots, and countermeasures."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from vlane.sim_top.studies.paper_study import NetworkCase
from vlane.study.congestion import geometric_cct
from vlane.study.file import study_of
from vlane.tables.sl2vl import SL_COUNT, VL_DROP

COLUMNS = ("scenario", "control", "variant")
PARTS = {
    "main": "five scenarios with one set of parameters, compared with other countermeasures",
    "shares": "other fractions of hosts, faster moving hot spots, settings for many flows, a crossbar of speed 1",
    "map": "increase and timer jointly, and each other parameter separately, 4-ary 3-tree",
}
CONTROLS = ("free", "none", "cc", "own_vl", "voqsw")
"""No hot-spot traffic; hot-spot traffic without countermeasure; congestion control; own VL; VOQsw tables."""
HOT_USED, VICTIMS_KEEP = 0.95, 0.9
"""Targets: utilisation of the hot link; fraction of their rate without hot spot that victims keep."""
CYCLES_A_MS = 195_312
"""Cycles of 5.12 ns in a millisecond."""
VICTIM, HOT = 0, 1
"""SLs of background traffic and of traffic sent to hot spots."""
_LARGEST = 32
"""Blocks per packet."""
_PACKET_BYTES = 64 * _LARGEST
_BLOCKS = 256
"""Blocks per buffer, divided equally among VLs."""
SETTINGS: Mapping[str, Any] = {"ccti_increase": 2, "ccti_timer": 10, "cnp_interval_cycles": 500}
"""Common set of parameters, as far as it differs from the defaults of ``[congestion]``."""
MANY_FLOWS = "many_flows"
"""Variant with settings for about 500 flows to one host, 5 times as many as the common set."""
SPEED_1 = "speed1"
"""Variant with a crossbar as fast as the links; with congestion control one variant per measure."""
_TICK = 200
"""Cycles per 1.024 us, the unit of ccti_timer."""
_VLS = {"own_vl": 2, "voqsw": 4}
"""Number of VLs of countermeasures with more than one."""
_RUN, _MANY_FLOWS_RUN = (400_000, 1_000_000), (1_800_000, 3_000_000)
"""Warm-up and total cycles; with many flows, rates converge slowly."""
_SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Scenario:
    """Network with traffic to hot spots.

    Parameters
    ----------
    words : str
        Description.
    network : dict
        ``[network]`` section.
    hosts : int
        Number of hosts.
    hot : sequence of int
        Hot hosts, active one after another.
    contributors, victims : sequence of int
        Hosts that send to the hot hosts at full load, and hosts that send to others.
    victim_load : float
        Load of each victim; 0 for none.
    victim_to : int or None
        Destination of the victims; ``None`` for all other hosts.
    phase : int
        Cycles for which each host is hot; 0 for the whole run.
    """

    words: str
    network: Mapping[str, Any]
    hosts: int
    hot: Sequence[int]
    contributors: Sequence[int]
    victims: Sequence[int]
    victim_load: float
    victim_to: int | None = None
    phase: int = 0


def _many(words: str, network: Mapping[str, Any], hosts: int, load: float, share: float = 0.4) -> Scenario:
    """Return a scenario in which a fraction of the hosts sends to host 0, the others to any other host."""
    drawn = random.Random(1).sample(range(1, hosts), round(share * hosts))  # noqa: S311 - the same everywhere
    others = [host for host in range(hosts) if host not in set(drawn)]
    return Scenario(words, network, hosts, (0,), sorted(drawn), others, load)


def _moving(phase: int) -> Scenario:
    """Return the 4-ary 3-tree with five hot hosts, active one after another."""
    still = _many("", _TREE43, 64, 0.8)
    hot = (0, *random.Random(2).sample([host for host in still.victims if host], 4))  # noqa: S311 - the same everywhere
    words = f"4-ary 3-tree, 40 % of 64 hosts, the hot spot moves every {phase / CYCLES_A_MS:.3g} ms"
    return Scenario(words, _TREE43, 64, hot, still.contributors, still.victims, 0.8, phase=phase)


_TREE43: Mapping[str, Any] = {"topology": "tree", "k": 4, "n": 3}
_TWO_LEVELS: Mapping[str, Any] = {"topology": "fat_tree", "m": 8, "n": 2}
_FT36: Mapping[str, Any] = {"topology": "fat_tree", "m": 36, "n": 2}
_DUMBBELL: Mapping[str, Any] = {"topology": "dumbbell", "left": 4, "right": 4}
_PARKING: Mapping[str, Any] = {"topology": "edges", "file": "parking_lot.txt"}
MOVING = "moving"
SCENARIOS = {
    "dumbbell": Scenario(
        "dumbbell, 5 of 8 hosts to one, a victim that shares the middle",
        _DUMBBELL,
        8,
        (4,),
        (0, 1, 5, 6, 7),
        (2,),
        0.5,
        victim_to=5,
    ),
    "two_levels": Scenario(
        "FT(8, 2), 6 of 32 hosts to one, a victim that shares a link to the roots with three of them",
        _TWO_LEVELS,
        32,
        (0,),
        (4, 5, 6, 8, 9, 12),
        (7,),
        0.45,
        victim_to=16,
    ),
    "parking_lot": Scenario(
        "four switches in a row, flows join one after the other", _PARKING, 5, (4,), (0, 1, 2, 3), (), 0.0
    ),
    "tree43": _many("4-ary 3-tree, 40 % of 64 hosts to one", _TREE43, 64, 0.8),
    "ft36": _many("FT(36, 2), 40 % of 648 hosts to one", _FT36, 648, 0.6),
    MOVING: _moving(2 * CYCLES_A_MS),
    "uniform06": Scenario("4-ary 3-tree, uniform, load 0.6", _TREE43, 64, (), (), range(64), 0.6),
    "uniform10": Scenario("4-ary 3-tree, uniform, load 1", _TREE43, 64, (), (), range(64), 1.0),
}
_SHARES = {
    f"tree43_{round(100 * share)}": _many(
        f"4-ary 3-tree, {100 * share:g} % of 64 hosts to one", _TREE43, 64, 0.8, share
    )
    for share in (0.1, 0.8)
}
_FASTER = {"moving1": _moving(CYCLES_A_MS)}
_TO_512 = [list(entry) for entry in geometric_cct(longest=512)]
"""Geometric CCT up to a gap of 512 packets."""
_MANY_FLOWS: Mapping[str, Any] = {"ccti_increase": 4, "ccti_timer": 21, "cnp_interval_cycles": 900, "cct": _TO_512}
INCREASES, TIMERS = (1, 2, 4, 8), (5, 10, 20, 40, 80)


def grid_variant(increase: int, timer: int) -> str:
    """Return the variant name of a point of the map."""
    return f"ccti_increase={increase} ccti_timer={timer}"


def _grid_settings(increase: int, timer: int) -> dict[str, Any]:
    """Return the settings of a point of the map. CNPs are sent at half the longest interval that lets a CCTI rise."""
    return {"ccti_increase": increase, "ccti_timer": timer, "cnp_interval_cycles": timer * _TICK // increase // 2}


_MAP: dict[str, dict[str, Any]] = {
    **{grid_variant(i, t): _grid_settings(i, t) for i in INCREASES for t in TIMERS},
    **{f"threshold={value}": {"threshold": value} for value in (1, 4, 8, 12, 15)},
    **{f"marking_rate={value}": {"marking_rate": value} for value in (1, 3, 7)},
    **{f"cnp_interval_cycles={value}": {"cnp_interval_cycles": value} for value in (0, 250, 900)},
    "cct=linear": {"cct": [[3, 8 * i] for i in range(128)]},
    "cct=512 packets": {"cct": _TO_512},
    "port_control=1": {"port_control": 1},
    "busy_blocks=0": {"busy_blocks": 0},
    "victim_mask=all": {"victim_mask": "all"},
}
_QUICK = ("dumbbell", "two_levels", "parking_lot", "tree43", "uniform06", "uniform10")


def cases(part: str, quick: bool) -> list[NetworkCase]:  # noqa: FBT001 - what every study takes
    """Return the cases of a part."""
    if part == "main":
        names = _QUICK if quick else SCENARIOS
        return [_case(name, control, "", quick=quick) for name in names for control in _controls(name)]
    if part == "shares":
        named: list[tuple[str, str, tuple[str, ...]]] = [(name, "", ("",)) for name in (*_SHARES, *_FASTER)]
        named.append(("ft36", MANY_FLOWS, (MANY_FLOWS,)))
        by_measure = tuple(f"{SPEED_1}_{measure}" for measure in ("output", "inputs"))
        named += [(name, SPEED_1, by_measure) for name in ("dumbbell", "tree43")]
        return [
            _case(name, control, variant, quick=quick)
            for name, base, controlled in named
            for control, variants in (("free", (base,)), ("none", (base,)), ("cc", controlled))
            for variant in variants
        ]
    base = [_case("tree43", control, "", quick=True) for control in ("free", "none")]
    return base + [_case("tree43", "cc", variant, quick=True) for variant in _MAP]


def measured_cycles(scenario: Scenario, variant: str, cycles: int) -> int:
    """Return the number of measured cycles of a run."""
    return cycles - _warm_up(scenario, variant, cycles)


def _warm_up(scenario: Scenario, variant: str, cycles: int) -> int:
    if scenario.phase:
        return scenario.phase
    settle, of = _MANY_FLOWS_RUN if variant == MANY_FLOWS else _RUN
    return cycles * settle // of


def _controls(name: str) -> tuple[str, ...]:
    if not SCENARIOS[name].hot:
        return ("none", "cc")
    if not SCENARIOS[name].victims:
        return CONTROLS[1:-1]
    if name in {"two_levels", "tree43", "dumbbell"}:
        return CONTROLS
    return CONTROLS[:-1]


@cache
def scenario_of(name: str) -> Scenario:
    """Return a scenario of any part."""
    return {**SCENARIOS, **_SHARES, **_FASTER}[name]


@cache
def _case(name: str, control: str, variant: str, *, quick: bool) -> NetworkCase:
    scenario = scenario_of(name)
    cycles = _RUN[1] // (2 if quick else 1)
    if variant == MANY_FLOWS:
        cycles = _MANY_FLOWS_RUN[1]
    if scenario.phase:
        cycles = scenario.phase * len(scenario.hot)
    warm_up = _warm_up(scenario, variant, cycles)
    by_path, vls = control == "voqsw", _VLS.get(control, 1)
    part = _BLOCKS // vls
    row = [VICTIM, 1 if control == "own_vl" else VICTIM, *[VL_DROP] * (SL_COUNT - 2)]
    content: dict[str, Any] = {
        "network": dict(scenario.network),
        "switch": {} if variant.startswith(SPEED_1) else {"speed": 2},
        "link": {} if by_path else {"vl_of_sl": row, "data_vls": vls},
        "buffers": {"blocks": _BLOCKS, "minimum_blocks": part, "maximum_blocks": part, "largest_blocks": _LARGEST},
        "measure": {"apart": list(scenario.hot), "sources": True},
        "traffic": _traffic(scenario, control, by_path=by_path),
        "run": {"cycles": cycles, "warm_up_cycles": warm_up},
    }
    if control == "cc":
        changed = _MANY_FLOWS if variant == MANY_FLOWS else _MAP.get(variant, {})
        content["congestion"] = {**SETTINGS, **changed}
        if variant.startswith(SPEED_1):
            content["congestion"]["measure"] = variant.removeprefix(f"{SPEED_1}_")
    if by_path:
        content["voqsw"] = {"vls": vls, "sls": vls}
    load = sum(each["load"] for each in content["traffic"])
    content["run"]["loads"] = [load]
    labels = dict(zip(COLUMNS, (name, control, variant), strict=True))
    seeds = (1,) if quick or name == "ft36" or variant else _SEEDS
    return NetworkCase(labels, (load,), seeds, study_of(content, base=Path(__file__).parent.parent / "configs"))


def _traffic(scenario: Scenario, control: str, *, by_path: bool) -> list[dict[str, Any]]:
    """Return the traffic classes: one for the victims, one per hot host."""
    made: list[dict[str, Any]] = []
    if scenario.victim_load:
        to_one = scenario.victim_to is not None
        where = {"hot_share": 1.0, "hot_hosts": [scenario.victim_to]} if to_one else {"pattern": "others"}
        made.append({"sl": VICTIM, "hosts": list(scenario.victims), "load": scenario.victim_load, **where})
    for place, host in enumerate(scenario.hot if control != "free" else ()):
        each = {"sl": HOT, "hosts": list(scenario.contributors), "load": 1.0, "hot_share": 1.0, "hot_hosts": [host]}
        if scenario.phase:
            each["active_cycles"] = [place * scenario.phase, (place + 1) * scenario.phase]
        made.append(each)
    return [{**each, "bytes": _PACKET_BYTES, **({"sl": "path"} if by_path else {})} for each in made]
