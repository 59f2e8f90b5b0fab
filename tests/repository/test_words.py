"""Counts that keep docstrings and pages readable (CONTRIBUTING.md, Words)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("golden", "hdl", "tb", "sim_top", "vlane", "tests", "docs")
PRONOUNS = frozenset(
    [
        "what",
        "which",
        "who",
        "whom",
        "whose",
        "that",
        "this",
        "it",
        "its",
        "they",
        "them",
        "their",
        "those",
        "these",
        "one",
        "ones",
        "such",
        "so",
        "there",
        "he",
        "others",
        "other",
        "another",
        "same",
    ]
)
MOST_PRONOUNS = 5.7  # per 100 words: the most in cocotb, polars, numpy, networkx, pydantic, dask and amaranth
MOST_WHATS = 1.0  # per 1,000 words
MOST_DENSE = 0.3  # per cent of sentences of which a quarter is pronouns
SECTION = re.compile(r"\n(Parameters|Returns|Raises|Members|Examples|Attributes|Notes)\n-+")
FIRST_WORDS = re.compile(r"(Let|Tell|Have|What|Return what)\b")


def docstrings(path: Path) -> Iterator[str]:
    """Yield the docstrings of a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def modules(folder: str) -> Iterator[Path]:
    """Yield the modules of a folder, without those behind links."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        if not any(part.is_symlink() for part in (path, *path.parents)):
            yield path


def sentences(folder: str) -> Iterator[list[str]]:
    """Yield the words of every sentence of at least five words, without code, tables and addresses."""
    texts = [SECTION.split(text)[0] for path in modules(folder) for text in docstrings(path)]
    texts += [path.read_text() for path in sorted((ROOT / folder).rglob("*.md"))]
    for text in texts:
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        prose = re.sub(r"`[^`]*`", "X", prose)
        prose = re.sub(r"^\s*\|.*$|^ {4,}.*$", "", prose, flags=re.MULTILINE)
        prose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose)
        for sentence in re.split(r"(?<=[.!?;:])\s+", " ".join(prose.split())):
            if len(sentence.split()) >= 5:
                yield re.findall(r"[a-z']+", sentence.lower())


@pytest.mark.parametrize("folder", FOLDERS)
def test_pronouns_are_rare(folder: str) -> None:
    """Pronouns, "what" and sentences full of pronouns stay below the limits in every folder."""
    found = list(sentences(folder))
    words = sum(len(sentence) for sentence in found)
    pronouns = [sum(word in PRONOUNS for word in sentence) for sentence in found]
    dense = sum(
        4 * count > len(sentence) >= 8 or 3 * count > len(sentence) >= 6
        for sentence, count in zip(found, pronouns, strict=True)
    )
    assert sum(pronouns) <= MOST_PRONOUNS / 100 * words
    assert sum(sentence.count("what") for sentence in found) <= MOST_WHATS / 1000 * words
    assert dense <= MOST_DENSE / 100 * len(found)


@pytest.mark.parametrize("folder", FOLDERS)
def test_first_lines_state_one_claim(folder: str) -> None:
    """No docstring's first line joins two claims by a semicolon or begins with an evasive word."""
    bad = [
        f"{path.relative_to(ROOT)}: {first}"
        for path in modules(folder)
        for first in (text.splitlines()[0] for text in docstrings(path))
        if ";" in first or FIRST_WORDS.match(first)
    ]
    assert not bad, "\n".join(bad)
