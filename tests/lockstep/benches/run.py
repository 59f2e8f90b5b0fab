"""Build the registered arbiter, alone or inside a top module, and run its bench: ``run.py SIMULATOR INNER MAP``."""

import os
import sys
from pathlib import Path

from cocotb_tools.runner import get_runner

SOURCE = Path(os.environ["SOURCE"])

if __name__ == "__main__":
    simulator, inner, given = sys.argv[1:]
    build = Path(os.environ["BUILD"]) / f"{simulator}_{inner}"
    top = "outer" if inner == "1" else "registered"
    outer = build.with_suffix(".sv")
    build.mkdir(parents=True, exist_ok=True)
    outer.write_text(
        "module outer (input clk, input rst, input [3:0] req, ack, output [3:0] gnt, output busy);\n"
        "  registered inner (.clk(clk), .rst(rst), .req(req), .ack(ack), .gnt(gnt), .busy(busy));\nendmodule\n"
    )
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    runner = get_runner(simulator)
    flags = ["-g2012"] if simulator == "icarus" else ["-Wno-fatal"]
    sources = [SOURCE, outer] if inner == "1" else [SOURCE]
    runner.build(
        sources=sources, hdl_toplevel=top, build_dir=build, build_args=flags, timescale=("1ns", "1ps"), always=True
    )
    runner.test(
        hdl_toplevel=top,
        test_module="bench_registered",
        build_dir=build,
        test_dir=build,
        results_xml=str(build / "results.xml"),
        extra_env={"MAP": given, "INNER": inner},
    )
