"""Directed scenarios of the single-list schedulers: grants written by hand, from the contracts only.

Each scheduler's scenarios are in its ``stimulus`` module (``tb/by_name.py``), for three data lanes and VL15.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vlane.egress import ListCode
from vlane.golden.schedulers.by_name import module_of
from vlane.golden.schedulers.heads import Heads
from vlane.schedulers.registry import SCHEDULERS
from vlane.schedulers.writes import ScheduleSelect, Write
from vlane.tb.by_name import stimulus

LANES = {"data_vls": 3, "requesters": 0, "vl15": True}
"""Parameters of every instance to which the scenarios apply."""
ALL_2 = {0: 2, 1: 2, 2: 2}
"""Heads of two blocks on all data lanes."""


@dataclass(frozen=True, slots=True)
class Step:
    """One cycle of a scenario.

    Parameters
    ----------
    heads : dict of int to int
        Size of the head on each lane that has one, in blocks; lane 3 is VL15.
    grant : int or None
        Expected VL of the grant; ``None`` for no grant.
    stalled : frozenset of int
        Lanes without credit.
    ready : bool
        The link is free.
    hold : bool
        A flow-control packet is due.
    """

    heads: dict[int, int]
    grant: int | None
    stalled: frozenset[int] = frozenset()
    ready: bool = True
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """A table, with heads and expected grants.

    Parameters
    ----------
    block : str
        Name of the scheduler.
    name : str
        Name of the scenario, beginning with its rule.
    program : tuple
        Writes (select, index, requester, weight), followed by a swap if the scheduler swaps tables.
    steps : tuple of Step
        Cycles after the programming.
    """

    block: str
    name: str
    program: tuple[Write, ...]
    steps: tuple[Step, ...] = field(default=())

    def rows(self) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
        """Yield (inputs, expected outputs) by port name, from power-on."""
        for row in program_rows(self.program, swap=SCHEDULERS[self.block].swaps):
            yield row, {"grant": 0}
        for step in self.steps:
            vl = 0 if step.grant is None else step.grant
            lane = 3 if vl == 15 else vl
            blocks = 0 if step.grant is None else step.heads[lane]
            source = ListCode.VL15 if vl == 15 else ListCode.NONE
            expected = {"grant": int(step.grant is not None), "vl": vl, "from_list": int(source), "blocks": blocks}
            yield heads(step.heads, stalled=step.stalled, ready=step.ready, hold=step.hold), expected


def heads(
    blocks: dict[int, int], *, stalled: Iterable[int] = (), ready: bool = True, hold: bool = False
) -> dict[str, int]:
    """Return the input values of a cycle in which the lanes have heads of the given sizes."""
    request = sum(1 << lane for lane in blocks)
    return {
        "heads__request": request,
        "heads__fits": request & ~sum(1 << lane for lane in stalled),
        "heads__blocks": sum(size << 7 * lane for lane, size in blocks.items()),
        "ready": int(ready),
        "hold_data": int(hold),
    }


def program_rows(program: Iterable[Write], *, swap: bool) -> list[dict[str, int]]:
    """Return one row of inputs per write of a program, followed by a bank swap if ``swap``."""
    names = ("select", "index", "requester", "weight")
    rows = [
        {"program__enable": 1, **{f"program__{n}": v for n, v in zip(names, write, strict=True)}} for write in program
    ]
    return [*rows, {"swap": 1, "ready": 1}] if swap else rows


def golden_grants(scenario: Scenario, parameters: dict[str, Any]) -> list[int | None]:
    """Run golden through a scenario and return the VL granted in each step, None for no grant."""
    golden = module_of(scenario.block)
    state, rules = golden.make_state(**parameters), np.zeros(golden.RULE_COUNT, np.int64)
    granted: list[int | None] = []
    for row, expected in scenario.rows():
        write = tuple(row.get(f"program__{name}", 0) for name in ("enable", "select", "index", "requester", "weight"))
        packed = row.get("heads__blocks", 0)
        blocks = np.array([packed >> 7 * lane & 127 for lane in range(parameters["data_vls"] + 1)], np.int64)
        seen = Heads(row.get("heads__request", 0), row.get("heads__fits", 0), blocks, 0, blocks)
        ready, hold_data, swap = (row.get(name, 0) != 0 for name in ("ready", "hold_data", "swap"))
        lane, _, _ = golden.step(state, seen, ready, hold_data, write, swap, rules)
        if "vl" in expected:
            granted.append(None if lane < 0 else 15 if lane == parameters["data_vls"] else int(lane))
    return granted


def scenarios_of(block: str) -> tuple[Scenario, ...]:
    """Return the directed scenarios of a scheduler, by its name."""
    found: tuple[Scenario, ...] = stimulus(block).SCENARIOS
    return found


def values(*each: int) -> tuple[Write, ...]:
    """Return the writes that assign a value to each requester."""
    return tuple((int(ScheduleSelect.TABLE), requester, 0, value) for requester, value in enumerate(each))
