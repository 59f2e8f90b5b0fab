"""Compare the public arbiters with golden: ``python run.py FOLDER [--seeds N] [--cycles N] [--area] [NAME ...]``.

FOLDER is that of fetch.py. The output is the table of docs/public_arbiters.md. Every arbiter is compiled once.
"""

import argparse
import dataclasses
import tomllib
from pathlib import Path

from vlane.dut_map import read_map
from vlane.dut_policy import read_policy
from vlane.sim_top.blocks import find_block
from vlane.sim_top.cli.block_verbs.area_dut import area_of_design
from vlane.sim_top.dut.closed_run import ClosedRun
from vlane.sim_top.dut.design import Design
from vlane.sim_top.dut.open_run import instance_parameters
from vlane.sim_top.dut.sources import read_sources

HERE = Path(__file__).resolve().parent


def sources_of(entry, folder):
    """Return the sources of an arbiter with their options."""
    at = folder / entry["repository"].replace("/", "+")
    folders = {(at / name).parent for name in entry["includes"] if (at / name).is_file()}
    return read_sources(
        [*(at / file for file in entry["files"]), *(HERE / file for file in entry.get("own", []))],
        includes=sorted(folders | {at / name for name in entry.get("include_folders", [])}),
        defines=entry.get("defines", []),
    )


def row(name, entry, folder, seeds, cycles, with_area):
    """Return the cells of an arbiter: verdicts over all seeds, longest wait, deviation of shares, area and speed."""
    sources, file = sources_of(entry, folder), HERE / f"{name}.toml"
    block, given = find_block(entry["block"]), read_map(file)
    design = Design(sources, entry["top"], given.parameters)
    parameters = instance_parameters(block, given)
    table, golden = (HERE / entry[key] if key in entry else None for key in ("table", "golden"))
    with_golden = (
        ClosedRun(block, parameters, given, design, cycles, 1, table, golden)
        if golden or "policy" not in entry
        else None
    )
    policy = read_policy(HERE / entry.get("policy", "measure.toml"))
    under_policy = ClosedRun(block, parameters, given, design, cycles, 1, policy=policy)
    found, held, wait, share = [], [], 0, None
    for seed in range(1, seeds + 1):
        if with_golden:
            result = dataclasses.replace(with_golden, seed=seed).run()
            found += [] if result.passed else [f"seed {seed}: {result.failure or result.ended}"]
        result = dataclasses.replace(under_policy, seed=seed).run()
        held += [] if result.passed else [f"seed {seed}: {result.failure or result.ended}"]
        worst = {line.name: line.worst for line in result.lines}
        wait, share = max(wait, worst["wait"]), max(share or 0, worst["shares"]) if "shares" in worst else None
    against = "" if golden is None else " with an own golden"
    verdict = "policies only" if with_golden is None else "; ".join(found) or f"agrees{against}"
    cells = [name, entry["habit"] or "none", verdict, "; ".join(held) or "no violation seen", str(wait)]
    cells.append("" if share is None else f"{share:g}")
    if with_area:
        whole = area_of_design(sources, entry["top"], file, target="ecp5", seeds=1, liberty=None)
        cells += [str(whole.lut), str(whole.ff), f"{whole.speed.fmax_mhz[0]:.0f}"]
    return cells


def main():
    """Print a row per arbiter."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("folder", type=Path)
    words.add_argument("names", nargs="*")
    words.add_argument("--seeds", type=int, default=10)
    words.add_argument("--cycles", type=int, default=100_000)
    words.add_argument("--area", action="store_true")
    given = words.parse_intermixed_args()
    columns = ["arbiter", "habit", "golden", "policies", "longest wait", "share deviation"]
    columns += ["LUT", "FF", "MHz"] if given.area else []
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name, entry in tomllib.loads((HERE / "arbiters.toml").read_text()).items():
        if not given.names or name in given.names:
            cells = row(name, entry, given.folder, given.seeds, given.cycles, given.area)
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
