"""Runs a cocotb bench around a component, and counts its tests."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from cocotb_tools.runner import get_runner
from vlane.tb import verilator
from vlane.tb.model import component_ports, to_verilog

from vlane.errors import InputError

__all__ = ["SETTING", "CocotbOutcome", "run_cocotb", "simulator_installed"]

SETTING = "VLANE_BENCH"
"""Environment variable that tells a bench, as JSON, its ports and what to run."""


@dataclass(frozen=True, slots=True)
class CocotbOutcome:
    """What a bench reported.

    Parameters
    ----------
    tests, failures : int
        How many ran, how many of them failed.
    seconds : float
        Wall time of the simulation, compilation apart.
    log : Path
        What the simulator printed.
    messages : tuple of str
        Of the failed tests.
    """

    tests: int
    failures: int
    seconds: float
    log: Path
    messages: tuple[str, ...]


def simulator_installed(simulator: str) -> bool:
    """Tell whether a simulator can be used: Verilator always, Icarus when it is on PATH."""
    return simulator == "verilator" or (simulator == "icarus" and shutil.which("iverilog") is not None)


def run_cocotb(
    component: Any,
    *,
    top: str,
    bench: str,
    where: Path,
    told: Mapping[str, Any],
    simulator: str = "verilator",
    tests: tuple[str, ...] = (),
) -> CocotbOutcome:
    """Compile a component, run a bench module around it, and return what it reported.

    Parameters
    ----------
    component : Component
        The device.
    top : str
        Name of its module.
    bench : str
        Module with the cocotb tests.
    where : Path
        Folder for everything generated.
    told : mapping
        What the bench shall run, beside the ports of the component.
    simulator : str
        ``verilator`` or ``icarus``.
    tests : tuple of str
        Names of the tests to run; all of them if empty.

    Raises
    ------
    InputError
        If the simulator is not installed.
    """
    if not simulator_installed(simulator):
        raise InputError("simulator", "verilator, or icarus when installed", simulator)
    where.mkdir(parents=True, exist_ok=True)
    source = where / f"{top}.v"
    text = "`timescale 1ns/1ps\n" + to_verilog(component, top)
    if not source.is_file() or source.read_text() != text:  # what is older than its source is made again
        source.write_text(text)
    runner = get_runner(simulator)
    ports_only = [
        "--no-public-flat-rw",
        "--public-depth",
        "1",
    ]  # a bench sees the top module; all else may be optimised
    for_verilator = ["-O3", *ports_only, "-Wno-fatal", "-Wno-lint", "--x-initial", "fast", *verilator.SPLIT]
    arguments = for_verilator if simulator == "verilator" else ["-g2012"]
    log, results = where / "simulation.log", where / "results.xml"
    with _environment({**verilator.environment(text), "COCOTB_REWRITE_ASSERTION_FILES": "tb_*.py"}):
        runner.build(
            sources=[source],
            hdl_toplevel=top,
            build_dir=where / "build",
            build_args=arguments,
            log_file=where / "compile.log",
        )
        start = time.perf_counter()
        with contextlib.suppress(SystemExit):
            runner.test(
                test_module=bench,
                hdl_toplevel=top,
                build_dir=where / "build",
                test_dir=where,
                results_xml=str(results),
                extra_env={SETTING: json.dumps({**told, "ports": [astuple(p) for p in component_ports(component)]})},
                log_file=log,
                test_filter="|".join(f"{name}$" for name in tests) or None,
            )
        seconds = time.perf_counter() - start
    if not results.is_file():
        raise RuntimeError(f"the simulation left no results: see {log}")
    cases = ET.parse(results).getroot().findall(".//testcase")  # noqa: S314 - our own file
    failed = [case.find("failure") if case.find("failure") is not None else case.find("error") for case in cases]
    messages = tuple(
        str(failure.get("error_msg") or failure.get("message")) for failure in failed if failure is not None
    )
    return CocotbOutcome(len(cases), len(messages), seconds, log, messages)


@contextlib.contextmanager
def _environment(wanted: dict[str, str]) -> Any:
    kept = dict(os.environ)
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
