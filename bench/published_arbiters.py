"""Generic cells and logic depth of round robin and weighted round robin, next to a published table.

Published figures: xlsynth/bedrock-rtl, ``PPA.md`` at commit dfdd8784 (yosys 0.65, ``synth -flatten``, ``ltp -noff``);
the same commands run here, with the yosys of the set-up. ``python bench/published_arbiters.py`` prints the table of
``docs/silicon.md`` and writes ``docs/evidence/generic_gates.json``.
"""

from __future__ import annotations

import json
from pathlib import Path

from vlane.hdl.common.round_robin import RoundRobin
from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.silicon.area import framed_ports, measure_verilog
from vlane.sim_top.systemverilog.writer import written

KEPT = Path(__file__).parent.parent / "docs" / "evidence" / "generic_gates.json"
PUBLISHED = {
    ("selection", 4): ("br_arb_rr", 32, 6),
    ("selection", 16): ("br_arb_rr", 165, 20),
    ("wrr", 4): ("br_arb_weighted_rr", 269, 21),
    ("wrr", 16): ("br_arb_weighted_rr", 1186, 34),
}
"""Name, cells and depth by vlane's component and requesters. The weights of ``br_arb_weighted_rr`` are 1 to 4."""
SIZES = {"selection": (2, 4, 8, 16, 32, 64), "rr": (2, 4, 8, 16, 32), "wrr": (2, 4, 8, 16, 32)}
"""Requesters by component, up to the largest supported number."""


def component(name: str, requesters: int) -> object:
    """Return a component: ``selection`` is the round-robin selection inside the blocks, without packets' sizes."""
    if name == "selection":
        return RoundRobin(requesters)
    block = BLOCKS[name]
    return block.make({**block.defaults(), "data_vls": requesters, "vl15": False})


def measured(name: str, requesters: int) -> dict[str, object]:
    """Return cells, flip-flops and depth of a component, and the published figures of its size."""
    text = written(lambda: component(name, requesters), "top")
    found = measure_verilog(str(text), "top", framed_ports(text), target="generic", seeds=0)
    levels = found.timing.levels if found.timing else None
    row = {"component": name, "requesters": requesters, "cells": sum(found.cells.values()), "ff": found.ff}
    row |= {"levels": levels}
    if published := PUBLISHED.get((name, requesters)):
        row |= dict(zip(("published", "published_cells", "published_levels"), published, strict=True))
    return row


def line(row: dict[str, object]) -> str:
    """Return a row of the table, with the gap to the published figures in percent."""
    gaps = ["", ""]
    if "published" in row:
        gaps = [
            f"{row[f'published_{each}']:,}: {100 * row[each] / row[f'published_{each}'] - 100:+.0f} %"  # type: ignore[operator]
            for each in ("cells", "levels")
        ]
    cells = [f"`{row['component']}`", row["requesters"], f"{row['cells']:,}", row["ff"], row["levels"], *gaps]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Measure all sizes, print the table and keep the figures."""
    rows = [measured(name, count) for name, counts in SIZES.items() for count in counts]
    KEPT.write_text(json.dumps(rows, indent=1) + "\n")
    print("| component | requesters | cells | FF | levels | published cells | published levels |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print(line(row))


if __name__ == "__main__":
    main()
