"""FuseSoC core of the exported files."""

from __future__ import annotations

import json
from collections.abc import Iterable


def core_file(name: str, title: str, modules: Iterable[str], *, version: str, bench: bool) -> str:
    """Return the text of the FuseSoC core of an exported module, without its first line.

    Targets: ``default`` is the module for dependants, ``lint`` runs without warnings under ``-Wall``, and ``sim``
    exists if there is a testbench.

    Parameters
    ----------
    name, title, version : str
        Name of the top module, description and version of the core.
    modules : iterable of str
        SystemVerilog files of the modules.
    bench : bool
        Whether there is a testbench.
    """
    lines = [
        f"name: vlane:qos:{name}:{version}",
        f"description: {json.dumps(title)}",
        "filesets:",
        "  rtl:",
        f"    files: [{', '.join(modules)}]",
        "    file_type: systemVerilogSource",
    ]
    if bench:
        lines += ["  bench:", "    files:", f"      - {name}_tb.sv: {{file_type: systemVerilogSource}}"]
        lines += [
            f"      - {name}_{side}.hex: {{file_type: user, copyto: {name}_{side}.hex}}"
            for side in ("inputs", "outputs")
        ]
    lines += [
        "targets:",
        "  default:",
        "    filesets: [rtl]",
        f"    toplevel: {name}",
        "  lint:",
        "    filesets: [rtl]",
        f"    toplevel: {name}",
        "    flow: lint",
        "    flow_options: {tool: verilator, verilator_options: [-Wall], iverilog_options: [-g2012, -Wall]}",
    ]
    if bench:
        lines += [
            "  sim:",
            "    filesets: [rtl, bench]",
            f"    toplevel: {name}_tb",
            "    flow: sim",
            "    flow_options:",
            "      {tool: verilator, mode: binary, verilator_options: [-Wall, --timing], iverilog_options: [-g2012]}",
        ]
    return "\n".join([*lines, ""])
