"""Arbiters of ``tb/arbiters`` with all their planted bugs in one model, for runs without a compilation per bug."""

from __future__ import annotations

import re
import tempfile
from functools import cache
from pathlib import Path

from vlane.dut_map import read_map
from vlane.dut_policy import Policy
from vlane.sim_top.blocks import find_block
from vlane.sim_top.dut.closed_run import ClosedRun
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.open_run import instance_parameters
from vlane.tb.arbiters.later_plants import LATER_PLANTS
from vlane.tb.arbiters.plants import ARBITERS, FOLDER, PLANTS, source

_PORT = re.compile(r"(input|output) +logic *(\[3:0\]|\[1:0\])? *(\w+)")

BUGS = {name: [each for each in (*PLANTS, *LATER_PLANTS) if each.arbiter == name] for name in ARBITERS}
"""Planted bugs of each arbiter, of both sets. Bug n of the model is element n - 1."""


@cache
def variants(arbiter: str) -> str:
    """Return a module with the arbiter and its bugs, of which the input ``bug`` selects one (0 for none)."""
    texts = [source(arbiter), *(each.text() for each in BUGS[arbiter])]
    ports = _PORT.findall(texts[0].partition(");")[0])
    declared = ", ".join(f"{way} logic {bits} {name}" for way, bits, name in ports)
    lines, chosen = [], {name: [] for way, _, name in ports if way == "output"}
    for number, _ in enumerate(texts):
        wires = [(bits, name) for way, bits, name in ports if way == "output"]
        lines += [f"  logic {bits} {name}_{number};" for bits, name in wires]
        connected = [f".{name}({name}_{number})" if name in chosen else f".{name}" for _, _, name in ports]
        lines.append(f"  {arbiter}_{number} u{number} ({', '.join(connected)});")
        for _, name in wires:
            chosen[name].append(f"{number}: {name} = {name}_{number};")
    cases = "".join(f"    case (bug) {' '.join(each)} default: {name} = '0; endcase\n" for name, each in chosen.items())
    whole = [
        f"module {arbiter} (input logic [5:0] bug, {declared});",
        *lines,
        f"  always_comb begin\n{cases}  end",
        "endmodule",
    ]
    modules = [text.replace(f"module {arbiter} ", f"module {arbiter}_{number} ") for number, text in enumerate(texts)]
    return "\n".join([*modules, *whole])


@cache
def design_of(arbiter: str) -> Design:
    """Return the elaborated model of an arbiter, which holds its text and no longer needs the file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{arbiter}.sv"
        file.write_text(variants(arbiter))
        return Design((file,), arbiter)


def closed(
    where: Path,
    arbiter: str,
    bug: str = "",
    *,
    cycles: int = 100_000,
    seed: int = 1,
    changes: tuple[tuple[str, str], ...] = (),
    golden: str = "",
    policy: Policy | None = None,
) -> ClosedRun:
    """Return a run of an arbiter, with the bug of this name, under its own map with changed texts."""
    names = ["", *(each.name for each in BUGS[arbiter])]
    file = where / "map.toml"
    text = (FOLDER / f"{arbiter}.toml").read_text() + f"\n[constants]\nbug = {names.index(bug)}\n"
    for before, after in changes:
        assert before in text, before
        text = text.replace(before, after)
    file.write_text(text)
    given = read_map(file)
    block, table = find_block(ARBITERS[arbiter]), FOLDER / f"{arbiter}_table.toml"
    own = where / "golden.py"
    if golden:
        own.write_text(golden)
    return ClosedRun(
        block,
        instance_parameters(block, given),
        given,
        design_of(arbiter),
        cycles,
        seed,
        table if table.exists() and not golden else None,
        own if golden else None,
        policy,
    )
