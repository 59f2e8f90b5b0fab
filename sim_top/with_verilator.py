"""Runs a command with the bundled Verilator on PATH: ``python -m vlane.sim_top.with_verilator COMMAND ...``."""

from __future__ import annotations

import subprocess
import sys

from vlane.tb.machinery.native import verilator


def run_with_verilator(command: list[str]) -> int:
    """Run a command in Verilator's environment and return its exit status, or 2 if it cannot be started."""
    if not command:
        sys.stderr.write("vlane: COMMAND is missing: name a program to run\n")
        return 2
    try:
        return subprocess.run(command, env=verilator.environment(), check=False).returncode
    except OSError as error:
        sys.stderr.write(f"vlane: cannot run {command[0]}: {error.strerror}\n")
        return 2


if __name__ == "__main__":
    sys.exit(run_with_verilator(sys.argv[1:]))
