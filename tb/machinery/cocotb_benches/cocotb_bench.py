"""Run a cocotb bench on a component and count its tests."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import shutil
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from vlane.errors import InputError
from vlane.extras import require_extra
from vlane.paths import cache_dir
from vlane.tb.machinery.native import verilator
from vlane.tb.machinery.native.children import extended_environment
from vlane.tb.machinery.native.kept import locked
from vlane.tb.machinery.native.model import component_ports, simulated_verilog

SETTING = "VLANE_BENCH"
"""Environment variable with the ports and settings of a bench, as JSON."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CocotbOutcome:
    """Result of a bench.

    Parameters
    ----------
    tests : int
        Number of tests that ran.
    failures : int
        Number of tests that failed.
    seconds : float
        Wall time of the simulation, without compilation, in seconds.
    log : str
        Output of the simulator.
    messages : tuple of str
        Messages of the failed tests.
    wave : bytes
        Waveform of the run (VCD, times in ps), if requested.
    """

    tests: int
    failures: int
    seconds: float
    log: str
    messages: tuple[str, ...]
    wave: bytes = b""


def simulator_installed(simulator: str) -> bool:
    """Return whether a simulator is usable: Verilator always, Icarus if it is on PATH."""
    return simulator == "verilator" or (simulator == "icarus" and shutil.which("iverilog") is not None)


def run_cocotb(
    component: Any,
    *,
    top: str,
    bench: str,
    settings: Mapping[str, Any],
    simulator: str = "verilator",
    tests: tuple[str, ...] = (),
    trace_depth: int = 0,
) -> CocotbOutcome:
    """Compile a component, run a bench module on it, and return the result.

    Parameters
    ----------
    component : Component
        Device under test.
    top : str
        Name of the device's module.
    bench : str
        Module with the cocotb tests.
    settings : mapping
        Settings of the bench, in addition to the component's ports.
    simulator : str
        ``verilator`` or ``icarus``.
    tests : tuple of str
        Names of the tests to run; all of them if empty.
    trace_depth : int
        Levels of modules to include in a waveform, 0 for none; Verilator only.

    Raises
    ------
    InputError
        If the simulator is not installed.
    """
    ports = [astuple(port) for port in component_ports(component)]
    return run_verilog(
        simulated_verilog(component, top),
        top=top,
        bench=bench,
        settings={**settings, "ports": ports},
        simulator=simulator,
        tests=tests,
        trace_depth=trace_depth,
    )


def run_verilog(
    text: str,
    *,
    top: str,
    bench: str,
    settings: Mapping[str, Any],
    simulator: str = "verilator",
    tests: tuple[str, ...] = (),
    trace_depth: int = 0,
) -> CocotbOutcome:
    """Compile a Verilog design, run a bench module on it, and return the result (see ``run_cocotb``).

    Raises
    ------
    InputError
        If the simulator is not installed.
    MissingExtraError
        If the extra ``cocotb`` is not installed.
    """
    require_extra("cocotb")
    if not simulator_installed(simulator):
        problem = f": {simulator} is not installed"
        raise InputError("simulator", "an installed simulator", simulator, problem=problem)
    text = "`timescale 1ns/1ps\n" + text
    folder = _folder(top, simulator, text, trace_depth)
    with (
        locked(folder),
        extended_environment({**verilator.environment(text), "COCOTB_REWRITE_ASSERTION_FILES": "bench*.py"}),
    ):
        return _run(folder, text, top, bench, settings, simulator, tests, trace_depth)


def _folder(top: str, simulator: str, text: str, trace_depth: int) -> Path:
    """Return the folder in which a device is compiled and run, named by a digest of all inputs of the compilation."""
    above = cache_dir("cocotb")
    verilator.check_plain(above, "VLANE_CACHE")
    verilator.check_plain(Path(sys.prefix), "the folder of Python's packages")
    made_of = (text, verilator.toolchain(), version("cocotb"), sys.executable, f"{trace_depth}")
    key = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:20]
    return cache_dir("cocotb", f"{top}-{simulator}-{key}")


def _run(
    where: Path,
    text: str,
    top: str,
    bench: str,
    settings: Mapping[str, Any],
    simulator: str,
    tests: tuple[str, ...],
    trace_depth: int,
) -> CocotbOutcome:
    from cocotb_tools.runner import get_runner  # noqa: PLC0415 - an extra that the native engine does not need

    source, log, results = where / f"{top}.v", where / "simulation.log", where / "results.xml"
    if not source.is_file():
        _log.info("compiling %s for cocotb with %s (cached for later runs)", top, simulator)
        source.write_text(text)
    results.unlink(missing_ok=True)
    runner = get_runner(simulator)
    ports_only = [
        "--no-public-flat-rw",
        "--public-depth",
        "1",
    ]  # a bench reads only the top module; all other signals may be optimized away
    for_verilator = ["-O3", *ports_only, "-Wno-fatal", "-Wno-lint", "--x-initial", "fast", *verilator.SPLIT]
    if trace_depth:
        for_verilator += ["--trace-depth", str(trace_depth)]
    runner.build(
        sources=[source],
        hdl_toplevel=top,
        build_dir=where / "build",
        build_args=for_verilator if simulator == "verilator" else ["-g2012"],
        always=simulator != "verilator",  # the folder's name does not include the version of Icarus
        log_file=where / "compile.log",
        waves=trace_depth > 0,
    )
    start = time.perf_counter()
    with contextlib.suppress(SystemExit):
        runner.test(
            test_module=bench,
            hdl_toplevel=top,
            build_dir=where / "build",
            test_dir=where,
            results_xml=str(results),
            extra_env={SETTING: json.dumps({**settings, "top": top})},
            log_file=log,
            test_filter="|".join(f"{name}$" for name in tests) or None,
            waves=trace_depth > 0,
        )
    seconds = time.perf_counter() - start
    if not results.is_file():
        raise RuntimeError(f"the simulation wrote no results: see {log}")
    cases = ET.parse(results).getroot().findall(".//testcase")  # noqa: S314 - written by our own simulation
    failed = [case.find("failure") if case.find("failure") is not None else case.find("error") for case in cases]
    messages = tuple(
        str(failure.get("error_msg") or failure.get("message")) for failure in failed if failure is not None
    )
    wave = (where / "dump.vcd").read_bytes() if trace_depth else b""
    return CocotbOutcome(len(cases), len(messages), seconds, log.read_text(), messages, wave)
