"""Slack of elastic windows: wrong winners that a window of sampling points accepts (``docs/elastic.md``).

``python bench/slack.py [--injections N]`` prints the table. A trace is made by golden itself: one decision at a time,
shown a cycle after its sampling point and kept until ready. In a copy of the trace the winner of one decision is
replaced by another requesting lane. The wrong winner counts as missed if the checker reports nothing within 200 cycles.
"""

from __future__ import annotations

import argparse
import copy
import random
from itertools import islice
from typing import Any

from vlane.dut_map import ElasticTiming
from vlane.schedulers.drr import DRRQuanta
from vlane.schedulers.vlarb import VLArbTable
from vlane.schedulers.wrr import WRRWeights
from vlane.sim_top.blocks import find_block
from vlane.sim_top.dut.elastic import Elastic
from vlane.sim_top.dut.findings import Sample
from vlane.sim_top.dut.goldens import BlockGolden, idle_of

LANES, CYCLES, NOTICED_WITHIN, SEED = 4, 60_000, 200, 5
_VLARB = VLArbTable(high=((0, 4), (1, 9)), low=((2, 5), (3, 9), (0, 3)), limit_of_high_priority=1)
BLOCKS: dict[str, tuple[dict[str, Any], list[int], Any]] = {
    "rr": ({}, [1] * LANES, None),
    "wrr": ({}, [1] * LANES, WRRWeights((3, 5, 2, 1))),
    "drr": ({}, [1, 3, 7, 20], DRRQuanta((8, 12, 20, 30))),
    "vlarb": ({"entries": 4}, [1, 3, 7, 20], _VLARB),
}
"""Parameters, sizes of heads, and table of each block."""
WINDOWS = ((0, "together"), (4, "together"), (15, "together"), (8, "each"))


def golden_of(name: str) -> BlockGolden:
    """Return the golden model of a block with its table."""
    more, sizes, table = BLOCKS[name]
    parameters = find_block(name).parameters([], {"data_vls": LANES, "vl15": False, **more})
    return BlockGolden(find_block(name), parameters, sizes, programmed=table)


def trace(golden: BlockGolden, idle: bool) -> list[Sample]:  # noqa: FBT001 - a property of the block
    """Return the cycles of a module that golden makes, with random loads."""
    draw, state, backlog = random.Random(SEED), golden.initial, [0] * LANES
    shown: int | None = None
    load, readiness, rows = [0.2] * LANES, 1.0, [Sample(1, 0, 0, 0, 0)]
    for cycle in range(CYCLES):
        if cycle % 400 == 0:
            load = [draw.choice((0, 0.02, 0.05, 0.1, 0.3, 1)) for _ in range(LANES)]
            readiness = draw.choice((1, 0.7, 0.3))
        for lane in range(LANES):
            backlog[lane] += backlog[lane] < 40 and draw.random() < load[lane]
        ready = draw.random() < readiness
        taken = shown if shown is not None and ready else None
        waiting = [backlog[lane] - (lane == taken) for lane in range(LANES)]
        requests = sum(1 << lane for lane in range(LANES) if waiting[lane])
        rows.append(Sample(0, requests, int(ready), int(shown is not None), 0 if shown is None else 1 << shown))
        backlog = waiting
        if shown is None or taken is not None:
            shown = None
            if requests or (idle and taken is None):
                shown, state = golden.decide(state, requests)[:2]
    return rows


def copied(check: Elastic) -> Elastic:
    """Return a copy that goes on separately."""
    made = copy.copy(check)
    for name in ("_states", "_history", "_quiet", "_recent", "_used"):
        setattr(made, name, copy.copy(getattr(check, name)))
    return made


def noticed(check: Elastic, rows: list[Sample], at: int, wrong: int) -> bool:
    """Return whether a checker reports the wrong winner of a decision soon."""
    held = True
    for row in islice(rows, at, at + NOTICED_WITHIN):
        given = row._replace(grant=wrong) if held else row
        held = held and not (row.valid and row.ready)
        if check.cycle(given) is not None:
            return True
    return False


def missed(name: str, window: int, lanes: str, injections: int, rows: list[Sample], golden: BlockGolden) -> float:
    """Return the share of wrong winners that are never noticed."""
    timing = ElasticTiming(
        mode="elastic",
        decision="start",
        hold="until_release",
        latency=[1, 1 + window] if window else 1,
        lanes="each" if lanes == "each" else "together",
        at_most=100_000,
    )
    check = Elastic(golden, timing, idle=idle_of(find_block(name), {}), stand=False)
    places = [
        at
        for at in range(2, len(rows) - NOTICED_WITHIN)
        if rows[at].valid and (not rows[at - 1].valid or rows[at - 1].ready) and others(rows, at)
    ]
    draw = random.Random(2)
    chosen = set(draw.sample(places, min(injections, len(places))))
    lost = 0
    for at, row in enumerate(rows):
        if at in chosen:
            lost += not noticed(copied(check), rows, at, 1 << draw.choice(others(rows, at)))
        if (failure := check.cycle(row)) is not None:
            raise SystemExit(f"{name}: false alarm: {failure}")
    return lost / len(chosen)


def others(rows: list[Sample], at: int) -> list[int]:
    """Return the lanes that request in a decision's sampling cycle but do not win."""
    return [lane for lane in range(LANES) if (rows[at - 1].requests & rows[at].requests & ~rows[at].grant) >> lane & 1]


def main() -> None:
    """Print the table."""
    words = argparse.ArgumentParser(description="Slack of elastic windows.")
    words.add_argument("--injections", type=int, default=1500)
    injections = words.parse_args().injections
    print(f"| window | {' | '.join(BLOCKS)} |\n|---|{'---:|' * len(BLOCKS)}")
    made: dict[str, tuple[BlockGolden, list[Sample]]] = {}
    for name in BLOCKS:
        golden = golden_of(name)
        made[name] = golden, trace(golden, idle_of(find_block(name), {}) == "decides")
    for window, lanes in WINDOWS:
        cells = []
        for name, (golden, rows) in made.items():
            cells.append(f"{missed(name, window, lanes, injections, rows, golden):.1%}")
        print(f"| {window}{', each' if lanes == 'each' else ''} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
