"""Libraries loaded by each command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.conftest import DATA, ROOT
from vlane.sim_top.cli.main import VERBS, app

HEAVY = {"amaranth", "cocotb", "matplotlib", "networkx", "polars", "vcdvcd"}
"""Libraries whose import takes longer than a whole command without them."""
CALLED = """import json, sys
sys.argv = ["vlane", *{arguments}]
from vlane.sim_top.cli.main import main
try:
    main()
except SystemExit as end:
    status = end.code
json.dump([status, sorted({{name.partition(".")[0] for name in sys.modules}})], sys.stderr)
"""


def loaded(*arguments: str) -> set[str]:
    """Return the packages a command has loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", CALLED.format(arguments=list(arguments))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    status, names = json.loads(done.stderr.splitlines()[-1])
    assert not status
    return set(names)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["configs", "--help"]], ids=" ".join)
def test_help_and_version_load_no_heavy_library(arguments: list[str]) -> None:
    """Commands that only print help or a version load no heavy library and no numpy."""
    assert not loaded(*arguments) & (HEAVY | {"numpy"})


@pytest.mark.parametrize("verb", ["show", "check"])
def test_verbs_of_fabrics_load_arrays_only(verb: str) -> None:
    """`vlane fabric show` and `vlane fabric check` load numpy and no other heavy library."""
    assert not loaded("fabric", verb, str(DATA / "two_switch")) & HEAVY


def test_study_loads_polars_only(study: Path, tmp_path: Path) -> None:
    """A study of one load loads polars and no other heavy library."""
    study.write_text(study.read_text().replace("[0.2, 0.5]", "[0.2]").replace("[1, 2]", "[1]"))

    assert loaded("simulate", str(study), "--out", str(tmp_path / "out")) & HEAVY == {"polars"}


@pytest.mark.parametrize("name", VERBS)
def test_list_of_verbs_repeats_the_first_help_sentence(name: str) -> None:
    """The list of verbs repeats the first sentence of each verb's help.

    The list is written without loading the verbs.
    """
    group: Any = typer.main.get_command(app)
    verb = group.get_command(None, name)

    assert " ".join(verb.help.split()).partition(". ")[0].removesuffix(".") == VERBS[name].help.removesuffix(".")
