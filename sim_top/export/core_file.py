"""FuseSoC core of the exported files."""

from __future__ import annotations


def core_file(name: str, title: str, *, version: str, bench: bool) -> str:
    """Return the text of the FuseSoC core of an exported module, without its first line.

    Targets: ``default`` is the module for dependants, ``lint`` runs without warnings under ``-Wall``, and ``sim``
    exists if there is a testbench.
    """
    lines = [
        f"name: vlane:qos:{name}:{version}",
        f"description: {title}",
        "filesets:",
        "  rtl:",
        f"    files: [{name}.v]",
        "    file_type: verilogSource",
        "  waivers:",
        f"    files: [{name}.vlt: {{file_type: vlt}}]",
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
        "    filesets: [waivers, rtl]",
        f"    toplevel: {name}",
        "    flow: lint",
        "    flow_options: {tool: verilator, verilator_options: [-Wall], iverilog_options: [-g2012, -Wall]}",
    ]
    if bench:
        lines += [
            "  sim:",
            "    filesets: [waivers, rtl, bench]",
            f"    toplevel: {name}_tb",
            "    flow: sim",
            "    flow_options:",
            "      {tool: verilator, mode: binary, verilator_options: [-Wall, --timing], iverilog_options: [-g2012]}",
        ]
    return "\n".join([*lines, ""])
