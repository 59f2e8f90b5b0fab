"""Start-up cost: CPU seconds of commands, and their ratio to an empty Python process, as JSON.

Every command is run once to load files and to keep bytecode and kernels, then ``RUNS`` times; the least of them counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FABRIC = ROOT / "tests" / "data" / "two_switch"
STUDY = """[network]
topology = "tree"
k = 2
n = 1

[run]
loads = [0.3]
cycles = 2000
warm_up_cycles = 500

[[traffic]]
share = 1.0
"""
"""The smallest study: two hosts at one switch, one load."""
RUNS = 7
SMALL, SIMULATE = 0.4, 1.5
"""Most CPU seconds: of help, version and the verbs of fabrics; of the smallest study."""


def cpu_seconds(*command: str, folder: str) -> float:
    """Return the CPU seconds of a command and of the processes it starts. Bytecode is kept in a folder."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    given["PYTHONPYCACHEPREFIX"] = folder
    before = os.times()
    subprocess.run(command, cwd=ROOT, env=given, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def main() -> None:
    """Measure every command and print one JSON document."""
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "smallest.toml"
        study.write_text(STUDY)
        vlane = (sys.executable, "-m", "vlane")
        commands = {
            "python -c pass": ((sys.executable, "-c", "pass"), None),
            "vlane --help": ((*vlane, "--help"), SMALL),
            "vlane --version": ((*vlane, "--version"), SMALL),
            "vlane fabric show": ((*vlane, "fabric", "show", str(FABRIC)), SMALL),
            "vlane fabric check": ((*vlane, "fabric", "check", str(FABRIC)), SMALL),
            "vlane simulate (smallest study)": ((*vlane, "simulate", str(study), "--out", f"{folder}/out"), SIMULATE),
        }
        found = {}
        for command, _ in commands.values():
            cpu_seconds(*command, folder=folder)
        for name, (command, most) in commands.items():
            least = min(cpu_seconds(*command, folder=folder) for _ in range(RUNS))
            nothing = found["python -c pass"]["cpu_seconds"] if found else least
            found[name] = {"cpu_seconds": round(least, 3), "ratio_to_python": round(least / nothing, 1)}
            if most is not None:
                found[name] |= {"target_cpu_seconds": most, "reached": least <= most}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
