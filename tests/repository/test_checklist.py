"""The sign-off checklist of each block is made from committed data (``docs/_ext/checklist.py``)."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from vlane.sim_top.blocks import BLOCKS

ROOT = Path(__file__).parents[2]
MOST_OPEN = 31
"""Maximum number of fields without a record."""


@pytest.fixture
def made(tmp_path: Path) -> dict[str, Any]:
    """Return the names of the generator, with a copy of the pages and records."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns("img", "examples", "outputs"))
    names = runpy.run_path(str(ROOT / "docs/_ext/checklist.py"), run_name="checklist")
    names["checklist_of"].__globals__.update(_DOCS=tmp_path / "docs", _PAGE=tmp_path / "docs" / "checklist.md")
    return names


def test_page_is_current_and_open_fields_do_not_grow(made: dict[str, Any]) -> None:
    """The page equals the data, lists every block, and has at most the stated number of open fields."""
    page = (ROOT / "docs/checklist.md").read_text(encoding="utf-8")

    assert not made["is_behind"](update=False)
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == list(BLOCKS)
    assert page.partition("## Checklists")[2].count("**open**") <= MOST_OPEN


def test_changed_record_makes_the_page_stale(made: dict[str, Any], tmp_path: Path) -> None:
    """Given another soak of a block, the page differs from the data until it is written again."""
    with (tmp_path / "docs/evidence/soak.jsonl").open("a") as file:
        file.write(json.dumps({"block": "drr", "cycles": 7_000_000, "day": "2026-11-29"}) + "\n")

    assert made["is_behind"](update=True)
    assert "| soak | 7,000,000 cycles, 1 instances, last 2026-11-29 |" in (tmp_path / "docs/checklist.md").read_text()
    assert not made["is_behind"](update=False)


@pytest.mark.parametrize(
    ("page", "line", "field"),
    [
        ("plants.md", r"^\| `rr` \| .*\n", "planted bugs"),
        ("evidence.md", r"^\| `rr` \| 2,000,000 .*\n", "code coverage"),
        ("evidence.md", r"^\| `rr` \| 16 .*\n", "upsets"),
    ],
)
def test_missing_row_leaves_its_field_open(
    made: dict[str, Any], tmp_path: Path, page: str, line: str, field: str
) -> None:
    """Given a page without a block's row, the field of that row is open."""
    file = tmp_path / "docs" / page
    text = file.read_text(encoding="utf-8")
    before = made["checklist_of"](BLOCKS["rr"])
    file.write_text(re.sub(line, "", text, count=1, flags=re.MULTILINE), encoding="utf-8")

    changed = set(made["checklist_of"](BLOCKS["rr"]).splitlines()) - set(before.splitlines())

    (row,) = changed
    assert row.startswith(f"| {field} | **open**")
