"""Scheduler tables inside a study file: ``[scheduler.vlarb]`` instead of a table file."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.conftest import STUDY, assert_refused, call
from vlane import InputError, Study

TABLE = "limit_of_high_priority = 0\nlow = [[0, 198], [1, 66]]\nhigh = []\n"
SHORT = STUDY.replace("loads = [0.2, 0.5]", "loads = [0.5]").replace("seeds = [1, 2]", "seeds = [1]")


@pytest.fixture
def inline(tmp_path: Path) -> Path:
    """Return a study with a table of its own."""
    file = tmp_path / "inline.toml"
    file.write_text(f'{SHORT}\n[scheduler]\nname = "vlarb"\n\n[scheduler.vlarb]\n{TABLE}')
    return file


def test_inline_table_equals_a_table_file(inline: Path, tmp_path: Path) -> None:
    """A study with an inline table has the deliveries of the same study with a table file."""
    (tmp_path / "table.toml").write_text(f"[vlarb]\n{TABLE}")
    study = Study.read(inline)
    named = study.with_({"scheduler.vlarb": None, "scheduler.table": "table.toml"})

    own, other = (each.run().runs["digest"].to_list() for each in (study, named))
    assert own == other


def test_a_study_with_an_inline_table_reaches_another_process(inline: Path) -> None:
    """A study with an inline table survives pickling, so that it runs with several jobs."""
    study = Study.read(inline).model

    assert pickle.loads(pickle.dumps(study)) == study  # noqa: S301 - its own


def test_changes_and_sweeps_reach_an_inline_table(inline: Path) -> None:
    """``with_`` and sweeps change weights of an inline table, and the deliveries with them."""
    study = Study.read(inline)
    swept = study.run(sweep={"scheduler.vlarb.low.0.1": [198, 1]})

    assert swept.parameters == ["scheduler.vlarb.low.0.1"]
    assert swept.runs["digest"][0] == study.run().runs["digest"][0]
    assert swept.runs["digest"].n_unique() == 2
    changed = study.with_({"scheduler.vlarb.low": [[1, 3], [0, 4]]})
    assert changed.model.scheduler.tables["vlarb"]["low"] == [[1, 3], [0, 4]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scheduler.vlarb.low": [[0, 10], [1, 300]]}, "weight must be 0 to 255"),
        ({"scheduler.vlarb.lo": 3}, "unknown key"),
        ({"scheduler.table": "x.toml"}, "cannot be used with [scheduler.vlarb]"),
        ({"scheduler.vlarb.low": [[0, 10]]}, "does not give VL 1"),
        ({"scheduler.name": "dtable"}, "scheduler.dtable"),
    ],
)
def test_bad_inline_table_is_refused(changes: dict[str, object], words: str, inline: Path) -> None:
    """A wrong inline table is refused with the key and the correct values."""
    with pytest.raises(InputError) as refused:
        Study.read(inline).with_(changes).check()

    assert words in str(refused.value)


def test_line_of_a_wrong_inline_key_is_named(inline: Path) -> None:
    """Given a wrong weight in the file, the command names file and line."""
    inline.write_text(inline.read_text().replace("[1, 66]", "[1, 256]"))
    line = 1 + inline.read_text().splitlines().index("low = [[0, 198], [1, 256]]")

    assert_refused(call("simulate", inline, "--out", inline.parent / "out"), f"inline.toml:{line}", "0 to 255")
