"""Shipped example studies: listing and copying."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, assert_refused, call
from vlane.planning.dtable_request import read_request
from vlane.planning.vlarb_wants import read_wants
from vlane.schedulers.table_files import read_tables
from vlane.sim_top.cli.configs import Example, examples
from vlane.sim_top.scenario.world import make_world
from vlane.study.model import read_study

EXAMPLES = examples()


def test_every_example_is_listed_with_a_description() -> None:
    """Every shipped example is listed with a description."""
    document = call("configs", "--json").json()

    assert document["names"] == sorted(file.stem for file in (ROOT / "sim_top" / "configs").glob("*.toml"))
    assert all(each["about"] for each in document["configs"])
    assert document["written"] == []
    assert "tree43_ib" in call("configs").out


@pytest.mark.parametrize("example", EXAMPLES, ids=[each.name for each in EXAMPLES])
def test_a_copied_example_is_complete(example: Example, tmp_path: Path) -> None:
    """A copied example includes every file it needs, such as a captured fabric."""
    written = call("configs", example.name, "--out", tmp_path, "--json").json()["written"]

    assert all(Path(file).is_file() for file in written)
    file = tmp_path / f"{example.name}.toml"
    if example.verb == "simulate":
        make_world(read_study(file), tmp_path)
    elif example.verb:
        {"dtable plan": read_request, "vlarb plan": read_wants}[example.verb](file)
    else:
        read_tables(file)


def test_all_examples_are_copied_and_copied_again(tmp_path: Path) -> None:
    """Copying all examples again into the same folder succeeds."""
    first = call("configs", "--out", tmp_path, "--json").json()["written"]

    assert call("configs", "--out", tmp_path, "--json").json()["written"] == first
    assert len(first) == sum(file.is_file() for file in tmp_path.rglob("*"))


def test_a_file_of_the_user_is_not_overwritten(tmp_path: Path) -> None:
    """Given a modified file in the target folder, nothing is copied and the file is unchanged."""
    mine = tmp_path / "tree43_ib.toml"
    mine.write_text("mine")

    assert_refused(call("configs", "tree43_ib", "--out", tmp_path), "--out", "tree43_ib.toml")

    assert mine.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [mine]


@pytest.mark.parametrize("name", ["nope", "irregular_s1", "..", ""])
def test_an_example_that_is_not_shipped_is_refused(name: str) -> None:
    """Given an unknown example, the error lists the available names."""
    assert_refused(call("configs", name), "NAME", "tree43_ib")
