"""Editors resolve every import in a plain checkout without installation."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

ROOT = Path(__file__).parent.parent.parent
LAYERS = ("vlane", "golden", "hdl", "tb", "sim_top")
NAMES = [
    ("golden/network/state.py", "Sources", "golden/traffic/sources.py"),
    ("golden/switches/ib_switch.py", "Records", "golden/compiler/records.py"),
    ("golden/plain/network.py", "Faults", "golden/plain/faults.py"),
    ("hdl/switches/ib_switch.py", "IBSwitchParameters", "vlane/switches/ib_switch.py"),
    ("hdl/buffers/vlbuffer.py", "VLBufferParameters", "vlane/buffers/vlbuffer.py"),
    ("tb/credits/credit_ib/stimulus.py", "Stimulus", "tb/machinery/native/stimulus.py"),
    ("tb/switches/ib_switch/proofs.py", "Instance", "tb/machinery/proofs/properties.py"),
    ("sim_top/blocks.py", "Instance", "tb/machinery/proofs/properties.py"),
    ("sim_top/study/simulate.py", "World", "sim_top/scenario/world.py"),
    ("vlane/fabric/check.py", "Finding", "vlane/fabric/finding.py"),
]
"""Module, imported name, and the file that defines the name."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the five source folders, as in a fresh clone."""
    copy = tmp_path_factory.mktemp("checkout")
    for layer in LAYERS:
        shutil.copytree(ROOT / layer, copy / layer, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.mark.parametrize(("module", "name", "defined_in"), NAMES)
def test_jedi_goes_to_the_definition_of_an_imported_name(
    module: str, name: str, defined_in: str, checkout: Path
) -> None:
    lines = (checkout / module).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if name in text and "import" in text)
    script = jedi.Script(path=checkout / module, project=jedi.Project(checkout))

    found = script.goto(line, lines[line - 1].index(name), follow_imports=True)

    assert [Path(each.module_path).resolve() for each in found] == [(checkout / defined_in).resolve()]


def test_basedpyright_resolves_every_import_of_vlane(checkout: Path) -> None:
    settings = {"include": [module for module, _, _ in NAMES], "typeCheckingMode": "off"}
    settings |= {"reportMissingImports": "error", "reportMissingModuleSource": "error"}
    (checkout / "pyrightconfig.json").write_text(json.dumps(settings))

    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )

    result = json.loads(done.stdout)
    assert result["summary"]["filesAnalyzed"] >= len(NAMES)
    assert [each["message"] for each in result["generalDiagnostics"]] == []
