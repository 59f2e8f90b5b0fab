"""Rule ids: unique over all pages, with the prefix of their page, defined wherever used."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
LETTERED = re.compile(r"^\| ([A-Z]\d{1,2}) \|", re.MULTILINE)
"""An id of the old form, a letter and a number, that begins a row."""
RULE = re.compile(r"^(?:\| |\*\*)([A-Z0-9]+-[A-Z]?\d{1,2})(?: \||\.\*\*)", re.MULTILINE)
"""The id of a rule, as the first cell of a row (``| DT-1 |``) or before a paragraph (``**DT-1.**``)."""


def prefixes() -> dict[str, str]:
    """Return the page of each prefix, as listed in the catalogue."""
    text = (DOCS / "catalogue.md").read_text(encoding="utf-8")
    blocks = re.findall(r"\]\((\w+\.md)\) \| ([A-Z0-9]+)- \|", text)
    others = re.findall(r"([A-Z0-9]+)- \[\w+\]\((\w+\.md)\)", text)
    return {**{prefix: page for page, prefix in reversed(blocks)}, **dict(others)}


def named(text: str) -> set[str]:
    """Return the rule ids in a text."""
    # two-digit numbers first, longer prefixes before shorter ones, and no word directly before an id
    known = "|".join(sorted(prefixes(), key=len, reverse=True))
    return set(re.findall(rf"(?<![\w-])((?:{known})-[A-Z]?\d{{1,2}})(?![\w-])", text))


def defined() -> list[tuple[str, str]]:
    """Return (page, id) of every rule: a row or a paragraph that begins with its id."""
    return [
        (page.name, rule)
        for page in sorted(DOCS.glob("*.md"))
        for rule in RULE.findall(page.read_text(encoding="utf-8"))
    ]


def test_every_id_is_defined_once_and_has_the_prefix_of_its_page() -> None:
    """Each rule id is defined on one page and has the prefix of that page."""
    rules = defined()

    assert len(rules) > 100
    assert [rule for rule, count in Counter(rule for _, rule in rules).items() if count > 1] == []
    assert [(page, rule) for page, rule in rules if prefixes().get(rule.partition("-")[0]) != page] == []
    assert set(prefixes().values()) == {page for page, _ in rules}


def test_no_rule_has_a_letter_alone() -> None:
    """No rule id is a letter and number without a prefix."""
    pages = {page.name: LETTERED.findall(page.read_text(encoding="utf-8")) for page in DOCS.glob("*.md")}

    assert {name: found for name, found in pages.items() if found} == {}


def test_ids_that_are_named_are_defined() -> None:
    """Every rule id in pages, code and tests is defined."""
    rules, files = {rule for _, rule in defined()}, list(DOCS.glob("*.md"))
    for folder in ("vlane", "golden", "hdl", "tb", "sim_top", "bench", "tests"):
        files += [file for file in (ROOT / folder).rglob("*.py") if "data" not in file.parts]

    unknown = {str(file.relative_to(ROOT)): named(file.read_text(encoding="utf-8")) - rules for file in files}

    assert {name: sorted(found) for name, found in unknown.items() if found} == {}


def test_every_counted_event_names_a_defined_rule() -> None:
    """Every ``Rule`` counter in golden and tb names a defined rule."""
    rules, wrong, count = {rule for _, rule in defined()}, [], 0
    for folder in ("golden", "tb"):
        for file in (ROOT / folder).rglob("*.py"):
            for ids in re.findall(r'\bRule\(\s*"\w+",\s*"([^"]*)"', file.read_text(encoding="utf-8")):
                count += 1
                wrong += [(file.name, each) for each in ids.split(", ") if each not in rules]

    assert count > 100
    assert wrong == []
