"""Directed scenarios of the schedulers of one list: grants written out by hand, from the contracts alone.

They are for three data lanes and VL15; a Deficit Table has four entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from vlane.golden import drr, dtable, rr, scfq

from vlane.egress import ListCode

__all__ = ["PARAMETERS", "Scenario", "Step", "golden_grants", "heads", "scenarios_of", "writes"]

LANES = {"data_vls": 3, "requesters": 0, "vl15": True}
_DEFICIT = {"keep_on_stall": False, "mtu_blocks": 66}
PARAMETERS: dict[str, dict[str, Any]] = {
    "dtable": {**LANES, "entries": 4, "form": "free", **_DEFICIT},
    "drr": {**LANES, **_DEFICIT},
    "scfq": {**LANES, "tag_bits": 16, "reciprocal_bits": 8, "units": "shared"},
    "rr": LANES,
}
"""Parameters that the scenarios of each scheduler are for."""

_GOLDEN: dict[str, Any] = {"dtable": dtable, "drr": drr, "scfq": scfq, "rr": rr}
_NO_WRITE = (0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Step:
    """One cycle.

    Parameters
    ----------
    heads : dict of int to int
        Blocks of the head of each lane that has one; lane 3 is VL15.
    grant : int or None
        The VL that may start.
    stalled : frozenset of int
        Lanes without room.
    ready, hold : bool
        The link is free; a flow-control packet is due.
    """

    heads: dict[int, int]
    grant: int | None
    stalled: frozenset[int] = frozenset()
    ready: bool = True
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """A table and what must happen with it.

    Parameters
    ----------
    block, name : str
        The scheduler; what the scenario shows, decision first.
    program : tuple
        Writes (select, index, requester, weight); a swap follows where there is one.
    steps : tuple of Step
        From the first cycle after it.
    """

    block: str
    name: str
    program: tuple[tuple[int, int, int, int], ...]
    steps: tuple[Step, ...] = field(default=())

    def rows(self) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
        """Yield (inputs, expected outputs) by port name, from power-on."""
        for row in writes(self.program, swap=self.block == "dtable"):
            yield row, {"grant": 0}
        for step in self.steps:
            vl = 0 if step.grant is None else step.grant
            lane = 3 if vl == 15 else vl
            blocks = 0 if step.grant is None else step.heads[lane]
            source = ListCode.VL15 if vl == 15 else ListCode.NONE
            expected = {"grant": int(step.grant is not None), "vl": vl, "list": int(source), "blocks": blocks}
            yield heads(step.heads, stalled=step.stalled, ready=step.ready, hold=step.hold), expected


def heads(
    blocks: dict[int, int], *, stalled: Iterable[int] = (), ready: bool = True, hold: bool = False
) -> dict[str, int]:
    """Return the inputs of a cycle in which these lanes have a head of that many blocks."""
    request = sum(1 << lane for lane in blocks)
    return {
        "heads__request": request,
        "heads__fits": request & ~sum(1 << lane for lane in stalled),
        "heads__blocks": sum(size << 7 * lane for lane, size in blocks.items()),
        "ready": int(ready),
        "hold_data": int(hold),
    }


def writes(program: Iterable[tuple[int, int, int, int]], *, swap: bool) -> list[dict[str, int]]:
    """Return the inputs that write a program, and swap it in."""
    names = ("select", "index", "requester", "weight")
    rows = [
        {"program__enable": 1, **{f"program__{n}": v for n, v in zip(names, write, strict=True)}} for write in program
    ]
    return [*rows, {"swap": 1, "ready": 1}] if swap else rows


def golden_grants(scenario: Scenario, parameters: dict[str, Any]) -> list[int | None]:
    """Return the VL that golden grants in each step of a scenario."""
    golden = _GOLDEN[scenario.block]
    state = golden.new_state(**parameters)
    rules = np.zeros(len(golden.RULES), np.int64)
    granted: list[int | None] = []
    for row, expected in scenario.rows():
        enable = row.get("program__enable", 0)
        fields = (row.get(f"program__{name}", 0) for name in ("select", "index", "requester", "weight"))
        write = (enable, *fields)
        packed = row.get("heads__blocks", 0)
        blocks = np.array([packed >> 7 * lane & 127 for lane in range(parameters["data_vls"] + 1)], np.int64)
        given: list[Any] = [row.get("heads__request", 0), row.get("heads__fits", 0)]
        given += [] if scenario.block == "rr" else [blocks]
        given += [row.get("ready", 0) != 0, row.get("hold_data", 0) != 0, write]
        given += [row.get("swap", 0) != 0] if scenario.block == "dtable" else []
        lane, _ = golden.step(state, *given, rules)
        if "vl" in expected:
            granted.append(None if lane < 0 else 15 if lane == parameters["data_vls"] else int(lane))
    return granted


def scenarios_of(block: str) -> tuple[Scenario, ...]:
    """Return the scenarios of a scheduler."""
    return tuple(scenario for scenario in SCENARIOS if scenario.block == block)


def _table(*entries: tuple[int, int]) -> tuple[tuple[int, int, int, int], ...]:
    padded = (*entries, *((0, 0),) * (4 - len(entries)))
    return tuple((0, index, requester, weight) for index, (requester, weight) in enumerate(padded))


def _each(*values: int) -> tuple[tuple[int, int, int, int], ...]:
    return tuple((0, requester, 0, value) for requester, value in enumerate(values))


_ALL2 = {0: 2, 1: 2, 2: 2}
_TWO_LANES = frozenset({1})

SCENARIOS = (
    Scenario(
        "dtable", "D5_figure_3_of_the_paper_3_packets_of_2_blocks_weight_3", _table((0, 3), (1, 3)),
        (Step({0: 2}, 0), Step({0: 2}, 0), Step({0: 2}, 0), Step({}, None)),
    ),
    Scenario(
        "dtable", "D2_a_packet_that_fits_exactly_is_sent_one_that_does_not_is_not", _table((0, 4), (1, 2)),
        (Step({0: 2, 1: 2}, 0), Step({0: 2, 1: 2}, 0), Step({0: 2, 1: 2}, 1), Step({0: 2, 1: 2}, 0)),
    ),
    Scenario(
        "dtable", "D4_what_is_left_is_used_in_the_next_turn", _table((0, 3), (1, 2)),
        # 3: one packet, 1 left; then SL 1; 1 + 3 = 4: two packets; then SL 1 again
        (Step({0: 2, 1: 2}, 0), Step({0: 2, 1: 2}, 1), Step({0: 2, 1: 2}, 0), Step({0: 2, 1: 2}, 0),
         Step({0: 2, 1: 2}, 1)),
    ),
    Scenario(
        "dtable", "D6_a_weight_below_the_packet_costs_cycles_without_a_grant", _table((0, 2)),
        (Step({0: 5}, None), Step({0: 5}, None), Step({0: 5}, 0), Step({0: 5}, None), Step({0: 5}, 0)),
    ),
    Scenario(
        "dtable", "D7_an_idle_requester_loses_its_deficit", _table((0, 3), (1, 8)),
        (Step({0: 2}, 0), Step({0: 2, 1: 9}, None), Step({1: 8}, 1),
         Step({0: 4, 1: 2}, None), Step({0: 4, 1: 2}, 1)),
    ),
    Scenario(
        "dtable", "D7_a_stall_loses_what_is_left", _table((0, 4), (1, 2)),
        (Step({0: 2}, 0), Step({0: 2, 1: 2}, 1, frozenset({0})), Step({0: 5, 1: 2}, None), Step({0: 5, 1: 2}, 1)),
    ),
    Scenario(
        "dtable", "D9_entries_of_weight_0_and_of_nobody_are_skipped", _table((0, 0), (9, 5), (1, 2)),
        (Step({0: 1, 1: 2}, 1), Step({0: 1}, None), Step({1: 2}, 1)),
    ),
    Scenario(
        "dtable", "D11_nothing_moves_while_the_link_is_busy_or_held", _table((0, 2), (1, 2)),
        (Step(_ALL2, 0, ready=False), Step(_ALL2, 0, ready=False), Step(_ALL2, None, hold=True), Step(_ALL2, 0),
         Step({**_ALL2, 3: 4}, 15), Step(_ALL2, 1)),
    ),
    Scenario(
        "drr", "D4_the_deficit_is_carried_to_the_next_round", _each(3, 2, 0),
        (Step(_ALL2, 0), Step(_ALL2, 1), Step(_ALL2, 0), Step(_ALL2, 0), Step(_ALL2, 1)),
    ),
    Scenario(
        "drr", "D6_a_quantum_below_the_packet_takes_several_rounds", _each(1, 4, 0),
        (Step({0: 2, 1: 4}, None), Step({0: 2, 1: 4}, 1), Step({0: 2, 1: 4}, 0), Step({0: 2, 1: 4}, 1)),
    ),
    Scenario(
        "drr", "D7_an_empty_queue_loses_its_deficit", _each(3, 2, 0),
        (Step({0: 2}, 0), Step({1: 2}, 1), Step({0: 4}, None), Step({0: 4}, 0)),
    ),
    Scenario(
        "drr", "D9_a_quantum_of_0_is_never_served", _each(0, 2, 0),
        (Step({0: 1}, None), Step({0: 1, 1: 1}, 1), Step({0: 1, 2: 1}, None)),
    ),
    Scenario(
        "rr", "R1_requesters_take_turns_and_those_that_cannot_send_are_skipped", (),
        (Step(_ALL2, 0), Step(_ALL2, 1), Step(_ALL2, 2), Step(_ALL2, 0), Step(_ALL2, 2, _TWO_LANES), Step(_ALL2, 0)),
    ),
    Scenario("rr", "R2_alone_it_sends_again", (), (Step({1: 5}, 1), Step({1: 66}, 1), Step({0: 1, 1: 1}, 0))),
    Scenario(
        "rr", "R3_idle_held_and_busy_cycles_leave_the_order", (),
        (Step({0: 1}, 0), Step({}, None), Step(_ALL2, None, hold=True), Step(_ALL2, 1, ready=False),
         Step({**_ALL2, 3: 1}, 15, hold=True), Step(_ALL2, 1)),
    ),
    Scenario(
        # Tags per block 40 and 20: lane 1 has twice the share. Lane 0: 40, lane 1: 20, then 40, 60, ...
        "scfq", "S1_twice_the_weight_is_served_twice_as_often", _each(40, 20, 0),
        (Step({0: 1, 1: 1}, None), Step({0: 1, 1: 1}, 1), Step({0: 1, 1: 1}, 0), Step({0: 1, 1: 1}, 1),
         Step({0: 1, 1: 1}, 1), Step({0: 1, 1: 1}, 0)),
    ),
    Scenario(
        "scfq", "S2_of_equal_tags_the_first_requester_goes_first", _each(8, 8, 8),
        (Step({0: 1, 1: 1, 2: 1}, None), Step({0: 1, 1: 1, 2: 1}, None), Step({0: 1, 1: 1, 2: 1}, 0),
         Step({0: 1, 1: 1, 2: 1}, 1), Step({0: 1, 1: 1, 2: 1}, 2), Step({0: 1, 1: 1, 2: 1}, 0)),
    ),
    Scenario(
        "scfq", "S4_the_shared_unit_works_while_the_link_is_busy", _each(8, 8, 0),
        (Step({0: 1, 1: 1}, None, ready=False), Step({0: 1, 1: 1}, 0, ready=False), Step({0: 1, 1: 1}, 0)),
    ),
    Scenario(
        "scfq", "S7_a_requester_without_a_weight_is_never_served", _each(0, 9, 0),
        (Step({0: 1}, None), Step({0: 1, 1: 1}, 1), Step({0: 1}, None)),
    ),
)  # fmt: skip
"""Hand-written, all of them."""
