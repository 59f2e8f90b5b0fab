"""Tables of the study pages, against stored figures and summaries."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.repository.test_site import extension

tables: Any = extension("study_tables")
PAGES = sorted((ROOT / "docs" / "studies").glob("*.md"))
LONG = {"dtable", "e2cm", "voqsw"}
"""Studies whose figures take more than 2 s of CPU time."""
PAGE = """<!-- figures: dtable/main listed -->
| figure | published | ours | least | greatest |
|---|---|---|---|---|
| latency, IB (ns) | 780 | 1,261.6 | 1,206.7 | 1,340 |
"""
FIGURES = {"dtable/main": {"latency, IB": tables.Figure(1261.57, 1206.69, 1340.4)}}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_numbers_of_the_tables_are_the_stored_figures(page: Any) -> None:
    """Given a marked table of a study page, every number is its stored figure, rounded as shown."""
    text = page.read_text(encoding="utf-8")

    assert "<!-- figures: " in text
    assert tables.differences(text, tables.stored_figures()) == []


@pytest.mark.parametrize(
    "study", [pytest.param(each, marks=[pytest.mark.long] * (each in LONG)) for each in tables.STUDIES]
)
def test_the_stored_figures_are_those_of_the_kept_summaries(study: str) -> None:
    """The stored figures equal the figures computed from the study's summary."""
    stored = {part: figures for part, figures in tables.stored_figures().items() if part.startswith(f"{study}/")}

    assert stored
    for part, figures in stored.items():
        made = tables.figures_of(study, part.partition("/")[2])
        assert made.keys() == figures.keys()
        for name, figure in made.items():
            assert astuple(figure) == pytest.approx(astuple(figures[name]), rel=1e-6), name


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("1,261.6", "1,261.5", "ours: 1,261.5 is not 1261.57"),
        ("1,206.7", "1,207", ""),
        ("1,206.7", "1,206", "least: 1,206 is not 1206.69"),
        ("1,340", "", "greatest:  is not 1340.4"),
        ("latency, IB (ns)", "growth, IB (ns)", "is not None, mean of growth, IB"),
    ],
)
def test_a_number_that_is_no_figure_is_reported_with_its_row_and_column(old: str, new: str, wrong: str) -> None:
    """Given a wrong, missing or unknown number in a table, its row and column are reported."""
    assert tables.differences(PAGE, FIGURES) == []

    found = tables.differences(PAGE.replace(old, new), FIGURES)

    assert bool(found) == bool(wrong)
    assert all(wrong in each for each in found[:1])


@pytest.mark.parametrize(
    ("shown", "value", "same"),
    [
        ("1", 1.0000000045, True),
        ("1", 0.97, False),
        ("41", 40.93, True),
        ("0.993", 0.99248, False),
        ("-0.027", -0.0272, True),
        ("6.36e-05", 6.3619e-05, True),
        ("5,859", 5859.4, True),
    ],
)
def test_a_number_is_compared_at_its_own_digits(shown: str, value: float, same: bool) -> None:  # noqa: FBT001
    """A number matches at its shown digits, except a single digit that hides a difference."""
    assert tables._is(shown, value) is same
