"""Line numbers of keys in TOML and JSON, against the standard parsers and generated texts."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vlane.documents.key_lines import Path, json_key_lines, toml_key_lines


def paths_of(value: Any, at: Path = ()) -> set[Path]:
    """Return the path of every value in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {at} if at else set()
    return found.union(*(paths_of(each, (*at, key)) for key, each in inner))


EVERYTHING = '''# a comment with = and [brackets]
title = "a # b"   # and "more"
plain = { on = "one [ line }", n = 1 }

[network]
size = [4,
  4, # the second
]
"quoted key" = 'li"t'
a.b."c.d" = 1
a . e = 2

[[traffic]]
sl = 0
bytes = [
  64,
  [1, "]", {x = 1}],
]

[[traffic]]
when = 1979-05-27 07:32:00
where = { sl = 3, when = 1979-05-27 07:32:00, "b c".d = [1, 2], empty = {} }
[traffic.inner]
text = """
[not.a.header]
key = 1
two "" quotes \\""" and a last one""""
last = \'\'\'
it's ''quoted' = 2
\'\'\'
[[traffic.deep]]
x = 1
[[traffic.deep]]
x = 2
[late.implied.table]
z = 1
[late]
y = []
'''


def test_lines_of_all_toml_syntax() -> None:
    """The TOML scanner finds the line of every key in a file that uses all syntax.

    The file has comments, quoted and dotted keys, dates, multi-line strings and arrays of tables.
    """
    lines = toml_key_lines(EVERYTHING)

    assert set(lines) == paths_of(tomllib.loads(EVERYTHING))
    said = EVERYTHING.splitlines()
    for path, words in {
        ("title",): "title =",
        ("network",): "[network]",
        ("network", "size", 1): "4, # the second",
        ("network", "quoted key"): '"quoted key"',
        ("network", "a", "b", "c.d"): "a.b",
        ("network", "a", "e"): "a . e",
        ("traffic", 0, "bytes", 1, 2, "x"): "[1,",
        ("traffic", 1, "where", "b c", "d", 1): "where =",
        ("traffic", 1, "inner", "text"): "text =",
        ("traffic", 1, "inner", "last"): "last =",
        ("traffic", 1, "deep", 1, "x"): "x = 2",
        ("late",): "[late]",
        ("late", "implied"): "[late.implied.table]",
        ("late", "y"): "y = []",
    }.items():
        assert said[lines[path] - 1].strip().startswith(words), path
    assert said[lines["traffic", 1] - 2] == ""
    assert said[lines["traffic", 1] - 1] == "[[traffic]]"


KEYS = st.text(st.sampled_from("ab.\"' =#[]{},\n\\é"), max_size=4)
SCALARS = st.one_of(
    st.integers(-9, 9).map(str),
    st.sampled_from(["true", "1.5e3", "1979-05-27 07:32:00", "07:32:00", "'#='", "'''\n[a]\n'''", '"""\nx = 1"""""']),
    st.text(st.sampled_from("a\"'\\#[]{}=,\n é"), max_size=6).map(json.dumps),
)
BLANKS = st.sampled_from(["", " ", "\n", " # [x] = {\n", "\n\n\t"])


@st.composite
def inline(draw: Any, depth: int = 2) -> str:
    """Draw a TOML value as source text."""
    kind = draw(st.sampled_from(["scalar", "list", "table"])) if depth else "scalar"
    if kind == "scalar":
        return draw(SCALARS)
    count = draw(st.integers(0, 3))
    if kind == "list":
        return "[" + ",".join(draw(BLANKS) + draw(inline(depth - 1)) + draw(BLANKS) for _ in range(count)) + "]"
    keys = draw(st.lists(KEYS, min_size=count, max_size=count, unique=True))
    return "{ " + ", ".join(f"{json.dumps(key)} = {draw(inline(depth - 1))}" for key in keys) + " }"


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["[a]", "[b.c]", "[b]", '["d e"]', "[[l]]", "[[ m.n ]]", "[[l]] # x"]), max_size=5),
    st.data(),
)
def test_lines_of_any_toml(heads: list[str], data: st.DataObject) -> None:
    """Given random TOML, exactly the keys ``tomllib`` reads have a line, and the line is correct."""
    text, wanted = data.draw(BLANKS) + "\n", set()
    once = [head for place, head in enumerate(heads) if "[[" in head or head not in heads[:place]]
    for head in ["", *once]:
        text += f"{head}\n"
        for number, value in enumerate(data.draw(st.lists(inline(), max_size=2))):
            wanted.add((f"k{number}", text.count("\n") + 1))
            text += f"k{number} = {value}{data.draw(st.sampled_from(['', ' # = [']))}\n"

    lines = toml_key_lines(text)

    assert set(lines) == paths_of(tomllib.loads(text))
    assert wanted <= {(path[-1], line) for path, line in lines.items()}


JUNK = st.recursive(
    st.one_of(st.integers(-5, 5), st.booleans(), st.none(), st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(JUNK, st.sampled_from([None, 0, 2]))
def test_lines_of_any_json(document: Any, indent: int | None) -> None:
    """Given random JSON, every key has a line, and the line contains the key."""
    text = json.dumps(document, indent=indent)

    lines, twice = json_key_lines(text)

    assert set(lines) == paths_of(document)
    assert not twice
    for path, line in lines.items():
        said = text.splitlines()[line - 1]
        assert isinstance(path[-1], int) or json.dumps(path[-1]) in said


def test_duplicate_json_keys_are_reported() -> None:
    """Keys given twice in JSON are reported. The standard parser silently keeps the last."""
    assert json_key_lines('{"a": [{"b": 1,\n"c" :\n{}, "b": 2}], "a": 3}')[1] == [("a", 0, "b"), ("a",)]


@pytest.mark.parametrize("text", ["a = " + "[" * 400 + "]" * 400, "a = '" + "x" * 10**6 + "'", "#" * 10**6])
def test_deep_and_long_texts(text: str) -> None:
    """The scanner handles deeply nested and very long TOML."""
    assert set(toml_key_lines(text)) == paths_of(tomllib.loads(text))


def test_string_with_an_n_ends_at_its_quote() -> None:
    """A string that contains ``n`` ends at its closing quote.

    Otherwise, later quotes would be paired wrongly.
    """
    text = 'a = "no"\n\n[[t]]\nb = {c = "on"}\n\n[s]\nd = [\n"}",\n"\\"n]",\n]\n'

    assert toml_key_lines(text) == {
        ("a",): 1,
        ("t",): 3,
        ("t", 0): 3,
        ("t", 0, "b"): 4,
        ("t", 0, "b", "c"): 4,
        ("s",): 6,
        ("s", "d"): 7,
        ("s", "d", 0): 8,
        ("s", "d", 1): 9,
    }
