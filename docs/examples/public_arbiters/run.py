"""Compare the public arbiters with golden: ``python run.py FOLDER [--seeds N] [--cycles N] [NAME ...]``.

FOLDER is that of fetch.py. The output is the table of docs/public_arbiters.md.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
VLANE = [sys.executable, "-m", "vlane"]


def command(entry, folder):
    """Return the options of vlane that name the sources of an arbiter."""
    at = folder / entry["repository"].replace("/", "+")
    words = []
    for file in [*entry["files"]]:
        words += ["--dut", str(at / file)]
    for file in entry.get("own", []):
        words += ["--dut", str(HERE / file)]
    folders = {str((at / name).parent) for name in entry["includes"] if (at / name).is_file()}
    for name in sorted(folders | {str(at / each) for each in entry.get("include_folders", [])}):
        words += ["-I", name]
    for name in entry.get("defines", []):
        words += ["-D", name]
    return [*words, "--top", entry["top"]]


def compare(name, entry, folder, seed, cycles, *more):
    """Run one comparison and return its JSON document."""
    words = [*VLANE, "cosim", entry["block"], *command(entry, folder), "--map", str(HERE / f"{name}.toml")]
    words += [*more, "--seed", str(seed), "--cycles", str(cycles), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def verdicts(name, entry, folder, seeds, cycles):
    """Return the verdicts of golden and of the policy over all seeds, and the last policy document."""
    found, held, last = set(), set(), None
    for seed in range(1, seeds + 1):
        if "golden" in entry or "policy" not in entry:
            more = [
                word for key in ("golden", "table") if key in entry for word in (f"--{key}", str(HERE / entry[key]))
            ]
            document = compare(name, entry, folder, seed, cycles, *more)
            found.add(
                document["verdict"] if document["verdict"] == "agrees" else f"{document['verdict']} (seed {seed})"
            )
        policy = HERE / entry.get("policy", "measure.toml")
        last = compare(name, entry, folder, seed, cycles, "--policy", str(policy))
        held.add(last["verdict"] if not last["failure"] else f"violation (seed {seed})")
    return found, held, last


def main():
    """Print a row per arbiter."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("folder", type=Path)
    words.add_argument("names", nargs="*")
    words.add_argument("--seeds", type=int, default=10)
    words.add_argument("--cycles", type=int, default=100_000)
    given = words.parse_args()
    print("| arbiter | golden | policies | longest wait (services) | deviation of shares |\n|---|---|---|---:|---:|")
    for name, entry in tomllib.loads((HERE / "arbiters.toml").read_text()).items():
        if given.names and name not in given.names:
            continue
        found, held, last = verdicts(name, entry, given.folder, given.seeds, given.cycles)
        worst = {line["name"]: line["worst"] for line in last["policies"]}
        golden = ", ".join(sorted(found)) or "policy only"
        share = worst.get("shares", "")
        print(f"| {name} | {golden} | {', '.join(sorted(held))} | {worst['wait']} | {share} |", flush=True)


if __name__ == "__main__":
    main()
