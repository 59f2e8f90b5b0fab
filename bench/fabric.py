"""CPU and memory of ``vlane fabric check`` on large fabrics, as JSON: k-ary 3-trees, written anew, a process each.

``cpu_seconds`` and ``peak_mib`` are those of the whole command, start-up included; ``reached`` says whether both are
within the case's bars.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.fabric.fabrics import tree, write_capture  # noqa: E402

CASES: dict[str, tuple[int, tuple[str, ...], int, int]] = {
    "432_switches": (12, (), 10, 400),
    "432_switches_no_portinfo": (12, ("smpquery-portinfo.txt", "path-sl.csv", "smpquery-sl2vl.txt"), 10, 400),
    "1200_switches": (20, ("path-sl.csv", "smpquery-sl2vl.txt"), 60, 400),
    "1200_switches_no_portinfo": (20, ("smpquery-portinfo.txt", "path-sl.csv", "smpquery-sl2vl.txt"), 60, 400),
}
"""Arity of the tree, files that are left out, and the bars: CPU seconds, MiB."""


def measured(name: str) -> dict[str, Any]:
    """Return the figures of one case."""
    arity, without, most_seconds, most_mib = CASES[name]
    plan = tree(arity, 3)
    with tempfile.TemporaryDirectory() as scratch:
        folder = write_capture(Path(scratch) / name, plan, without=without)
        mib = sum(file.stat().st_size for file in folder.iterdir()) / 2**20
        command = [sys.executable, "-m", "vlane", "fabric", "check", str(folder), "--json"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as started:
            assert started.stdout is not None
            verdict = json.loads(started.stdout.read())
            _, status, used = os.wait4(started.pid, 0)
            started.returncode = os.waitstatus_to_exitcode(status)
    assert verdict["ok"], verdict["warnings"]
    seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    return {
        "case": name,
        "switches": len(plan.ports),
        "hosts": len(plan.hosts),
        "pairs": len(plan.hosts) * (len(plan.hosts) - 1),
        "sl2vl_rows": sum(ports * (ports + 1) for ports in plan.ports) + len(plan.hosts),
        "left_out": list(without),
        "capture_mib": round(mib),
        "cpu_seconds": round(seconds, 1),
        "peak_mib": round(peak),
        "bar_cpu_seconds": most_seconds,
        "bar_mib": most_mib,
        "reached": seconds <= most_seconds and peak <= most_mib,
    }


def main() -> None:
    """Print the figures of all cases, or of those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"Of {', '.join(CASES)}.")
    names = parser.parse_args().cases or list(CASES)
    if unknown := set(names) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    print(json.dumps([measured(name) for name in names], indent=2))


if __name__ == "__main__":
    main()
