"""Build rr_arb.sv with Verilator and run its bench."""

import os
import sys
from pathlib import Path

from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
MAP = os.environ.get("MAP", str(HERE.parent / "rr_arb.toml"))
BUILD = Path(os.environ.get("BUILD", "build/foreign_arbiters")).resolve()

if __name__ == "__main__":
    sys.path.insert(0, str(HERE))  # the simulator's Python finds the bench where this one does
    runner = get_runner("verilator")
    runner.build(sources=[HERE.parent / "rr_arb.sv"], hdl_toplevel="rr_arb", build_dir=BUILD, timescale=("1ns", "1ps"))
    runner.test(
        hdl_toplevel="rr_arb",
        test_module="test_rr_arb",
        build_dir=BUILD,
        test_dir=BUILD,
        results_xml=str(BUILD / "results.xml"),
        extra_env={"MAP": MAP},
    )
